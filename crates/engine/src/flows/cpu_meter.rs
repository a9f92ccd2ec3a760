//! CPU utilisation of a run of many flows.

use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::cpu::Meter;
use netperf_model::{CpuUsage, EndPlan};

use super::shared::RunStage;
use crate::end;
use crate::error::EngineError;

/// Measures CPU utilisation in the part of the run that counts.
pub(super) struct CpuMeter<'a> {
    plan: &'a EndPlan,
    margins: bool,
    meter: Result<Option<Meter>, EngineError>,
    begun: Option<Moment>,
    used: Option<Result<Option<CpuUsage>, EngineError>>,
}

impl<'a> CpuMeter<'a> {
    pub(super) const fn new(plan: &'a EndPlan, margins: bool) -> Self {
        Self {
            plan,
            margins,
            meter: Ok(None),
            begun: None,
            used: None,
        }
    }

    /// Begins and ends the measurement with the stages.
    pub(super) fn turn(&mut self, stage: RunStage) {
        if stage == RunStage::Count && self.begun.is_none() {
            self.meter = end::meter(self.plan);
            self.begun = Some(clock::now());
        }
        if stage >= RunStage::Cool && self.margins && self.used.is_none() {
            self.used = Some(self.now(None));
        }
    }

    /// Notes that everything until now was done for the run.
    pub(super) fn note(&self) {
        if let Ok(Some(meter)) = &self.meter {
            meter.note();
        }
    }

    /// Utilisation until now; `run` is how much of that belongs to the test.
    fn now(&self, run: Option<Duration>) -> Result<Option<CpuUsage>, EngineError> {
        let (Ok(meter), Some(begun)) = (&self.meter, self.begun) else {
            return Ok(None);
        };
        let sampled = begun.elapsed();
        end::usage(meter.as_ref(), sampled, run.unwrap_or(sampled))
    }

    /// Utilisation in a run of this length.
    pub(super) fn usage(mut self, elapsed: Duration) -> Result<Option<CpuUsage>, EngineError> {
        let used = self.used.take().unwrap_or_else(|| self.now(Some(elapsed)));
        self.meter?;
        used
    }
}
