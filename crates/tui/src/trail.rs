//! A figure over time.

/// Maximum number of values, more than any screen has columns.
const MOST: usize = 1024;

/// Summary of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Their mean.
    Mean,
    /// The largest.
    Largest,
}

/// Values at equal distances. Beyond the maximum each two are merged.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    merge: Merge,
    /// The largest possible value, if known.
    pub(crate) full: Option<f64>,
    values: Vec<Option<f64>>,
    /// The number of ticks per entry of `values`.
    each: usize,
    /// Ticks for the next entry.
    waiting: Vec<Option<f64>>,
}

impl Trail {
    pub(crate) const fn new(merge: Merge) -> Self {
        Self {
            merge,
            full: None,
            values: Vec::new(),
            each: 1,
            waiting: Vec::new(),
        }
    }

    /// Sets the largest possible value.
    pub(crate) fn up_to(self, full: f64) -> Self {
        Self {
            full: Some(full),
            ..self
        }
    }

    /// Adds a value; `None` for a missing one.
    pub(crate) fn push(&mut self, value: Option<f64>) {
        self.waiting.push(value);
        if self.waiting.len() < self.each {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.values.push(self.one(&waiting));
        if self.values.len() >= MOST {
            self.values = self.values.chunks(2).map(|two| self.one(two)).collect();
            self.each *= 2;
        }
    }

    /// The whole series, in at most `columns` values.
    pub(crate) fn within(&self, columns: usize) -> Vec<Option<f64>> {
        let group = self.values.len().div_ceil(columns.max(1)).max(1);
        let groups = self.values.chunks(group);
        groups.map(|group| self.one(group)).collect()
    }

    /// The summary of several values.
    fn one(&self, values: &[Option<f64>]) -> Option<f64> {
        let known = values.iter().flatten();
        match self.merge {
            Merge::Largest => known.copied().reduce(f64::max),
            Merge::Mean => {
                let (sum, count) =
                    known.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
                (count > 0).then(|| sum / f64::from(count))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_trail_is_shown_whole() {
        let mut trail = Trail::new(Merge::Largest);
        for value in 0..5000 {
            trail.push(Some(f64::from(value)));
        }
        assert!(trail.values.len() < MOST);
        let shown = trail.within(10);
        assert!(shown.len() <= 10 && shown.len() > 5, "{shown:?}");
        assert!(
            shown
                .last()
                .copied()
                .flatten()
                .is_some_and(|last| last > 4900.0)
        );
    }

    #[test]
    fn means_leave_out_unknown_values() {
        let mut trail = Trail::new(Merge::Mean);
        for value in [Some(1.0), None, Some(3.0), None] {
            trail.push(value);
        }
        assert_eq!(trail.within(1), [Some(2.0)]);
        assert_eq!(trail.within(2), [Some(1.0), Some(3.0)]);
        assert_eq!(trail.within(4), [Some(1.0), None, Some(3.0), None]);
    }
}
