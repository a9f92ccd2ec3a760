//! The times of operations, in parts of the run.

use netperf_model::latency::Bucket;
use netperf_model::{Known, Latency};
use netperf_stats::precision::of_sections;

/// Values of the throughput in a part, at first.
const LENGTH: usize = 10;
/// Where there would be more parts than this, two neighbours become one.
const MOST: usize = 64;
/// Fewer parts than this say nothing.
const FEWEST: usize = 15;

/// One part of the run.
#[derive(Clone, Debug)]
struct Section {
    /// Its first value.
    from: usize,
    times: Latency,
}

/// The parts, one behind the other and all of one length.
#[derive(Debug)]
pub(super) struct Sections {
    length: usize,
    all: Vec<Section>,
    /// Where the next one begins, and what there was by then.
    from: usize,
    before: Latency,
}

impl Sections {
    pub(super) fn new() -> Self {
        Self {
            length: LENGTH,
            all: Vec::new(),
            from: 0,
            before: Latency::default(),
        }
    }

    /// Whether a part is over when there are so many values.
    pub(super) fn is_due(&self, values: usize) -> bool {
        values >= self.from + self.length
    }

    /// A part is over: what every loop has recorded until now.
    pub(super) fn add(&mut self, values: usize, loops: &[Vec<Bucket>]) {
        let now = Latency::of_loops(loops.iter().cloned()).unwrap_or_default();
        self.all.push(Section {
            from: self.from,
            times: now.since(&self.before),
        });
        (self.from, self.before) = (values, now);
        if self.all.len() >= MOST {
            self.join();
        }
    }

    /// Makes one of every two.
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

    /// A percentile of what happened behind the warm-up, in nanoseconds; `share` of the
    /// parts from the first one on.
    pub(super) fn known(
        &self,
        percentile: f64,
        level: f64,
        warm_up: usize,
        share: f64,
    ) -> Option<Known> {
        let kept: Vec<&Section> = self
            .all
            .iter()
            .filter(|section| section.from >= warm_up)
            .collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a small number"
        )]
        let number = (share * netperf_stats::moments::count(kept.len())).ceil() as usize;
        let kept = kept.get(..number)?;
        let mut overall = Latency::default();
        kept.iter()
            .for_each(|section| overall.merge(&section.times));
        let each: Vec<f64> = kept
            .iter()
            .filter_map(|section| section.times.quantile(percentile))
            .collect();
        let overall = overall.quantile(percentile)?;
        let found = of_sections(&each, overall, level).filter(|_| each.len() >= FEWEST)?;
        Some(Known {
            value: overall,
            half_width: found.half_width,
            batch: self.length,
            batches: found.batches,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(from: u64, count: u64) -> Bucket {
        Bucket {
            from,
            to: from,
            count,
        }
    }

    #[test]
    fn a_part_has_what_came_since_the_one_before() {
        let mut sections = Sections::new();
        assert!(!sections.is_due(9));
        assert!(sections.is_due(10));
        sections.add(10, &[vec![bucket(5, 3)], vec![bucket(7, 1)]]);
        sections.add(20, &[vec![bucket(5, 4)], vec![bucket(6, 2), bucket(7, 1)]]);
        let counts: Vec<u64> = sections.all.iter().map(|part| part.times.count).collect();
        assert_eq!(counts, [4, 3]);
        assert_eq!(sections.all[1].times.buckets, [bucket(5, 1), bucket(6, 2)]);
    }

    #[test]
    fn two_parts_become_one_where_there_would_be_too_many() {
        let mut sections = Sections::new();
        for part in 1..=MOST {
            sections.add(part * LENGTH, &[vec![bucket(100, part as u64 * 50)]]);
        }
        assert_eq!(sections.all.len(), MOST / 2);
        assert_eq!(sections.length, 2 * LENGTH);
        assert!(sections.all.iter().all(|part| part.times.count == 100));
        assert_eq!(sections.all[1].from, 2 * LENGTH);
        let known = sections.known(0.5, 0.95, 0, 1.0).unwrap();
        assert!((known.value - 100.0).abs() < 1e-9);
        assert!(known.half_width.abs() < 1e-9);
        // All but one are warm-up.
        assert_eq!(sections.known(0.5, 0.95, 31 * 2 * LENGTH, 1.0), None);
    }
}
