//! Confidence intervals of a mean: Student's t over the iterations (control-protocol.md 3.10).

use netperf_model::{Confidence, ConfidencePlan};

/// Two-sided quantiles for 1 to 30 degrees of freedom, 95 percent.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The same, 99 percent.
const T99: [f64; 30] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012,
    2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779,
    2.771, 2.763, 2.756, 2.750,
];

/// Width of an interval of one value.
const UNKNOWN: f64 = -1.0;

/// The figures of every iteration so far, in order.
#[derive(Clone, Copy, Debug)]
pub struct ConfidenceInput<'a> {
    /// The result.
    pub result: &'a [f64],
    /// Local CPU busy share, -1 where not measured.
    pub local_cpu: &'a [f64],
    /// Remote CPU busy share, -1 where not measured.
    pub remote_cpu: &'a [f64],
}

/// Confidence reached so far; never met after one iteration.
#[must_use]
pub fn assess(plan: &ConfidencePlan, series: ConfidenceInput<'_>) -> Confidence {
    let width = |values: &[f64]| width_percent(values, plan.level);
    let (result, local_cpu, remote_cpu) = (
        width(series.result),
        width(series.local_cpu),
        width(series.remote_cpu),
    );
    let target = plan.width * 100.0;
    let enough = |width: Option<f64>| width.is_some_and(|width| width <= target);
    let met = enough(result) && (plan.result_only || (enough(local_cpu) && enough(remote_cpu)));
    Confidence {
        met,
        result: result.unwrap_or(UNKNOWN),
        local_cpu: local_cpu.unwrap_or(UNKNOWN),
        remote_cpu: remote_cpu.unwrap_or(UNKNOWN),
    }
}

/// The full width of the interval in percent of the mean; `None` below two values.
///
/// A mean of zero has no relative width and never limits: 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "there are at most 30 iterations"
)]
fn width_percent(values: &[f64], level: u32) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / n;
    let table = if level == 99 { &T99 } else { &T95 };
    let t = table[(freedom - 1).min(table.len() - 1)];
    let width = 200.0 * t * (variance / freedom as f64).sqrt() / mean.abs();
    Some(if width.is_finite() { width } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: ConfidencePlan = ConfidencePlan {
        level: 95,
        width: 0.05,
        min_iterations: 3,
        max_iterations: 10,
        result_only: false,
    };

    fn series<'a>(result: &'a [f64], cpu: &'a [f64]) -> ConfidenceInput<'a> {
        ConfidenceInput {
            result,
            local_cpu: cpu,
            remote_cpu: cpu,
        }
    }

    #[test]
    fn one_iteration_decides_nothing() {
        let found = assess(&PLAN, series(&[5.0], &[7.0]));
        let unknown = Confidence {
            met: false,
            result: UNKNOWN,
            local_cpu: UNKNOWN,
            remote_cpu: UNKNOWN,
        };
        assert_eq!(found, unknown);
    }

    #[test]
    fn equal_results_without_cpu_are_certain() {
        let found = assess(&PLAN, series(&[5.0; 3], &[-1.0; 3]));
        assert!(found.met);
        assert!(found.local_cpu.abs() < f64::EPSILON);
    }

    #[test]
    fn the_width_is_that_of_students_t() {
        // Values 9, 10, 11: population variance 2/3, two degrees of freedom.
        let found = assess(&PLAN, series(&[9.0, 10.0, 11.0], &[-1.0; 3]));
        let expected = 200.0 * 4.303 * (2.0_f64 / 3.0 / 2.0).sqrt() / 10.0;
        assert!((found.result - expected).abs() < 1e-9);
        assert!(!found.met);
    }

    #[test]
    fn cpu_limits_unless_only_the_result_is_asked_for() {
        let noisy = [10.0, 50.0, 90.0];
        assert!(!assess(&PLAN, series(&[5.0; 3], &noisy)).met);
        let plan = ConfidencePlan {
            result_only: true,
            ..PLAN
        };
        assert!(assess(&plan, series(&[5.0; 3], &noisy)).met);
        assert!(!assess(&plan, series(&noisy, &[5.0; 3])).met);
    }

    #[test]
    fn either_cpu_limits_alone() {
        let (quiet, noisy) = ([5.0; 3], [10.0, 50.0, 90.0]);
        for (local_cpu, remote_cpu) in [(&quiet, &noisy), (&noisy, &quiet)] {
            let input = ConfidenceInput {
                result: &quiet,
                local_cpu,
                remote_cpu,
            };
            assert!(!assess(&PLAN, input).met);
        }
        assert!(assess(&PLAN, series(&quiet, &quiet)).met);
    }

    #[test]
    fn the_quantile_is_that_of_the_level_and_of_the_number_of_values() {
        // Values around a mean of 1 with a population variance of 0.01.
        let width = |count: usize, level: u32| {
            let values: Vec<f64> = [0.9, 1.1].into_iter().cycle().take(count).collect();
            width_percent(&values, level).unwrap()
        };
        for (count, level, quantile) in [
            (2, 95, 12.706),
            (2, 99, 63.657),
            (30, 95, 2.045),
            (30, 99, 2.756),
            // Beyond the table.
            (40, 95, 2.042),
            (40, 99, 2.750),
        ] {
            let freedom = f64::from(u32::try_from(count - 1).unwrap());
            let expected = 200.0 * quantile * 0.1 / freedom.sqrt();
            let found = width(count, level);
            assert!((found - expected).abs() < 1e-9, "{count} {level}: {found}");
        }
    }

    #[test]
    fn a_mean_of_zero_does_not_limit() {
        assert_eq!(width_percent(&[-1.0, 1.0], 95), Some(0.0));
        assert_eq!(width_percent(&[1.0], 95), None);
        assert_eq!(width_percent(&[], 95), None);
    }

    #[test]
    fn an_interval_as_wide_as_asked_is_narrow_enough() {
        let values = [9.0, 10.0, 11.0];
        let width = width_percent(&values, 95).unwrap();
        let plan = |width| ConfidencePlan { width, ..PLAN };
        // A hundredth below and above, as percentages are rounded.
        assert!(assess(&plan(width / 100.0 + 1e-4), series(&values, &[5.0; 3])).met);
        assert!(!assess(&plan(width / 100.0 - 1e-4), series(&values, &[5.0; 3])).met);
        let zero = ConfidencePlan { width: 0.0, ..PLAN };
        assert!(assess(&zero, series(&[5.0; 3], &[5.0; 3])).met);
    }
}
