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
    /// The margin of equivalence when nothing else is asked for.
    pub const MARGIN: f64 = 0.01;

    /// The method for each of several comparisons, which have the chance of a false alarm
    /// together (Bonferroni).
    #[must_use]
    pub fn divided(mut self, comparisons: usize) -> Self {
        let comparisons = u32::try_from(comparisons).unwrap_or(u32::MAX);
        self.judgement.chance /= f64::from(comparisons.max(1));
        self
    }
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
    /// One run that stands twice, in one set or in both.
    #[error("{} and {} are the same run: name each once", line(.0), line(.1))]
    Twice(String, String),
    /// Runs of different tests.
    #[error("runs of different tests cannot be compared: {} and {}", line(.0), line(.1))]
    Tests(String, String),
    /// Runs with data in different directions.
    #[error("runs of different directions cannot be compared: {} and {}", line(.0), line(.1))]
    Directions(String, String),
    /// Runs whose results are different figures.
    #[error("different metrics cannot be compared: {0} and {1}")]
    Figures(String, String),
    /// A figure that runs state in different units.
    #[error("{0} is in different units, which cannot be compared: {1} and {2}")]
    Units(String, String, String),
    /// Pairs are asked for, and the sets have different numbers of runs.
    #[error("--paired needs as many runs on both sides, not {0} and {1}")]
    Unpaired(usize, usize),
    /// There is no figure that all runs have.
    #[error("there is no metric that all runs have")]
    Nothing,
}

/// Change of a figure from one set to the other, in order of its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeOutcome {
    /// Its change is inside the margin.
    Equivalent,
    /// Neither a difference nor equivalence is shown.
    Inconclusive,
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
    /// Runs of each set, or pairs, that probably decide an inconclusive change; `None` if
    /// that is not known.
    pub needed: Option<u32>,
}

/// The schema of a comparison as JSON.
pub const SCHEMA: &str = "netperf-compare-1";

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
    /// The figures that only some runs have.
    pub left_out: Vec<String>,
}

/// Compares two sets of runs.
///
/// # Errors
/// When there is nothing to compare; see [`Incomparable`].
pub fn compare(a: &Set, b: &Set, wish: Wish) -> Result<Comparison, Incomparable> {
    let test = one_test(a, b)?;
    same_result(a, b)?;
    if wish.design == Design::Paired && a.runs.len() != b.runs.len() {
        return Err(Incomparable::Unpaired(a.runs.len(), b.runs.len()));
    }
    let all = |set: &Set| -> Vec<Vec<RunFigure>> { set.runs.iter().map(figures::of).collect() };
    let (a_runs, b_runs) = (all(a), all(b));
    let level = 1.0 - wish.judgement.chance;
    each_once(a, b)?;
    let mut left_out = Vec::new();
    let (mut names, mut changes) = (Vec::new(), Vec::new());
    for figure in distinct(a_runs.iter().chain(&b_runs)) {
        let values = (series(&a_runs, figure)?, series(&b_runs, figure)?);
        let change = match values {
            (Some(a), Some(b)) => change(&a, &b, wish.design, level),
            _ => None,
        };
        match change {
            Some(change) => {
                names.push(figure);
                changes.push(change);
            }
            None => left_out.push(figure.name.clone()),
        }
    }
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
        left_out,
    })
}

/// Returns an error if runs of both sets are of different tests, or none has a result.
pub(crate) fn one_kind(a: &Set, b: &Set) -> Result<(), Incomparable> {
    one_test(a, b)?;
    same_result(a, b)
}

/// The figures of all runs, each once.
fn distinct<'r>(runs: impl Iterator<Item = &'r Vec<RunFigure>>) -> Vec<&'r RunFigure> {
    let mut all: Vec<&RunFigure> = Vec::new();
    for figure in runs.flatten() {
        if !all.iter().any(|known| known.name == figure.name) {
            all.push(figure);
        }
    }
    all
}

/// Refuses runs whose results are different figures or have different directions.
fn same_result(a: &Set, b: &Set) -> Result<(), Incomparable> {
    let runs = || a.runs.iter().chain(&b.runs);
    differing(runs().filter_map(|run| run.direction.clone()))
        .map_or(Ok(()), |(a, b)| Err(Incomparable::Directions(a, b)))?;
    let results = runs().filter_map(|run| {
        let headline = run.headline.as_ref()?;
        Some(figures::result_name(headline).to_owned())
    });
    differing(results).map_or(Ok(()), |(a, b)| Err(Incomparable::Figures(a, b)))
}

/// Refuses a run that stands several times in one set or in both, which would count as independent
/// runs. Runs are the same if they began at the same time and all their figures are equal.
fn each_once(a: &Set, b: &Set) -> Result<(), Incomparable> {
    let runs = a.runs.iter().chain(&b.runs);
    let known = runs.filter(|run| run.started.is_some());
    for (index, run) in known.clone().enumerate() {
        let is_same = |other: &&Record| {
            other.started == run.started
                && other.headline == run.headline
                && other.figures == run.figures
        };
        if let Some(other) = known.clone().skip(index + 1).find(is_same) {
            return Err(Incomparable::Twice(run.label.clone(), other.label.clone()));
        }
    }
    Ok(())
}

/// The first word and one that differs from it.
fn differing(mut words: impl Iterator<Item = String>) -> Option<(String, String)> {
    let first = words.next()?;
    let other = words.find(|word| *word != first)?;
    Some((first, other))
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

/// The values of a figure in every run; `None` when one has it not.
fn series(runs: &[Vec<RunFigure>], wanted: &RunFigure) -> Result<Option<Vec<f64>>, Incomparable> {
    let mut values = Vec::new();
    for run in runs {
        let Some(found) = run.iter().find(|figure| figure.name == wanted.name) else {
            return Ok(None);
        };
        let (unit, other) = (&wanted.quantity.unit, &found.quantity.unit);
        if unit != other {
            let signs = (unit.sign().to_string(), other.sign().to_string());
            return Err(Incomparable::Units(wanted.name.clone(), signs.0, signs.1));
        }
        values.push(found.quantity.value);
    }
    Ok(Some(values))
}

fn row(
    figure: &RunFigure,
    change: Change,
    (probability, verdict): (f64, Verdict),
) -> ComparedFigure {
    let outcome = match (verdict, figure.better) {
        (Verdict::Higher, Better::More) | (Verdict::Lower, Better::Less) => ChangeOutcome::Better,
        (Verdict::Higher, Better::Less) | (Verdict::Lower, Better::More) => ChangeOutcome::Worse,
        (Verdict::Equivalent, _) => ChangeOutcome::Equivalent,
        (Verdict::Inconclusive(_), _) => ChangeOutcome::Inconclusive,
    };
    let needed = match verdict {
        Verdict::Inconclusive(needed) => needed,
        Verdict::Lower | Verdict::Higher | Verdict::Equivalent => None,
    };
    ComparedFigure {
        name: figure.name.clone(),
        unit: figure.quantity.unit.clone(),
        better: figure.better,
        change,
        probability,
        outcome,
        needed,
    }
}

impl Comparison {
    /// The judgement over all figures. One that got worse outweighs those that got better,
    /// and the sets are equivalent only if all figures are.
    #[must_use]
    pub fn outcome(&self) -> ChangeOutcome {
        let outcomes = self.rows.iter().map(|row| row.outcome);
        outcomes.max().unwrap_or(ChangeOutcome::Inconclusive)
    }

    /// Runs of each set, or pairs, that probably decide all inconclusive figures; `None` if
    /// there is none, or if the number of one is not known.
    #[must_use]
    pub fn needed(&self) -> Option<u32> {
        let open = |row: &&ComparedFigure| row.outcome == ChangeOutcome::Inconclusive;
        let needed = self.rows.iter().filter(open).map(|row| row.needed);
        needed.collect::<Option<Vec<u32>>>()?.into_iter().max()
    }

    /// As a document.
    #[must_use]
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(ComparedFigure::json).collect();
        json!({
            "schema": SCHEMA,
            "test": self.test,
            "first": self.names.0,
            "second": self.names.1,
            "paired": self.wish.design == Design::Paired,
            "false_alarm_chance": self.wish.judgement.chance,
            "margin_ratio": self.wish.judgement.margin,
            "outcome": self.outcome().word(),
            "needed_runs": self.needed(),
            "not_compared": self.left_out,
            "metrics": rows,
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
            // JSON has no infinite number: `ratio` is null then.
            "ratio_is_infinite": change.ratio.is_infinite(),
            "ratio_low": change.interval.map(|interval| interval.0),
            "ratio_high": change.interval.map(|interval| interval.1),
            "effect_size": change.effect,
            "probability": change.probability,
            "corrected_probability": self.probability,
            "outcome": self.outcome.word(),
            "needed_runs": self.needed,
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
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}
