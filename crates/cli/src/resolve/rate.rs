//! A rate to keep to.

use netperf_arguments::args::{Args, RateCounts};
use netperf_arguments::command::CliError;
use netperf_model::{
    Arrival, EndPlan, Flow, PeerProgram, RatePlan, RateUnit, SocketPlan, TransportId,
};

use super::ends::PlannedEnd;

/// The rate that was asked for. A number alone counts requests where there are some, and
/// bits elsewhere.
pub(super) fn asked(
    args: &Args,
    flow: Flow,
    transport: TransportId,
) -> Result<Option<RatePlan>, CliError> {
    let typed = args.global.rate;
    let Some(rate) = typed.rate else {
        let alone = match (typed.arrival, typed.seed) {
            (Some(_), _) => "arrival",
            (None, Some(_)) => "seed",
            (None, None) => return Ok(of_iperf(args, transport)),
        };
        return Err(CliError::NeedsRate {
            program: args.program.clone(),
            option: alone,
        });
    };
    Ok(Some(RatePlan {
        per_second: rate.per_second,
        unit: match rate.counts {
            RateCounts::Packets => RateUnit::Packets,
            RateCounts::Default if flow.counts_transactions() => RateUnit::Transactions,
            RateCounts::Default | RateCounts::Bits => RateUnit::Bits,
        },
        arrival: typed.arrival.unwrap_or_default(),
        seed: typed.seed,
    }))
}

/// The rate that datagrams have with iperf if none is given: of all flows together.
fn of_iperf(args: &Args, transport: TransportId) -> Option<RatePlan> {
    let flows = f64::from(args.global.flows.flows.unwrap_or(1));
    let is_asked = args.global.peer.is_some() && transport == TransportId::Udp;
    is_asked.then(|| RatePlan {
        per_second: PeerProgram::DATAGRAM_RATE * flows,
        unit: RateUnit::Bits,
        arrival: Arrival::default(),
        seed: None,
    })
}

/// An end in a test at a rate: the end that starts the data keeps the rate. `delays` tells
/// whether the transport may keep data back.
pub(super) fn at_rate(
    rate: Option<RatePlan>,
    flow: Flow,
    delays: bool,
    which: PlannedEnd,
    end: EndPlan,
) -> EndPlan {
    let netserver_alone_sends = flow.receives && !flow.sends;
    EndPlan {
        rate: rate.filter(|_| netserver_alone_sends == (which == PlannedEnd::Remote)),
        ..not_delaying(rate, delays, end)
    }
}

/// Requests that do not wait for each other must not wait in the kernel: it would keep back
/// all but the first until that one is acknowledged (RFC 896).
fn not_delaying(rate: Option<RatePlan>, delays: bool, end: EndPlan) -> EndPlan {
    let requests = rate.is_some_and(|rate| rate.unit == RateUnit::Transactions);
    let socket = SocketPlan {
        nodelay: end.socket.nodelay || (requests && delays),
        ..end.socket
    };
    EndPlan { socket, ..end }
}
