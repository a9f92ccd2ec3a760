//! Many flows: what was asked for, and what each did.

use netperf_model::figures::count;
use netperf_model::{Crew, Flow, Flows as Did, Iteration, Many as Asked, Unit, Workers as Wanted};

use super::{finite, measured};

/// Many flows, as asked for.
#[derive(Debug)]
pub(super) struct Many {
    flows: u32,
    warmup_seconds: f64,
    cooldown_seconds: f64,
    local: Workers,
    remote: Workers,
}

object!(Many {
    flows,
    warmup_seconds,
    cooldown_seconds,
    local,
    remote,
});

/// Threads, as asked for.
#[derive(Debug)]
struct Workers {
    threads: Option<u32>,
    cpus: Vec<u32>,
    placement: Option<String>,
}

object!(Workers {
    threads,
    cpus,
    placement,
});

/// Threads, as they were.
#[derive(Debug)]
pub(super) struct Threads<'a> {
    threads: u32,
    cpus: &'a [u32],
}

object!(Threads<'_> {
    threads,
    cpus,
});

/// What the flows of one iteration did.
#[derive(Debug)]
pub(super) struct Flows {
    setup_seconds: Option<f64>,
    start_skew_seconds: Option<f64>,
    counted_seconds: Option<f64>,
    fairness: Option<f64>,
    remote_fairness: Option<f64>,
    each: Vec<Each>,
}

object!(Flows {
    setup_seconds,
    start_skew_seconds,
    counted_seconds,
    fairness,
    remote_fairness,
    each,
});

#[derive(Debug)]
struct Each {
    sent_bytes: u64,
    received_bytes: u64,
    transactions: u64,
    sent_bits_per_second: Option<f64>,
    received_bits_per_second: Option<f64>,
    transactions_per_second: Option<f64>,
    remote_sent_bytes: Option<u64>,
    remote_received_bytes: Option<u64>,
    remote_transactions: Option<u64>,
}

object!(Each {
    sent_bytes,
    received_bytes,
    transactions,
    sent_bits_per_second,
    received_bits_per_second,
    transactions_per_second,
    remote_sent_bytes,
    remote_received_bytes,
    remote_transactions,
});

impl Many {
    pub(super) fn of(asked: &Asked) -> Self {
        Self {
            flows: asked.flows,
            warmup_seconds: asked.warmup.as_secs_f64(),
            cooldown_seconds: asked.cooldown.as_secs_f64(),
            local: workers(&asked.local),
            remote: workers(&asked.remote),
        }
    }
}

fn workers(wanted: &Wanted) -> Workers {
    Workers {
        threads: wanted.threads,
        cpus: wanted.cpus.clone(),
        placement: wanted.place.map(|rule| rule.to_string()),
    }
}

impl<'a> Threads<'a> {
    pub(super) fn of(crew: &'a Crew) -> Self {
        Self {
            threads: crew.threads,
            cpus: &crew.cpus,
        }
    }
}

impl Flows {
    pub(super) fn of(flow: Flow, run: &Iteration, did: &Did) -> Self {
        let seconds = run.timed();
        let rate = |amount: u64, times: f64| {
            let rate = Unit::Bytes.rate(count(amount), seconds);
            measured(rate).and_then(|rate| finite(rate * times))
        };
        let there = did.there.iter().map(Some).chain(std::iter::repeat(None));
        let each = did.each.iter().zip(there).map(|(counts, there)| Each {
            remote_sent_bytes: there.map(|there| there.bytes_sent),
            remote_received_bytes: there.map(|there| there.bytes_received),
            remote_transactions: there.map(|there| there.transactions),
            sent_bytes: counts.bytes_sent,
            received_bytes: counts.bytes_received,
            transactions: counts.transactions,
            sent_bits_per_second: rate(counts.bytes_sent, 8.0),
            received_bits_per_second: rate(counts.bytes_received, 8.0),
            transactions_per_second: rate(counts.transactions, 1.0)
                .filter(|_| flow.counts_transactions()),
        });
        Self {
            setup_seconds: measured(did.setup),
            start_skew_seconds: did.skew.and_then(measured),
            counted_seconds: measured(seconds),
            fairness: did.fairness(flow).and_then(measured),
            remote_fairness: did.fairness_there.and_then(measured),
            each: each.collect(),
        }
    }
}
