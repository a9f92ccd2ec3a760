//! Histograms of test results, for the metrics.

/// Upper bounds of throughput, in bits per second.
pub const BITS: [f64; 12] = [
    1e5, 1e6, 1e7, 1e8, 1e9, 2.5e9, 5e9, 1e10, 2.5e10, 5e10, 1e11, 4e11,
];
/// Upper bounds of transactions per second.
pub const TRANSACTIONS: [f64; 12] = [
    1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6,
];

/// Number of results up to each bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResultHistogram {
    /// Results in each bucket, without those of lower buckets.
    counts: [u64; 12],
    /// All results, including those above the last bound.
    pub count: u64,
    /// Sum of all results.
    pub sum: f64,
}

impl ResultHistogram {
    /// Adds a result.
    pub fn add(&mut self, bounds: &[f64; 12], result: f64) {
        let bucket = bounds.iter().zip(&mut self.counts);
        if let Some((_, count)) = bucket.into_iter().find(|(bound, _)| result <= **bound) {
            *count = count.saturating_add(1);
        }
        self.count = self.count.saturating_add(1);
        self.sum += result;
    }

    /// Adds the results of another histogram with the same bounds.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum += other.sum;
    }

    /// Number of results up to each bound.
    pub fn cumulative(&self) -> impl Iterator<Item = u64> {
        self.counts.into_iter().scan(0_u64, |all, count| {
            *all = all.saturating_add(count);
            Some(*all)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_counts_in_its_bucket_and_in_all_above() {
        let mut one = ResultHistogram::default();
        for result in [1e5, 2e6, 1e12] {
            one.add(&BITS, result);
        }
        let mut all = one;
        all.merge(&one);
        let up_to: Vec<u64> = all.cumulative().collect();
        assert_eq!(up_to, [2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
        assert_eq!(all.count, 6);
        assert!((all.sum - 2.0 * 1_000_002_100_000.0).abs() < 1.0);
    }
}
