//! Values measured by a cell.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::sums::CellWork;
use crate::matrix::MatrixFigure;

/// A figure of cells: its name, unit, direction and value.
pub struct CellFigure {
    /// Its name.
    pub name: &'static str,
    /// The sign of its unit.
    pub unit: &'static str,
    /// `higher` or `lower`.
    pub better_when: &'static str,
    /// Its value in a cell.
    pub value: fn(&CellFigures) -> Option<f64>,
}

const fn of(
    (name, unit): (&'static str, &'static str),
    better_when: &'static str,
    value: fn(&CellFigures) -> Option<f64>,
) -> CellFigure {
    CellFigure {
        name,
        unit,
        better_when,
        value,
    }
}

/// The figures that matrices have, the main ones first.
pub const FIGURES: [CellFigure; 9] = [
    of(("throughput", "bit/s"), "higher", |one| one.bits_per_second),
    of(("transaction rate", "transactions/s"), "higher", |one| {
        one.transactions_per_second
    }),
    of(("latency P50", "s"), "lower", |one| one.latency_p50_seconds),
    of(("latency P99", "s"), "lower", |one| one.latency_p99_seconds),
    of(("loss", "%"), "lower", |one| {
        one.lost_share.map(|share| share * 100.0)
    }),
    of(("unloaded latency P50", "s"), "lower", |one| {
        one.unloaded_latency_p50_seconds
    }),
    of(("loaded latency P50", "s"), "lower", |one| {
        one.loaded_latency_p50_seconds
    }),
    of(("unloaded latency P99", "s"), "lower", |one| {
        one.unloaded_latency_p99_seconds
    }),
    of(("loaded latency P99", "s"), "lower", |one| {
        one.loaded_latency_p99_seconds
    }),
];

impl CellFigure {
    /// It as the figure of a matrix.
    #[must_use]
    pub fn of_matrix(&self) -> MatrixFigure {
        MatrixFigure {
            name: self.name.to_owned(),
            unit: self.unit.to_owned(),
            better_when: self.better_when.to_owned(),
        }
    }
}

/// Figures of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// CPU utilisation of the sender's host, percent (`-c`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu_percent: Option<f64>,
    /// CPU utilisation of the receiver's host, percent (`-C`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu_percent: Option<f64>,
    /// Median latency of the probes without load, seconds (`probe` of the plan).
    #[serde(default)]
    pub unloaded_latency_p50_seconds: Option<f64>,
    /// 99 % of the latencies of the probes without load are at most this, seconds.
    #[serde(default)]
    pub unloaded_latency_p99_seconds: Option<f64>,
    /// Median latency of the probes beside the loads of the round, seconds.
    #[serde(default)]
    pub loaded_latency_p50_seconds: Option<f64>,
    /// 99 % of the latencies of the probes beside the loads are at most this, seconds.
    #[serde(default)]
    pub loaded_latency_p99_seconds: Option<f64>,
}

impl CellFigures {
    /// Their share of the sums of a round.
    #[must_use]
    pub const fn work(&self) -> CellWork {
        CellWork {
            bits_per_second: self.bits_per_second,
            transactions_per_second: self.transactions_per_second,
            cpu_percent: [self.sender_cpu_percent, self.receiver_cpu_percent],
        }
    }

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
        // Nothing of a stream is lost, also where there is no TCP_INFO.
        let reliable = run["tcp"].is_object() || document["test"]["socket_type"] == "Stream";
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
            sender_cpu_percent: number(&run["local"]["cpu"]["busy_percent"]),
            receiver_cpu_percent: number(&run["remote"]["cpu"]["busy_percent"]),
            ..Self::default()
        }
    }

    /// Takes the latencies of probes: of those without load, or of those beside it.
    pub fn take_probe(&mut self, probe: &Self, is_loaded: bool) {
        let (p50, p99) = (probe.latency_p50_seconds, probe.latency_p99_seconds);
        if is_loaded {
            self.loaded_latency_p50_seconds = p50;
            self.loaded_latency_p99_seconds = p99;
        } else {
            self.unloaded_latency_p50_seconds = p50;
            self.unloaded_latency_p99_seconds = p99;
        }
    }

    /// The main figure.
    #[must_use]
    pub fn main(&self) -> Option<f64> {
        self.transactions_per_second.or(self.bits_per_second)
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
        let mut stream = datagrams;
        stream["test"] = json!({"socket_type": "Stream"});
        assert_eq!(CellFigures::of(&stream).lost_share, None);
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
    fn probes_are_kept_apart_from_the_test() {
        let probe = CellFigures {
            latency_p50_seconds: Some(1e-4),
            latency_p99_seconds: Some(2e-4),
            ..CellFigures::default()
        };
        let mut figures = CellFigures::default();
        figures.take_probe(&probe, true);
        assert_eq!(figures.loaded_latency_p99_seconds, Some(2e-4));
        assert_eq!(
            (
                figures.unloaded_latency_p50_seconds,
                figures.latency_p50_seconds
            ),
            (None, None)
        );
        figures.take_probe(&probe, false);
        assert_eq!(figures.unloaded_latency_p50_seconds, Some(1e-4));
    }
}
