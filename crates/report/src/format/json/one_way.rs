//! Where the time of transactions went.

use netperf_model::{OneWay as Found, Part, Spread, Stamper};

use super::finite;

/// What one iteration found.
#[derive(Debug)]
pub(super) struct OneWay {
    clock: &'static str,
    transactions: usize,
    discarded: usize,
    sampled_every: u32,
    clock_offset_nanoseconds: i64,
    clock_offset_error_nanoseconds: Option<f64>,
    clock_drift_parts_per_billion: Option<f64>,
    clock_drift_error_parts_per_billion: Option<f64>,
    local_device_clock_error_nanoseconds: Option<f64>,
    remote_device_clock_error_nanoseconds: Option<f64>,
    local_send: Times,
    wire_there: Times,
    remote_recv: Times,
    remote_turnaround: Times,
    remote_send: Times,
    wire_back: Times,
    local_recv: Times,
}

object!(OneWay {
    clock,
    transactions,
    discarded,
    sampled_every,
    clock_offset_nanoseconds,
    clock_offset_error_nanoseconds,
    clock_drift_parts_per_billion,
    clock_drift_error_parts_per_billion,
    local_device_clock_error_nanoseconds,
    remote_device_clock_error_nanoseconds,
    local_send,
    wire_there,
    remote_recv,
    remote_turnaround,
    remote_send,
    wire_back,
    local_recv,
});

/// How long a part took.
#[derive(Debug)]
struct Times {
    min_nanoseconds: Option<f64>,
    mean_nanoseconds: Option<f64>,
    median_nanoseconds: Option<f64>,
    p99_nanoseconds: Option<f64>,
    max_nanoseconds: Option<f64>,
}

object!(Times {
    min_nanoseconds,
    mean_nanoseconds,
    median_nanoseconds,
    p99_nanoseconds,
    max_nanoseconds,
});

impl OneWay {
    pub(super) fn of(found: &Found) -> Self {
        let times = |part| Times::of(found.part(part));
        Self {
            clock: stamper(found).word(),
            transactions: found.transactions,
            discarded: found.discarded,
            sampled_every: found.every,
            clock_offset_nanoseconds: found.clock.nanos,
            clock_offset_error_nanoseconds: finite(found.clock.error),
            clock_drift_parts_per_billion: found.clock.drift.and_then(finite),
            clock_drift_error_parts_per_billion: finite(found.clock.drift_error),
            local_device_clock_error_nanoseconds: found.devices.and_then(|[own, _]| finite(own)),
            remote_device_clock_error_nanoseconds: found.devices.and_then(|[_, far]| finite(far)),
            local_send: times(Part::ClientSend),
            wire_there: times(Part::WireThere),
            remote_recv: times(Part::ServerReceive),
            remote_turnaround: times(Part::ServerTurn),
            remote_send: times(Part::ServerSend),
            wire_back: times(Part::WireBack),
            local_recv: times(Part::ClientReceive),
        }
    }
}

const fn stamper(found: &Found) -> Stamper {
    match found.devices {
        Some(_) => Stamper::Device,
        None => Stamper::Kernel,
    }
}

impl Times {
    fn of(spread: Spread) -> Self {
        Self {
            min_nanoseconds: finite(spread.min),
            mean_nanoseconds: finite(spread.mean),
            median_nanoseconds: finite(spread.median),
            p99_nanoseconds: finite(spread.p99),
            max_nanoseconds: finite(spread.max),
        }
    }
}
