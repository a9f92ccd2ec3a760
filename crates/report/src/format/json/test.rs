//! What was asked for.

use std::time::Duration;

use super::finite;
use super::flows::Many;
use netperf_model::{ConfidencePlan, ControlPlan, Duplex, Flow, Limit, TestPlan};

/// The test.
#[derive(Debug)]
pub(super) struct Test<'a> {
    name: &'static str,
    protocol: &'static str,
    socket_type: &'static str,
    direction: &'static str,
    sends: bool,
    receives: bool,
    connects: bool,
    bidirectional: Option<&'static str>,
    limit: End,
    request_bytes: Option<u32>,
    response_bytes: Option<u32>,
    burst_requests: u32,
    control: Option<Control<'a>>,
    confidence: Option<Confidence>,
    interim_interval_seconds: Option<f64>,
    keeps_latency: bool,
    wait_seconds: f64,
    recv_timeout_seconds: Option<f64>,
    first_local_port: u16,
    end_local_port: u16,
    retries_connects: bool,
    uses_write: bool,
    many: Option<Many>,
}

object!(Test<'_> {
    name,
    protocol,
    socket_type,
    direction,
    sends,
    receives,
    connects,
    bidirectional,
    limit,
    request_bytes,
    response_bytes,
    burst_requests,
    control,
    confidence,
    interim_interval_seconds,
    keeps_latency,
    wait_seconds,
    recv_timeout_seconds,
    first_local_port,
    end_local_port,
    retries_connects,
    uses_write,
    many,
});

/// When the run ends.
#[derive(Debug, Default)]
struct End {
    kind: &'static str,
    seconds: Option<f64>,
    bytes: Option<u64>,
    transactions: Option<u64>,
    messages: Option<u64>,
}

object!(End {
    kind,
    seconds,
    bytes,
    transactions,
    messages,
});

#[derive(Debug)]
struct Control<'a> {
    host: &'a str,
    port: &'a str,
    local_host: &'a str,
    local_port: &'a str,
    private_netserver: bool,
}

object!(Control<'_> {
    host,
    port,
    local_host,
    local_port,
    private_netserver,
});

#[derive(Debug)]
struct Confidence {
    level_percent: u32,
    width_percent: Option<f64>,
    min_iterations: u32,
    max_iterations: u32,
    result_only: bool,
}

object!(Confidence {
    level_percent,
    width_percent,
    min_iterations,
    max_iterations,
    result_only,
});

impl<'a> Test<'a> {
    pub(super) fn of(plan: &'a TestPlan) -> Self {
        let Flow {
            sends,
            receives,
            connects,
            duplex,
        } = plan.flow;
        Self {
            name: plan.test.row().name,
            protocol: plan.transport.row().label,
            socket_type: plan.transport.row().kind.label(),
            direction: plan.flow.label(),
            sends,
            receives,
            connects,
            bidirectional: duplex.map(Duplex::label),
            limit: limit(plan),
            request_bytes: plan.request,
            response_bytes: plan.response,
            burst_requests: plan.burst,
            control: plan.control.as_ref().map(control),
            confidence: plan.confidence.map(confidence),
            interim_interval_seconds: plan.interim.map(|time| time.as_secs_f64()),
            keeps_latency: plan.latency,
            wait_seconds: plan.wait.as_secs_f64(),
            recv_timeout_seconds: plan.recv_timeout.as_ref().map(Duration::as_secs_f64),
            first_local_port: plan.port_range.0,
            end_local_port: plan.port_range.1,
            retries_connects: plan.retry_connects,
            uses_write: plan.use_write,
            many: plan.many.as_ref().map(Many::of),
        }
    }
}

fn limit(plan: &TestPlan) -> End {
    let one_way = !plan.flow.counts_transactions();
    match plan.limit {
        Limit::Time(time) => End {
            kind: "time",
            seconds: Some(time.as_secs_f64()),
            ..End::default()
        },
        Limit::Units(bytes) if one_way => End {
            kind: "bytes",
            bytes: Some(bytes),
            ..End::default()
        },
        Limit::Units(transactions) => End {
            kind: "transactions",
            transactions: Some(transactions),
            ..End::default()
        },
        Limit::Messages(messages) => End {
            kind: "messages",
            messages: Some(messages),
            ..End::default()
        },
        Limit::UntilStopped => End {
            kind: "signal",
            ..End::default()
        },
    }
}

/// Without the passphrase: a result is for showing.
fn control(plan: &ControlPlan) -> Control<'_> {
    Control {
        host: &plan.remote.host,
        port: &plan.remote.port,
        local_host: &plan.local.host,
        local_port: &plan.local.port,
        private_netserver: !plan.explicit,
    }
}

fn confidence(plan: ConfidencePlan) -> Confidence {
    Confidence {
        level_percent: plan.level,
        width_percent: finite(plan.width * 100.0),
        min_iterations: plan.min_iterations,
        max_iterations: plan.max_iterations,
        result_only: plan.result_only,
    }
}
