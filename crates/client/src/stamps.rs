//! Timestamps of transactions, and the parts of their latency.

use std::net::IpAddr;

use netperf_measure::device_stamps::Switched;
use netperf_model::{EndResult, OneWay, Stamper, TestPlan};
use netperf_program::output::Failure;

use super::failure;

/// The device that is to stamp what goes to `remote`, switched on as long as this lives;
/// `None` where none is to.
///
/// # Errors
/// When it cannot.
pub(super) fn switched(plan: &TestPlan, remote: IpAddr) -> Result<Option<Switched>, Failure> {
    if plan.local.stamps != Some(Stamper::Device) {
        return Ok(None);
    }
    let lacking = |lacking| failure::does_not_stamp(&lacking);
    Switched::on(remote).map(Some).map_err(lacking)
}

/// Parts of the transaction latency, if both ends took timestamps.
///
/// # Errors
/// When a device that supports timestamps delivered none.
pub(super) fn one_way(
    plan: &TestPlan,
    own: &EndResult,
    remote: Option<&EndResult>,
) -> Result<Option<OneWay>, Failure> {
    let far = remote.and_then(|remote| remote.stamps.as_ref());
    let (Some(own), Some(far)) = (own.stamps.as_ref(), far) else {
        return Ok(None);
    };
    if own.numbered {
        return Ok(None);
    }
    if plan.local.stamps != Some(Stamper::Device) {
        return Ok(OneWay::of(own, far));
    }
    // A run of no transactions has nothing to stamp.
    let silent = |incomplete: u32, none: bool| none && incomplete > 0;
    let ends = [("netperf", own), ("netserver", far)];
    for (end, stamps) in ends {
        if silent(stamps.incomplete, stamps.each.is_empty()) {
            return Err(failure::did_not_stamp(end));
        }
    }
    Ok(OneWay::by_devices(own, far))
}
