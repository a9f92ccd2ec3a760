//! Axes: positions of values, and tick marks.

use super::scene::width_of;
use crate::unit::Unit;

/// The scaling of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    /// Evenly.
    Linear,
    /// By their logarithm.
    Log,
    /// Shares below 1 by how close they are to it: 0, 0.9, 0.99, 0.999 are as far apart.
    Nines,
}

impl Law {
    /// The name that the script of a page knows it by.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "log",
            Self::Nines => "nines",
        }
    }
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AxisScale {
    law: Law,
    low: f64,
    high: f64,
    /// Pixels of the ends.
    ends: (f64, f64),
}

/// A labelled value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Its position in pixels.
    pub(crate) at: f64,
    /// Its label.
    pub(crate) text: String,
}

impl AxisScale {
    /// An axis for all of `values`. A linear one has 0 on it and ends at round numbers.
    pub(crate) fn over(law: Law, unit: &Unit, values: impl Iterator<Item = f64>) -> Self {
        let usable =
            |value: &f64| super::size::is_drawable(*value) && (law != Law::Log || *value > 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(usable) {
            low = low.min(value);
            high = high.max(value);
        }
        let ends = (0.0, 1.0);
        let (low, high) = match law {
            Law::Linear if low > high => (0.0, 1.0),
            Law::Linear => linear_ends(low.min(0.0), high.max(0.0), unit),
            Law::Log if low > high => (1.0, 10.0),
            Law::Log => log_ends(low, high),
            Law::Nines => (0.0, high.clamp(0.99, 1.0 - 1e-12)),
        };
        Self {
            law,
            low,
            high,
            ends,
        }
    }

    /// A linear axis that ends where the values do.
    pub(crate) fn exactly(low: f64, high: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self {
            law: Law::Linear,
            low,
            high,
            ends: (0.0, 1.0),
        }
    }

    /// The same from pixel to pixel.
    pub(crate) fn between(self, from: f64, to: f64) -> Self {
        Self {
            ends: (from, to),
            ..self
        }
    }

    /// The values at its ends.
    pub(crate) const fn values(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// A value, transformed by the law of the axis.
    fn bent(&self, value: f64) -> f64 {
        match self.law {
            Law::Linear => value,
            Law::Log => value.max(f64::MIN_POSITIVE).log10(),
            Law::Nines => -(1.0 - value.clamp(0.0, 1.0 - 1e-15)).log10(),
        }
    }

    /// The position of a value on the axis: from 0 to 1 within it.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.bent(self.low), self.bent(self.high));
        if high > low {
            (self.bent(value) - low) / (high - low)
        } else {
            0.0
        }
    }

    /// The pixel of a value, which stays within the axis.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (from, to) = self.ends;
        from + (to - from) * self.share(value).clamp(0.0, 1.0)
    }

    /// The value at a share of the axis.
    pub(crate) fn value_at(&self, share: f64) -> f64 {
        let (low, high) = (self.bent(self.low), self.bent(self.high));
        let bent = low + (high - low) * share;
        match self.law {
            Law::Linear => bent,
            Law::Log => 10_f64.powf(bent),
            Law::Nines => 1.0 - 10_f64.powf(-bent),
        }
    }

    /// The divisor of the numbers of a linear axis, and the symbol of the unit.
    pub(crate) fn unit(&self, unit: &Unit) -> (f64, String) {
        unit.scaled(self.high.abs().max(self.low.abs()))
    }

    /// Ticks, at most about `wanted`.
    pub(crate) fn ticks(&self, wanted: usize, unit: &Unit) -> Vec<Tick> {
        match self.law {
            Law::Linear => self.linear_ticks(wanted, unit),
            Law::Log => self.log_ticks(wanted, unit),
            Law::Nines => self.nines(),
        }
    }

    /// The tick at a value.
    pub(crate) fn tick(&self, value: f64, text: String) -> Tick {
        Tick {
            at: self.place(value),
            text,
        }
    }

    fn linear_ticks(&self, wanted: usize, unit: &Unit) -> Vec<Tick> {
        let (factor, _) = self.unit(unit);
        let (low, high) = (self.low / factor, self.high / factor);
        let step = step(high - low, wanted, unit);
        let decimals = decimals(step);
        let first = (low / step - 1e-9).ceil();
        (0..40_u32)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|value| *value <= high + step * 1e-6)
            .map(|value| self.tick(value * factor, written(value, decimals)))
            .collect()
    }

    fn log_ticks(&self, wanted: usize, unit: &Unit) -> Vec<Tick> {
        let (low, high) = (self.low.log10(), self.high.log10());
        let decades = high - low;
        let digits: &[f64] = if decades <= 1.5 {
            &[1.0, 2.0, 3.0, 5.0, 7.0]
        } else if decades <= 2.5 {
            &[1.0, 2.0, 5.0]
        } else if decades <= 4.5 {
            &[1.0, 3.0]
        } else {
            &[1.0]
        };
        let every = (decades / crate::number::of(wanted.max(1))).ceil().max(1.0);
        let mut ticks = Vec::new();
        let mut decade = low.floor();
        while decade <= high && ticks.len() < 60 {
            for digit in digits {
                let value = digit * 10_f64.powf(decade);
                if value >= self.low * 0.999_999 && value <= self.high * 1.000_001 {
                    let (factor, sign) = unit.scaled(value);
                    let text = format!("{} {sign}", crate::unit::short(value / factor));
                    ticks.push(self.tick(value, text.trim_end().to_owned()));
                }
            }
            decade += every;
        }
        ticks
    }

    /// The median, and each number of nines; 0 % where it fits beside the median.
    fn nines(&self) -> Vec<Tick> {
        let median = self.tick(0.5, "50 %".to_owned());
        let zero = self.tick(0.0, "0 %".to_owned());
        let between = (width_of(&median.text) + width_of(&zero.text)) / 2.0 + 8.0;
        let has_room = median.at - zero.at >= between;
        let mut ticks: Vec<Tick> = has_room.then_some(zero).into_iter().collect();
        ticks.push(median);
        for nines in 1..=12_i32 {
            let share = 1.0 - 10_f64.powi(-nines);
            if share > self.high + 1e-15 {
                break;
            }
            let decimals = usize::try_from(nines - 2).unwrap_or(0);
            ticks.push(self.tick(share, format!("{:.decimals$} %", share * 100.0)));
        }
        ticks
    }
}

/// A step of 1, 2, 2.5 or 5 at some power of ten that makes about `wanted` of a length.
fn step(length: f64, wanted: usize, unit: &Unit) -> f64 {
    let rough = length / crate::number::of(wanted.max(1));
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let fits = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter();
    let factor = fits
        .into_iter()
        .find(|factor| factor * power >= rough * 0.999);
    let step = factor.unwrap_or(10.0) * power;
    // Counts have no fractions.
    if matches!(unit, Unit::Count(_)) {
        step.max(1.0)
    } else {
        step
    }
}

fn decimals(step: f64) -> usize {
    (0..6_usize)
        .find(|decimals| {
            let shifted = step * 10_f64.powf(crate::number::of(*decimals));
            (shifted - shifted.round()).abs() < shifted * 1e-6
        })
        .unwrap_or(6)
}

fn written(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e7 {
        return crate::unit::short(value);
    }
    let text = format!("{value:.decimals$}");
    let text = if text
        .trim_start_matches('-')
        .chars()
        .all(|letter| matches!(letter, '0' | '.'))
    {
        "0".to_owned()
    } else {
        text
    };
    crate::unit::apart(&text)
}

/// Steps of an axis, about.
const STEPS: usize = 5;

/// Ends at steps of the numbers that are written.
fn linear_ends(low: f64, high: f64, unit: &Unit) -> (f64, f64) {
    if low == high {
        return (0.0, 1.0);
    }
    let (factor, _) = unit.scaled(high.abs().max(low.abs()));
    let step = step((high - low) / factor, STEPS, unit) * factor;
    (
        (low / step + 1e-9).floor() * step,
        (high / step - 1e-9).ceil() * step,
    )
}

/// The ends with a margin on both sides.
fn log_ends(low: f64, high: f64) -> (f64, f64) {
    if high / low > 1.3 {
        (low / 1.12, high * 1.12)
    } else {
        (low / 1.5, high * 1.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &AxisScale, unit: &Unit) -> Vec<String> {
        let ticks = scale.ticks(5, unit);
        ticks
            .into_iter()
            .map(|tick| tick.text.replace('\u{202f}', " "))
            .collect()
    }

    #[test]
    fn ticks_are_round_numbers_of_the_prefix_that_fits() {
        let scale = AxisScale::over(
            Law::Linear,
            &Unit::BitsPerSecond,
            [3.1e9, 51.4e9].into_iter(),
        );
        assert_eq!(texts(&scale, &Unit::BitsPerSecond), ["0", "20", "40", "60"]);
        assert_eq!(scale.unit(&Unit::BitsPerSecond).1, "Gbit/s");
        let scale = AxisScale::over(Law::Linear, &Unit::Percent, [0.3].into_iter());
        assert_eq!(texts(&scale, &Unit::Percent), ["0", "0.1", "0.2", "0.3"]);
    }

    #[test]
    fn logarithmic_ticks_have_a_unit_each() {
        let scale = AxisScale::over(Law::Log, &Unit::Seconds, [12e-6, 4e-2].into_iter());
        let said = texts(&scale, &Unit::Seconds);
        assert_eq!(said.first().map(String::as_str), Some("30 µs"));
        assert_eq!(said.last().map(String::as_str), Some("30 ms"));
    }

    #[test]
    fn nines_are_as_far_apart() {
        let scale =
            AxisScale::over(Law::Nines, &Unit::Percent, [0.9995].into_iter()).between(0.0, 300.0);
        let ticks = scale.ticks(6, &Unit::Percent);
        let texts = |ticks: &[Tick]| -> Vec<String> {
            ticks.iter().map(|tick| tick.text.clone()).collect()
        };
        // The median is more than the least.
        assert_eq!(texts(&ticks), ["50 %", "90 %", "99 %", "99.9 %"]);
        let ticks = scale.between(0.0, 600.0).ticks(6, &Unit::Percent);
        assert_eq!(texts(&ticks), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        let gap = |index: usize| ticks[index + 1].at - ticks[index].at;
        assert!((gap(2) - gap(3)).abs() < 1e-6);
    }

    #[test]
    fn scale_of_empty_and_extreme_values_has_an_axis() {
        for values in [
            vec![],
            vec![0.0],
            vec![f64::NAN],
            vec![-1e300, 1e300],
            vec![1e-300],
        ] {
            for law in [Law::Linear, Law::Log, Law::Nines] {
                let scale = AxisScale::over(law, &Unit::Seconds, values.iter().copied())
                    .between(10.0, 90.0);
                for value in [0.0, -1.0, 1e300, f64::NAN, 1e-300] {
                    let place = scale.place(value);
                    assert!(
                        place.is_nan() == value.is_nan() || place.is_finite(),
                        "{law:?} {value}"
                    );
                }
                assert!(scale.ticks(5, &Unit::Seconds).len() < 61);
            }
        }
    }

    #[test]
    fn an_axis_from_nothing_has_three_numbers_at_least() {
        for hundredths in 1..=20_000_u32 {
            let scale = AxisScale::over(
                Law::Linear,
                &Unit::Seconds,
                [0.0, f64::from(hundredths) / 100.0].into_iter(),
            );
            for wanted in [4, 5, 8] {
                let ticks = scale.ticks(wanted, &Unit::Seconds).len();
                assert!((3..=wanted + 2).contains(&ticks), "{hundredths}: {ticks}");
            }
        }
    }
}
