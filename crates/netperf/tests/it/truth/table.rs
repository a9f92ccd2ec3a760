//! The rows of the table.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::path::Path;

use netperf_testkit::environment;

/// Names the file to which rows are appended, in Markdown.
const FILE: &str = "NETPERF_TRUTH_TABLE";

/// Largest deviation from the truth.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tolerance {
    /// No deviation.
    Exact,
    /// Percent of the truth, either way.
    Percent(f64),
    /// Percent of the truth below and above it.
    Percents(f64, f64),
    /// An amount in the unit of the figure, either way.
    Amount(f64),
    /// The truth is a limit that the figure does not exceed.
    AtMost,
    /// The truth is a limit that the figure reaches.
    AtLeast,
}

impl Tolerance {
    pub(crate) fn holds(self, truth: f64, got: f64) -> bool {
        let percent = |share: f64| truth.abs() * share / 100.0;
        let (below, above) = match self {
            Self::Exact => (0.0, 0.0),
            Self::Percent(share) => (percent(share), percent(share)),
            Self::Percents(low, high) => (percent(low), percent(high)),
            Self::Amount(amount) => (amount, amount),
            Self::AtMost => (f64::INFINITY, 0.0),
            Self::AtLeast => (0.0, f64::INFINITY),
        };
        (truth - below..=truth + above).contains(&got)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => to.write_str("exact"),
            Self::Percent(share) => write!(to, "±{share} %"),
            Self::Percents(low, high) => write!(to, "-{low} to +{high} %"),
            Self::Amount(amount) => write!(to, "±{amount}"),
            Self::AtMost => to.write_str("at most"),
            Self::AtLeast => to.write_str("at least"),
        }
    }
}

/// Records a row of the table, and fails the test if the figure is not the truth.
#[track_caller]
pub(crate) fn check(claim: &str, truth: f64, got: f64, tolerance: Tolerance) {
    let holds = tolerance.holds(truth, got);
    let mark = if holds { "" } else { " **fails**" };
    let (truth, got) = (shown(truth), shown(got));
    let theme = Path::new(Location::caller().file()).file_stem();
    let theme = theme.unwrap_or_default().to_string_lossy();
    let row = format!("| {theme} | {claim} | {truth} | {got}{mark} | {tolerance} |\n");
    netperf_testkit::note(&row);
    if let Some(file) = environment(FILE) {
        // One write to a file that is open for appending is not torn.
        let mut open = OpenOptions::new();
        let file = open.create(true).append(true).open(file);
        file.expect("the table")
            .write_all(row.as_bytes())
            .expect("a row");
    }
    assert!(
        holds,
        "{claim}: {got}, truth {truth}, tolerance {tolerance}"
    );
}

/// Five significant digits, and all digits of a whole number.
fn shown(figure: f64) -> String {
    if figure.fract() == 0.0 || !figure.is_finite() {
        return format!("{figure}");
    }
    let digits = figure.abs().log10().floor();
    let decimals = (0..12).find(|&places| f64::from(places) + digits >= 4.0);
    format!(
        "{figure:.*}",
        decimals.unwrap_or(0).try_into().expect("few")
    )
}

#[test]
fn a_row_holds_within_its_tolerance() {
    assert!(Tolerance::Percents(2.0, 1.0).holds(100.0, 98.5));
    assert!(!Tolerance::Percents(2.0, 1.0).holds(100.0, 101.5));
    assert!(Tolerance::Percent(2.0).holds(-100.0, -101.5));
    assert!(!Tolerance::Amount(0.5).holds(100.0, 101.5));
    assert!(Tolerance::AtLeast.holds(10.0, 30.0));
    assert!(Tolerance::AtMost.holds(10.0, 3.0) && !Tolerance::AtMost.holds(10.0, 10.1));
    assert!(!Tolerance::Exact.holds(10.0, f64::NAN));
    assert_eq!(
        [shown(0.956_403), shown(48.61), shown(1234.0)],
        ["0.95640", "48.610", "1234"]
    );
}
