//! Stopping rule of a run: its figure is known as precisely as requested.

use crate::moments::count;
use crate::precision::{Estimate, of_mean};
use crate::steady::warm_up;

/// Minimum number of values: the first few agree by chance too often.
pub const FEWEST_VALUES: usize = 600;
/// Growth of the series between two looks. A look at every value would find one with an
/// accidentally narrow interval.
const LONGER: f64 = 1.25;
/// Earlier looks, in tenths of the values, at which the figure must have been known nearly
/// as precisely.
pub(crate) const EARLIER: [usize; 2] = [8, 6];

/// Requested precision of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Half the width of the interval as a share of the mean: 0.01 for 1 %.
    pub precision: f64,
    /// The level of confidence: 0.95 for 95 %.
    pub level: f64,
}

/// The result of a look at a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Values left out at the beginning.
    pub warm_up: usize,
    /// The mean of the others and its interval.
    pub estimate: Option<Estimate>,
    /// True if it is known as precisely as requested.
    pub enough: bool,
}

/// Estimates the figure from the series so far.
///
/// Two earlier looks must have known it nearly as precisely: an accidentally narrow interval
/// is the most likely reason to stop too early.
#[must_use]
pub fn look(values: &[f64], wanted: Wanted) -> Look {
    let now = judged(values, wanted.level);
    let known = |look: Look, precision: f64| {
        let known = |estimate: Estimate| estimate.relative() <= precision;
        look.estimate.is_some_and(known)
    };
    let enough = values.len() - now.warm_up >= FEWEST_VALUES
        && known(now, wanted.precision)
        && EARLIER.into_iter().all(|tenths| {
            let before = values.get(..values.len() * tenths / 10).unwrap_or_default();
            let precision = wanted.precision / (count(tenths) / 10.0).sqrt();
            known(judged(before, wanted.level), precision)
        });
    Look { enough, ..now }
}

fn judged(values: &[f64], level: f64) -> Look {
    let warm_up = warm_up(values);
    Look {
        warm_up,
        estimate: of_mean(values.get(warm_up..).unwrap_or_default(), level),
        enough: false,
    }
}

/// The length of the series at the look after the one at `now`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count times a small factor, and above 0"
)]
pub fn next_look(now: usize) -> usize {
    (count(now) * LONGER).ceil().max(count(FEWEST_VALUES)) as usize
}
