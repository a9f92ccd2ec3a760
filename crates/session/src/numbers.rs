//! Numbers of requests in the extension block (docs/spec/extension.md, "Numbered requests").

use netperf_model::{IoMethod, RateUnit, TestPlan, TransportId};
use netperf_wire::messages::{Extension, ItemKind};

/// Longest number, bytes.
const LONGEST: u32 = 8;

/// Bytes of the number that a plan has space for: datagrams at a rate, whose responses may be
/// lost, have numbers.
pub(crate) fn asked(plan: &TestPlan) -> Option<u8> {
    let rate = plan.local.rate.as_ref();
    let rated = rate.is_some_and(|rate| rate.unit == RateUnit::Transactions);
    let datagrams = matches!(plan.transport, TransportId::Udp | TransportId::UdpLite);
    let remote = &plan.remote;
    let plain = remote.io.method != IoMethod::Uring;
    if !(rated && datagrams && plain && plan.flow.is_request_response()) {
        return None;
    }
    let bytes = plan.request?.min(plan.response?).min(LONGEST);
    u8::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

/// Writes the item.
pub(crate) fn tell(extension: &mut Extension, bytes: Option<u8>) {
    if let Some(bytes) = bytes {
        extension.push(ItemKind::Numbers, &[bytes]);
    }
}

/// Reads the item of a request or a response.
pub(crate) fn read(extension: &Extension) -> Option<u8> {
    match extension.value(ItemKind::Numbers)? {
        [bytes] if (1..=LONGEST).contains(&u32::from(*bytes)) => Some(*bytes),
        _ => None,
    }
}
