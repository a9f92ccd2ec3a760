//! The figures of a run that can be compared with those of another.

use netperf_web::Record;
use netperf_web::unit::{Quantity, Unit};

/// Which way a figure should go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More of it is better: a rate.
    More,
    /// Less of it is better: a time, a share of a CPU.
    Less,
}

impl Better {
    /// Its word in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::More => "higher",
            Self::Less => "lower",
        }
    }
}

/// Percentiles that are compared, in percent.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// A figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigure {
    /// Its name.
    pub name: String,
    /// Which way it should go.
    pub better: Better,
    /// Its value.
    pub quantity: Quantity,
}

/// Name of the result of a run.
pub(crate) fn result_name(headline: &Quantity) -> &'static str {
    if headline.unit == Unit::TransactionsPerSecond {
        "transaction rate"
    } else {
        "throughput"
    }
}

/// All figures of a run, the result first.
#[must_use]
pub fn of(record: &Record) -> Vec<RunFigure> {
    let mut figures = Vec::new();
    let mut add = |name: String, better: Better, quantity: Quantity| {
        figures.push(RunFigure {
            name,
            better,
            quantity,
        });
    };
    if let Some(headline) = &record.headline {
        let name = result_name(headline).to_owned();
        add(name, Better::More, headline.clone());
    }
    for spread in &record.spreads {
        let of = match spread.name.as_str() {
            "" => String::new(),
            name => format!("{name}, "),
        };
        let percentile = |percent: &f64| (format!("p{percent}"), spread.percentile(*percent));
        let mean = ("mean".to_owned(), spread.mean);
        for (name, seconds) in std::iter::once(mean).chain(PERCENTILES.iter().map(percentile)) {
            if let Some(seconds) = seconds {
                let time = Quantity::new(seconds, Unit::Seconds);
                let what = spread.operation.time();
                add(format!("{of}{what} {name}"), Better::Less, time);
            }
        }
    }
    // Rates and times of the run are above; what remains is the CPU that it took.
    for (name, cost) in &record.figures {
        if netperf_web::is_of_cpu(name) {
            add(name.clone(), Better::Less, cost.clone());
        }
    }
    figures
}
