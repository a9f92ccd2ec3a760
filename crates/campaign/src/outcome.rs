//! The result of a campaign: one document, and its text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use netperf_web::table::Table;
use netperf_web::{MatrixReport, TooLarge};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock;
use crate::inventory::InventoryMember;
use crate::matrix::MatrixView;
use crate::matrix::{Matrix, MatrixFigure, MatrixMember};
use crate::pattern::Cell;
use crate::plan::CampaignPlan;

/// Name of the format.
pub const FORMAT: &str = "netperf-campaign-1";

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignDocument {
    /// [`FORMAT`].
    pub format: String,
    /// Identifier.
    pub campaign: String,
    /// Begin of the first load by the coordinator's system clock, seconds since 1970.
    pub started_unix_seconds: f64,
    /// The plan.
    pub plan: CampaignPlan,
    /// True if every member took part to the end and every cell was measured.
    pub complete: bool,
    /// Why the campaign ended before its end; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The members, in the order of the inventory.
    pub members: Vec<CampaignMember>,
    /// Largest error of the begin and end of a window, seconds; null without any window.
    pub cut_error_seconds: Option<f64>,
    /// The cells, in the order of their loads.
    pub cells: Vec<CampaignCell>,
}

/// A member and its clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignMember {
    /// The entry of the inventory.
    #[serde(flatten)]
    pub member: InventoryMember,
    /// Version of its program; null for a stock netserver.
    pub version: Option<String>,
    /// Number of its processors; null where unknown.
    pub cpus: Option<u32>,
    /// Its clock; null for a stock netserver, whose windows nobody cuts.
    pub clock: Option<MemberClock>,
    /// Why it was lost, and when; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostMember>,
}

/// The clock of a member against that of the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberClock {
    /// Method: `inband`.
    pub method: ClockMethod,
    /// Its `CLOCK_MONOTONIC` minus that of the coordinator before the load, seconds.
    pub offset_seconds: f64,
    /// Largest error of the offset, seconds.
    pub bound_seconds: f64,
    /// The same after the load; null if the member was lost.
    pub bound_after_seconds: Option<f64>,
    /// Shortest time from question to answer, seconds.
    pub round_trip_seconds: f64,
    /// Speed beyond that of the coordinator's clock, parts per million; null where the bounds leave
    /// it open.
    pub drift_ppm: Option<f64>,
    /// Largest step of its system clock during the campaign, seconds.
    pub wall_clock_stepped_seconds: f64,
}

impl MemberClock {
    /// What is doubtful for windows of this length, in seconds.
    #[must_use]
    pub fn doubts(&self, window: f64) -> Vec<String> {
        let bound = self.bound_after_seconds.unwrap_or_default();
        let bound = clock::doubt(bound.max(self.bound_seconds), window);
        let step = clock::step(self.wall_clock_stepped_seconds);
        bound.into_iter().chain(step).collect()
    }
}

/// How offsets of clocks are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockMethod {
    /// By questions over the control connection.
    Inband,
}

/// A member that was lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostMember {
    /// Why.
    pub reason: String,
    /// Time since the begin of the first load, seconds; negative before it, null if no begin was
    /// agreed.
    pub at_seconds: Option<f64>,
}

/// One sender, one receiver, one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignCell {
    /// Index of the sender.
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// Round, from 0.
    pub round: usize,
    /// The window; null if nothing was measured.
    pub window: Option<CellWindow>,
    /// What was measured; null figures are not of this test.
    pub figures: CellFigures,
    /// Why nothing was measured; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Warnings of the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The part of a load that counted, on the coordinator's time line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellWindow {
    /// Begin after the begin of the first load, seconds.
    pub begin_seconds: f64,
    /// Distance from the agreed begin, seconds.
    pub late_seconds: f64,
    /// Length, seconds.
    pub seconds: f64,
    /// Largest error of begin and end, seconds.
    pub cut_error_seconds: f64,
}

/// Figures of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// Throughput, bits per second.
    pub bits_per_second: Option<f64>,
    /// Transactions per second.
    pub transactions_per_second: Option<f64>,
    /// Latency: median, seconds.
    pub latency_p50_seconds: Option<f64>,
    /// 99 % of the latencies are at most this, seconds.
    pub latency_p99_seconds: Option<f64>,
    /// Share of datagrams that did not arrive.
    pub lost_share: Option<f64>,
    /// Retransmitted segments of the sender.
    pub retransmitted_segments: Option<f64>,
}

impl CellFigures {
    /// The figures of a JSON document of netperf.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let result = &document["result"];
        let number = |value: &Value| value.as_f64();
        let transactions = number(&result["transactions_per_second"]);
        let run = &document["iterations"][0];
        let percentile = |percent: f64| {
            let all = document["latency"]["percentiles"].as_array()?;
            let found = all
                .iter()
                .find(|one| one["percent"].as_f64() == Some(percent))?;
            Some(found["nanoseconds"].as_f64()? * 1e-9)
        };
        let reliable = run["tcp"].is_object();
        let sent = number(&run["local"]["sent_bytes"]).filter(|sent| *sent > 0.0);
        let received = number(&run["remote"]["received_bytes"]);
        let one_way = transactions.is_none() && !reliable;
        let lost = sent
            .zip(received)
            .map(|(sent, got)| (1.0 - got / sent).max(0.0));
        let bits = number(&result["throughput_bits_per_second"]);
        Self {
            bits_per_second: bits.filter(|_| transactions.is_none()),
            transactions_per_second: transactions,
            latency_p50_seconds: percentile(50.0),
            latency_p99_seconds: percentile(99.0),
            lost_share: lost.filter(|_| one_way),
            retransmitted_segments: number(&run["local"]["retransmitted_segments"]),
        }
    }

    /// The main figure.
    #[must_use]
    pub fn main(&self) -> Option<f64> {
        self.transactions_per_second.or(self.bits_per_second)
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied()?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = values.get(middle.checked_sub(1)?).copied()?;
    Some(f64::midpoint(lower, upper))
}

impl CampaignDocument {
    /// Reads a document.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(text: &str) -> Result<Self, String> {
        let document: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if document.format == FORMAT {
            Ok(document)
        } else {
            Err(format!("the format is {}, not {FORMAT}", document.format))
        }
    }

    /// The result for a person.
    #[must_use]
    pub fn text(&self, view: MatrixView) -> String {
        let mut text = String::new();
        let plan = &self.plan;
        let rounds = self.cells.iter().map(|one| one.round + 1).max();
        let mut line = |words: String| {
            let _infallible = writeln!(text, "{words}");
        };
        line(format!(
            "Campaign {}: {} of {} members, {}, {} rounds of {} s",
            self.campaign,
            self.pattern(),
            self.members.len(),
            plan.test,
            rounds.unwrap_or(0),
            plan.window
        ));
        if let Some(error) = self.cut_error_seconds {
            line(format!("Windows cut to within {:.1} us", error * 1e6));
        }
        if let Some(matrix) = self.matrices().first() {
            line(String::new());
            line(matrix.text(&matrix.outliers(), view).trim_end().to_owned());
        }
        let measured = |one: &&CampaignCell| one.missing.is_none();
        let measured = self.cells.iter().filter(measured).count();
        line(String::new());
        line(format!(
            "Cells: {measured} of {} measured",
            self.cells.len()
        ));
        for doubt in self.doubts() {
            line(doubt);
        }
        let missing = self.cells.iter().filter(|one| one.missing.is_some());
        for cell in missing.take(10) {
            let name = |index: usize| self.members.get(index).map_or("", |one| &one.member.name);
            let why = cell.missing.as_deref().unwrap_or_default();
            line(format!(
                "Missing: {} -> {}: {why}",
                name(cell.from),
                name(cell.to)
            ));
        }
        text
    }

    /// Matrices of the figures that the test has, the main one first, with the median of all
    /// rounds in each cell.
    #[must_use]
    pub fn matrices(&self) -> Vec<Matrix> {
        type Row = (
            &'static str,
            &'static str,
            &'static str,
            fn(&CellFigures) -> Option<f64>,
        );
        const ROWS: [Row; 5] = [
            ("throughput", "bit/s", "higher", |one| one.bits_per_second),
            ("transaction rate", "trans/s", "higher", |one| {
                one.transactions_per_second
            }),
            ("latency P50", "s", "lower", |one| one.latency_p50_seconds),
            ("latency P99", "s", "lower", |one| one.latency_p99_seconds),
            ("loss", "%", "lower", |one| {
                one.lost_share.map(|share| share * 100.0)
            }),
        ];
        let mut found = Vec::new();
        for (name, unit, better_when, pick) in ROWS {
            if self.cells.iter().any(|one| pick(&one.figures).is_some()) {
                let figure = MatrixFigure {
                    name: name.to_owned(),
                    unit: unit.to_owned(),
                    better_when: better_when.to_owned(),
                };
                found.push(self.matrix(figure, pick));
            }
        }
        found
    }

    fn matrix(&self, figure: MatrixFigure, pick: fn(&CellFigures) -> Option<f64>) -> Matrix {
        let member = |one: &CampaignMember| MatrixMember {
            name: one.member.name.clone(),
            labels: one.member.labels.clone(),
        };
        let mut matrix = Matrix::new(figure, self.members.iter().map(member).collect());
        let mut cells: BTreeMap<Cell, (Vec<f64>, &str)> = BTreeMap::new();
        for one in &self.cells {
            let cell = Cell {
                from: one.from,
                to: one.to,
            };
            let entry = cells.entry(cell).or_insert((Vec::new(), "not measured"));
            entry.0.extend(pick(&one.figures));
            if let Some(why) = &one.missing {
                entry.1 = why;
            }
        }
        for (cell, (mut values, why)) in cells {
            matrix.set(cell, median(&mut values).ok_or(why));
        }
        matrix
    }

    /// Outliers of the main figure in words.
    fn doubts(&self) -> Vec<String> {
        let lost = |one: &CampaignMember| {
            let lost = one.lost.as_ref()?;
            let name = &one.member.name;
            let at = lost.at_seconds.map(|at| format!(" at {at:.1} s"));
            let at = at.unwrap_or_default();
            Some(format!("{name} was lost{at}: {}", lost.reason))
        };
        let ended = self
            .ended
            .iter()
            .map(|why| format!("It ended early: {why}"));
        let lost = self.members.iter().filter_map(lost);
        ended.chain(lost).chain(self.clock_doubts()).collect()
    }

    /// What is doubtful about clocks of members, each with its name.
    #[must_use]
    pub fn clock_doubts(&self) -> Vec<String> {
        let of = |one: &CampaignMember| {
            let doubts = one.clock.map(|clock| clock.doubts(self.plan.window));
            let doubts = doubts.unwrap_or_default().into_iter();
            let named = doubts.map(|doubt| format!("{}: {doubt}", one.member.name));
            named.collect::<Vec<_>>()
        };
        self.members.iter().flat_map(of).collect()
    }

    /// The result as a page.
    ///
    /// # Errors
    /// When it would have more than a million bytes.
    pub fn page(&self) -> Result<String, TooLarge> {
        let about = format!(
            "{} of {} members, windows of {} s",
            self.pattern(),
            self.members.len(),
            self.plan.window
        );
        let cut = self.cut_error_seconds.map(|error| {
            format!(
                "Windows are cut on one time line to within {:.1} µs.",
                error * 1e6
            )
        });
        let reported = |(number, matrix): (usize, Matrix)| {
            let outliers = matrix.outliers();
            let id = format!("m{number}");
            matrix.reported((&id, "Median of all rounds."), &outliers, &[])
        };
        let matrices = self.matrices();
        let missing = matrices.first().map(Matrix::missing).unwrap_or_default();
        let missing = missing
            .iter()
            .map(|(why, count)| format!("{count} cells are missing: {why}"));
        let doubts = self.doubts().into_iter().chain(missing).collect();
        let matrices = matrices.clone().into_iter().enumerate();
        let mut members = Table::new("Members", 1, &["name", "control", "version", "CPUs"]);
        for one in &self.members {
            members.rows.push(vec![
                one.member.name.clone(),
                one.member.control.clone(),
                one.version.clone().unwrap_or_default(),
                one.cpus.map(|cpus| cpus.to_string()).unwrap_or_default(),
            ]);
        }
        MatrixReport {
            title: format!("Campaign {}: {}", self.campaign, self.plan.test),
            about: std::iter::once(about).chain(cut).collect(),
            doubts,
            summary: Vec::new(),
            matrices: matrices.map(reported).collect(),
            members,
        }
        .page()
    }

    fn pattern(&self) -> String {
        let pattern = serde_json::to_value(self.plan.pattern).ok();
        let pattern = pattern.as_ref().and_then(Value::as_str);
        pattern.unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_those_of_the_test() {
        let stream = json!({
            "result": {"throughput_bits_per_second": 9e9, "transactions_per_second": null},
            "iterations": [{"tcp": {}, "local": {"sent_bytes": 10, "retransmitted_segments": 3},
                            "remote": {"received_bytes": 10}}],
        });
        let figures = CellFigures::of(&stream);
        assert_eq!(figures.main(), Some(9e9));
        assert_eq!(
            (figures.lost_share, figures.retransmitted_segments),
            (None, Some(3.0))
        );
        let datagrams = json!({
            "result": {"throughput_bits_per_second": 1e6},
            "iterations": [{"tcp": null, "local": {"sent_bytes": 100},
                            "remote": {"received_bytes": 75}}],
        });
        assert_eq!(CellFigures::of(&datagrams).lost_share, Some(0.25));
        let requests = json!({
            "result": {"throughput_bits_per_second": 1e6, "transactions_per_second": 500.0},
            "iterations": [{"tcp": null, "local": {"sent_bytes": 100}, "remote": {}}],
            "latency": {"percentiles": [{"percent": 99.0, "nanoseconds": 2e6}]},
        });
        let figures = CellFigures::of(&requests);
        assert_eq!(
            (figures.main(), figures.bits_per_second),
            (Some(500.0), None)
        );
        assert_eq!(figures.latency_p99_seconds, Some(0.002));
        assert_eq!(CellFigures::of(&Value::Null), CellFigures::default());
    }

    #[test]
    fn the_table_tells_what_is_missing_from_what_was_not_asked() {
        let members = crate::inventory::read(
            "a\nb\n".as_bytes(),
            &crate::inventory::InventoryOptions::default(),
        )
        .unwrap();
        let member = |member: InventoryMember| CampaignMember {
            member,
            version: None,
            cpus: None,
            clock: None,
            lost: None,
        };
        let cell = |from, to, bits: Option<f64>| CampaignCell {
            from,
            to,
            round: 0,
            window: None,
            figures: CellFigures {
                bits_per_second: bits,
                ..CellFigures::default()
            },
            missing: bits.is_none().then(|| "b is lost".to_owned()),
            warnings: Vec::new(),
        };
        let document = CampaignDocument {
            format: FORMAT.to_owned(),
            campaign: "c1".to_owned(),
            started_unix_seconds: 0.0,
            plan: CampaignPlan::read("pattern = \"mesh\"\ntest = \"TCP_STREAM\"").unwrap(),
            complete: false,
            ended: None,
            members: members.into_iter().map(member).collect(),
            cut_error_seconds: Some(7e-6),
            cells: vec![cell(0, 1, Some(5e9)), cell(1, 0, None)],
        };
        let text = document.text(MatrixView::default());
        assert!(
            text.contains("5.00 Gbit/s") || text.contains("5.00"),
            "{text}"
        );
        assert!(text.contains("Missing: b -> a: b is lost"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let page = document.page().unwrap();
        assert!(
            page.contains("<svg") && page.contains("b is lost"),
            "{page}"
        );
        let json = serde_json::to_string(&document).unwrap();
        assert_eq!(CampaignDocument::read(&json), Ok(document));
    }
}
