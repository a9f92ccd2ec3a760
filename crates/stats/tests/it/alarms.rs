//! Rates of false alarms and of missed changes of a comparison.

use netperf_stats::compare::{Design, Judgement, Verdict, change, judge};
use netperf_stats::testing::Dice;

/// The defaults of `netperf compare`.
const DEFAULT: Judgement = Judgement {
    chance: 0.01,
    threshold: 0.005,
};
/// The default number of pairs of runs.
const PAIRS: usize = 20;
/// Figures judged together: a rate and four percentiles.
const FIGURES: usize = 5;
const COMPARISONS: usize = 500;

/// Runs of one kind, figure by figure. A disturbance affects all figures of a run, and a
/// machine that warms up drifts through all runs.
fn runs(dice: &mut Dice, level: f64, spread: f64, drift: f64) -> Vec<[f64; FIGURES]> {
    (0..PAIRS)
        .map(|at| {
            let common = dice.normal();
            let at = f64::from(u32::try_from(at).expect("a few"));
            std::array::from_fn(|_| {
                let noise = 0.8 * common + 0.6 * dice.normal();
                level * (spread * noise + drift * at).exp()
            })
        })
        .collect()
}

/// The verdicts on all figures of two sets.
fn verdicts(a: &[[f64; FIGURES]], b: &[[f64; FIGURES]], design: Design) -> Vec<Verdict> {
    let column = |runs: &[[f64; FIGURES]], figure: usize| -> Vec<f64> {
        runs.iter().map(|run| run[figure]).collect()
    };
    let changes: Vec<_> = (0..FIGURES)
        .map(|figure| change(&column(a, figure), &column(b, figure), design, 0.99))
        .map(|change| change.expect("all above 0"))
        .collect();
    let judged = judge(&changes, DEFAULT);
    judged.into_iter().map(|(_, verdict)| verdict).collect()
}

/// The number of comparisons with a verdict that satisfies the test.
fn how_many(design: Design, shift: f64, drift: f64, is: impl Fn(&[Verdict]) -> bool) -> usize {
    let mut dice = Dice::new(500);
    (0..COMPARISONS)
        .filter(|_| {
            let a = runs(&mut dice, 1000.0, 0.012, drift);
            let b = runs(&mut dice, 1000.0 * shift, 0.012, drift);
            is(&verdicts(&a, &b, design))
        })
        .count()
}

#[test]
fn sets_of_one_kind_hardly_ever_raise_an_alarm() {
    let alarm = |verdicts: &[Verdict]| verdicts.iter().any(|v| *v != Verdict::NoDifference);
    for design in [Design::Apart, Design::Paired] {
        let alarms = how_many(design, 1.0, 0.0, alarm);
        assert!(alarms * 20 < COMPARISONS, "{design:?}: {alarms}");
    }
    let alarms = how_many(Design::Paired, 1.0, 0.002, alarm);
    assert!(alarms * 20 < COMPARISONS, "drifting: {alarms}");
}

#[test]
fn two_percent_are_found_nine_times_of_ten() {
    let found = |verdicts: &[Verdict]| verdicts[0] == Verdict::Higher;
    for design in [Design::Apart, Design::Paired] {
        let hits = how_many(design, 1.02, 0.0, found);
        assert!(hits * 10 > COMPARISONS * 9, "{design:?}: {hits}");
    }
    let hits = how_many(Design::Paired, 1.02, 0.002, found);
    assert!(hits * 10 > COMPARISONS * 9, "drifting: {hits}");
}

#[test]
fn a_few_runs_are_said_to_be_too_few() {
    let few = [[1000.0; FIGURES], [1100.0; FIGURES], [1200.0; FIGURES]];
    let verdicts = verdicts(&few, &few, Design::Apart);
    assert!(
        verdicts
            .iter()
            .all(|verdict| *verdict == Verdict::TooFewRuns)
    );
}
