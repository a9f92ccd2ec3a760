//! Latencies in sections of a run, and the uncertainty of their percentiles.

use crate::moments::count;
use crate::precision::{Estimate, of_mean};
use crate::until::{EARLIER, Wanted};

/// Initial number of throughput values in a section.
const LENGTH: usize = 10;
/// Maximum number of sections; beyond it neighbours are merged.
const MOST: usize = 64;
/// A percentile is unknown with fewer operations than this on either side of it.
const FEWEST_BEYOND: f64 = 5.0;
/// Weight of the wider side of an interval in the reported width.
const WIDER: f64 = 0.75;

/// The times of some operations.
pub trait Times: Clone + Default {
    /// Adds the times of another.
    fn merge(&mut self, others: &Self);

    /// The number of times.
    fn number(&self) -> f64;

    /// The time that a share, from 0 to 1, does not exceed.
    fn quantile(&self, share: f64) -> Option<f64>;

    /// The number of times up to and including this one.
    fn up_to(&self, time: f64) -> f64;
}

/// One section of the run.
#[derive(Clone, Debug)]
struct Section<T> {
    /// Its first value.
    from: usize,
    times: T,
}

/// Consecutive sections of equal length.
#[derive(Debug)]
pub struct Sections<T> {
    length: usize,
    all: Vec<Section<T>>,
    /// The first value of the next section.
    from: usize,
}

impl<T: Times> Default for Sections<T> {
    fn default() -> Self {
        Self {
            length: LENGTH,
            all: Vec::new(),
            from: 0,
        }
    }
}

impl<T: Times> Sections<T> {
    /// Returns true if a section is complete when the run has this many values.
    #[must_use]
    pub fn is_due(&self, values: usize) -> bool {
        values >= self.from + self.length
    }

    /// Adds a complete section with these times.
    pub fn add(&mut self, values: usize, times: T) {
        self.all.push(Section {
            from: self.from,
            times,
        });
        self.from = values;
        if self.all.len() >= MOST {
            self.join();
        }
    }

    /// Merges every two neighbours.
    fn join(&mut self) {
        self.length *= 2;
        let joined = self.all.chunks(2).filter_map(|pair| {
            let (first, rest) = pair.split_first()?;
            let mut first = first.clone();
            rest.iter().for_each(|next| first.times.merge(&next.times));
            Some(first)
        });
        self.all = joined.collect();
    }

    /// The number of throughput values in a section.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// A percentile of the times after the warm-up, and whether it is known as precisely as
    /// requested.
    ///
    /// Two earlier looks must have known it nearly as precisely: an accidentally narrow
    /// interval is the most likely reason to stop too early.
    #[must_use]
    pub fn look(&self, share: f64, warm_up: usize, wanted: Wanted) -> (Option<Estimate>, bool) {
        let kept: Vec<&T> = self
            .all
            .iter()
            .filter(|section| section.from >= warm_up)
            .map(|section| &section.times)
            .collect();
        let within = |known: Option<Estimate>, precision: f64| {
            known.is_some_and(|known| known.relative() <= precision)
        };
        let was_known = |tenths: usize| {
            let before = kept.get(..kept.len() * tenths / 10).unwrap_or_default();
            let precision = wanted.precision / (count(tenths) / 10.0).sqrt();
            within(known(before, share, wanted.level), precision)
        };
        let now = known(&kept, share, wanted.level);
        let enough = within(now, wanted.precision) && EARLIER.into_iter().all(was_known);
        (now, enough)
    }
}

/// A percentile of the times in all of these sections, and its uncertainty.
///
/// The share of operations up to the percentile is counted for each section. The interval
/// of its mean accounts for the correlation of sections ([`of_mean`]), and the times at
/// both ends of that interval bound the percentile (R. S. Woodruff: Confidence Intervals
/// for Medians and Other Position Measures, 1952). A section may have too few operations
/// for its own percentile.
fn known<T: Times>(parts: &[&T], share: f64, level: f64) -> Option<Estimate> {
    let mut all = T::default();
    parts.iter().for_each(|part| all.merge(part));
    if all.number() * share.min(1.0 - share) < FEWEST_BEYOND {
        return None;
    }
    let value = all.quantile(share)?;
    let each = all.number() / count(parts.len());
    // Scaled to equal numbers of operations: one more does not mean a longer time.
    let shares: Vec<f64> = parts
        .iter()
        .map(|part| share + (part.up_to(value) - share * part.number()) / each)
        .collect();
    let found = of_mean(&shares, level)?;
    let below = value - all.quantile((share - found.half_width).max(0.0))?;
    let above = all.quantile((share + found.half_width).min(1.0))? - value;
    let half_width = below.max(above) * WIDER + below.min(above) * (1.0 - WIDER);
    Some(Estimate {
        mean: value,
        half_width,
        error: half_width * found.error / found.half_width.max(f64::MIN_POSITIVE),
        ..found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in ascending order.
    #[derive(Clone, Debug, Default)]
    struct Few(Vec<f64>);

    impl Times for Few {
        fn merge(&mut self, others: &Self) {
            self.0.extend(&others.0);
            self.0.sort_by(f64::total_cmp);
        }

        fn number(&self) -> f64 {
            count(self.0.len())
        }

        fn quantile(&self, share: f64) -> Option<f64> {
            let rank = (share * self.number()).ceil().max(1.0);
            let at = (1..=self.0.len()).find(|at| count(*at) >= rank)?;
            self.0.get(at - 1).copied()
        }

        fn up_to(&self, time: f64) -> f64 {
            count(self.0.iter().filter(|own| **own <= time).count())
        }
    }

    const WANTED: Wanted = Wanted {
        precision: 0.1,
        level: 0.95,
    };

    #[test]
    fn two_parts_become_one_where_there_would_be_too_many() {
        let mut sections = Sections::default();
        assert!(!sections.is_due(LENGTH - 1));
        for part in 1..=MOST {
            assert!(sections.is_due(part * LENGTH));
            sections.add(part * LENGTH, Few(vec![100.0; 3]));
        }
        assert_eq!(sections.all.len(), MOST / 2);
        assert_eq!(sections.length(), 2 * LENGTH);
        assert_eq!(sections.all[1].from, 2 * LENGTH);
        assert!(sections.all.iter().all(|part| part.times.0.len() == 6));
        let (known, enough) = sections.look(0.5, 0, WANTED);
        assert!((known.unwrap().mean - 100.0).abs() < 1e-9);
        assert!(known.unwrap().half_width.abs() < 1e-9 && enough);
        // All but one are warm-up.
        let (known, enough) = sections.look(0.5, 31 * 2 * LENGTH, WANTED);
        assert!(known.is_none() && !enough);
    }

    #[test]
    fn a_percentile_with_hardly_anything_beyond_is_not_known() {
        let mut sections = Sections::default();
        for part in 0..20 {
            sections.add((part + 1) * LENGTH, Few(vec![100.0; 100]));
        }
        assert!(sections.look(0.99, 0, WANTED).0.is_some());
        let (known, enough) = sections.look(0.999, 0, WANTED);
        assert!(known.is_none() && !enough);
        assert_eq!(sections.look(0.001, 0, WANTED).0, None);
    }

    #[test]
    fn a_percentile_that_differs_from_part_to_part_is_known_less() {
        let of = |level: fn(usize) -> f64| {
            let mut sections = Sections::default();
            for part in 0..50 {
                let times = (0..100).map(|step| level(part) + count(step) / 10.0);
                sections.add((part + 1) * LENGTH, Few(times.collect()));
            }
            sections.look(0.5, 0, WANTED)
        };
        let (alike, enough) = of(|_| 100.0);
        assert!(enough && alike.unwrap().relative() < 0.01);
        let (unlike, enough) = of(|part| if part / 10 % 2 == 0 { 100.0 } else { 300.0 });
        assert!(!enough && unlike.unwrap().relative() > 0.1);
    }
}
