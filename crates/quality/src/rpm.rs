//! Responsiveness in round trips per minute (draft-ietf-ippm-responsiveness).

use netperf_stats::moments;
use serde::{Deserialize, Serialize};

use crate::distribution::rank;
use crate::stability::RpmConfidence;

/// Milliseconds in a minute.
const MINUTE: f64 = 60_000.0;
/// Share of the times that count: the best.
const BEST_PERCENT: f64 = 95.0;

/// A formula of the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RpmFormula {
    /// Of revisions from 05 on, over TLS.
    Tls,
    /// Of revisions from 05 on, over TCP.
    Tcp,
    /// Of revisions before 05: one mean of all times.
    Before05,
}

/// Times of probes in milliseconds, already trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RpmTimes {
    /// Handshake of TCP of a new connection.
    pub tcp_foreign: f64,
    /// Handshake of TLS of a new connection; 0 without TLS.
    pub tls_foreign: f64,
    /// Request over a new connection.
    pub http_foreign: f64,
    /// Request over a connection under load.
    pub http_loaded: f64,
}

impl RpmFormula {
    /// Round trips per minute.
    #[must_use]
    pub fn rpm(self, times: &RpmTimes) -> f64 {
        let RpmTimes {
            tcp_foreign,
            tls_foreign,
            http_foreign,
            http_loaded,
        } = *times;
        let foreign = tcp_foreign + tls_foreign + http_foreign;
        match self {
            Self::Tls => (MINUTE / (foreign / 3.0) + MINUTE / http_loaded) / 2.0,
            Self::Tcp => {
                let foreign = tcp_foreign + http_foreign;
                (MINUTE / (foreign / 2.0) + MINUTE / http_loaded) / 2.0
            }
            Self::Before05 => MINUTE / (foreign / 6.0 + http_loaded / 2.0),
        }
    }
}

/// The mean of the best 95 % of times; `None` without any.
#[must_use]
pub fn trimmed_mean(times: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = times.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let best = sorted.get(..=rank(sorted.len(), BEST_PERCENT))?;
    moments::mean(best)
}

/// A responsiveness, never without its formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Responsiveness {
    /// Round trips per minute.
    pub rpm: f64,
    /// Its name: that of the transport and the formula.
    pub name: String,
    /// The revision of the draft that has the formula.
    pub revision: String,
    /// The formula.
    pub formula: String,
    /// Opening a connection and one request over it, two round trips: the mean of the best 95 %.
    pub exchange_milliseconds: f64,
    /// The round trip of connections under load: the mean of the best 95 %.
    pub loaded_milliseconds: f64,
    /// Source of the time under load.
    pub loaded_from: String,
    /// Stability of throughput and responsiveness.
    pub confidence: RpmConfidence,
    /// Rating of the draft: poor, fair, good or excellent.
    pub rating: String,
}

impl Responsiveness {
    /// The responsiveness over plain TCP of revision 09, from times in seconds of exchanges, each a
    /// new connection with a request, and of round trips of connections under load; `None` if any is
    /// unknown. Handshake and request of an exchange are measured together: the formula has their
    /// mean.
    #[must_use]
    pub fn over_tcp(
        exchanges: impl IntoIterator<Item = f64>,
        loaded: (impl IntoIterator<Item = f64>, &str),
        confidence: RpmConfidence,
    ) -> Option<Self> {
        let exchange = trimmed_mean(exchanges)? * 1e3;
        let times = RpmTimes {
            tcp_foreign: exchange / 2.0,
            tls_foreign: 0.0,
            http_foreign: exchange / 2.0,
            http_loaded: trimmed_mean(loaded.0)? * 1e3,
        };
        let rpm = RpmFormula::Tcp.rpm(&times);
        rpm.is_finite().then(|| Self {
            rpm,
            name: "rpm_tcp".to_owned(),
            revision: "draft-ietf-ippm-responsiveness-09".to_owned(),
            formula: "(60000 / (exchange / 2) + 60000 / loaded) / 2".to_owned(),
            exchange_milliseconds: exchange,
            loaded_milliseconds: times.http_loaded,
            loaded_from: loaded.1.to_owned(),
            confidence,
            rating: rating(rpm).to_owned(),
        })
    }
}

/// The draft's word for so many round trips per minute.
fn rating(rpm: f64) -> &'static str {
    match rpm {
        rpm if rpm < 300.0 => "poor",
        rpm if rpm < 1000.0 => "fair",
        rpm if rpm < 6000.0 => "good",
        _ => "excellent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: RpmTimes = RpmTimes {
        tcp_foreign: 10.0,
        tls_foreign: 20.0,
        http_foreign: 30.0,
        http_loaded: 100.0,
    };

    #[test]
    fn formulas_give_the_values_that_were_calculated_by_hand() {
        let close = |formula: RpmFormula, times: &RpmTimes, expected: f64| {
            let rpm = formula.rpm(times);
            assert!((rpm - expected).abs() < 1e-9, "{formula:?}: {rpm}");
        };
        close(RpmFormula::Tls, &TIMES, 1800.0);
        close(RpmFormula::Tcp, &TIMES, 1800.0);
        close(RpmFormula::Before05, &TIMES, 1000.0);
        // A fair queue: 5 ms for new connections and 100 ms for those under load.
        let fair = RpmTimes {
            tcp_foreign: 5.0,
            tls_foreign: 5.0,
            http_foreign: 5.0,
            http_loaded: 100.0,
        };
        close(RpmFormula::Tls, &fair, 6300.0);
        close(RpmFormula::Before05, &fair, 60_000.0 / 52.5);
        let queue = RpmTimes {
            tcp_foreign: 87.2,
            tls_foreign: 0.0,
            http_foreign: 87.2,
            http_loaded: 87.2,
        };
        close(RpmFormula::Tcp, &queue, 60_000.0 / 87.2);
    }

    #[test]
    fn the_mean_leaves_out_the_worst_twentieth() {
        let times = (1..=100).map(f64::from);
        assert_eq!(trimmed_mean(times), Some(48.0));
        assert_eq!(trimmed_mean([3.0]), Some(3.0));
        assert_eq!(trimmed_mean([]), None);
    }

    #[test]
    fn a_responsiveness_names_its_formula_and_needs_every_time() {
        let of = |loaded: &[f64]| {
            let loaded = (loaded.to_vec(), "tcp_info");
            Responsiveness::over_tcp([0.1744], loaded, RpmConfidence::Medium)
        };
        let found = of(&[0.0872]).unwrap();
        assert_eq!(found.rating, "fair");
        assert!((found.rpm - 688.07).abs() < 0.01);
        assert_eq!(of(&[]), None);
    }
}
