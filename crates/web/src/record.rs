//! The common form of a result, whichever program wrote it.
//!
//! A value is here only if the file has it. `None` and empty lists are what the page
//! says is missing.

use std::net::IpAddr;

use netperf_model::percentile_rank;
use netperf_report::document::UntilResult;

use crate::number;
use crate::unit::{Quantity, Unit};

/// One result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Its name among other results: the name of its file.
    pub label: String,
    /// The kind of its file.
    pub origin: &'static str,
    /// Its title, given by the user who measured it.
    pub title: Option<String>,
    /// The program that measured, with its version.
    pub program: Option<String>,
    /// Command lines. If there are several, each has the name of its purpose.
    pub commands: Vec<(String, String)>,
    /// Its start, in seconds since 1970.
    pub started: Option<f64>,
    /// The name of the test.
    pub test: Option<String>,
    /// The protocol of the data.
    pub protocol: Option<String>,
    /// The direction of the data, in words.
    pub direction: Option<String>,
    /// The requested end, in words.
    pub limit: Option<String>,
    /// Its duration in seconds.
    pub length: Option<f64>,
    /// The number of iterations.
    pub iterations: Option<usize>,
    /// The end that requested the test.
    pub local: RecordEnd,
    /// The other end.
    pub remote: RecordEnd,
    /// The result in one number.
    pub headline: Option<Quantity>,
    /// Half the width of its confidence interval, if one was asked for, in the same unit.
    pub half_width: Option<f64>,
    /// Further figures, each with its name.
    pub figures: Vec<(String, Quantity)>,
    /// Rates over time.
    pub rates: Vec<Track>,
    /// Times of operations.
    pub spreads: Vec<Distribution>,
    /// The same over time.
    pub heat: Vec<Heat>,
    /// The rate of each of several flows.
    pub flows: Vec<(String, Quantity)>,
    /// The congestion window over time.
    pub windows: Vec<Track>,
    /// The round trip as measured by TCP, over time.
    pub round_trips: Vec<Track>,
    /// Retransmitted segments over time.
    pub retransmissions: Vec<Track>,
    /// The precision of the figures of a run with `--until`.
    pub until: Option<UntilResult>,
    /// Facts about the run that belong to neither end.
    pub facts: Vec<(String, String)>,
    /// Doubts about the figures.
    pub doubts: Vec<String>,
    /// The reason of a missing result.
    pub error: Option<String>,
}

/// True for the name of a figure that is processor time or a share of processors.
#[must_use]
pub fn is_of_cpu(name: &str) -> bool {
    name.contains("CPU")
}

/// One end of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordEnd {
    /// Its role in a sentence: `client`.
    pub role: &'static str,
    /// The name of its host.
    pub name: Option<String>,
    /// Its address.
    pub address: Option<String>,
    /// Facts about its host and its sockets.
    pub facts: Vec<(String, String)>,
    /// Its CPU utilisation.
    pub cpu: Option<CpuLoad>,
}

/// True for a loopback address.
pub(crate) fn is_loopback(address: Option<&str>) -> bool {
    address.is_some_and(|text| text.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()))
}

/// The facts that are known, by their names.
pub(crate) fn known<const N: usize>(facts: [(&str, Option<String>); N]) -> Vec<(String, String)> {
    let named = |(name, fact): (&str, Option<String>)| Some((name.to_owned(), fact?));
    facts.into_iter().filter_map(named).collect()
}

/// CPU utilisation of one end in percent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuLoad {
    /// The reference of the percentages: one CPU, or all CPUs.
    pub of: &'static str,
    /// CPUs online.
    pub cpus: Option<u64>,
    /// Total utilisation.
    pub busy: Option<f64>,
    /// Its known parts, in the order of [`CpuLoad::PARTS`].
    pub parts: [Option<f64>; 4],
    /// The busiest CPU and its utilisation.
    pub peak: Option<(u64, f64)>,
}

impl CpuLoad {
    /// The names of the parts.
    pub const PARTS: [&'static str; 4] = ["user", "system", "interrupts", "soft interrupts"];

    /// The utilisation outside the named parts. `None` if no part is known.
    #[must_use]
    pub fn rest(&self) -> Option<f64> {
        let known: Vec<f64> = self.parts.iter().flatten().copied().collect();
        if known.is_empty() {
            return None;
        }
        Some((self.busy? - known.iter().sum::<f64>()).max(0.0))
    }
}

/// A value over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Its name among several of a result; empty for a single one.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Its values in the order of time.
    pub samples: Vec<Sample>,
}

impl Track {
    /// A track; `None` without samples.
    pub(crate) fn new(name: &str, unit: Unit, samples: Vec<Sample>) -> Option<Self> {
        let name = name.to_owned();
        (!samples.is_empty()).then_some(Self {
            name,
            unit,
            samples,
        })
    }
}

/// The value of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its end, in seconds since the measurement began.
    pub at: f64,
    /// Its length in seconds, 0 for an instant.
    pub span: f64,
    /// The value.
    pub value: f64,
    /// True if nothing is missing between it and the sample before.
    pub joined: bool,
}

/// The operation whose times were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimedOperation {
    /// A request and its response.
    #[default]
    RoundTrip,
    /// A connection, a request over it and its response.
    ConnectedRoundTrip,
    /// A connection opened and closed.
    Connection,
    /// A send call.
    Send,
    /// A receive call.
    Receive,
}

impl TimedOperation {
    /// All of them, in the order of their charts.
    pub(crate) const ALL: [Self; 5] = [
        Self::RoundTrip,
        Self::ConnectedRoundTrip,
        Self::Connection,
        Self::Send,
        Self::Receive,
    ];

    /// The name of its time in titles and tables.
    #[must_use]
    pub const fn time(self) -> &'static str {
        match self {
            Self::RoundTrip => "latency",
            Self::ConnectedRoundTrip => "latency with connection",
            Self::Connection => "time of connecting",
            Self::Send => "time in send",
            Self::Receive => "time in receive",
        }
    }

    /// The operations, as the subject of a sentence.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::RoundTrip => "Operations",
            Self::ConnectedRoundTrip => "Connections with a request and a response",
            Self::Connection => "Connections",
            Self::Send => "Send calls",
            Self::Receive => "Receive calls",
        }
    }
}

/// The distribution of the times of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// The operation.
    pub operation: TimedOperation,
    /// The kind of operations, if a result has several; otherwise empty.
    pub name: String,
    /// Ranges of times in seconds, the shortest first, with their numbers of operations.
    pub ranges: Vec<Range>,
    /// Mean in seconds.
    pub mean: Option<f64>,
    /// Standard deviation in seconds.
    pub deviation: Option<f64>,
    /// Shortest in seconds.
    pub shortest: Option<f64>,
    /// Longest in seconds.
    pub longest: Option<f64>,
    /// Percentiles that the file itself has: percent, and seconds.
    pub percentiles: Vec<(f64, f64)>,
}

/// Operations with a time in one range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The shortest time in seconds.
    pub from: f64,
    /// The longest time in seconds.
    pub to: f64,
    /// The number of operations.
    pub count: f64,
}

impl Range {
    /// The middle of the range, which represents all of it.
    #[must_use]
    pub fn middle(self) -> f64 {
        self.from + (self.to - self.from) / 2.0
    }
}

impl Distribution {
    /// The number of operations.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.ranges.iter().map(|range| range.count).sum()
    }

    /// The time that `percent` of all operations do not exceed: from the file, or
    /// from the ranges, as precise as they are. `None` without operations, and with too
    /// few of them for this percentile.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let listed = self.percentiles.iter();
        let own = listed
            .clone()
            .find(|(which, _)| (which - percent).abs() < 1e-9);
        let count = number::floor(self.count().round());
        let rank = percentile_rank(percent / 100.0, count);
        if count > 0 && rank >= count {
            return None;
        }
        if let Some((_, seconds)) = own {
            return Some(*seconds);
        }
        let mut seen = 0.0;
        self.ranges.iter().find_map(|range| {
            seen += range.count;
            (count > 0 && number::floor(seen.round()) >= rank).then(|| range.middle())
        })
    }
}

/// Times of operations over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// The operation.
    pub operation: TimedOperation,
    /// The kind of operations, if a result has several; otherwise empty.
    pub name: String,
    /// One column for each interval: begin and end in seconds, and the times in it.
    pub columns: Vec<(f64, f64, Vec<Range>)>,
}
