//! A rate to keep to.

use netperf_model::{EndPlan, Flow, RatePlan, RateUnit, SocketPlan};

use crate::args::Args;
use crate::command::CliError;

/// The rate that was asked for. A number alone counts requests where there are some, and
/// bits elsewhere.
pub(super) fn asked(args: &Args, flow: Flow) -> Result<Option<RatePlan>, CliError> {
    let typed = args.global.rate;
    let Some(rate) = typed.rate else {
        let alone = match (typed.arrival, typed.seed) {
            (Some(_), _) => "arrival",
            (None, Some(_)) => "seed",
            (None, None) => return Ok(None),
        };
        return Err(CliError::NeedsRate {
            program: args.program.clone(),
            option: alone,
        });
    };
    Ok(Some(RatePlan {
        per_second: rate.per_second,
        unit: match rate.packets {
            true => RateUnit::Packets,
            false if flow.counts_transactions() => RateUnit::Transactions,
            false => RateUnit::Bits,
        },
        arrival: typed.arrival.unwrap_or_default(),
        seed: typed.seed,
    }))
}

/// netperf's end in a test at a rate, over a transport that may keep data back or not.
pub(super) fn here(rate: Option<RatePlan>, flow: Flow, delays: bool, end: EndPlan) -> EndPlan {
    let only_receives = flow.receives && !flow.sends;
    EndPlan {
        rate: rate.filter(|_| !only_receives),
        ..not_delaying(rate, delays, end)
    }
}

/// netserver's end in one.
pub(super) fn there(rate: Option<RatePlan>, flow: Flow, delays: bool, end: EndPlan) -> EndPlan {
    let only_receives = flow.receives && !flow.sends;
    EndPlan {
        rate: rate.filter(|_| only_receives),
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
