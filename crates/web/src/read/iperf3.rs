//! Reader of the output of `iperf3 -J`. It has no command line and no latencies.

use serde_json::Value;

use super::ONE_HOST;
use super::field::{at, facts, list, number, text, truth, whole};
use crate::record::{CpuLoad, Record, RecordEnd, Sample, Track, is_loopback};
use crate::unit::{Quantity, Unit, figure};
use crate::words::{
    BOTH_WAYS, DATAGRAMS_LOST, DATAGRAMS_LOST_SHARE, DATAGRAMS_RECEIVED, DATAGRAMS_REORDERED,
    DATAGRAMS_SENT, JITTER, RECEIVED, RECEIVED_BACK, RETRANSMITTED, SENT,
};

/// The sums of an interval and of the end, with what each is called.
const WAYS: [(&str, &str); 2] = [("sum", ""), ("sum_bidir_reverse", "reverse")];

/// A document, whole or of a run that failed.
pub(super) fn document(document: &Value) -> Record {
    let mut record = Record {
        origin: "iperf3 -J",
        title: text(document, "title"),
        program: text(document, "start.version"),
        started: number(document, "start.timestamp.timesecs"),
        test: test(document),
        protocol: text(document, "start.test_start.protocol"),
        direction: direction(document),
        limit: limit(document),
        headline: headline(document),
        figures: [figures(document), per_stream(document), programs(document)].concat(),
        length: number(document, "end.sum_sent.seconds").or(number(document, "end.sum.seconds")),
        local: end(document, "host", "iperf3's client"),
        remote: end(document, "remote", "iperf3's server"),
        flows: flows(document),
        error: text(document, "error").map(|error| format!("iperf3: {error}")),
        facts: facts(
            document,
            &[
                ("start.test_start.num_streams", "flows in each direction"),
                ("start.test_start.blksize", "block, bytes"),
                ("start.test_start.omit", "seconds left out at the beginning"),
                ("start.target_bitrate", "bit/s asked for, 0 for any"),
                ("start.tcp_mss_default", "segment, bytes"),
                ("start.cookie", "identifier"),
            ],
        ),
        ..Record::default()
    };
    series(document, &mut record);
    doubts(document, &mut record);
    record
}

fn test(document: &Value) -> Option<String> {
    let protocol = text(document, "start.test_start.protocol")?;
    Some(format!("iperf3 over {protocol}"))
}

fn direction(document: &Value) -> Option<String> {
    let test = at(document, "start.test_start")?;
    // The second is in documents of newer versions alone, so the sums tell, too.
    let both =
        number(test, "bidir") == Some(1.0) || at(document, "end.sum_sent_bidir_reverse").is_some();
    let words = match (both, number(test, "reverse")) {
        (true, _) => BOTH_WAYS,
        (false, Some(reverse)) if reverse > 0.0 => "from server to client",
        (false, _) => "from client to server",
    };
    Some(words.to_owned())
}

fn limit(document: &Value) -> Option<String> {
    let test = at(document, "start.test_start")?;
    let positive = |name| number(test, name).filter(|amount| *amount > 0.0);
    if let Some(seconds) = positive("duration") {
        return Some(format!(
            "for {}",
            Quantity::new(seconds, Unit::Seconds).brief()
        ));
    }
    if let Some(bytes) = positive("bytes") {
        return Some(format!("for {}", Quantity::new(bytes, Unit::Bytes).brief()));
    }
    positive("blocks").map(|blocks| format!("for {} blocks", crate::unit::whole(blocks)))
}

/// The rate at the receiver, or at both of them; that of the sender if only that is known.
fn headline(document: &Value) -> Option<Quantity> {
    let sums = ["sum_received", "sum", "sum_sent"];
    let rates = sums
        .iter()
        .filter_map(|sum| number(document, &format!("end.{sum}.bits_per_second")));
    let rate = rates.into_iter().find(|rate| *rate > 0.0)?;
    let back = number(document, &format!("end.{BACK}")).unwrap_or(0.0);
    Some(Quantity::new(rate + back, Unit::BitsPerSecond))
}

/// The rate of the second direction at its receiver.
const BACK: &str = "sum_received_bidir_reverse.bits_per_second";

fn figures(document: &Value) -> Vec<(String, Quantity)> {
    let (segments, datagrams) = (Unit::Count("segments"), Unit::Count("datagrams"));
    let rows = [
        ("sum_sent.bits_per_second", SENT, Unit::BitsPerSecond, 1.0),
        (BACK, RECEIVED_BACK, Unit::BitsPerSecond, 1.0),
        ("sum_sent.retransmits", RETRANSMITTED, segments.clone(), 1.0),
        (
            "sum_sent_bidir_reverse.retransmits",
            "segments retransmitted, other way",
            segments,
            1.0,
        ),
        ("sum.packets", DATAGRAMS_SENT, datagrams.clone(), 1.0),
        ("sum.lost_packets", DATAGRAMS_LOST, datagrams, 1.0),
        ("sum.lost_percent", DATAGRAMS_LOST_SHARE, Unit::Percent, 1.0),
        ("sum.jitter_ms", JITTER, Unit::Seconds, 1e-3),
    ];
    let known = rows.into_iter().filter_map(|(field, name, unit, factor)| {
        let value = number(document, &format!("end.{field}"))?;
        Some((name.to_owned(), Quantity::new(value * factor, unit)))
    });
    let both = number(document, &format!("end.{BACK}"))
        .and_then(|_| number(document, "end.sum_received.bits_per_second"));
    let one_way = both.map(|rate| (RECEIVED, Quantity::new(rate, Unit::BitsPerSecond)));
    let datagram = |name| number(document, &format!("end.sum.{name}"));
    let arrived = datagram("packets").zip(datagram("lost_packets"));
    let arrived = arrived.map(|(sent, lost)| {
        let unit = Unit::Count("datagrams");
        (DATAGRAMS_RECEIVED, Quantity::new(sent - lost, unit))
    });
    let derived = one_way.into_iter().chain(arrived);
    known
        .chain(derived.map(|(name, value)| (name.to_owned(), value)))
        .collect()
}

/// Sums over streams of figures that the document has for each stream only.
fn per_stream(document: &Value) -> Vec<(String, Quantity)> {
    let streams = list(document, "end.streams").iter();
    let reordered = streams.filter_map(|stream| number(stream, "udp.out_of_order"));
    let sum = reordered.reduce(|sum, more| sum + more);
    let sum = sum.map(|sum| Quantity::new(sum, Unit::Count("datagrams")));
    sum.map(|sum| (DATAGRAMS_REORDERED.to_owned(), sum))
        .into_iter()
        .collect()
}

/// The CPU utilisation of both programs. That of the hosts is not in the document.
fn programs(document: &Value) -> Vec<(String, Quantity)> {
    let ends = [("host", "client"), ("remote", "server")];
    let known = ends.into_iter().filter_map(|(side, role)| {
        let field = format!("end.cpu_utilization_percent.{side}_total");
        let busy = Quantity::new(number(document, &field)?, Unit::Percent);
        Some((format!("CPU of iperf3's {role} alone, of one CPU"), busy))
    });
    known.collect()
}

fn end(document: &Value, side: &str, role: &'static str) -> RecordEnd {
    let first = list(document, "start.connected")
        .first()
        .unwrap_or(&Value::Null);
    let (address, congestion) = if side == "host" {
        ("local_host", "sender_tcp_congestion")
    } else {
        ("remote_host", "receiver_tcp_congestion")
    };
    let mut facts = facts(&document["end"], &[(congestion, "congestion control")]);
    if side == "host" {
        facts.extend(self::facts(
            &document["start"],
            &[
                ("system_info", "system"),
                ("sndbuf_actual", "send socket buffer, bytes"),
                ("rcvbuf_actual", "receive socket buffer, bytes"),
            ],
        ));
    }
    let share = |part: &str| {
        number(
            document,
            &format!("end.cpu_utilization_percent.{side}_{part}"),
        )
    };
    RecordEnd {
        role,
        name: (side == "remote")
            .then(|| text(document, "start.connecting_to.host"))
            .flatten(),
        address: text(first, address),
        facts,
        cpu: share("total").map(|busy| CpuLoad {
            of: "one CPU, iperf3 alone",
            cpus: None,
            busy: Some(busy),
            parts: [share("user"), share("system"), None, None],
            peak: None,
        }),
    }
}

fn flows(document: &Value) -> Vec<(String, Quantity)> {
    let streams = list(document, "end.streams");
    if streams.len() < 2 {
        return Vec::new();
    }
    let rates = streams.iter().enumerate().filter_map(|(index, stream)| {
        let ends = ["receiver", "udp", "sender"];
        let mut rates = ends
            .iter()
            .filter_map(|end| number(stream, &format!("{end}.bits_per_second")));
        let backwards = truth(stream, "sender.sender") == Some(false);
        let way = if backwards { ", reverse" } else { "" };
        let rate = Quantity::new(rates.next()?, Unit::BitsPerSecond);
        Some((format!("flow {}{way}", index + 1), rate))
    });
    rates.collect()
}

fn series(document: &Value, record: &mut Record) {
    let intervals = list(document, "intervals");
    for (sum, name) in WAYS {
        let rates = samples(intervals, sum, "bits_per_second");
        record
            .rates
            .extend(Track::new(name, Unit::BitsPerSecond, rates));
        let resent = samples(intervals, sum, "retransmits");
        record
            .retransmissions
            .extend(Track::new(name, Unit::Count("segments"), resent));
    }
    let mut sockets: Vec<u64> = Vec::new();
    for stream in intervals
        .iter()
        .flat_map(|interval| list(interval, "streams"))
    {
        let socket = whole(stream, "socket");
        sockets.extend(socket.filter(|socket| !sockets.contains(socket)));
    }
    let several = sockets.len() > 1;
    for (index, socket) in sockets.into_iter().enumerate() {
        let name = if several {
            format!("flow {}", index + 1)
        } else {
            String::new()
        };
        let windows = stream_samples(intervals, socket, "snd_cwnd", 1.0);
        record
            .windows
            .extend(Track::new(&name, Unit::Bytes, windows));
        let trips = stream_samples(intervals, socket, "rtt", 1e-6);
        record
            .round_trips
            .extend(Track::new(&name, Unit::Seconds, trips));
    }
}

/// The sample of an interval's sum or stream; `joined` is for the caller to know.
fn sample(part: &Value, field: &str, factor: f64, joined: bool) -> Option<Sample> {
    let end = number(part, "end")?;
    Some(Sample {
        at: end,
        span: end - number(part, "start")?,
        value: number(part, field)? * factor,
        joined,
    })
}

fn samples(intervals: &[Value], sum: &str, field: &str) -> Vec<Sample> {
    let parts = intervals.iter().filter_map(|interval| at(interval, sum));
    let samples = parts
        .enumerate()
        .filter_map(|(index, part)| sample(part, field, 1.0, index > 0));
    samples.collect()
}

fn stream_samples(intervals: &[Value], socket: u64, field: &str, factor: f64) -> Vec<Sample> {
    let streams = intervals
        .iter()
        .flat_map(|interval| list(interval, "streams"));
    let own = streams.filter(|stream| whole(stream, "socket") == Some(socket));
    let samples = own
        .enumerate()
        .filter_map(|(index, stream)| sample(stream, field, factor, index > 0));
    // 0 is what it writes for an end that does not send. TCP is asked at the end of an
    // interval.
    let instants = samples.map(|sample| Sample {
        span: 0.0,
        ..sample
    });
    instants.filter(|sample| sample.value > 0.0).collect()
}

fn doubts(document: &Value, record: &mut Record) {
    if let Some(lost) = number(document, "end.sum.lost_percent").filter(|lost| *lost > 0.1) {
        let lost = figure(lost);
        record
            .doubts
            .push(format!("{lost}\u{a0}% of the datagrams were lost."));
    }
    if is_loopback(record.remote.address.as_deref()) {
        record.doubts.push(ONE_HOST.to_owned());
    }
    let omitted = list(document, "intervals")
        .iter()
        .any(|interval| truth(interval, "sum.omitted") == Some(true));
    if omitted {
        record
            .doubts
            .push("The first intervals are drawn, but are not in the result.".to_owned());
    }
}
