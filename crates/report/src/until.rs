//! Precision that was reached: selectors that the original does not have, and the lines above
//! the result.
//!
//! `all` and `?` omit the selectors.

use netperf_model::figures::document_unit;
use netperf_model::until::percentile_name;
use netperf_model::{Course, ThroughputUnit, Until, UntilPlan};

use crate::selectors::SelectorValue::Run;
use crate::selectors::{Need, SelectorRow, row};
use crate::values::{Value, text};
use crate::view::View;

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static UNTIL: &[&[SelectorRow]] = &[
    &[
        row("UNTIL_END", ["Until", "End", "", ""], "", "%s", Need::Nothing,
            Run(|v| found(v, |until| text(until.end.label()))),
            "result of --until: reached, too noisy or too short"),
        row("UNTIL_PERCENT", ["Until", "Width", "+/-%", ""], "%", "%.3f", Need::Nothing,
            Run(|v| found(v, |until| share(judged(until, until.throughput.and_then(|known| known.relative()))))),
            "half the width of the interval of the throughput, of its mean"),
        row("UNTIL_WORST_PERCENT", ["Until", "Worst", "+/-%", ""], "%", "%.3f", Need::Nothing,
            Run(|v| found(v, |until| share(judged(until, until.worst())))),
            "the same for the least precise of the requested metrics"),
        row("UNTIL_CONFIDENCE", ["Until", "Confidence", "%", ""], "%", "%.0f", Need::Nothing,
            Run(|v| v.plan().until.as_ref().map(|plan| plan.level * 100.0).into()),
            "the confidence of these intervals"),
        row("UNTIL_THROUGHPUT", ["Until", "Throughput", "", ""], "of THROUGHPUT_UNITS", "%.2f", Need::Nothing,
            Run(|v| found(v, |until| until.throughput.map(|known| rate(v, known.value)).into())),
            "the throughput of the result, with the interval of UNTIL_PERCENT"),
        row("UNTIL_COURSE", ["Until", "Course", "", ""], "", "%s", Need::Nothing,
            Run(|v| found(v, |until| text(until.course.label()))),
            "classification of the run: stable, drifting, bimodal or unknown"),
        row("UNTIL_WARM_UP", ["Until", "Warm-Up", "Seconds", ""], "seconds", "%.3f", Need::Nothing,
            Run(|v| found(v, |until| Value::Real(until.warmed_up_for().as_secs_f64()))),
            "warm-up time that was excluded"),
        row("UNTIL_CORRELATION", ["Until", "Correlation", "", ""], "", "%.3f", Need::Nothing,
            Run(|v| found(v, |until| Value::Real(until.correlation))),
            "the correlation of the throughput of an interval with that of the next"),
    ],
];

fn found(view: &View<'_>, value: impl Fn(&Until) -> Value) -> Value {
    view.outcome.until.as_ref().map(value).into()
}

/// Precision of a figure; empty for a run that was too short.
fn judged(until: &Until, width: Option<f64>) -> Option<f64> {
    width.filter(|_| until.is_judged())
}

fn share(share: Option<f64>) -> Value {
    share.map(|share| share * 100.0).into()
}

/// Unit of the throughput: that of the result, in which TCP_CC counts connections.
fn unit(view: &View<'_>) -> ThroughputUnit {
    if view.plan().test.counts_connections() {
        ThroughputUnit::Transactions
    } else {
        view.unit
    }
}

/// Work per second in that unit. Transactions are bytes in a unit of data.
fn rate(view: &View<'_>, work: f64) -> f64 {
    let (plan, unit) = (view.plan(), unit(view));
    let size = |size: Option<u32>| f64::from(size.unwrap_or(0));
    let in_bytes = document_unit(plan).kind() != unit.kind();
    let bytes = size(plan.request) + size(plan.response);
    unit.rate(if in_bytes { work * bytes } else { work }, 1.0)
}

/// A share in percent, with three significant digits.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = match percent {
        percent if percent >= 100.0 => 0,
        percent if percent >= 10.0 => 1,
        percent if percent >= 1.0 => 2,
        percent if percent >= 0.1 => 3,
        percent if percent >= 0.01 => 4,
        // The least that can be asked for is seldom less.
        _ => 6,
    };
    let text = format!("{percent:.digits$}");
    let short = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{short}%")
}

/// The lines above the result; empty without `--until`, and without headers.
pub(crate) fn print(view: &View<'_>) -> String {
    let asked = view.plan().until.as_ref();
    let Some((plan, until)) = asked.zip(view.outcome.until.as_ref()) else {
        return String::new();
    };
    if !view.report.headers {
        return String::new();
    }
    let mut out = headline(plan, until);
    if let Some(known) = until.throughput {
        let (value, unit) = (rate(view, known.value), unit(view).rate_label());
        out.push_str(&line(
            "throughput",
            &format!("{value:.2} {unit}"),
            judged(until, known.relative()),
        ));
    }
    for one in &until.percentiles {
        let name = percentile_name(one.percentile);
        match one.known {
            Some(known) => {
                let micros = format!("{:.3} usec", known.value / 1e3);
                out.push_str(&line(&name, &micros, judged(until, known.relative())));
            }
            None => out.push_str(&format!("  {name:<12}not known\n")),
        }
    }
    out.push('\n');
    out
}

fn headline(plan: &UntilPlan, until: &Until) -> String {
    format!(
        "Until {} @ {:.0}% conf.: {} after {:.2} s, {}\n  \
         {} values of {} ms, warm-up {:.2} s, correlation {:.2}\n",
        percent(plan.precision),
        plan.level * 100.0,
        until.end.label(),
        until.looked_at().as_secs_f64(),
        course(until),
        until.values,
        until.every.as_secs_f64() * 1e3,
        until.warmed_up_for().as_secs_f64(),
        until.correlation,
    )
}

/// Course of the run, with its size.
fn course(until: &Until) -> String {
    let label = until.course.label();
    match until.course {
        Course::Unknown | Course::Stable => label.to_owned(),
        Course::Drifting(change) => {
            let sign = if change < 0.0 { '-' } else { '+' };
            format!("{label} by {sign}{}", percent(change.abs()))
        }
        Course::Bimodal {
            low,
            high,
            share_high,
        } => {
            let low = if high == 0.0 { 0.0 } else { low / high };
            format!(
                "{label}: {} of the time at {} of the higher level",
                percent(1.0 - share_high),
                percent(low)
            )
        }
    }
}

fn line(name: &str, value: &str, width: Option<f64>) -> String {
    let width = width.map_or_else(|| "?".to_owned(), percent);
    format!("  {name:<12}{value} +/-{width}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_three_digits_that_mean_something() {
        for (share, text) in [
            (0.01, "1%"),
            (0.0053, "0.53%"),
            (0.12345, "12.3%"),
            (3.0, "300%"),
            (0.000_001, "0.0001%"),
            (0.0, "0%"),
        ] {
            assert_eq!(percent(share), text);
        }
    }
}
