//! iperf3's JSON output (docs/spec/iperf3.md, JSON): tabs, and the keys in iperf3's order.

use std::fmt::Write as _;
use std::time::Duration;

use netperf_wire::iperf3::{Parameters, Protocol, ServerOutput, StreamDirection};

use super::VERSION;
use super::client::Tested;
use super::run::{Extremes, StreamFigures, StreamInterval, Totals};
use super::text::{TextView, bits, of_peer, percent, sum};

/// What is known before a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestFacts {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) system: String,
    pub(crate) since_epoch: Duration,
    pub(crate) cookie: String,
    pub(crate) mss: u32,
    pub(crate) parameters: Parameters,
    /// Send and receive buffer, bytes.
    pub(crate) buffers: (usize, usize),
}

/// A document.
pub(crate) struct Json<'a> {
    pub(crate) start: &'a TestFacts,
    pub(crate) view: Option<&'a TextView>,
    pub(crate) intervals: &'a [StreamInterval],
    pub(crate) tested: &'a Tested,
}

/// A value.
enum JsonNode {
    Plain(serde_json::Value),
    Array(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

fn plain(value: impl Into<serde_json::Value>) -> JsonNode {
    JsonNode::Plain(value.into())
}

impl JsonNode {
    fn write(&self, text: &mut String, depth: usize) {
        match self {
            Self::Plain(value) => {
                let _written = write!(text, "{value}");
            }
            Self::Array(values) => {
                text.push('[');
                for (index, value) in values.iter().enumerate() {
                    text.push_str(if index > 0 { ", " } else { "" });
                    value.write(text, depth);
                }
                text.push(']');
            }
            Self::Object(keys) => {
                text.push_str("{\n");
                for (index, (key, value)) in keys.iter().enumerate() {
                    text.push_str(if index > 0 { ",\n" } else { "" });
                    let _written = write!(text, "{:\t<1$}\"{key}\":\t", "", depth + 1);
                    value.write(text, depth + 1);
                }
                let _written = write!(text, "\n{:\t<1$}}}", "", depth);
            }
        }
    }
}

/// A time as RFC 9110 writes it.
pub(crate) fn http_date(since_epoch: Duration) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let seconds = since_epoch.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to a date of the Gregorian calendar (Howard Hinnant, civil_from_days).
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let name = |names: &[&'static str], index: u64| {
        let index = usize::try_from(index).unwrap_or(0);
        names.get(index).copied().unwrap_or_default()
    };
    format!(
        "{}, {day_of_month:02} {} {year} {:02}:{:02}:{:02} GMT",
        name(&DAYS, days % 7),
        name(&MONTHS, month - 1),
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Direction of a group of streams.
#[derive(Clone, Copy)]
struct SumGroup {
    sends: bool,
    first: bool,
}

impl Json<'_> {
    /// The text, with a newline.
    pub(crate) fn text(&self) -> String {
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
        let output = self.tested.peer.as_ref();
        match output.and_then(|peer| peer.output.as_ref()) {
            Some(ServerOutput::Text(text)) => {
                keys.push(("server_output_text", plain(text.as_str())))
            }
            Some(ServerOutput::Json(value)) => {
                keys.push(("server_output_json", JsonNode::Plain(value.clone())));
            }
            None => {}
        }
        if let Some(error) = &self.tested.error {
            let text = if self.tested.interrupted {
                format!("interrupt - {error}")
            } else {
                error.clone()
            };
            keys.push(("error", plain(text)));
        }
        let mut text = String::new();
        JsonNode::Object(keys).write(&mut text, 0);
        text.push('\n');
        text
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
        let to = JsonNode::Object(vec![
            ("host", plain(start.host.as_str())),
            ("port", plain(start.port)),
        ]);
        keys.extend([
            ("timestamp", timestamp),
            ("connecting_to", to),
            ("cookie", plain(start.cookie.as_str())),
        ]);
        if !self.udp() {
            keys.push(("tcp_mss_default", plain(start.mss)));
        }
        let protocol = if self.udp() { "UDP" } else { "TCP" };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most a day"
        )]
        let duration = parameters.time as u64;
        keys.extend([
            ("target_bitrate", plain(parameters.bandwidth)),
            ("sock_bufsize", plain(parameters.window.unwrap_or(0))),
            ("sndbuf_actual", plain(start.buffers.0)),
            ("rcvbuf_actual", plain(start.buffers.1)),
            (
                "test_start",
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
                ]),
            ),
        ]);
        JsonNode::Object(keys)
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
        for sends in [true, false] {
            let positions = of(sends);
            if !positions.is_empty() {
                let first = groups.is_empty();
                groups.push((SumGroup { sends, first }, positions));
            }
        }
        groups
    }

    fn intervals(&self) -> JsonNode {
        let all = self.intervals.iter().map(|interval| {
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
        });
        JsonNode::Array(all.collect())
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
        let Some(totals) = &self.tested.totals else {
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
        let peer = self.tested.peer.as_deref();
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
            let own = totals.congestion.as_deref();
            let other = peer.and_then(|peer| peer.congestion.as_deref());
            let reverse = self.start.parameters.direction == StreamDirection::Reverse;
            let (sender, receiver) = if reverse { (other, own) } else { (own, other) };
            for (key, name) in [
                ("sender_tcp_congestion", sender),
                ("receiver_tcp_congestion", receiver),
            ] {
                if let Some(name) = name {
                    keys.push((key, plain(name)));
                }
            }
        }
        JsonNode::Object(keys)
    }

    /// Figures of a stream at both of its ends.
    fn ends(&self, totals: &Totals, position: usize, sends: bool) -> Ends {
        let own = totals.streams.get(position).copied().unwrap_or_default();
        let end = totals.ends.get(position).copied().unwrap_or_default();
        let info = self.view.and_then(|view| view.infos.get(position));
        let peer = self.tested.peer.as_ref().zip(info);
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
        sender.extend([
            ("retransmits", plain(sent.retransmits.unwrap_or(0))),
            ("max_snd_cwnd", plain(extremes.max_cwnd)),
            ("max_snd_wnd", plain(extremes.max_window)),
            ("max_rtt", plain(extremes.max_rtt)),
            ("min_rtt", plain(extremes.min_rtt)),
            ("mean_rtt", plain(extremes.mean_rtt())),
            ("sender", plain(ends.sends)),
        ]);
        let mut receiver = vec![socket];
        receiver.extend(times((0.0, received_end), received.bytes));
        receiver.push(("sender", plain(ends.sends)));
        JsonNode::Object(vec![
            ("sender", JsonNode::Object(sender)),
            ("receiver", JsonNode::Object(receiver)),
        ])
    }

    fn sums(&self, group: SumGroup, ends: &[Ends]) -> Vec<(&'static str, JsonNode)> {
        let all = |of: fn(&Ends) -> (StreamFigures, f64)| {
            let figures: Vec<StreamFigures> = ends.iter().map(|ends| of(ends).0).collect();
            let end = ends.first().map(|ends| of(ends).1);
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
            let more = std::iter::once(retransmits).chain(sends(group.sends));
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
                whole,
                object(
                    times((0.0, received_end), sent.bytes),
                    with(&both, group.sends),
                ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_795_255_544, "Sat, 21 Nov 2026 10:05:44 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
        ] {
            assert_eq!(http_date(Duration::from_secs(seconds)), date);
        }
    }
}
