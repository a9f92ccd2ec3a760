//! Level changes of a figure, and the facts that changed with them.

use std::collections::{BTreeMap, HashMap};

use netperf_stats::moments::median;
use netperf_stats::shift::shifts;

use crate::error::HistoryError;
use crate::manifest::{self, Difference, ManifestFacts};
use crate::store::{Configuration, FigureKind, Filter, Store, TrendPoint};

/// Default probability of a false alarm for each change.
pub const CHANCE: f64 = 0.01;
/// Default number of results in a series.
pub const LAST: u32 = 5000;

/// A series and its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The configuration of the results.
    pub configuration: Configuration,
    /// The kind of figure.
    pub kind: FigureKind,
    /// The probability of a false alarm for each change.
    pub chance: f64,
    /// The series, the oldest result first.
    pub points: Vec<TrendPoint>,
    /// Its changes in this order.
    pub changes: Vec<LevelChange>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelChange {
    /// The first result of the new level.
    pub first: TrendPoint,
    /// The level before it.
    pub before: Level,
    /// The new one.
    pub after: Level,
    /// The probability of such a change by chance.
    pub probability: f64,
    /// Facts that differ between both.
    pub differences: Vec<Difference>,
}

/// Results between two changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The number of results.
    pub results: usize,
    /// The median of the figure.
    pub median: f64,
}

impl LevelChange {
    /// The new level as a multiple of the old one.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.after.median / self.before.median
    }

    /// Returns true if the change is an improvement, for a figure with the direction
    /// `better`.
    #[must_use]
    pub fn word(&self, better: &str) -> &'static str {
        let higher = self.after.median > self.before.median;
        if higher == (better == "higher") {
            "better"
        } else {
            "worse"
        }
    }
}

/// Looks for changes in the last results of a configuration.
///
/// # Errors If the store fails.
pub fn find(
    store: &mut Store,
    of: (&Configuration, &FigureKind),
    filter: &Filter,
    last: u32,
    chance: f64,
) -> Result<Changes, HistoryError> {
    let (configuration, kind) = of;
    let points = store.series(kind, filter, Some(last))?;
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let cuts = shifts(&values, chance);
    let ends = cuts.iter().map(|cut| cut.at).chain([points.len()]);
    let begins = [0].into_iter().chain(cuts.iter().map(|cut| cut.at));
    let parts: Vec<&[TrendPoint]> = begins
        .zip(ends)
        .filter_map(|(begin, end)| points.get(begin..end))
        .collect();
    let mut ids: Vec<i64> = points.iter().map(|point| point.manifest).collect();
    ids.sort_unstable();
    ids.dedup();
    let facts = if cuts.is_empty() {
        HashMap::new()
    } else {
        store.manifests(&ids)?
    };
    let side = |part: &&[TrendPoint]| {
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        for point in *part {
            *counts.entry(point.manifest).or_default() += 1;
        }
        let known = counts.into_iter();
        let known = known.filter_map(|(id, count)| Some((facts.get(&id)?.clone(), count)));
        known.collect()
    };
    let sides: Vec<Vec<(ManifestFacts, usize)>> = parts.iter().map(side).collect();
    let pairs = parts.windows(2).zip(sides.windows(2)).zip(&cuts);
    let changes = pairs.filter_map(|((parts, sides), cut)| {
        let ([before, after], [one, other]) = (parts, sides) else {
            return None;
        };
        Some(LevelChange {
            first: *after.first()?,
            before: level(before)?,
            after: level(after)?,
            probability: cut.probability,
            differences: manifest::differences(one, other),
        })
    });
    Ok(Changes {
        configuration: configuration.clone(),
        kind: kind.clone(),
        chance,
        changes: changes.collect(),
        points,
    })
}

fn level(points: &[TrendPoint]) -> Option<Level> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    Some(Level {
        results: values.len(),
        median: median(&values)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(value: f64) -> TrendPoint {
        TrendPoint {
            started: 0,
            result: 1,
            manifest: 1,
            value,
        }
    }

    fn change(before: f64, after: f64) -> LevelChange {
        let level = |median| Level { results: 5, median };
        LevelChange {
            first: point(after),
            before: level(before),
            after: level(after),
            probability: 0.001,
            differences: Vec::new(),
        }
    }

    #[test]
    fn a_change_is_a_ratio_and_better_or_worse() {
        let (up, down) = (change(200.0, 300.0), change(200.0, 150.0));
        assert_eq!((up.ratio(), down.ratio()), (1.5, 0.75));
        assert_eq!(
            (up.word("higher"), down.word("higher")),
            ("better", "worse")
        );
        assert_eq!((up.word("lower"), down.word("lower")), ("worse", "better"));
    }

    #[test]
    fn a_level_is_the_median_of_its_results() {
        let found = level(&[1.0, 9.0, 2.0].map(point));
        let expected = Level {
            results: 3,
            median: 2.0,
        };
        assert_eq!(found, Some(expected));
        assert_eq!(level(&[]), None);
    }
}
