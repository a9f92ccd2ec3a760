//! The size of datagrams: one that fits the path's MTU where none was asked for, and a warning where
//! datagrams travel in fragments.

use netperf_cli::RunCommand;
use netperf_model::{Agreed, Family, Format, Hosts, TestPlan, TransportId, Warning};
use netperf_os::net::path_mtu;
use netperf_transport::socket::wildcard;

use super::control::family_of;
use super::hosts::socket_address;

/// Bytes of a header of UDP and UDP-Lite.
const UDP_HEADER: u32 = 8;
/// Bytes of an IP header without options.
const V4_HEADER: u32 = 20;
const V6_HEADER: u32 = 40;
/// Bytes of the header that IPv6 adds to each fragment (RFC 8200 section 4.5).
const FRAGMENT_HEADER: u32 = 8;
/// Largest lengths of a UDP message: the length field of IPv4 counts the IP header, that of IPv6
/// does not.
const LARGEST_V4: u32 = 65_535 - V4_HEADER - UDP_HEADER;
const LARGEST_V6: u32 = 65_535 - UDP_HEADER;

/// The largest size that is chosen, but for the tables of netperf 2.7: the usual receive buffer of
/// 208 KiB holds three datagrams of the loopback interface's MTU, and drops others whenever the
/// receiver waits for a CPU.
const MOST_CHOSEN: u32 = 16_384;

/// Gives the datagrams of a test the largest size that fits the path's MTU, unless a size was asked
/// for. A command line that netperf 2.7 could read keeps the size of netperf 2.7.
pub(super) fn fit(run: &mut RunCommand, hosts: &Hosts) {
    if run.is_classic() || !run.plan.sends_datagrams_in_bulk() {
        return;
    }
    let Some(mtu) = mtu_of_path(hosts) else {
        return;
    };
    let fits = largest_unfragmented(mtu, hosts);
    let is_table = run.report.format == Format::Classic && !run.is_named("udp");
    let size = if is_table {
        fits
    } else {
        fits.min(MOST_CHOSEN)
    };
    let (sends, receives) = (run.plan.flow.sends, run.plan.flow.receives);
    for (used, end) in [
        (sends, &mut run.plan.local),
        (receives, &mut run.plan.remote),
    ] {
        let unset = end.send.size.is_none_or(|size| size == 0);
        if used && unset {
            end.send.size = Some(size);
        }
    }
}

/// The warning about datagrams that travel in fragments.
pub(super) fn fragments(plan: &TestPlan, hosts: &Hosts, agreed: &Agreed) -> Option<Warning> {
    if let Some(size) = longest_message(plan) {
        return of_size(size, "request or response", "-r", hosts);
    }
    if !plan.sends_datagrams_in_bulk() {
        return None;
    }
    let sizes = [
        agreed.local.send_size.filter(|_| plan.flow.sends),
        agreed
            .remote
            .and_then(|end| end.send_size)
            .filter(|_| plan.flow.receives),
    ];
    let size = sizes.into_iter().flatten().max()?;
    of_size(size, "datagram", "--send-size", hosts)
}

/// Size of the longer message of transactions whose messages are datagrams of UDP.
fn longest_message(plan: &TestPlan) -> Option<u32> {
    let is_udp = matches!(plan.transport, TransportId::Udp | TransportId::UdpLite);
    let messages = [plan.request, plan.response].into_iter().flatten();
    messages
        .max()
        .filter(|_| is_udp && plan.flow.counts_transactions())
}

/// The warning about messages of a size, and the option that sets it.
fn of_size(size: u32, message: &str, option: &str, hosts: &Hosts) -> Option<Warning> {
    let mtu = mtu_of_path(hosts)?;
    let fragments = fragments_of(size, mtu, hosts.remote.family());
    (fragments > 1).then(|| {
        let fits = largest_unfragmented(mtu, hosts);
        Warning::Fragments(format!(
            "each {message} of {size} bytes travels in {fragments} fragments, and is lost if one of \
             them is: {fits} bytes fit the path's MTU of {mtu} ({option} {fits})"
        ))
    })
}

fn mtu_of_path(hosts: &Hosts) -> Option<u32> {
    let local = &hosts.local;
    let remote = socket_address(&hosts.remote, hosts.remote.port);
    let local = if local.address.is_ipv4() == remote.is_ipv4() {
        local.address
    } else {
        wildcard(family_of(&remote))
    };
    path_mtu(local, remote).ok()
}

/// The largest datagram that one packet carries.
fn largest_unfragmented(mtu: u32, hosts: &Hosts) -> u32 {
    let (header, largest) = match hosts.remote.family() {
        Family::V6 => (V6_HEADER, LARGEST_V6),
        Family::V4 | Family::Unspecified => (V4_HEADER, LARGEST_V4),
    };
    mtu.saturating_sub(header + UDP_HEADER).clamp(1, largest)
}

/// Number of packets that carry a datagram. All fragments but the last have a multiple of eight
/// bytes (RFC 791 section 3.2, RFC 8200 section 4.5).
fn fragments_of(size: u32, mtu: u32, family: Family) -> u32 {
    let payload = size.saturating_add(UDP_HEADER);
    let header = match family {
        Family::V6 => V6_HEADER,
        Family::V4 | Family::Unspecified => V4_HEADER,
    };
    let whole = mtu.saturating_sub(header);
    if payload <= whole {
        return 1;
    }
    let of_fragments = match family {
        Family::V6 => whole.saturating_sub(FRAGMENT_HEADER),
        Family::V4 | Family::Unspecified => whole,
    };
    payload.div_ceil((of_fragments & !7).max(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_of_datagrams_are_counted_as_the_kernel_makes_them() {
        for (size, mtu, family, fragments) in [
            (1472, 1500, Family::V4, 1),
            (1473, 1500, Family::V4, 2),
            (65_507, 1500, Family::V4, 45),
            (65_507, 65_536, Family::V4, 1),
            (1452, 1500, Family::V6, 1),
            (1453, 1500, Family::V6, 2),
            (65_507, 1280, Family::V6, 54),
        ] {
            assert_eq!(fragments_of(size, mtu, family), fragments, "{size} {mtu}");
        }
    }
}
