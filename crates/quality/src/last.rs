//! The last check of the same host, for comparison.

use serde::Serialize;

use crate::summary::CheckSummary;

/// A metric now and in the last check.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SinceLast {
    /// Its name.
    pub metric: String,
    /// Then.
    pub last: f64,
    /// Now.
    pub now: f64,
    /// Now divided by then.
    pub ratio: f64,
}

/// Figures of the last check of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastCheck {
    /// When it began, seconds since 1970.
    pub started: Option<f64>,
    /// Its figures, by name.
    pub figures: Vec<(String, f64)>,
}

impl LastCheck {
    pub(crate) fn changes(&self, now: &CheckSummary) -> Vec<SinceLast> {
        let change = |(figure, now): (String, f64)| {
            let last = self.figures.iter().find(|(name, _)| *name == figure)?.1;
            let ratio = now / last;
            ratio.is_finite().then_some(SinceLast {
                metric: figure,
                last,
                now,
                ratio,
            })
        };
        now.figures().into_iter().filter_map(change).collect()
    }
}

impl CheckSummary {
    /// Values that a later check is compared with.
    #[must_use]
    pub fn as_last(&self) -> LastCheck {
        LastCheck {
            started: self.started_unix_seconds,
            figures: self.figures(),
        }
    }

    /// The figures that are compared with those of the last check, by name.
    #[must_use]
    pub fn figures(&self) -> Vec<(String, f64)> {
        let mut figures = Vec::new();
        for phase in &self.phases {
            let name = phase.phase.word();
            for (way, load) in [("down", &phase.down), ("up", &phase.up)] {
                let title = if way == name {
                    way.to_owned()
                } else {
                    format!("{name} {way}")
                };
                figures.extend(load.as_ref().map(|load| (title, load.bits_per_second)));
            }
            let first = phase.latency.first().and_then(|first| first.round_trip);
            figures.extend(first.map(|times| (format!("{name} P50"), times.p50_seconds)));
        }
        figures
    }
}
