//! Tables of a summary: latency, and the flows.

use netperf_report::document::{FlowResult, FlowsResult, LatencySummary};
use netperf_text::columns::{aligned, aligned_within, width};
use netperf_text::look::TextLook;
use netperf_text::unit::{Unit, figure, quantity, whole};

use super::RunSummary;

/// Flows of a list at most.
const LISTED: usize = 16;
/// Percentiles of the table of latency.
const PERCENTILES: [(&str, f64); 4] =
    [("P50", 50.0), ("P90", 90.0), ("P99", 99.0), ("P99.9", 99.9)];

/// A percentile in words.
fn percentile(of: &LatencySummary, percent: f64) -> Option<String> {
    let mut found = of.percentiles.iter().filter(|one| one.percent == percent);
    let nanoseconds = found.next()?.nanoseconds.0?;
    Some(quantity(nanoseconds / 1e9, Unit::Seconds))
}

/// A head and its row of numbers, or two halves of them below each other where a line would be wider
/// than this.
fn in_one_or_two(rows: &[Vec<String>; 2], columns: usize) -> String {
    let whole = aligned(rows, &[1, 2, 3, 4, 5, 6]);
    if whole.lines().all(|line| width(line) <= columns) {
        return whole;
    }
    let half = |from: usize, to: usize| {
        let of_row = |row: &Vec<String>| {
            let cells = row.iter().take(1).chain(row.iter().take(to).skip(from));
            cells.cloned().collect()
        };
        aligned(&rows.each_ref().map(of_row), &[1, 2, 3])
    };
    half(1, 4) + &half(4, 7)
}

impl RunSummary<'_> {
    /// Latency of requests, which time in send() is not.
    fn latency(&self) -> Option<&LatencySummary> {
        let latency = self.document.latency.as_ref();
        latency.filter(|latency| self.counts_transactions() && latency.count > 0)
    }

    /// Median and P99 of requests for the first line; their mean where no more is known.
    pub(super) fn median_and_tail(self) -> Option<String> {
        if let Some(latency) = self.latency() {
            let (median, tail) = (percentile(latency, 50.0)?, percentile(latency, 99.0)?);
            return Some(format!("latency P50 {median}, P99 {tail}"));
        }
        let mean = self.document.result.as_ref()?.mean_round_trip_seconds.0?;
        Some(format!("mean latency {}", quantity(mean, Unit::Seconds)))
    }

    /// Statement that no request was answered.
    pub(super) fn no_response(self) -> Option<String> {
        let latency = self.document.latency.as_ref()?;
        let is_none = latency.count == 0 && self.counts_transactions();
        is_none.then(|| "no response".to_owned())
    }

    /// The table of latency.
    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds of hours, and a count"
    )]
    pub(super) fn latencies(self, look: TextLook) -> Option<String> {
        let latency = self.latency()?;
        let names = PERCENTILES.iter().map(|(name, _)| (*name).to_owned());
        let head = std::iter::once("Latency".to_owned()).chain(names);
        let head: Vec<String> = head.chain(["max", "count"].map(str::to_owned)).collect();
        let times = PERCENTILES
            .iter()
            .map(|(_, percent)| percentile(latency, *percent));
        let times = times.map(Option::unwrap_or_default);
        let max = latency.max_nanoseconds;
        let max = max.map(|max| quantity(max as f64 / 1e9, Unit::Seconds));
        let name = match (self.document.test.connects, self.document.test.sends) {
            (true, false) => "connections",
            _ => "requests",
        };
        let row = std::iter::once(name.to_owned()).chain(times);
        let row = row.chain([max.unwrap_or_default(), whole(latency.count as f64)]);
        Some(in_one_or_two(&[head, row.collect()], look.columns))
    }

    /// The list of flows, or the slowest and the fastest of many.
    pub(super) fn flows(self, look: TextLook) -> Option<String> {
        let flows: &FlowsResult = self.first()?.flows.as_ref()?;
        let rates: Vec<f64> = flows
            .each
            .iter()
            .filter_map(|flow| self.rate_of(flow))
            .collect();
        let fairness = flows.fairness.0.filter(|_| rates.len() > 1);
        let fairness = fairness.map(|fairness| format!(", fairness {}", figure(fairness)));
        let fairness = fairness.unwrap_or_default();
        if rates.is_empty() {
            return None;
        }
        if rates.len() > LISTED {
            let slowest = self.shown(rates.iter().copied().reduce(f64::min)?);
            let fastest = self.shown(rates.iter().copied().reduce(f64::max)?);
            let count = rates.len();
            return Some(format!(
                "{count} flows: slowest {slowest}, fastest {fastest}{fairness}\n"
            ));
        }
        let sum: f64 = rates.iter().sum();
        let head = ["Flow", "rate", "share"].map(str::to_owned).to_vec();
        let row = |(number, rate): (usize, &f64)| {
            let share = if sum > 0.0 { 100.0 * rate / sum } else { 0.0 };
            vec![
                format!("{number:>4}"),
                self.shown(*rate),
                quantity(share, Unit::Percent),
            ]
        };
        let rows = (1..).zip(&rates).map(row);
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let mut text = aligned_within(&rows, &[1, 2], Some(look.columns));
        if !fairness.is_empty() {
            text.push_str(&format!("{} flows{fairness}\n", rates.len()));
        }
        Some(text)
    }

    fn shown(self, rate: f64) -> String {
        let unit = if self.counts_transactions() {
            Unit::TransactionsPerSecond
        } else {
            Unit::BitsPerSecond
        };
        quantity(rate, unit)
    }

    /// The rate of a flow in the direction of the run.
    fn rate_of(self, flow: &FlowResult) -> Option<f64> {
        if self.counts_transactions() {
            return flow.transactions_per_second.0;
        }
        if self.document.test.sends {
            flow.sent_bits_per_second.0
        } else {
            flow.received_bits_per_second.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_too_wide_is_two() {
        let row = |cells: [&str; 7]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["Latency", "P50", "P90", "P99", "P99.9", "max", "count"]),
            row([
                "requests",
                "55.5 us",
                "61.8 us",
                "77.6 us",
                "22.1 ms",
                "227 ms",
                "1 110 677",
            ]),
        ];
        assert_eq!(in_one_or_two(&rows, 80).lines().count(), 2);
        let narrow = in_one_or_two(&rows, 60);
        assert_eq!(narrow.lines().count(), 4, "{narrow}");
        assert!(narrow.lines().all(|line| width(line) <= 60), "{narrow}");
        for cell in rows.iter().flatten() {
            assert!(narrow.contains(cell.as_str()), "{cell}: {narrow}");
        }
    }
}
