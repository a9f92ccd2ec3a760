//! iperf3's JSON output (docs/spec/iperf3.md, JSON): tabs, and the keys in iperf3's order.

mod layout;
mod node;

use std::time::Duration;

use netperf_model::figures::percent;

use crate::messages::{Parameters, Protocol, Results, ServerOutput, StreamDirection};

use self::node::{JsonNode, plain};
use super::figures::{DataFile, Extremes, SocketBuffers, StreamFigures, StreamInterval, Totals};
use super::text::{TextView, bits, of_peer, sum};
use crate::defaults::VERSION;

pub use self::layout::document;
pub use self::node::http_date;

/// Facts that are known before a test.
#[derive(Clone, Debug, Default)]
pub struct TestFacts {
    /// The server's end, whose client has this address; else the client's end.
    pub accepts: bool,
    /// Name or address of the peer.
    pub host: String,
    /// Port of the peer, or from which the client connects.
    pub port: u16,
    /// Names of the system and the machine.
    pub system: String,
    /// Start of the test, since 1970.
    pub since_epoch: Duration,
    /// Text of the cookie.
    pub cookie: String,
    /// Segment size, bytes.
    pub mss: u32,
    /// Parameters of the test.
    pub parameters: Parameters,
    /// Buffers of the first stream.
    pub buffers: SocketBuffers,
}

impl TestFacts {
    /// The output of the server, if this is the client and has asked for it (`--get-server-output`).
    /// iperf3 3.12 sends it in all tests behind one that asked.
    pub fn output_of<'a>(&self, peer: Option<&'a Results>) -> Option<&'a ServerOutput> {
        let asked = !self.accepts && self.parameters.get_server_output;
        peer.filter(|_| asked)?.output.as_ref()
    }
}

/// A document.
pub struct Json<'a> {
    /// Facts that are known before the test.
    pub start: &'a TestFacts,
    /// The streams, once they are open.
    pub view: Option<&'a TextView>,
    /// Intervals so far.
    pub intervals: &'a [StreamInterval],
    /// Results of this end.
    pub totals: Option<&'a Totals>,
    /// Results of the other end.
    pub peer: Option<&'a Results>,
    /// Text of a failure.
    pub error: Option<&'a str>,
}

/// The document of a server without a test.
#[must_use]
pub fn failed(system: &str, error: &str) -> String {
    let start = TestFacts {
        system: system.to_owned(),
        ..TestFacts::default()
    };
    let json = Json {
        start: &start,
        view: None,
        intervals: &[],
        totals: None,
        peer: None,
        error: Some(error),
    };
    json.text()
}

/// Direction of a group of streams.
#[derive(Clone, Copy)]
struct SumGroup {
    sends: bool,
    first: bool,
}

impl Json<'_> {
    /// The text, with a newline.
    pub fn text(&self) -> String {
        let mut keys = vec![
            ("start", self.start()),
            ("intervals", self.intervals()),
            ("end", self.end()),
        ];
        let parameters = &self.start.parameters;
        if let Some(title) = &parameters.title {
            keys.push(("title", plain(title.as_str())));
        }
        if let Some(data) = &parameters.extra_data {
            keys.push(("extra_data", plain(data.as_str())));
        }
        match self.start.output_of(self.peer) {
            Some(ServerOutput::Text(text)) => {
                keys.push(("server_output_text", plain(text.as_str())));
            }
            Some(ServerOutput::Json(value)) => {
                keys.push(("server_output_json", JsonNode::Plain(value.clone())));
            }
            None => {}
        }
        if let Some(error) = self.error {
            keys.push(("error", plain(error)));
        }
        layout::document(&JsonNode::Object(keys)) + "\n"
    }

    /// The line of `--json-stream` before the first interval.
    pub fn start_event(&self) -> String {
        self.start().event("start")
    }

    /// The line of an interval.
    pub fn interval_event(&self, interval: &StreamInterval) -> String {
        self.interval(interval).event("interval")
    }

    /// The lines behind the last interval.
    pub fn end_events(&self) -> String {
        let error = self.error.map(|error| plain(error).event("error"));
        error.unwrap_or_default() + &self.end().event("end")
    }

    fn udp(&self) -> bool {
        self.start.parameters.protocol == Protocol::Udp
    }

    fn start(&self) -> JsonNode {
        let (start, parameters) = (self.start, &self.start.parameters);
        let infos = self.view.map_or(&[][..], |view| &view.infos);
        let connected = infos.iter().enumerate().filter_map(|(position, info)| {
            let (local, remote) = info.local.zip(info.remote)?;
            Some(JsonNode::Object(vec![
                ("socket", plain(self.socket(position))),
                ("local_host", plain(local.ip().to_string())),
                ("local_port", plain(local.port())),
                ("remote_host", plain(remote.ip().to_string())),
                ("remote_port", plain(remote.port())),
            ]))
        });
        let mut keys = vec![
            ("connected", JsonNode::Array(connected.collect())),
            ("version", plain(format!("iperf {VERSION}"))),
            ("system_info", plain(start.system.as_str())),
        ];
        if start.cookie.is_empty() {
            return JsonNode::Object(keys);
        }
        let timestamp = JsonNode::Object(vec![
            ("time", plain(http_date(start.since_epoch))),
            ("timesecs", plain(start.since_epoch.as_secs())),
        ]);
        let peer = JsonNode::Object(vec![
            ("host", plain(start.host.as_str())),
            ("port", plain(start.port)),
        ]);
        let buffers = [
            ("sock_bufsize", plain(parameters.window.unwrap_or(0))),
            ("sndbuf_actual", plain(start.buffers.send.unwrap_or(0))),
            ("rcvbuf_actual", plain(start.buffers.recv.unwrap_or(0))),
        ];
        let before = [
            ("timestamp", timestamp),
            (
                if start.accepts {
                    "accepted_connection"
                } else {
                    "connecting_to"
                },
                peer,
            ),
            ("cookie", plain(start.cookie.as_str())),
        ];
        let mss = match parameters.mss {
            Some(mss) => ("tcp_mss", plain(mss)),
            None => ("tcp_mss_default", plain(start.mss)),
        };
        let mss = (!self.udp()).then_some(mss);
        let rate = ("target_bitrate", plain(parameters.bandwidth));
        if start.accepts {
            keys.extend(buffers);
            keys.extend(before.into_iter().chain(mss));
            keys.push(rate);
        } else {
            keys.extend(before.into_iter().chain(mss));
            keys.push(rate);
            keys.extend(buffers);
        }
        keys.push(("test_start", self.test_start()));
        JsonNode::Object(keys)
    }

    fn test_start(&self) -> JsonNode {
        let parameters = &self.start.parameters;
        let protocol = if self.udp() { "UDP" } else { "TCP" };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most a day"
        )]
        let duration = parameters.time as u64;
        JsonNode::Object(vec![
            ("protocol", plain(protocol)),
            ("num_streams", plain(parameters.parallel)),
            ("blksize", plain(parameters.len)),
            ("omit", plain(parameters.omit)),
            ("duration", plain(duration)),
            ("bytes", plain(parameters.num)),
            ("blocks", plain(parameters.blockcount)),
            (
                "reverse",
                plain(u32::from(parameters.direction == StreamDirection::Reverse)),
            ),
            ("tos", plain(parameters.tos)),
            ("target_bitrate", plain(parameters.bandwidth)),
        ])
    }

    fn socket(&self, position: usize) -> usize {
        self.view.map_or(0, |view| view.number(position))
    }

    /// Positions of the streams of each direction.
    fn groups(&self) -> Vec<(SumGroup, Vec<usize>)> {
        let infos = self.view.map_or(&[][..], |view| &view.infos);
        let of = |sends| -> Vec<usize> {
            let all = infos.iter().enumerate();
            let all = all.filter(|(_, info)| info.sends == sends);
            all.map(|(position, _)| position).collect()
        };
        let mut groups = Vec::new();
        let first = infos.first().is_none_or(|info| info.sends);
        for sends in [first, !first] {
            let positions = of(sends);
            if !positions.is_empty() {
                let first = groups.is_empty();
                groups.push((SumGroup { sends, first }, positions));
            }
        }
        groups
    }

    fn intervals(&self) -> JsonNode {
        let all = self.intervals.iter().map(|one| self.interval(one));
        JsonNode::Array(all.collect())
    }

    fn interval(&self, interval: &StreamInterval) -> JsonNode {
        let infos = self.view.map_or(&[][..], |view| &view.infos);
        let streams = interval.streams.iter().zip(infos).enumerate();
        let streams = streams.map(|(position, (figures, info))| {
            let mut keys = vec![("socket", plain(self.socket(position)))];
            keys.extend(self.interval_keys(interval, figures, info.sends, true));
            JsonNode::Object(keys)
        });
        let mut keys = vec![("streams", JsonNode::Array(streams.collect()))];
        for (group, positions) in self.groups() {
            let figures: Vec<StreamFigures> = positions
                .iter()
                .filter_map(|at| interval.streams.get(*at).copied())
                .collect();
            let name = if group.first {
                "sum"
            } else {
                "sum_bidir_reverse"
            };
            let sum = self.interval_keys(interval, &sum(&figures), group.sends, false);
            keys.push((name, JsonNode::Object(sum)));
        }
        JsonNode::Object(keys)
    }

    fn interval_keys(
        &self,
        interval: &StreamInterval,
        figures: &StreamFigures,
        sends: bool,
        of_stream: bool,
    ) -> Vec<(&'static str, JsonNode)> {
        let mut keys = times((interval.start, interval.end), figures.bytes);
        match (self.udp(), sends) {
            (false, true) => {
                keys.push(("retransmits", plain(figures.retransmits.unwrap_or(0))));
                if of_stream {
                    keys.extend([
                        ("snd_cwnd", plain(figures.cwnd)),
                        ("snd_wnd", plain(figures.window)),
                        ("rtt", plain(figures.rtt.0)),
                        ("rttvar", plain(figures.rtt.1)),
                        ("pmtu", plain(figures.pmtu)),
                    ]);
                }
            }
            (false, false) => {}
            (true, true) => keys.push(("packets", plain(figures.packets))),
            (true, false) => keys.extend(quality(figures)),
        }
        keys.push(("omitted", plain(interval.omitted)));
        keys.push(("sender", plain(sends)));
        keys
    }

    fn end(&self) -> JsonNode {
        let Some(totals) = self.totals else {
            return JsonNode::Object(Vec::new());
        };
        let mut streams = Vec::new();
        let mut sums = Vec::new();
        for (group, positions) in self.groups() {
            let ends: Vec<Ends> = positions
                .iter()
                .map(|position| self.ends(totals, *position, group.sends))
                .collect();
            for (position, ends) in positions.iter().zip(&ends) {
                let extremes = totals.extremes.get(*position).copied();
                streams.push(self.stream(*position, ends, extremes.unwrap_or_default()));
            }
            sums.extend(self.sums(group, &ends));
        }
        let mut keys = vec![("streams", JsonNode::Array(streams))];
        keys.extend(sums);
        let peer = self.peer;
        let remote = peer.map(|peer| peer.cpu).unwrap_or_default();
        keys.push((
            "cpu_utilization_percent",
            JsonNode::Object(vec![
                ("host_total", plain(totals.cpu[0])),
                ("host_user", plain(totals.cpu[1])),
                ("host_system", plain(totals.cpu[2])),
                ("remote_total", plain(remote[0])),
                ("remote_user", plain(remote[1])),
                ("remote_system", plain(remote[2])),
            ]),
        ));
        if !self.udp() {
            keys.extend(self.congestion(totals));
        }
        JsonNode::Object(keys)
    }

    /// Congestion control: of both ends at a client, else the own.
    fn congestion(&self, totals: &Totals) -> Vec<(&'static str, JsonNode)> {
        let own = totals.congestion.as_deref();
        let infos = self.view.map_or(&[][..], |view| &view.infos);
        let sends = infos.iter().any(|info| info.sends);
        let other = self.peer.and_then(|peer| peer.congestion.as_deref());
        let other = other.filter(|_| !self.start.accepts);
        let (sender, receiver) = if sends { (own, other) } else { (other, own) };
        let names = [
            ("sender_tcp_congestion", sender),
            ("receiver_tcp_congestion", receiver),
        ];
        let known = names.into_iter();
        let known = known.filter_map(|(key, name)| Some((key, plain(name?))));
        known.collect()
    }

    /// Figures of a stream at both of its ends.
    fn ends(&self, totals: &Totals, position: usize, sends: bool) -> Ends {
        let own = totals.streams.get(position).copied().unwrap_or_default();
        let end = totals.ends.get(position).copied().unwrap_or_default();
        let info = self.view.and_then(|view| view.infos.get(position));
        let peer = self.peer.zip(info);
        let other = of_peer(peer.and_then(|(peer, info)| peer.of(info.id)).copied());
        if sends {
            Ends {
                sent: (own, end),
                received: other,
                sends,
            }
        } else {
            Ends {
                sent: other,
                received: (own, end),
                sends,
            }
        }
    }

    fn stream(&self, position: usize, ends: &Ends, extremes: Extremes) -> JsonNode {
        let socket = ("socket", plain(self.socket(position)));
        let (sent, end) = ends.sent;
        let (received, received_end) = ends.received;
        if self.udp() {
            let mut keys = vec![socket];
            keys.extend(times((0.0, end), sent.bytes));
            let known = StreamFigures {
                packets: sent.packets,
                ..received
            };
            keys.extend(quality(&known));
            keys.push(("out_of_order", plain(received.out_of_order)));
            keys.push(("sender", plain(ends.sends)));
            return JsonNode::Object(vec![("udp", JsonNode::Object(keys))]);
        }
        let mut sender = vec![("socket", plain(self.socket(position)))];
        sender.extend(times((0.0, end), sent.bytes));
        if self.knows_sender(ends.sends) {
            sender.extend([
                ("retransmits", plain(sent.retransmits.unwrap_or(0))),
                ("max_snd_cwnd", plain(extremes.max_cwnd)),
                ("max_snd_wnd", plain(extremes.max_window)),
                ("max_rtt", plain(extremes.max_rtt)),
                ("min_rtt", plain(extremes.min_rtt)),
                ("mean_rtt", plain(extremes.mean_rtt())),
            ]);
        }
        sender.push(("sender", plain(ends.sends)));
        let mut receiver = vec![socket];
        receiver.extend(times((0.0, received_end), received.bytes));
        receiver.push(("sender", plain(ends.sends)));
        let mut keys = vec![("sender", JsonNode::Object(sender))];
        let file = self.totals.and_then(|totals| totals.file.as_ref());
        keys.extend(file.map(|file| ("diskfile", of_file(file, sent.bytes, received.bytes))));
        keys.push(("receiver", JsonNode::Object(receiver)));
        JsonNode::Object(keys)
    }

    /// True if values that only a sender has are shown.
    const fn knows_sender(&self, sends: bool) -> bool {
        !self.start.accepts || sends
    }

    fn sums(&self, group: SumGroup, ends: &[Ends]) -> Vec<(&'static str, JsonNode)> {
        let all = |of: fn(&Ends) -> (StreamFigures, f64)| {
            let figures: Vec<StreamFigures> = ends.iter().map(|ends| of(ends).0).collect();
            // Until the last of them has ended: iperf3 3.12 takes one of the streams.
            let end = ends.iter().map(|ends| of(ends).1).reduce(f64::max);
            (sum(&figures), end.unwrap_or_default())
        };
        let (sent, end) = all(|ends| ends.sent);
        let (received, received_end) = all(|ends| ends.received);
        let names = if group.first {
            ["sum", "sum_sent", "sum_received"]
        } else {
            [
                "sum_bidir_reverse",
                "sum_sent_bidir_reverse",
                "sum_received_bidir_reverse",
            ]
        };
        let [whole, of_sent, of_received] = names;
        let object = |times: Vec<(&'static str, JsonNode)>, more: Vec<(&'static str, JsonNode)>| {
            JsonNode::Object(times.into_iter().chain(more).collect())
        };
        let sends = |sends: bool| vec![("sender", plain(sends))];
        if !self.udp() {
            let retransmits = ("retransmits", plain(sent.retransmits.unwrap_or(0)));
            let retransmits = self.knows_sender(group.sends).then_some(retransmits);
            let more = retransmits.into_iter().chain(sends(group.sends));
            return vec![
                (
                    of_sent,
                    object(times((0.0, end), sent.bytes), more.collect()),
                ),
                (
                    of_received,
                    object(
                        times((0.0, received_end), received.bytes),
                        sends(group.sends),
                    ),
                ),
            ];
        }
        let with = |figures: &StreamFigures, is_sender: bool| {
            let mut keys = quality(figures);
            keys.push(("sender", plain(is_sender)));
            keys
        };
        let both = StreamFigures {
            packets: sent.packets,
            ..received
        };
        let only_sent = StreamFigures {
            packets: sent.packets,
            ..StreamFigures::default()
        };
        vec![
            (
                // The bytes and the time of the sender: 3.12 takes the time of the receiver.
                whole,
                object(times((0.0, end), sent.bytes), with(&both, group.sends)),
            ),
            (
                of_sent,
                object(times((0.0, end), sent.bytes), with(&only_sent, true)),
            ),
            (
                of_received,
                object(
                    times((0.0, received_end), received.bytes),
                    with(&received, false),
                ),
            ),
        ]
    }
}

/// Figures of a stream at both ends.
struct Ends {
    sent: (StreamFigures, f64),
    received: (StreamFigures, f64),
    /// This end sends.
    sends: bool,
}

/// The file with the data of a stream.
fn of_file(file: &DataFile, sent: u64, received: u64) -> JsonNode {
    JsonNode::Object(vec![
        ("sent", plain(sent)),
        ("received", plain(received)),
        ("size", plain(file.size)),
        ("percent_sent", plain(file.percent(sent))),
        ("percent_received", plain(file.percent(received))),
        ("filename", plain(file.name.clone())),
    ])
}

fn times((start, end): (f64, f64), bytes: u64) -> Vec<(&'static str, JsonNode)> {
    vec![
        ("start", plain(start)),
        ("end", plain(end)),
        ("seconds", plain(end - start)),
        ("bytes", plain(bytes)),
        ("bits_per_second", plain(bits(bytes, end - start))),
    ]
}

fn quality(figures: &StreamFigures) -> Vec<(&'static str, JsonNode)> {
    vec![
        ("jitter_ms", plain(figures.jitter * 1e3)),
        ("lost_packets", plain(figures.lost)),
        ("packets", plain(figures.packets)),
        (
            "lost_percent",
            plain(percent(figures.lost, figures.packets)),
        ),
    ]
}
