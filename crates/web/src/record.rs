//! What is shown of a result, whichever program wrote it.
//!
//! A value is here only if the file has it. `None` and empty lists are what the page
//! says is missing.

use std::net::IpAddr;

use netperf_report::document::UntilResult;

use crate::unit::{Quantity, Unit};

/// One result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// What it is called beside others: the name of its file.
    pub label: String,
    /// What kind of file it is of.
    pub origin: &'static str,
    /// What its maker called it.
    pub title: Option<String>,
    /// The program that measured, with its version.
    pub program: Option<String>,
    /// Command lines, and what each was for where there are several.
    pub commands: Vec<(String, String)>,
    /// When it began, in seconds since 1970.
    pub started: Option<f64>,
    /// The name of the test.
    pub test: Option<String>,
    /// What carried the data.
    pub protocol: Option<String>,
    /// Which way data went, in words.
    pub direction: Option<String>,
    /// When it was to end, in words.
    pub limit: Option<String>,
    /// How long it took in seconds.
    pub length: Option<f64>,
    /// How often it was repeated.
    pub iterations: Option<usize>,
    /// The end that asked for the test.
    pub local: RecordEnd,
    /// The other one.
    pub remote: RecordEnd,
    /// The result in one number.
    pub headline: Option<Quantity>,
    /// Further figures, each with its name.
    pub figures: Vec<(String, Quantity)>,
    /// How fast it went over time.
    pub rates: Vec<Track>,
    /// How long operations took.
    pub spreads: Vec<Distribution>,
    /// The same over time.
    pub heat: Vec<Heat>,
    /// What each of several flows came to.
    pub flows: Vec<(String, Quantity)>,
    /// The congestion window over time.
    pub windows: Vec<Track>,
    /// The round trip that TCP sees, over time.
    pub round_trips: Vec<Track>,
    /// Segments sent again, over time.
    pub retransmissions: Vec<Track>,
    /// How well figures are known, of a run that went on until they were.
    pub until: Option<UntilResult>,
    /// Facts about the run that are neither end's.
    pub facts: Vec<(String, String)>,
    /// Why the figures may be doubted.
    pub doubts: Vec<String>,
    /// Why there is no result.
    pub error: Option<String>,
}

/// One end of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordEnd {
    /// The program there, in a sentence: `netperf's end`.
    pub role: &'static str,
    /// Its host by name.
    pub name: Option<String>,
    /// Its address.
    pub address: Option<String>,
    /// What is known of its host and sockets.
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
    /// What the percentages are of.
    pub of: &'static str,
    /// CPUs online.
    pub cpus: Option<u64>,
    /// Busy in all.
    pub busy: Option<f64>,
    /// Its parts, as far as they are told apart, in the order of [`CpuLoad::PARTS`].
    pub parts: [Option<f64>; 4],
    /// The busiest CPU and how busy it was.
    pub peak: Option<(u64, f64)>,
}

impl CpuLoad {
    /// The parts of being busy.
    pub const PARTS: [&'static str; 4] = ["user", "system", "interrupts", "soft interrupts"];

    /// What is busy in none of the parts. `None` when no part is known.
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
    /// Which one it is where a result has several; empty otherwise.
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
    /// Whether nothing is missing between it and the one before.
    pub joined: bool,
}

/// How often operations took how long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Which operations, where a result has several kinds; empty otherwise.
    pub name: String,
    /// Ranges of times in seconds, shortest first, and how many operations took so long.
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
    /// How many.
    pub count: f64,
}

impl Range {
    /// The time in the middle, which stands for all in the range.
    #[must_use]
    pub fn middle(self) -> f64 {
        self.from + (self.to - self.from) / 2.0
    }
}

impl Distribution {
    /// Operations in all.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.ranges.iter().map(|range| range.count).sum()
    }

    /// The time that `percent` of all operations do not exceed: as the file has it, or
    /// by the ranges, to their width. `None` without operations, and where too few were
    /// seen to tell.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let listed = self.percentiles.iter();
        let own = listed
            .clone()
            .find(|(which, _)| (which - percent).abs() < 1e-9);
        let count = self.count();
        if count > 0.0 && count * (100.0 - percent) / 100.0 < 1.0 - 1e-9 {
            return None;
        }
        if let Some((_, seconds)) = own {
            return Some(*seconds);
        }
        let wanted = count * percent / 100.0;
        let mut seen = 0.0;
        self.ranges.iter().find_map(|range| {
            seen += range.count;
            (count > 0.0 && seen >= wanted - 1e-9).then(|| range.middle())
        })
    }
}

/// Times of operations over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Which operations, where a result has several kinds; empty otherwise.
    pub name: String,
    /// One for each interval: begin and end in seconds, and the times seen.
    pub columns: Vec<(f64, f64, Vec<Range>)>,
}
