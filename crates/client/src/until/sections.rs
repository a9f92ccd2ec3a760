//! The times of operations, in parts of the run.

use netperf_model::latency::Bucket;
use netperf_model::{Known, Latency};
use netperf_stats::sections::{self, Times};
use netperf_stats::until::Wanted;

/// Latencies of one section, as the statistics need them.
#[derive(Clone, Debug, Default)]
struct SectionLatency(Latency);

impl Times for SectionLatency {
    fn merge(&mut self, others: &Self) {
        self.0.merge(&others.0);
    }

    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 operations")]
    fn number(&self) -> f64 {
        self.0.count as f64
    }

    fn quantile(&self, share: f64) -> Option<f64> {
        self.0.quantile(share)
    }

    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 of either")]
    fn up_to(&self, time: f64) -> f64 {
        let shorter = |range: &&Bucket| range.from as f64 <= time;
        let counts = self.0.buckets.iter().take_while(shorter);
        counts.map(|range| range.count).sum::<u64>() as f64
    }
}

/// The parts, each of what came since the one before.
#[derive(Debug, Default)]
pub(super) struct LatencySections {
    parts: sections::Sections<SectionLatency>,
    before: Latency,
}

impl LatencySections {
    /// Returns true if a section ends at this number of values.
    pub(super) fn is_due(&self, values: usize) -> bool {
        self.parts.is_due(values)
    }

    /// A part is over: what every loop has recorded until now.
    pub(super) fn add(&mut self, values: usize, loops: &[Vec<Bucket>]) {
        let now = Latency::of_loops(loops.iter().cloned()).unwrap_or_default();
        self.parts
            .add(values, SectionLatency(now.since(&self.before)));
        self.before = now;
    }

    /// A percentile of what happened behind the warm-up, in nanoseconds, and whether it is
    /// known as well as is wanted.
    pub(super) fn look(
        &self,
        percentile: f64,
        warm_up: usize,
        wanted: Wanted,
    ) -> (Option<Known>, bool) {
        let (found, enough) = self.parts.look(percentile, warm_up, wanted);
        let known = found.map(|found| Known {
            value: found.mean,
            half_width: found.half_width,
            batch: self.parts.length() * found.batch,
            batches: found.batches,
        });
        (known, enough)
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
        let mut sections = LatencySections::default();
        assert!(!sections.is_due(9));
        assert!(sections.is_due(10));
        // Were they what all came to, a tenth of the last half would be 7.
        for part in 1..=20_u64 {
            let values = usize::try_from(part).unwrap() * 10;
            let (first, second) = (part.min(10) * 50, part.saturating_sub(10) * 50);
            sections.add(values, &[vec![bucket(5, first)], vec![bucket(7, second)]]);
        }
        let wanted = Wanted {
            precision: 0.1,
            level: 0.95,
        };
        let (known, _) = sections.look(0.5, 0, wanted);
        assert!((known.unwrap().value - 5.0).abs() < 1e-9);
        let (known, enough) = sections.look(0.01, 100, wanted);
        assert_eq!((known, enough), (None, false), "ten parts say nothing");
        for part in 21..=40_u64 {
            let values = usize::try_from(part).unwrap() * 10;
            let loops = [vec![bucket(5, 500)], vec![bucket(7, (part - 10) * 50)]];
            sections.add(values, &loops);
        }
        let (known, _) = sections.look(0.01, 100, wanted);
        let known = known.unwrap();
        assert!((known.value - 7.0).abs() < 1e-9, "{known:?}");
        assert!(known.half_width.abs() < 1e-9);
    }

    #[test]
    fn times_are_counted_up_to_the_range_that_a_percentile_lies_in() {
        let part = SectionLatency(Latency::of_ranges(vec![
            bucket(5, 3),
            Bucket {
                from: 10,
                to: 13,
                count: 4,
            },
            bucket(20, 1),
        ]));
        let median = part.quantile(0.5).unwrap();
        assert!((median - 11.5).abs() < 1e-9);
        assert!((part.up_to(median) - 7.0).abs() < 1e-9);
        assert!((part.up_to(4.0)).abs() < 1e-9);
        assert!((part.number() - 8.0).abs() < 1e-9);
    }
}
