//! Interim results as a transcript shows them.

use std::time::Duration;

use netperf_cli::RunCommand;
use netperf_model::{Format, Interim, ThroughputUnit, figures};
use netperf_report::interim_line;

/// The interim results at the beginning of a text, printed again.
pub(crate) fn printed_again(run: &RunCommand, text: &str) -> String {
    let unit = figures::unit_in_force(&run.plan, run.report.unit);
    let mut lines = text.lines();
    let mut out = String::new();
    for index in 0.. {
        let read = match &run.report.format {
            Format::Classic | Format::Columns(_) => human(lines.next(), unit),
            Format::Csv(_) => csv(lines.next(), unit),
            Format::Keyval(_) => keyval(&mut lines, unit),
            Format::Json | Format::JsonStream | Format::Human | Format::Iperf(_) => None,
        };
        let Some(interim) = read else { break };
        out += &interim_line(&run.plan, &run.report, index, &interim);
    }
    out
}

/// `Interim result: <rate> <unit> over <seconds> seconds ending at <time>`.
fn human(line: Option<&str>, unit: ThroughputUnit) -> Option<Interim> {
    let words: Vec<&str> = line?.split_whitespace().collect();
    match words[..] {
        [
            "Interim",
            "result:",
            rate,
            _,
            "over",
            seconds,
            "seconds",
            "ending",
            "at",
            time,
        ] => interim(rate, seconds, time, unit),
        _ => None,
    }
}

/// `<rate>,<unit>,<seconds>,<time>`.
fn csv(line: Option<&str>, unit: ThroughputUnit) -> Option<Interim> {
    let fields: Vec<&str> = line?.split(',').collect();
    match fields[..] {
        [rate, name, seconds, time] if name == format!("{}/s", unit.label()) => {
            interim(rate.trim_start(), seconds, time, unit)
        }
        _ => None,
    }
}

fn keyval<'a>(lines: &mut impl Iterator<Item = &'a str>, unit: ThroughputUnit) -> Option<Interim> {
    let mut value = |name: &str| {
        let (key, value) = lines.next()?.split_once('=')?;
        key.starts_with(name).then_some(value)
    };
    let rate = value("NETPERF_INTERIM_RESULT[")?;
    value("NETPERF_UNITS[")?;
    let seconds = value("NETPERF_INTERVAL[")?;
    interim(rate, seconds, value("NETPERF_ENDING[")?, unit)
}

/// The work that gives this rate.
fn interim(rate: &str, seconds: &str, time: &str, unit: ThroughputUnit) -> Option<Interim> {
    let (whole, millis) = time.split_once('.')?;
    let rate: f64 = rate.parse().ok()?;
    let seconds: f64 = seconds.parse().ok()?;
    let ended = Duration::from_secs(whole.parse().ok()?);
    Some(Interim {
        work: rate / unit.rate(1.0, seconds),
        seconds,
        ended: ended + Duration::from_millis(millis.parse().ok()?),
        ..Interim::default()
    })
}
