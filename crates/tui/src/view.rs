//! The history of a run.

use std::collections::BTreeMap;

use crate::tick::{About, FlowTick, Interval, LiveTick, RunEnd};
use crate::trail::{Merge, Trail};
use crate::words;

/// The history of a run, ready to be drawn.
#[derive(Clone, Debug)]
pub struct LiveView {
    pub(crate) about: About,
    /// Number of the iteration, from 1.
    pub(crate) iteration: usize,
    /// True after the run, while netserver's result is awaited.
    pub(crate) over: bool,
    pub(crate) tick: LiveTick,
    pub(crate) rates: Trail,
    /// The smallest and the largest rate, in work per second.
    pub(crate) extremes: Option<(f64, f64)>,
    pub(crate) p99: Trail,
    pub(crate) retransmissions: Trail,
    /// Segments retransmitted since the last tick.
    pub(crate) retransmitted_now: u64,
    pub(crate) cpu: Trail,
    pub(crate) flows: BTreeMap<u32, FlowHistory>,
}

/// The history of a flow or a thread.
#[derive(Clone, Debug)]
pub(crate) struct FlowHistory {
    pub(crate) tick: FlowTick,
    /// Work per second since the last tick.
    pub(crate) now: Option<f64>,
    pub(crate) rates: Trail,
}

impl LiveView {
    /// A view of a run before its beginning.
    #[must_use]
    pub fn new(about: About) -> Self {
        Self {
            about,
            iteration: 1,
            over: false,
            tick: LiveTick::default(),
            rates: Trail::new(Merge::Mean),
            extremes: None,
            p99: Trail::new(Merge::Largest),
            retransmissions: Trail::new(Merge::Largest),
            retransmitted_now: 0,
            cpu: Trail::new(Merge::Mean).up_to(100.0),
            flows: BTreeMap::new(),
        }
    }

    /// Begins an iteration: counts start from 0, series continue.
    pub fn begin(&mut self, iteration: usize) {
        self.iteration = iteration;
        self.over = false;
        self.tick = LiveTick::default();
        self.flows.clear();
    }

    /// Marks the run as over; only its result is awaited.
    pub fn finish(&mut self) {
        self.over = true;
    }

    /// Adds the state of this moment.
    pub fn take(&mut self, tick: LiveTick) {
        let Interval { work, seconds } = tick.now;
        if seconds > 0.0 {
            let rate = work / seconds;
            self.rates.push(Some(rate));
            let (least, most) = self.extremes.unwrap_or((rate, rate));
            self.extremes = Some((least.min(rate), most.max(rate)));
        }
        if let Some(latency) = &tick.latency {
            self.p99.push(latency.now.quantile(0.99));
        }
        if let Some(tcp) = &tick.tcp {
            let before = self.tick.tcp.map_or(0, |tcp| tcp.retransmitted);
            self.retransmitted_now = tcp.retransmitted.saturating_sub(before);
            let now = u32::try_from(self.retransmitted_now).unwrap_or(u32::MAX);
            self.retransmissions.push(Some(f64::from(now)));
        }
        if let Some(cpu) = &tick.cpu {
            self.cpu.push(Some(cpu.busy));
        }
        for flow in &tick.flows {
            self.take_flow(flow, seconds);
        }
        // A closed connection has no TCP_INFO; the last one remains valid.
        let tcp = tick.tcp.or(self.tick.tcp);
        self.tick = LiveTick { tcp, ..tick };
    }

    fn take_flow(&mut self, flow: &FlowTick, seconds: f64) {
        let Some(seen) = self.flows.get_mut(&flow.number) else {
            let rates = Trail::new(Merge::Mean);
            let seen = FlowHistory {
                tick: *flow,
                now: None,
                rates,
            };
            self.flows.insert(flow.number, seen);
            return;
        };
        if seconds > 0.0 {
            seen.now = Some((flow.work - seen.tick.work).max(0.0) / seconds);
            seen.rates.push(seen.now);
        }
        seen.tick = *flow;
    }

    /// The finished share of the run; `None` if unknown.
    pub(crate) fn share(&self) -> Option<f64> {
        let share = match self.about.end {
            RunEnd::After(whole) => self.tick.elapsed.as_secs_f64() / whole.as_secs_f64(),
            RunEnd::Amount(amount) => self.tick.all.work / amount,
            RunEnd::Within(_) | RunEnd::Open => return None,
        };
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    /// The rate of an interval, in the unit of the run; `None` of nothing.
    pub(crate) fn rate(&self, interval: Interval) -> Option<String> {
        let Interval { work, seconds } = interval;
        (seconds > 0.0).then(|| words::rate(self.about.unit, work / seconds))
    }
}
