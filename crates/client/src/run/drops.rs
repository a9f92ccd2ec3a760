//! Datagrams that a queueing discipline of this host drops unnoticed by the send call.

use std::net::IpAddr;

use netperf_measure::device_drops::DeviceDrops;
use netperf_model::{Iteration, TestPlan, Warning};

/// Dropped packets are no concern below one in this many datagrams.
const FEW: u64 = 100;
/// Packets of the control connection, and datagrams that mark the ends of flows.
const OTHERS: u64 = 64;

/// Begins to count, if netperf sends datagrams in bulk.
pub(super) fn counted(plan: &TestPlan, remote: IpAddr) -> Option<DeviceDrops> {
    let sends = plan.flow.sends && !plan.flow.counts_transactions();
    let datagrams = plan.transport.is_inet() && !plan.transport.row().reliable;
    (sends && datagrams).then(|| DeviceDrops::towards(remote))?
}

/// Warning if more packets were dropped than sends failed: a discipline that drops others than the
/// newest, or a part of a segmented send, does not fail the call.
pub(super) fn doubt(drops: Option<&DeviceDrops>, runs: &[Iteration]) -> Option<Warning> {
    let drops = drops?;
    let failed: u64 = runs.iter().map(|run| run.local.tally.failed_sends).sum();
    let sent: u64 = runs.iter().map(|run| run.local.tally.send_calls).sum();
    let dropped = drops.count()?;
    (dropped.saturating_sub(failed) > OTHERS + sent / FEW).then(|| {
        let interface = drops.interface();
        Warning::Imprecise(format!(
            "the queue of {interface} dropped {dropped} packets of all programs during the test, \
             and {failed} sends failed: some datagrams that count as sent did not leave this host"
        ))
    })
}
