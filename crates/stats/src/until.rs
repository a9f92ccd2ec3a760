//! When a run may stop: its figure is known as well as was asked.

use crate::moments::count;
use crate::precision::{Estimate, of_mean};
use crate::steady::warm_up;

/// No run is judged by fewer values than this: the first few happen to agree too often.
pub const FEWEST_VALUES: usize = 600;
/// How much longer the series is at each look. Looking at every value would find one at
/// which it happens to agree.
const LONGER: f64 = 1.25;

/// How well a figure must be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Half the width of the interval as a share of the mean: 0.01 for 1 %.
    pub precision: f64,
    /// The level of confidence: 0.95 for 95 %.
    pub level: f64,
}

/// What a look at a series came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Values that were left out at the beginning.
    pub warm_up: usize,
    /// The mean of the others and its interval.
    pub estimate: Option<Estimate>,
    /// Whether it is known as well as was wanted.
    pub enough: bool,
}

/// Looks at the series so far.
///
/// What was known a moment ago must have been known nearly as well: an interval that is
/// narrow by accident is the likeliest reason to stop too early.
#[must_use]
pub fn look(values: &[f64], wanted: Wanted) -> Look {
    let now = judged(values, wanted.level);
    let before = values.get(..values.len() * 4 / 5).unwrap_or_default();
    let before = judged(before, wanted.level);
    let known = |look: Look, precision: f64| {
        let known = |estimate: Estimate| estimate.relative() <= precision;
        look.estimate.is_some_and(known)
    };
    let enough = values.len() - now.warm_up >= FEWEST_VALUES
        && known(now, wanted.precision)
        && known(before, wanted.precision * LONGER.sqrt());
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

/// How many values the series shall have at the look after one at `now`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count times a small factor, and above 0"
)]
pub fn next_look(now: usize) -> usize {
    (count(now) * LONGER).ceil().max(count(FEWEST_VALUES)) as usize
}
