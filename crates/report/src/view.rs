//! Input of printers and selectors: an outcome with its means and its unit.

use netperf_model::figures::{self, Figures};
use netperf_model::{
    CpuUsage, EndPlan, EndResult, EndSetup, HostFacts, Iteration, Outcome, ReportPlan, Tally,
    TestPlan, ThroughputUnit, WorkerThreads,
};

use crate::control::Whose;

/// One outcome, ready to be read.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The outcome itself.
    pub outcome: &'a Outcome,
    /// The form of its output.
    pub report: &'a ReportPlan,
    /// The unit in force.
    pub unit: ThroughputUnit,
    /// Means over all iterations.
    pub mean: Figures,
    /// The first iteration.
    pub first: &'a Iteration,
    /// The last iteration: counts and final sizes are its.
    pub last: &'a Iteration,
}

/// One end of the outcome: its plan, what it got, what it measured.
#[derive(Clone, Copy, Debug)]
pub struct EndView<'a> {
    /// The request.
    pub plan: &'a EndPlan,
    /// Settings in force; `None` if unknown (netserver's end with `-N`).
    pub setup: Option<EndSetup>,
    /// Its measurements in the last iteration.
    pub result: Option<&'a EndResult>,
    /// True if settings and results of this end can be known.
    pub known: bool,
    /// The end.
    pub whose: Whose,
    /// Facts about its host; `None` when they are not known.
    pub host: Option<&'a HostFacts>,
    /// Mean CPU utilisation over all iterations, in percent.
    pub busy: f64,
    /// Mean service demand over all iterations.
    pub demand: f64,
}

impl<'a> View<'a> {
    /// Looks at an outcome; `None` when it holds no iteration.
    #[must_use]
    pub fn new(outcome: &'a Outcome, report: &'a ReportPlan) -> Option<Self> {
        let unit = figures::unit_in_force(&outcome.plan, report.unit);
        Some(Self {
            outcome,
            report,
            unit,
            mean: figures::mean(&outcome.plan, unit, &outcome.iterations),
            first: outcome.iterations.first()?,
            last: outcome.iterations.last()?,
        })
    }

    /// The request.
    #[must_use]
    pub const fn plan(&self) -> &'a TestPlan {
        &self.outcome.plan
    }

    /// netperf's end.
    #[must_use]
    pub const fn local(&self) -> EndView<'a> {
        EndView {
            whose: Whose::Local,
            plan: &self.outcome.plan.local,
            setup: Some(self.outcome.agreed.local),
            result: Some(&self.last.local),
            known: true,
            host: Some(&self.outcome.local_host),
            busy: self.mean.local_cpu,
            demand: self.mean.local_demand,
        }
    }

    /// netserver's end.
    #[must_use]
    pub const fn remote(&self) -> EndView<'a> {
        EndView {
            whose: Whose::Remote,
            plan: &self.outcome.plan.remote,
            setup: self.outcome.agreed.remote,
            result: self.last.remote.as_ref(),
            known: self.outcome.plan.control.is_some(),
            host: self.outcome.remote_host.as_ref(),
            busy: self.mean.remote_cpu,
            demand: self.mean.remote_demand,
        }
    }

    /// One of the ends.
    #[must_use]
    pub const fn end(&self, whose: Whose) -> EndView<'a> {
        match whose {
            Whose::Local => self.local(),
            Whose::Remote => self.remote(),
        }
    }

    /// True if CPU columns are shown: asked for, and not refused.
    #[must_use]
    pub const fn shows_cpu(&self) -> bool {
        let plan = self.plan();
        plan.local.cpu.is_some() || (plan.remote.cpu.is_some() && self.outcome.agreed.remote_cpu)
    }

    /// True if only the transaction rate counts, not bytes.
    #[must_use]
    pub fn in_transactions(&self) -> bool {
        self.unit == ThroughputUnit::Transactions
    }

    /// Throughputs by direction of one end in the last iteration: sent, received; `None` if
    /// unknown.
    #[must_use]
    pub fn directional(&self, end: EndView<'_>) -> [Option<f64>; 2] {
        figures::directional(self.plan(), self.unit, self.last, end.whose == Whose::Local)
    }

    /// The brand at the end of classic rows: only where headers are off.
    #[must_use]
    pub fn brand(&self) -> &'a str {
        match &self.report.brand {
            Some(brand) if !self.report.headers => brand,
            Some(_) | None => "",
        }
    }
}

impl<'a> EndView<'a> {
    /// CPU utilisation of the last iteration, if it was measured.
    #[must_use]
    pub fn cpu(&self) -> Option<CpuUsage> {
        self.result.and_then(|result| result.cpu)
    }

    /// The threads of many flows.
    pub(crate) fn workers(&self) -> Option<&'a WorkerThreads> {
        self.result?.worker_threads.as_ref()
    }

    /// The letter of the CPU method; `U` when it was not measured.
    #[must_use]
    pub fn cpu_letter(&self) -> char {
        self.cpu().map_or('U', |cpu| cpu.method.letter())
    }

    /// The first send buffer size, 0 when the end is unknown.
    #[must_use]
    pub fn send_buffer(&self) -> i64 {
        self.buffer(|setup| setup.send_buffer)
    }

    /// The first receive buffer size, 0 when the end is unknown.
    #[must_use]
    pub fn recv_buffer(&self) -> i64 {
        self.buffer(|setup| setup.recv_buffer)
    }

    fn buffer(&self, pick: fn(&EndSetup) -> Option<u32>) -> i64 {
        self.setup
            .as_ref()
            .map_or(0, |setup| or_minus_one(pick(setup)))
    }

    /// A setting of this end, -1 if it cannot be known.
    #[must_use]
    pub fn setting(&self, pick: fn(&'a EndPlan) -> u32) -> i64 {
        if self.known {
            i64::from(pick(self.plan))
        } else {
            -1
        }
    }

    /// The bytes of a call, as a mean; 0 when there was none.
    pub(crate) fn mean(&self, pick: fn(&Tally) -> (u64, u64)) -> f64 {
        self.result.map_or(0.0, |result| {
            let (bytes, calls) = pick(&result.tally);
            figures::per_call(bytes, calls)
        })
    }

    /// A figure of this end's sends: 0 without a result, `None` if unknown.
    pub(crate) fn sends<T: Default>(&self, pick: fn(&Tally) -> T) -> Option<T> {
        self.result
            .map_or_else(|| Some(T::default()), |result| result.of_sends(pick))
    }

    /// A count of this end, 0 when it has none.
    #[must_use]
    pub fn count(&self, pick: fn(&'a EndResult) -> u64) -> u64 {
        self.result.map_or(0, pick)
    }
}

/// A figure that is -1 where it does not apply.
#[must_use]
pub fn or_minus_one(value: Option<u32>) -> i64 {
    value.map_or(-1, i64::from)
}
