//! Limits of what the server of iperf 2 does for its clients.

use std::net::IpAddr;
use std::time::Duration;

use netperf_iperf2::states::SendOrder;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Rate};
use netperf_model::{Denied, Policy};

/// Longest test without a limit of the policy.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Applies the limits of the policy to what the server sends.
pub(super) fn permitted(policy: &Policy, mut order: SendOrder) -> Result<SendOrder, Denied> {
    if let Iperf2Amount::Time(time) = order.amount {
        policy.limits.permit_time(Some(time))?;
    }
    if let Some(most) = policy.limits.send_rate {
        order.rate = Some(match order.rate {
            Some(Iperf2Rate::Bits(rate)) => Iperf2Rate::Bits(rate.min(most)),
            Some(Iperf2Rate::Packets(_)) | None => Iperf2Rate::Bits(most),
        });
    }
    Ok(order)
}

/// Longest time of a test.
pub(super) fn longest(policy: &Policy) -> Duration {
    policy.limits.test_time.unwrap_or(LONGEST)
}

/// Time limit and bytes of what the server sends.
pub(super) fn time_and_bytes(policy: &Policy, order: &SendOrder) -> (Duration, Option<u64>) {
    match order.amount {
        Iperf2Amount::Time(time) => (time.min(longest(policy)), None),
        Iperf2Amount::Bytes(bytes) => (longest(policy), Some(bytes)),
    }
}

/// True if datagrams may be sent to this address although nothing proves it: it is on this host,
/// or the policy names it (`--data-peers`).
pub(super) fn may_send_datagrams(policy: &Policy, address: IpAddr) -> bool {
    address.to_canonical().is_loopback() || policy.data_peers.allow(address, None)
}
