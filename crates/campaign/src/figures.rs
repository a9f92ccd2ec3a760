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

/// All figures of a run, the result first.
#[must_use]
pub fn of(record: &Record) -> Vec<RunFigure> {
    let mut figures = Vec::new();
    if let Some(headline) = &record.headline {
        let name = if headline.unit == Unit::TransactionsPerSecond {
            "transaction rate"
        } else {
            "throughput"
        };
        figures.push(figure(name.to_owned(), Better::More, headline.clone()));
    }
    for spread in &record.spreads {
        let of = match spread.name.as_str() {
            "" => String::new(),
            name => format!("{name}, "),
        };
        let percentiles = PERCENTILES.iter().filter_map(|percent| {
            let seconds = spread.percentile(*percent)?;
            Some((format!("{of}latency p{percent}"), seconds))
        });
        let mean = spread.mean.map(|mean| (format!("{of}latency mean"), mean));
        for (name, seconds) in mean.into_iter().chain(percentiles) {
            let time = Quantity::new(seconds, Unit::Seconds);
            figures.push(figure(name, Better::Less, time));
        }
    }
    // Rates and times of the run are above; what remains is what it cost.
    let costs = record
        .figures
        .iter()
        .filter(|(name, _)| name.starts_with("CPU"));
    figures.extend(costs.map(|(name, cost)| figure(name.clone(), Better::Less, cost.clone())));
    figures
}

fn figure(name: String, better: Better, quantity: Quantity) -> RunFigure {
    RunFigure {
        name,
        better,
        quantity,
    }
}
