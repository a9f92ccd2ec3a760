//! Verdicts of a report on several sets of results.

use netperf_stats::compare::{Design, Judgement};
use netperf_web::table::Table;
use netperf_web::{ComparedValues, ReportedVerdict, Verdicts};

use crate::compare::{Comparison, Set, Wish, compare, one_kind};
use crate::figures::{self, RunFigure};

/// Verdicts on sets: in each kind of test, the first set is compared with the others. A set
/// that cannot be compared has the reason in place of a verdict.
#[must_use]
pub fn verdicts(sets: &[Set]) -> Verdicts {
    let wish = Wish {
        design: Design::Apart,
        judgement: Judgement {
            chance: Wish::CHANCE,
            margin: Wish::MARGIN,
        },
    };
    let mut all = Vec::new();
    let mut values = Vec::new();
    if sets.len() > 1 {
        let (kinds, unusable) = kinds(sets);
        all.extend(kinds.iter().flat_map(|kind| of_kind(kind, wish)));
        all.extend(unusable);
        let compared = || kinds.iter().filter(|kind| kind.len() > 1);
        let is_alone = compared().count() == 1;
        values.extend(compared().flat_map(|kind| values_of(kind, is_alone)));
    }
    Verdicts {
        has_repetitions: sets.iter().any(|set| set.runs.len() > 1),
        all,
        values,
    }
}

/// Every figure of the first run of sets of one kind, with its values in all runs that have it.
fn values_of(kind: &[&Set], is_alone: bool) -> Vec<ComparedValues> {
    let figures_of =
        |set: &&Set| -> Vec<Vec<RunFigure>> { set.runs.iter().map(figures::of).collect() };
    let sets: Vec<(&Set, Vec<Vec<RunFigure>>)> =
        kind.iter().map(|set| (*set, figures_of(set))).collect();
    let first = sets
        .first()
        .and_then(|(set, runs)| set.runs.first().zip(runs.first()));
    let Some((run, figures)) = first else {
        return Vec::new();
    };
    let of_set = |(set, runs): &(&Set, Vec<Vec<RunFigure>>), wanted: &RunFigure| {
        let is_same = |figure: &&RunFigure| {
            figure.name == wanted.name && figure.quantity.unit == wanted.quantity.unit
        };
        let each = set.runs.iter().zip(runs);
        let values = each.filter_map(|(run, figures)| {
            let found = figures.iter().find(is_same)?;
            Some((run.label.clone(), found.quantity.value))
        });
        (set.name.clone(), values.collect())
    };
    let values = |figure: &RunFigure| ComparedValues {
        name: match run.test.as_deref().filter(|_| !is_alone) {
            Some(test) => format!("{test}, {}", figure.name),
            None => figure.name.clone(),
        },
        unit: figure.quantity.unit.clone(),
        sets: sets.iter().map(|set| of_set(set, figure)).collect(),
    };
    figures.iter().map(values).collect()
}

/// The sets by kind of test, and those that cannot be compared with any set.
fn kinds(sets: &[Set]) -> (Vec<Vec<&Set>>, Vec<ReportedVerdict>) {
    let mut kinds: Vec<Vec<&Set>> = Vec::new();
    let mut unusable = Vec::new();
    for set in sets {
        if let Err(reason) = one_kind(set, set) {
            unusable.push(without(&set.name, &reason));
            continue;
        }
        let is_same = |kind: &&mut Vec<&Set>| one_kind(kind[0], set).is_ok();
        match kinds.iter_mut().find(is_same) {
            Some(kind) => kind.push(set),
            None => kinds.push(vec![set]),
        }
    }
    (kinds, unusable)
}

fn of_kind(kind: &[&Set], wish: Wish) -> Vec<ReportedVerdict> {
    let [first, others @ ..] = kind else {
        return Vec::new();
    };
    if others.is_empty() {
        let reason = "no other set has runs of the same test, direction and kind of result";
        return vec![without(&first.name, &reason)];
    }
    let wish = wish.divided(others.len());
    let wish_of = |other: &Set| Wish {
        design: if in_turn(first, other) {
            Design::Paired
        } else {
            Design::Apart
        },
        ..wish
    };
    let verdict = |other: &&Set| match compare(first, other, wish_of(other)) {
        Ok(comparison) => with(&comparison),
        Err(reason) => without(&title(&first.name, &other.name), &reason),
    };
    others.iter().map(verdict).collect()
}

/// Returns true for two sets or more runs each that were made in turn, as `netperf run` makes them:
/// its verdict on them is one on pairs.
#[must_use]
pub fn in_turn(first: &Set, second: &Set) -> bool {
    let started =
        |set: &Set| -> Option<Vec<f64>> { set.runs.iter().map(|run| run.started).collect() };
    let (Some(first), Some(second)) = (started(first), started(second)) else {
        return false;
    };
    let alternate = first.iter().zip(&second).all(|(a, b)| a < b)
        && second.iter().zip(first.iter().skip(1)).all(|(b, a)| b < a);
    first.len() == second.len() && first.len() > 1 && alternate
}

fn title(first: &str, second: &str) -> String {
    format!("{second}, compared with {first}")
}

fn with(comparison: &Comparison) -> ReportedVerdict {
    let (first, second) = &comparison.names;
    ReportedVerdict {
        title: title(first, second),
        figures: Some(table(comparison)),
        sentences: comparison
            .verdict_on(second)
            .lines()
            .map(str::to_owned)
            .collect(),
    }
}

fn without(title: &str, reason: &impl ToString) -> ReportedVerdict {
    ReportedVerdict {
        title: title.to_owned(),
        figures: None,
        sentences: vec![format!("No verdict: {}.", reason.to_string())],
    }
}

/// The figures of a comparison, the verdict on each in the second column.
fn table(comparison: &Comparison) -> Table {
    let (first, second) = &comparison.names;
    let interval = comparison.interval_name();
    let head = ["metric", "verdict", first, second, "change", &interval, "p"];
    let mut table = Table::new(&title(first, second), 2, &head);
    table.rows.extend(comparison.rows.iter().map(|row| {
        let [name, a, b, change, interval, p, verdict] = row.cells();
        vec![name, verdict, a, b, change, interval, p]
    }));
    table
}

#[cfg(test)]
mod tests {
    use netperf_web::Record;
    use netperf_web::unit::{Quantity, Unit};

    use super::*;

    fn set(name: &str, test: &str, rates: &[f64]) -> Set {
        let run = |(at, rate): (u32, &f64)| Record {
            label: format!("{name}/{at}"),
            started: Some(f64::from(at)),
            test: Some(test.to_owned()),
            headline: Some(Quantity::new(*rate, Unit::BitsPerSecond)),
            ..Record::default()
        };
        Set {
            name: name.to_owned(),
            runs: (0..).zip(rates).map(run).collect(),
        }
    }

    fn around(rate: f64) -> Vec<f64> {
        (0..12)
            .map(|at| rate * (1.0 + f64::from(at * 7 % 12) * 1e-4))
            .collect()
    }

    #[test]
    fn a_report_has_the_four_verdicts_of_a_comparison_in_each_kind_of_test() {
        let noisy: Vec<f64> = (0..12)
            .map(|at| 1e9 * (0.5 + f64::from(at) / 11.0))
            .collect();
        let sets = [
            set("base", "TCP_STREAM", &around(1e9)),
            set("maerts", "TCP_MAERTS", &around(1e9)),
            set("faster", "TCP_STREAM", &around(1.1e9)),
            set("slower", "TCP_STREAM", &around(0.9e9)),
            set("again", "TCP_STREAM", &around(1.0001e9)),
            set("noisy", "TCP_STREAM", &noisy),
        ];
        let found = verdicts(&sets);
        assert!(found.has_repetitions);
        let said: Vec<(&str, &str)> = found
            .all
            .iter()
            .map(|one| (one.title.as_str(), one.sentences[0].as_str()))
            .collect();
        let wanted = [
            (
                "faster, compared with base",
                "faster is better: throughput +10.00 %.",
            ),
            (
                "slower, compared with base",
                "slower is worse: throughput -10.00 %.",
            ),
            (
                "again, compared with base",
                "Equivalent: every interval is within 1 %",
            ),
            (
                "noisy, compared with base",
                "Inconclusive: throughput; about ",
            ),
            (
                "maerts",
                "No verdict: no other set has runs of the same test",
            ),
        ];
        assert_eq!(said.len(), wanted.len(), "{said:?}");
        for ((title, sentence), (about, start)) in said.into_iter().zip(wanted) {
            assert_eq!(title, about);
            assert!(sentence.starts_with(start), "{sentence}");
        }
        // The verdict on each figure is that of `compare` with the same chance.
        let wish = Wish {
            design: Design::Apart,
            judgement: Judgement {
                chance: Wish::CHANCE / 4.0,
                margin: Wish::MARGIN,
            },
        };
        for (verdict, other) in found.all.iter().zip([2, 3, 4, 5]) {
            let compared = compare(&sets[0], &sets[other], wish).unwrap();
            let table = verdict.figures.as_ref().unwrap();
            assert_eq!(table.rows[0][1], compared.rows[0].cells()[6]);
            assert_eq!(table.head[5], "99.75 % interval");
        }
    }

    #[test]
    fn a_verdict_that_is_not_possible_has_its_reason() {
        let only = |sets: &[Set]| verdicts(sets).all.pop().unwrap().sentences.join(" ");
        let single = [set("a", "TCP_RR", &[1e9]), set("b", "TCP_RR", &[2e9])];
        assert!(!verdicts(&single).has_repetitions);
        let said = only(&single);
        assert!(
            said.ends_with(
                "; one run of each shows no deviation, at least 5 runs of each are needed."
            ),
            "{said}"
        );
        let mut failed = set("failed", "TCP_RR", &[1.0]);
        failed.runs[0].headline = None;
        failed.runs[0].error = Some("connection refused".to_owned());
        let said = only(&[set("a", "TCP_RR", &[1e9]), failed]);
        assert_eq!(
            said,
            "No verdict: failed/0 has no result: connection refused."
        );
        let same = set("a", "TCP_RR", &around(1e9));
        let said = only(&[same.clone(), same]);
        assert!(
            said.starts_with("No verdict: a/0 and a/0 are the same run"),
            "{said}"
        );
        let mut mixed = set("mixed", "TCP_RR", &[1e9]);
        mixed.runs.extend(set("other", "TCP_CRR", &[1e9]).runs);
        let said = only(&[set("a", "TCP_RR", &[1e9]), mixed]);
        assert!(said.contains("different tests"), "{said}");
        // One set alone has nothing to be compared with, and no section.
        assert!(verdicts(&[set("a", "TCP_RR", &around(1.0))]).all.is_empty());
    }
}
