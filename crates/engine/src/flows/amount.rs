//! The amount of each flow of a run.

use netperf_model::{EndJob, EndSetup, Limit as LimitPlan, TestId, share_of_messages};

use crate::limit::RECEIVED_MARGIN;

/// Amount for each flow, where this end counts it. netperf, which only receives, takes no more
/// than a correct peer sends.
pub(super) fn share(job: &EndJob, setup: &EndSetup) -> impl Fn(u32) -> u64 + use<> {
    let counts = if job.is_netperf() {
        job.sends || job.connects || job.receives
    } else {
        (job.only_sends() && !job.connects) || job.duplex.is_some()
    };
    let units = match job.limit {
        // The segment size is that of connections without data.
        _ if job.test == TestId::TcpMss => Some(0),
        LimitPlan::Units(units) if counts => Some(units),
        LimitPlan::Units(_)
        | LimitPlan::Messages(_)
        | LimitPlan::Time(_)
        | LimitPlan::UntilStopped => None,
    };
    let receives = job.is_netperf() && job.only_receives() && !job.connects;
    // Of what may be lost, each end counts for itself.
    let margin = if receives && job.has_peer && job.transport.row().reliable {
        RECEIVED_MARGIN
    } else {
        0
    };
    let flows = job.flow_count();
    // No flow sends a part of a message.
    let whole = job.sends && !job.counts_transactions() && job.transport.keeps_boundaries();
    let message = setup.send_size.filter(|_| whole).unwrap_or(1);
    move |flow| {
        units.map_or(u64::MAX, |units| {
            share_of_messages(units, message, flows, flow).saturating_add(margin)
        })
    }
}
