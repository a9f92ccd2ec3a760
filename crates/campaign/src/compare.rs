//! Two sets of runs of one test, figure by figure.

use netperf_stats::compare::{Change, Design, Judgement, Verdict, change, judge};
use netperf_web::Record;
use netperf_web::escape::line;
use netperf_web::unit::Unit;
use serde_json::{Value, json};

use crate::figures::{self, Better, RunFigure};

/// Method of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Pairs of runs, or sets as a whole.
    pub design: Design,
    /// When a change counts.
    pub judgement: Judgement,
}

impl Wish {
    /// The chance of a false alarm when nothing else is asked for.
    pub const CHANCE: f64 = 0.01;
    /// The smallest change that matters when nothing else is asked for.
    pub const THRESHOLD: f64 = 0.005;
}

/// Runs of one kind.
#[derive(Clone, Debug)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// Its runs, in the order in which they were made.
    pub runs: Vec<Record>,
}

/// Why two sets cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// A set without a run.
    #[error("{0} has no run")]
    Empty(String),
    /// A run without a result, and the reason.
    #[error("{} has no result: {}", line(.0), line(.1.lines().next().unwrap_or_default()))]
    Failed(String, String),
    /// Runs of different tests.
    #[error("runs of different tests cannot be compared: {} and {}", line(.0), line(.1))]
    Tests(String, String),
    /// Pairs are asked for, and the sets have different numbers of runs.
    #[error("--paired needs as many runs on both sides, not {0} and {1}")]
    Unpaired(usize, usize),
    /// There is no figure that all runs have.
    #[error("there is no figure that all runs have")]
    Nothing,
}

/// Change of a figure from one set to the other, in order of its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeOutcome {
    /// No difference was found.
    Same,
    /// So few runs cannot tell.
    Unknown,
    /// It got better.
    Better,
    /// It got worse.
    Worse,
}

/// A figure of both sets.
#[derive(Clone, Debug)]
pub struct ComparedFigure {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way it should go.
    pub better: Better,
    /// Its change.
    pub change: Change,
    /// The probability of such a change by chance, corrected for how many are looked at.
    pub probability: f64,
    /// Judgement of the change.
    pub outcome: ChangeOutcome,
}

/// Two sets, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The names of the sets.
    pub names: (String, String),
    /// The test they are of.
    pub test: String,
    /// The method.
    pub wish: Wish,
    /// Every figure that all runs have.
    pub rows: Vec<ComparedFigure>,
}

/// Compares two sets of runs.
///
/// # Errors
/// When there is nothing to compare; see [`Incomparable`].
pub fn compare(a: &Set, b: &Set, wish: Wish) -> Result<Comparison, Incomparable> {
    let test = one_test(a, b)?;
    if wish.design == Design::Paired && a.runs.len() != b.runs.len() {
        return Err(Incomparable::Unpaired(a.runs.len(), b.runs.len()));
    }
    let all = |set: &Set| -> Vec<Vec<RunFigure>> { set.runs.iter().map(figures::of).collect() };
    let (a_runs, b_runs) = (all(a), all(b));
    let level = 1.0 - wish.judgement.chance;
    let first = a_runs.first().map(Vec::as_slice).unwrap_or_default();
    let (names, changes): (Vec<&RunFigure>, Vec<Change>) = first
        .iter()
        .filter_map(|figure| {
            let values = (series(&a_runs, figure)?, series(&b_runs, figure)?);
            let change = change(&values.0, &values.1, wish.design, level)?;
            Some((figure, change))
        })
        .unzip();
    if names.is_empty() {
        return Err(Incomparable::Nothing);
    }
    let judged = judge(&changes, wish.judgement);
    let rows = names.iter().zip(changes).zip(judged);
    Ok(Comparison {
        names: (a.name.clone(), b.name.clone()),
        test,
        wish,
        rows: rows
            .map(|((figure, change), judged)| row(figure, change, judged))
            .collect(),
    })
}

/// The name of the test that all runs are of.
fn one_test(a: &Set, b: &Set) -> Result<String, Incomparable> {
    let mut test = None;
    for set in [a, b] {
        if set.runs.is_empty() {
            return Err(Incomparable::Empty(set.name.clone()));
        }
        for run in &set.runs {
            if let (Some(reason), None) = (&run.error, &run.headline) {
                return Err(Incomparable::Failed(run.label.clone(), reason.clone()));
            }
            let name = run.test.clone().unwrap_or_else(|| run.origin.to_owned());
            let known: &String = test.get_or_insert_with(|| name.clone());
            if *known != name {
                return Err(Incomparable::Tests(known.clone(), name));
            }
        }
    }
    Ok(test.unwrap_or_default())
}

/// The values of a figure in every run; `None` when one has it not, or in another unit.
fn series(runs: &[Vec<RunFigure>], wanted: &RunFigure) -> Option<Vec<f64>> {
    let of = |run: &Vec<RunFigure>| {
        let found = run.iter().find(|figure| figure.name == wanted.name)?;
        (found.quantity.unit == wanted.quantity.unit).then_some(found.quantity.value)
    };
    runs.iter().map(of).collect()
}

fn row(
    figure: &RunFigure,
    change: Change,
    (probability, verdict): (f64, Verdict),
) -> ComparedFigure {
    let outcome = match (verdict, figure.better) {
        (Verdict::Higher, Better::More) | (Verdict::Lower, Better::Less) => ChangeOutcome::Better,
        (Verdict::Higher, Better::Less) | (Verdict::Lower, Better::More) => ChangeOutcome::Worse,
        (Verdict::NoDifference, _) => ChangeOutcome::Same,
        (Verdict::TooFewRuns, _) => ChangeOutcome::Unknown,
    };
    ComparedFigure {
        name: figure.name.clone(),
        unit: figure.quantity.unit.clone(),
        better: figure.better,
        change,
        probability,
        outcome,
    }
}

impl Comparison {
    /// The judgement over all figures. One that got worse outweighs those that got better; the
    /// first, the result itself, decides whether there are too few runs.
    #[must_use]
    pub fn outcome(&self) -> ChangeOutcome {
        let outcomes = self.rows.iter().map(|row| row.outcome);
        outcomes.max().unwrap_or(ChangeOutcome::Same)
    }

    /// As a document.
    #[must_use]
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(ComparedFigure::json).collect();
        json!({
            "schema": "netperf-compare-1",
            "test": self.test,
            "first": self.names.0,
            "second": self.names.1,
            "paired": self.wish.design == Design::Paired,
            "false_alarm_chance": self.wish.judgement.chance,
            "threshold_ratio": self.wish.judgement.threshold,
            "outcome": self.outcome().word(),
            "figures": rows,
        })
    }
}

impl ComparedFigure {
    fn json(&self) -> Value {
        let change = &self.change;
        json!({
            "name": self.name,
            "unit": self.unit.sign(),
            "better_when": self.better.word(),
            "first_runs": change.runs.0,
            "second_runs": change.runs.1,
            "first_median": change.medians.0,
            "second_median": change.medians.1,
            "ratio": change.ratio,
            "ratio_low": change.interval.map(|interval| interval.0),
            "ratio_high": change.interval.map(|interval| interval.1),
            "effect_size": change.effect,
            "probability": change.probability,
            "corrected_probability": self.probability,
            "outcome": self.outcome.word(),
        })
    }
}

impl ChangeOutcome {
    /// Its word in documents and tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "no difference",
            Self::Unknown => "too few runs",
        }
    }
}
