//! Offset of the clocks over a run, within the bounds that all exchanges leave.

use super::{ClockOffset, Pair, whole};

/// The most that two clocks drift apart: each may be slewed by 500 parts per million
/// (adjtimex(2)).
const MOST_DRIFT: f64 = 1e-3;
/// Steps of a search. Each leaves two thirds of an interval, or a half.
const STEPS: u32 = 60;
/// Half the resolution of the timestamps, nanoseconds.
const RESOLUTION: f64 = 0.5;

/// Lowest and highest possible value.
type OffsetLimits = [f64; 2];

/// The offset of the clocks: the line in the middle of all those that lie within the bounds of all
/// exchanges.
#[derive(Clone, Copy, Debug)]
pub(super) struct OffsetLine {
    /// Middle of the run, nanoseconds since the first exchange.
    middle: f64,
    /// Offset at the middle, from the base, nanoseconds.
    offset: f64,
    /// Relative speed of netserver's clock; 0 where it cannot be told from 0.
    drift: f64,
    offsets: OffsetLimits,
    drifts: OffsetLimits,
}

/// Bounds of the offset from the base that exchanges leave.
struct OffsetBounds<'p> {
    pairs: &'p [Pair],
    base: i64,
    middle: f64,
    /// Bounds are wider by this, so that a line lies within all of them.
    slack: f64,
}

impl OffsetBounds<'_> {
    /// Limits of the offset at the middle of the run, with this drift. The lower one is above the
    /// other if there is no such line.
    fn at(&self, drift: f64) -> OffsetLimits {
        let start = [f64::NEG_INFINITY, f64::INFINITY];
        self.pairs.iter().fold(start, |[low, high], pair| {
            let offset = pair.offset(self.base) - drift * (pair.at - self.middle);
            let error = pair.error() + self.slack;
            [low.max(offset - error), high.min(offset + error)]
        })
    }

    /// Distance of the limits, which is concave.
    fn space(&self, drift: f64) -> f64 {
        let [low, high] = self.at(drift);
        high - low
    }

    /// The drift farthest from a possible one towards `limit` that is possible, too.
    fn edge(&self, possible: f64, limit: f64) -> f64 {
        if self.space(limit) >= 0.0 {
            return limit;
        }
        let (mut within, mut outside) = (possible, limit);
        for _ in 0..STEPS {
            let middle = f64::midpoint(within, outside);
            if self.space(middle) >= 0.0 {
                within = middle;
            } else {
                outside = middle;
            }
        }
        within
    }
}

/// The point at which a concave function is highest.
fn highest([mut low, mut high]: OffsetLimits, of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        if of(low + third) < of(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    f64::midpoint(low, high)
}

impl OffsetLine {
    /// Through the bounds of these exchanges, of which there is at least one.
    pub(super) fn through(pairs: &[Pair], base: i64) -> Option<Self> {
        let mut bounds = OffsetBounds {
            pairs,
            base,
            middle: pairs.last()?.at / 2.0,
            slack: RESOLUTION,
        };
        let possible = [-MOST_DRIFT, MOST_DRIFT];
        let widest = highest(possible, |drift| bounds.space(drift));
        // No line lies within all bounds if a clock did not run evenly.
        let missing = (-bounds.space(widest) / 2.0).max(0.0);
        bounds.slack += 2.0 * missing;
        let drifts = possible.map(|limit| bounds.edge(widest, limit));
        let lowest = highest(drifts, |drift| -bounds.at(drift)[0]);
        let topmost = highest(drifts, |drift| bounds.at(drift)[1]);
        let is_level = drifts[0] <= 0.0 && drifts[1] >= 0.0;
        let drift = if is_level {
            0.0
        } else {
            f64::midpoint(drifts[0], drifts[1])
        };
        let [low, high] = bounds.at(drift);
        Some(Self {
            middle: bounds.middle,
            offset: f64::midpoint(low, high),
            drift,
            offsets: [bounds.at(lowest)[0], bounds.at(topmost)[1]],
            drifts,
        })
    }

    /// The offset at a time, from the base.
    pub(super) fn offset_at(&self, at: f64) -> f64 {
        self.offset + self.drift * (at - self.middle)
    }

    pub(super) fn clock(&self, base: i64) -> ClockOffset {
        const BILLION: f64 = 1e9;
        let farthest = |[low, high]: OffsetLimits, from: f64| (high - from).max(from - low);
        let is_known = self.drifts[0] > -MOST_DRIFT && self.drifts[1] < MOST_DRIFT;
        let drift_error = if is_known {
            farthest(self.drifts, self.drift) * BILLION
        } else {
            f64::INFINITY
        };
        ClockOffset {
            nanos: base.saturating_add(whole(self.offset)),
            error: farthest(self.offsets, self.offset),
            drift: (self.drift != 0.0).then_some(self.drift * BILLION),
            drift_error,
        }
    }
}
