//! The summary of one run for a person, as lines of at most 80 columns.

use netperf_report::document::{
    AskedTest, Document, FlowResult, FlowsResult, IntervalResult, IterationDocument,
};
use netperf_stats::precision;
use netperf_web::escape;
use netperf_web::unit::{Unit, figure};

use crate::check::text::{course, cpus, in_letters, retransmitted, titled};
use crate::check::{self, DatagramWay, Datagrams, LEVEL, Letters, quantity};

/// The summary of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunSummary<'a> {
    document: &'a Document,
}

/// A rate of one direction.
struct DirectionRate {
    title: &'static str,
    per_second: Option<f64>,
    course: Vec<f64>,
}

impl<'a> RunSummary<'a> {
    /// The summary of a document.
    #[must_use]
    pub const fn of(document: &'a Document) -> Self {
        Self { document }
    }

    /// The summary in lines.
    #[must_use]
    pub fn text(self, letters: Letters) -> String {
        let document = self.document;
        let mut text = titled("Test", &self.test());
        let mut line = |title: &str, words: Option<String>| {
            let words = words.filter(|words| !words.is_empty());
            text.push_str(&words.map_or_else(String::new, |words| titled(title, &words)));
        };
        let (local, remote) = check::ends(document, Some(document), Some(document));
        line("This end", Some(local.words(None)));
        line("That end", Some(remote.words(None)));
        for rate in self.rates() {
            line(rate.title, self.rate(&rate, letters));
        }
        for (title, datagrams) in self.datagrams() {
            line(title, Some(datagrams.words()));
        }
        line("Latency", self.latency());
        line("TCP", self.tcp());
        line("Flows", self.flows());
        line("CPU", self.cpus());
        let error = document.error.as_ref().map(|error| {
            let message = &error.message;
            message.strip_prefix("netperf: ").unwrap_or(message)
        });
        let doubts = document.warnings.iter();
        for warning in doubts.filter(|warning| Some(&warning.message[..]) != error) {
            line("Doubt", Some(escape::line(&warning.message)));
        }
        line("Failed", error.map(escape::line));
        in_letters(&text, letters)
    }

    /// The test, its host and its length.
    fn test(self) -> String {
        let Document { test, remote, .. } = self.document;
        let direction = match (test.sends, test.receives) {
            _ if test.connects || test.bidirectional.is_some() => "with",
            (true, false) => "to",
            (false, true) => "from",
            _ => "with",
        };
        let named = escape::line(&remote.requested.host);
        let address = remote.address.as_deref().map(escape::line);
        let address = address.filter(|address| *address != named && !address.is_empty());
        let host = address.map_or_else(|| named.clone(), |at| format!("{named} ({at})"));
        let mut parts = vec![format!("{} {direction} {host}", named_test(test))];
        if let Some(peer) = &self.document.peer {
            let version = peer.version.as_deref().unwrap_or_default();
            let name = format!("{} {version}", peer.program);
            parts.push(escape::line(name.trim_end()));
        }
        let seconds = self.document.result.as_ref();
        let seconds = seconds.and_then(|result| result.elapsed_seconds.0);
        parts.extend(seconds.map(|seconds| quantity(seconds, Unit::Seconds)));
        if let Some(many) = test.many.as_ref().filter(|many| many.flows > 1) {
            parts.push(format!("{} flows", many.flows));
        }
        let runs = self.document.iterations.len();
        if runs > 1 {
            parts.push(format!("mean of {runs} runs"));
        }
        parts.join(", ")
    }

    fn first(self) -> Option<&'a IterationDocument> {
        self.document.iterations.first()
    }

    fn counts_transactions(self) -> bool {
        let test = &self.document.test;
        test.connects || (test.sends && test.receives && test.bidirectional.is_none())
    }

    /// The rates of the directions that carry data, or of transactions.
    fn rates(self) -> Vec<DirectionRate> {
        let Document {
            test,
            result,
            intervals,
            ..
        } = self.document;
        let Some(result) = result.as_ref().filter(|_| test.name != "TCP_MSS") else {
            return Vec::new();
        };
        let of = |pick: fn(&IntervalResult) -> Option<f64>| -> Vec<f64> {
            intervals.iter().filter_map(pick).collect()
        };
        if self.counts_transactions() {
            return vec![DirectionRate {
                title: "Rate",
                per_second: result.throughput.transactions_per_second.0,
                course: of(|interval| interval.transactions_per_second.0),
            }];
        }
        let overall = result.throughput.throughput_bits_per_second.0;
        let both = test.bidirectional.is_some();
        let first = self.first();
        let received_by = |remote: bool| {
            let first = first?;
            let end = if remote {
                first.remote.as_ref()?
            } else {
                &first.local
            };
            end.rates.received_bits_per_second.0
        };
        let mut rates = Vec::new();
        if test.sends {
            let datagrams = self.sends_datagrams();
            let sent = |interval: &IntervalResult| {
                let arrived = interval.arrived_bits_per_second.0;
                arrived.or(interval.rates.sent_bits_per_second.0.filter(|_| !datagrams))
            };
            rates.push(DirectionRate {
                title: if datagrams { "Arrived" } else { "Send" },
                per_second: if both { received_by(true) } else { overall },
                course: intervals.iter().filter_map(sent).collect(),
            });
        }
        if test.receives {
            rates.push(DirectionRate {
                title: "Receive",
                per_second: if both { received_by(false) } else { overall },
                course: of(|interval| interval.rates.received_bits_per_second.0),
            });
        }
        rates
    }

    fn rate(self, rate: &DirectionRate, letters: Letters) -> Option<String> {
        let value = rate.per_second?;
        let shown = if self.counts_transactions() {
            let test = &self.document.test;
            let name = match (test.connects, test.sends) {
                (true, false) => "connections/s",
                _ => "transactions/s",
            };
            format!("{} {name}", figure(value))
        } else {
            quantity(value, Unit::BitsPerSecond)
        };
        let several = self.rates().len() > 1;
        let interval = self.interval(&rate.course).filter(|_| !several);
        Some(course(&shown, interval, &rate.course, letters))
    }

    /// Half the width of the interval of the result in percent: of `--until`, of `-I`, or from
    /// the values of the course.
    fn interval(self, course: &[f64]) -> Option<f64> {
        let until = self.document.until.as_ref();
        let until = until.and_then(|until| until.throughput.as_ref()?.half_width_percent.0);
        let repeated = self.document.confidence;
        let repeated = repeated.map(|confidence| confidence.result / 2.0);
        let measured = || {
            let interval = precision::of_mean(course, LEVEL)?;
            let mean = course.iter().sum::<f64>() / count(course.len());
            (mean > 0.0).then(|| 100.0 * interval.half_width / mean)
        };
        until.or(repeated).or_else(measured)
    }

    fn sends_datagrams(self) -> bool {
        let test = &self.document.test;
        test.sends && !test.receives && test.socket_type == "Datagram"
    }

    /// The datagrams of each direction.
    fn datagrams(self) -> Vec<(&'static str, Datagrams)> {
        let test = &self.document.test;
        if test.socket_type != "Datagram" || self.counts_transactions() {
            return Vec::new();
        }
        let titles = match test.bidirectional {
            Some(_) => ["UDP out", "UDP in"],
            None => ["UDP"; 2],
        };
        let ways = [
            (test.sends, DatagramWay::ToNetserver),
            (test.receives, DatagramWay::ToNetperf),
        ];
        let of = |(title, (used, way)): (_, (bool, DatagramWay))| {
            let datagrams = used.then(|| check::datagrams(self.document, way));
            Some((title, datagrams??))
        };
        titles.into_iter().zip(ways).filter_map(of).collect()
    }

    fn latency(self) -> Option<String> {
        if !self.counts_transactions() {
            return None;
        }
        let recorded = check::latency(self.document).map(|latency| latency.words(None));
        recorded.or_else(|| {
            let mean = self.document.result.as_ref()?.mean_round_trip_seconds.0?;
            Some(format!("mean {}", quantity(mean, Unit::Seconds)))
        })
    }

    /// State of TCP: retransmitted segments of the sender, and the last round trip.
    fn tcp(self) -> Option<String> {
        let test = &self.document.test;
        let counts = |run: &IterationDocument| {
            let local = run.local.retransmitted_segments.filter(|_| test.sends);
            let remote = run.remote.as_ref();
            let remote = remote.and_then(|end| end.retransmitted_segments);
            let remote = remote.filter(|_| test.receives);
            let known = local.or(remote)?;
            Some(known.max(local.unwrap_or(0).saturating_add(remote.unwrap_or(0))))
        };
        let counts: Option<Vec<u32>> = self.document.iterations.iter().map(counts).collect();
        let counts = counts.filter(|counts| !counts.is_empty());
        let segments = counts.map(|counts| retransmitted(counts.iter().sum()));
        let state = self.first().and_then(|run| run.tcp);
        let round_trip = state.map(|tcp| {
            format!(
                "round trip {} at the end",
                whole_micros(tcp.round_trip_micros)
            )
        });
        let segment = self.first().and_then(|run| run.segment_size_bytes);
        let segment = segment.map(|bytes| format!("segments of {bytes} bytes"));
        let parts = [segments, round_trip, segment];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    fn flows(self) -> Option<String> {
        let flows: &FlowsResult = self.first()?.flows.as_ref()?;
        let transactions = self.counts_transactions();
        let receives = !self.document.test.sends;
        let rate = |flow: &FlowResult| {
            let bits = if receives {
                flow.received_bits_per_second
            } else {
                flow.sent_bits_per_second
            };
            let rate = if transactions {
                flow.transactions_per_second
            } else {
                bits
            };
            rate.0
        };
        let rates: Vec<f64> = flows.each.iter().filter_map(rate).collect();
        let slowest = rates.iter().copied().reduce(f64::min)?;
        let fastest = rates.iter().copied().reduce(f64::max)?;
        let shown = |rate| {
            let unit = if transactions {
                Unit::TransactionsPerSecond
            } else {
                Unit::BitsPerSecond
            };
            quantity(rate, unit)
        };
        let (slowest, fastest) = (shown(slowest), shown(fastest));
        let fairness = flows.fairness.0;
        let fairness = fairness.map(|fairness| format!(", fairness {}", figure(fairness)));
        let fairness = fairness.unwrap_or_default();
        Some(format!("slowest {slowest}, fastest {fastest}{fairness}"))
    }

    fn cpus(self) -> Option<String> {
        let run = self.first()?;
        let remote = run.remote.as_ref().and_then(check::cpu);
        cpus(check::cpu(&run.local).as_ref(), remote.as_ref())
    }
}

/// A time that is known to the microsecond.
fn whole_micros(micros: u32) -> String {
    match micros {
        0..1000 => format!("{micros}\u{a0}µs"),
        _ => quantity(f64::from(micros) / 1e6, Unit::Seconds),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of values")]
const fn count(values: usize) -> f64 {
    values as f64
}

/// The name of the test, with its protocol if the name does not tell it.
fn named_test(test: &AskedTest) -> String {
    let (name, protocol) = (escape::line(&test.name), escape::line(&test.protocol));
    let of_name = name.split('_').next().unwrap_or_default();
    let usual = if of_name == "OMNI" { "TCP" } else { of_name };
    if protocol.is_empty() || protocol.eq_ignore_ascii_case(usual) {
        name
    } else {
        format!("{name} over {protocol}")
    }
}
