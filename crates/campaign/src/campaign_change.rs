//! Two campaigns, compared cell by cell.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use netperf_comparison::ChangeOutcome;
use netperf_stats::discovery::{CellChange, TableChange};
use netperf_stats::polish::EffectScale;
use netperf_web::escape::line;
use serde_json::{Value, json};

use crate::matrix::{COMPARED_RATE, CellsHead, Matrix, MatrixMember};
use crate::outcome::CampaignDocument;
use crate::pattern::Cell;
use crate::plan::CampaignPlan;
use crate::progress::plural;

/// Schema of a comparison.
const SCHEMA: &str = "netperf-campaign-comparison-1";
/// Most changed cells of a figure in a text.
const MOST_SHOWN: usize = 20;

/// A campaign with its matrices.
#[derive(Clone, Debug)]
pub struct MeasuredCampaign {
    /// Its name, such as that of a file.
    pub name: String,
    /// The plan; `None` if the source does not have it.
    pub plan: Option<CampaignPlan>,
    /// The members.
    pub members: Vec<MatrixMember>,
    /// False if something was not measured.
    pub complete: bool,
    /// The matrices.
    pub matrices: Vec<Matrix>,
}

impl MeasuredCampaign {
    /// Of a document, with the matrices of it or of its file of cells.
    #[must_use]
    pub fn of_document(name: &str, document: &CampaignDocument, matrices: Vec<Matrix>) -> Self {
        Self {
            name: name.to_owned(),
            plan: Some(document.plan.clone()),
            members: document.matrix_members(),
            complete: document.complete,
            matrices,
        }
    }

    /// Of a file of cells.
    #[must_use]
    pub fn of_cells(name: &str, head: &CellsHead, complete: bool, matrices: Vec<Matrix>) -> Self {
        Self {
            name: name.to_owned(),
            plan: head.plan.clone(),
            members: head.members.clone(),
            complete,
            matrices,
        }
    }
}

/// The change of a figure.
#[derive(Clone, Debug)]
struct FigureChange {
    /// The matrices of both campaigns.
    matrices: [Matrix; 2],
    change: TableChange,
}

/// Two campaigns, compared.
#[derive(Clone, Debug)]
pub struct CampaignChange {
    names: [String; 2],
    figures: Vec<FigureChange>,
    notes: Vec<String>,
}

/// Difference in meaning of two plans, if there is one.
fn difference(first: &CampaignPlan, second: &CampaignPlan) -> Option<String> {
    let words = |plan: &CampaignPlan| plan.options.join(" ");
    let times = |plan: &CampaignPlan| format!("{} and {} s", plan.warmup, plan.window);
    let hub = |plan: &CampaignPlan| plan.hub.clone().unwrap_or_default();
    let directions = |plan: &CampaignPlan| format!("{:?}", plan.directions).to_lowercase();
    let uplink = |plan: &CampaignPlan| plan.uplink.to_string();
    let facts: [(&str, [String; 2]); 8] = [
        (
            "pattern",
            [first, second].map(|plan| plan.pattern_name().to_owned()),
        ),
        ("test", [first, second].map(|plan| plan.test.to_uppercase())),
        ("options", [first, second].map(words)),
        ("warmup and window", [first, second].map(times)),
        ("hub", [first, second].map(hub)),
        ("directions", [first, second].map(directions)),
        ("uplink", [first, second].map(uplink)),
        ("probe", [first, second].map(|plan| plan.probe.to_string())),
    ];
    let found = facts.iter().find(|(_, [first, second])| first != second);
    found.map(|(name, [first, second])| {
        let quoted = |text: &str| format!("\"{}\"", line(text));
        format!("{name} is {} and {}", quoted(first), quoted(second))
    })
}

/// Compares two campaigns of plans that mean the same.
///
/// # Errors
/// A line that says why they cannot be compared.
pub fn compare_campaigns(sides: &[MeasuredCampaign; 2]) -> Result<CampaignChange, String> {
    let [first, second] = sides;
    let names = [line(&first.name), line(&second.name)];
    let (Some(plan), Some(other)) = (&first.plan, &second.plan) else {
        return Err(
            "the cells have no plan: give the results that netperf campaign run wrote".to_owned(),
        );
    };
    if let Some(what) = difference(plan, other) {
        return Err(format!(
            "{} and {} have different plans: {what}; print each with netperf campaign show",
            names[0], names[1]
        ));
    }
    let mut figures = Vec::new();
    for matrix in &first.matrices {
        let name = &matrix.figure.name;
        let mut later = second.matrices.iter();
        let later = later.find(|later| later.figure.name == *name);
        let change = later.and_then(|later| Some((matrix.compare(later)?, later)));
        figures.extend(change.map(|(change, later)| FigureChange {
            matrices: [matrix.clone(), later.clone()],
            change,
        }));
    }
    if figures.is_empty() {
        return Err(format!(
            "{} and {} have fewer than 8 cells in common, too few to know their noise: compare \
             campaigns of 4 members or more, with the same names",
            names[0], names[1]
        ));
    }
    let notes = notes(sides);
    Ok(CampaignChange {
        names,
        figures,
        notes,
    })
}

/// Parts that the comparison leaves out.
fn notes(sides: &[MeasuredCampaign; 2]) -> Vec<String> {
    let members = |side: &MeasuredCampaign| -> BTreeSet<String> {
        side.members.iter().map(|one| one.name.clone()).collect()
    };
    let [first, second] = [&sides[0], &sides[1]].map(members);
    let mut notes = Vec::new();
    for (side, only) in sides.iter().zip([&first - &second, &second - &first]) {
        let name = line(&side.name);
        if !only.is_empty() {
            let only: Vec<String> = only.iter().map(|member| line(member)).collect();
            notes.push(format!("Only {name} has {}", only.join(", ")));
        }
        if !side.complete {
            notes.push(format!("{name} is not complete"));
        }
    }
    notes
}

impl FigureChange {
    fn is_worse(&self, cell: &CellChange) -> bool {
        let grew = match self.matrices[0].scale() {
            EffectScale::Ratio { .. } => cell.change > 1.0,
            EffectScale::Difference { .. } => cell.change > 0.0,
        };
        cell.changed && grew != (self.matrices[0].figure.better_when == "higher")
    }

    /// The changed cells, those that got worse first, and each kind by its probability.
    fn changed(&self) -> Vec<&CellChange> {
        let changed = self.change.cells.iter().filter(|cell| cell.changed);
        let mut changed: Vec<&CellChange> = changed.collect();
        changed.sort_by(|a, b| {
            let worse = self.is_worse(b).cmp(&self.is_worse(a));
            worse.then(a.probability.total_cmp(&b.probability))
        });
        changed
    }

    fn worse(&self) -> usize {
        let cells = self.change.cells.iter();
        cells.filter(|cell| self.is_worse(cell)).count()
    }

    /// True if the noise is larger than the changes that count.
    fn is_noisy(&self) -> bool {
        match self.matrices[0].scale() {
            EffectScale::Ratio { least } => self.change.spread > least.ln_1p(),
            EffectScale::Difference { least } => self.change.spread > least,
        }
    }

    fn effect(&self, change: f64) -> String {
        match self.matrices[0].scale() {
            EffectScale::Ratio { .. } => format!("{:+.1} %", 100.0 * (change - 1.0)),
            EffectScale::Difference { .. } => {
                format!("{change:+.2} {}", self.matrices[0].figure.unit)
            }
        }
    }

    fn names(&self, cell: &CellChange) -> [String; 2] {
        let name = |at: usize| {
            let member = self.matrices[0].members.get(at);
            member.map_or_else(String::new, |member| line(&member.name))
        };
        [name(cell.at.0), name(cell.at.1)]
    }

    /// The values of a cell before and after.
    fn values(&self, cell: &CellChange) -> [Option<f64>; 2] {
        let (from, to) = cell.at;
        let [first, second] = &self.matrices;
        let place = |at: usize| {
            let name = &first.members.get(at)?.name;
            second.members.iter().position(|one| one.name == *name)
        };
        let later = place(from).zip(place(to));
        let later = later.and_then(|(from, to)| second.value(Cell { from, to }));
        [first.value(Cell { from, to }), later]
    }

    fn write(&self, text: &mut String) {
        let (worse, changed) = (self.worse(), self.changed());
        let cells = self.change.cells.len();
        let better = changed.len() - worse;
        let name = &self.matrices[0].figure.name;
        let median = self.effect(self.change.median);
        _ = writeln!(
            text,
            "{name}: {}, {worse} worse, {better} better; median change {median}",
            plural(cells, "cell")
        );
        if self.change.left_out > 0 {
            let said = match self.change.left_out {
                1 => "1 cell has".to_owned(),
                left_out => format!("{left_out} cells have"),
            };
            _ = writeln!(text, "  {said} a value on one side only");
        }
        for cell in changed.iter().take(MOST_SHOWN) {
            let word = if self.is_worse(cell) {
                "worse "
            } else {
                "better"
            };
            let [from, to] = self.names(cell);
            let values = self.values(cell).map(|value| {
                value.map_or_else(|| "-".to_owned(), |value| self.matrices[0].quantity(value))
            });
            let change = self.effect(cell.change);
            let [before, after] = values;
            _ = writeln!(
                text,
                "  {word} {from} to {to}: {before} -> {after}, {change}"
            );
        }
        let hidden = changed.len().saturating_sub(MOST_SHOWN);
        if hidden > 0 {
            _ = writeln!(text, "  and {hidden} more: see --json");
        }
    }

    fn json(&self) -> Value {
        let cell = |cell: &&CellChange| {
            let [from, to] = self.names(cell);
            let [first, second] = self.values(cell);
            json!({
                "from": from,
                "to": to,
                "first": first,
                "second": second,
                "change": cell.change,
                "false_discovery_rate": cell.rate,
                "worse": self.is_worse(cell),
            })
        };
        let figure = &self.matrices[0].figure;
        let changed: Vec<Value> = self.changed().iter().map(cell).collect();
        json!({
            "metric": figure.name,
            "unit": figure.unit,
            "better_when": figure.better_when,
            "cells": self.change.cells.len(),
            "left_out": self.change.left_out,
            "median_change": self.change.median,
            "spread": self.change.spread,
            "changed": changed,
        })
    }
}

impl CampaignChange {
    /// The judgement: worse if a cell of any figure is; inconclusive if the noise of the main
    /// figure is larger than the changes that count.
    #[must_use]
    pub fn outcome(&self) -> ChangeOutcome {
        let worse = self.figures.iter().any(|figure| figure.worse() > 0);
        let better = self.figures.iter().any(|one| !one.changed().is_empty());
        let noisy = self.figures.first().is_some_and(FigureChange::is_noisy);
        match (worse, better, noisy) {
            (true, ..) => ChangeOutcome::Worse,
            (false, true, _) => ChangeOutcome::Better,
            (false, false, true) => ChangeOutcome::Inconclusive,
            (false, false, false) => ChangeOutcome::Equivalent,
        }
    }

    /// The comparison for a person.
    #[must_use]
    pub fn text(&self) -> String {
        let [first, second] = &self.names;
        let mut text = format!("{first} and then {second}, cell by cell\n\n");
        for figure in &self.figures {
            figure.write(&mut text);
        }
        text.push('\n');
        for note in &self.notes {
            _ = writeln!(text, "{note}");
        }
        let said = match self.outcome() {
            ChangeOutcome::Worse => "Cells got worse.",
            ChangeOutcome::Better => "Cells got better, and none worse.",
            ChangeOutcome::Inconclusive => {
                "No cell changed, but the noise is larger than the changes that count."
            }
            ChangeOutcome::Equivalent => "No cell changed.",
        };
        let rate = 100.0 * COMPARED_RATE;
        _ = writeln!(text, "{said} (false discovery rate {rate} %)");
        text
    }

    /// The comparison as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(FigureChange::json).collect();
        json!({
            "schema": SCHEMA,
            "first": self.names[0],
            "second": self.names[1],
            "outcome": self.outcome().word(),
            "false_discovery_rate": COMPARED_RATE,
            "metrics": figures,
            "notes": self.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use netperf_stats::testing::Dice;

    use super::*;
    use crate::outcome::FIGURES;

    fn campaign(
        name: &str,
        seed: u64,
        noise: f64,
        rate: impl Fn(usize, usize) -> f64,
    ) -> MeasuredCampaign {
        let member = |at: usize| MatrixMember {
            name: format!("h{at}"),
            ..MatrixMember::default()
        };
        let members: Vec<MatrixMember> = (0..5).map(member).collect();
        let mut matrix = Matrix::new(FIGURES[0].of_matrix(), members.clone());
        let mut dice = Dice::new(seed);
        for from in 0..5 {
            for to in (0..5).filter(|to| *to != from) {
                let value = rate(from, to) * (noise * dice.normal()).exp();
                matrix.set(Cell { from, to }, Ok(value));
            }
        }
        MeasuredCampaign {
            name: name.to_owned(),
            plan: Some(CampaignPlan::read("pattern = \"pairs\"\ntest = \"TCP_STREAM\"").unwrap()),
            members,
            complete: true,
            matrices: vec![matrix],
        }
    }

    #[test]
    fn a_path_that_is_slower_is_named() {
        let before = campaign("before.json", 3, 0.01, |_, _| 1e9);
        let slow = |from, to| if (from, to) == (1, 4) { 5e8 } else { 1e9 };
        let after = campaign("after.json", 4, 0.01, slow);
        let change = compare_campaigns(&[before.clone(), after]).unwrap();
        assert_eq!(change.outcome(), ChangeOutcome::Worse);
        let text = change.text();
        assert!(text.contains("20 cells, 1 worse, 0 better"), "{text}");
        assert!(text.contains("  worse  h1 to h4: "), "{text}");
        let json = change.json();
        assert_eq!(json["metrics"][0]["changed"][0]["from"], "h1");
        assert_eq!(json["outcome"], "worse");
        let same = campaign("again.json", 5, 0.01, |_, _| 1e9);
        let change = compare_campaigns(&[before, same]).unwrap();
        assert_eq!(change.outcome(), ChangeOutcome::Equivalent);
    }

    #[test]
    fn noise_that_hides_changes_is_no_equivalence() {
        let before = campaign("a", 3, 0.3, |_, _| 1e9);
        let after = campaign("b", 4, 0.3, |_, _| 1e9);
        let change = compare_campaigns(&[before, after]).unwrap();
        assert_eq!(change.outcome(), ChangeOutcome::Inconclusive);
        assert!(change.text().contains("the noise is larger"));
    }

    #[test]
    fn other_meanings_are_refused_with_the_reason() {
        let sides = || {
            let side = |name, seed| campaign(name, seed, 0.01, |_, _| 1e9);
            [side("a\u{1b}", 1), side("b", 2)]
        };
        let said = |change: fn(&mut MeasuredCampaign)| {
            let mut sides = sides();
            change(&mut sides[1]);
            compare_campaigns(&sides).map(|change| change.text())
        };
        let refused = |change| said(change).unwrap_err();
        let line = refused(|side| side.plan.as_mut().unwrap().test = "UDP_STREAM".to_owned());
        assert!(
            line.contains("different plans: test is \"TCP_STREAM\" and \"UDP_STREAM\""),
            "{line}"
        );
        assert!(!line.contains('\u{1b}'));
        let line = refused(|side| side.plan.as_mut().unwrap().window = 10.0);
        assert!(line.contains("warmup and window is"), "{line}");
        let line = refused(|side| side.plan = None);
        assert!(line.contains("have no plan"), "{line}");
        let line = refused(|side| side.matrices.clear());
        assert!(line.contains("fewer than 8 cells"), "{line}");
        // Another order and other failures mean the same.
        let text = said(|side| {
            side.plan.as_mut().unwrap().seed = 7;
            side.complete = false;
            side.members.pop();
        });
        let text = text.unwrap();
        assert!(
            text.contains("b is not complete") && text.contains("has h4"),
            "{text}"
        );
    }
}
