//! iperf 2 beside the netperf port: listeners, a session process for each TCP connection, and a
//! process for all flows of datagrams of a port.

mod alone;
mod connection;
mod datagrams;
mod flow_table;
mod worker;

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_iperf2::states::SendOrder;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Rate};
use netperf_model::{Denied, Policy};
use netperf_os::{Domain, Protocol, Socket, Type};

pub use alone::serve as serve_alone;
pub(super) use connection::{port_back, serve as serve_connection};
pub(super) use datagrams::serve as serve_datagrams;
pub(super) use worker::DatagramWorker;

use super::listen;
use netperf_program::output::{FAILED, Failure, system_text};

/// Receive buffer of the datagram sockets, bytes: as much as the host permits.
const RECEIVE_BUFFER: usize = 8 << 20;
/// Longest test without a limit of the policy.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

netperf_model::words! {
    /// What a session process serves.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) enum ServedProtocol {
        /// Tests of netperf.
        #[default]
        Netperf = "netperf",
        /// A test of iperf3.
        Iperf3 = "iperf3",
        /// A TCP connection of iperf 2.
        Iperf2 = "iperf2",
        /// Datagrams of iperf 2.
        Iperf2Datagrams = "iperf2-datagrams",
    }
}

/// Sockets at the port of iperf 2.
#[derive(Debug, Default)]
pub(super) struct Iperf2Sockets {
    /// TCP listeners.
    pub(super) listeners: Vec<Socket>,
    /// Datagram sockets.
    pub(super) datagrams: Vec<Socket>,
}

/// Opens the sockets of `--iperf2`, if given.
///
/// # Errors
/// When no client could be served.
pub(super) fn listen(args: &ServerArgs) -> Result<Iperf2Sockets, Failure> {
    let Some(port) = &args.iperf2 else {
        return Ok(Iperf2Sockets::default());
    };
    let wrong = |why: &str| Failure::netserver(FAILED, format_args!("--iperf2 {port}: {why}"));
    let (listeners, reasons) = listen::listeners_at(args, port);
    if listeners.is_empty() {
        let failure = wrong("no address can be listened at");
        return Err(Failure {
            hint: reasons.concat(),
            ..failure
        });
    }
    let datagrams = listeners.iter().map(datagram_socket).collect();
    let datagrams: io::Result<Vec<Socket>> = datagrams;
    let datagrams = datagrams.map_err(|error| {
        let text = system_text(&error);
        wrong(&format!("datagrams cannot be received: {text}"))
    })?;
    Ok(Iperf2Sockets {
        listeners,
        datagrams,
    })
}

/// A datagram socket at the address of a listener.
fn datagram_socket(listener: &Socket) -> io::Result<Socket> {
    let address = listener.local_addr()?;
    let domain = Domain::from(i32::from(address.family()));
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    // The kernel may permit less.
    let _smaller = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    socket.bind(&address)?;
    Ok(socket)
}

/// Applies the limits of the policy to what the server sends.
fn permitted(policy: &Policy, mut order: SendOrder) -> Result<SendOrder, Denied> {
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
fn longest(policy: &Policy) -> Duration {
    policy.limits.test_time.unwrap_or(LONGEST)
}

/// Time limit and bytes of what the server sends.
fn time_and_bytes(policy: &Policy, order: &SendOrder) -> (Duration, Option<u64>) {
    match order.amount {
        Iperf2Amount::Time(time) => (time.min(longest(policy)), None),
        Iperf2Amount::Bytes(bytes) => (longest(policy), Some(bytes)),
    }
}

/// True if datagrams may be sent to this address although nothing proves it: it is on this host,
/// or the policy names it (`--data-peers`).
fn may_send_datagrams(policy: &Policy, address: IpAddr) -> bool {
    address.to_canonical().is_loopback() || policy.data_peers.allow(address, None)
}
