//! The result of a campaign: one document, and its text.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::inventory::InventoryMember;
use crate::pattern::Cell;
use crate::plan::CampaignPlan;

/// Name of the format.
pub const FORMAT: &str = "netperf-campaign-1";
/// Most members of which the text has a table.
const WIDEST: usize = 12;
/// Width of a column of the table.
const COLUMN: usize = 8;

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignDocument {
    /// [`FORMAT`].
    pub format: String,
    /// Identifier.
    pub campaign: String,
    /// Begin of the first load by the coordinator's wall clock, seconds since 1970.
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
    /// Largest step of its wall clock during the campaign, seconds.
    pub wall_clock_stepped_seconds: f64,
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
    /// Time since the begin of the first load, seconds; negative before it.
    pub at_seconds: f64,
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

/// A number in a few letters, such as `9.42G`.
#[must_use]
pub fn short(value: f64) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (value, letter) = steps
        .iter()
        .find(|(step, _)| value >= step * 0.9995)
        .map_or((value, ""), |(step, letter)| (value / step, *letter));
    let digits = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{letter}")
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

    /// Values of a cell in all rounds.
    fn values(&self, cell: Cell) -> Vec<f64> {
        let of = |one: &&CampaignCell| one.from == cell.from && one.to == cell.to;
        let cells = self.cells.iter().filter(of);
        cells.filter_map(|one| one.figures.main()).collect()
    }

    fn has(&self, cell: Cell) -> bool {
        let all = &mut self.cells.iter();
        all.any(|one| one.from == cell.from && one.to == cell.to)
    }

    /// The result for a person.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let plan = &self.plan;
        let pattern = serde_json::to_value(plan.pattern).ok();
        let pattern = pattern.as_ref().and_then(Value::as_str).unwrap_or_default();
        let rounds = self
            .cells
            .iter()
            .map(|one| one.round + 1)
            .max()
            .unwrap_or(0);
        let mut line = |words: String| {
            let _infallible = writeln!(text, "{words}");
        };
        line(format!(
            "Campaign {}: {pattern} of {} members, {}, {rounds} rounds of {} s",
            self.campaign,
            self.members.len(),
            plan.test,
            plan.window
        ));
        if let Some(error) = self.cut_error_seconds {
            line(format!("Windows cut to within {:.1} us", error * 1e6));
        }
        line(String::new());
        for row in self.table() {
            line(row);
        }
        let measured: Vec<f64> = self
            .cells
            .iter()
            .filter_map(|one| one.figures.main())
            .collect();
        let least = measured.iter().copied().reduce(f64::min);
        let most = measured.iter().copied().reduce(f64::max);
        if let (Some(least), Some(middle), Some(most)) =
            (least, median(&mut measured.clone()), most)
        {
            let unit = self.unit();
            line(String::new());
            line(format!(
                "Cells: {} of {}; least {}, median {}, most {} {unit}",
                measured.len(),
                self.cells.len(),
                short(least),
                short(middle),
                short(most)
            ));
        }
        for member in &self.members {
            if let Some(lost) = &member.lost {
                let name = &member.member.name;
                line(format!(
                    "Lost: {name} at {:.1} s: {}",
                    lost.at_seconds, lost.reason
                ));
            }
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
        if let Some(why) = &self.ended {
            line(format!("Ended early: {why}"));
        }
        text
    }

    fn unit(&self) -> &'static str {
        let transactions = |one: &CampaignCell| one.figures.transactions_per_second.is_some();
        if self.cells.iter().any(transactions) {
            "transactions/s"
        } else {
            "bit/s"
        }
    }

    /// Rows are senders, columns receivers; `-` was not measured, `?` is missing.
    fn table(&self) -> Vec<String> {
        let count = self.members.len();
        let name = |index: usize| -> String {
            let member = self.members.get(index);
            let name = member.map_or("", |one| one.member.name.as_str());
            name.chars().take(COLUMN - 1).collect()
        };
        if count > WIDEST {
            return Vec::new();
        }
        let unit = self.unit();
        let mut rows = vec![format!("{unit}, from (rows) to (columns)")];
        let heads: String = (0..count)
            .map(|to| format!("{:>COLUMN$}", name(to)))
            .collect();
        rows.push(format!("{:COLUMN$}{heads}", ""));
        for from in 0..count {
            let cell = |to: usize| {
                let cell = Cell { from, to };
                let value = match median(&mut self.values(cell)) {
                    Some(value) => short(value),
                    None if self.has(cell) => "?".to_owned(),
                    None => "-".to_owned(),
                };
                format!("{value:>COLUMN$}")
            };
            let cells: String = (0..count).map(cell).collect();
            rows.push(format!("{:COLUMN$}{cells}", name(from)));
        }
        rows
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
    fn numbers_are_short() {
        let of = |value| short(value);
        assert_eq!(
            [0.0, 9.996, 99.96, 999.6, 1e3, 12_345.0, 9.424e9].map(of),
            ["0.00", "10.0", "100", "1.00k", "1.00k", "12.3k", "9.42G"]
        );
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
        let text = document.text();
        assert!(text.contains("a              -   5.00G"), "{text}");
        assert!(text.contains("b              ?       -"), "{text}");
        assert!(text.contains("Missing: b -> a: b is lost"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let json = serde_json::to_string(&document).unwrap();
        assert_eq!(CampaignDocument::read(&json), Ok(document));
    }
}
