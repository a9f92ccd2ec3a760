//! Counts that grow, in intervals.

/// The end of the last interval, and the counts at that time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intervals<T, C> {
    end: T,
    counts: C,
}

impl<T: Copy, C> Intervals<T, C> {
    /// The first interval begins, with these counts.
    pub const fn begin(at: T, counts: C) -> Self {
        Self { end: at, counts }
    }

    /// End of the last interval; at first, the beginning.
    pub const fn end(&self) -> T {
        self.end
    }

    /// Counts at that time.
    pub const fn counts(&self) -> &C {
        &self.counts
    }

    /// An interval ends at this time and with these counts. Returns its begin and the counts at
    /// that time.
    pub fn finish(&mut self, end: T, counts: C) -> (T, C) {
        let begin = std::mem::replace(&mut self.end, end);
        (begin, self.add(counts))
    }

    /// Adds to the last interval what was counted up to its end. Returns the counts before.
    pub fn add(&mut self, counts: C) -> C {
        std::mem::replace(&mut self.counts, counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_begins_where_the_one_before_ended() {
        let mut intervals = Intervals::begin(10, "a");
        assert_eq!(intervals.finish(20, "b"), (10, "a"));
        assert_eq!(intervals.add("c"), "b");
        assert_eq!((intervals.end(), *intervals.counts()), (20, "c"));
        assert_eq!(intervals.finish(30, "d"), (20, "c"));
    }
}
