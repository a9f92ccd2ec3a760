//! iperf 2 beside the netperf port: listeners, a session process for each TCP connection, and a
//! process for all flows of datagrams of a port.

mod alone;
mod connection;
mod datagrams;
mod flow_table;
mod limits;
mod worker;

use std::io;

use netperf_cli::ServerArgs;
use netperf_os::{Domain, Protocol, Socket, Type};
use netperf_program::output::{FAILED, Failure, system_text};

pub use alone::serve as serve_alone;
pub(super) use connection::{port_back, serve as serve_connection};
pub(super) use datagrams::serve as serve_datagrams;
pub(super) use worker::DatagramWorker;

use super::listen;

/// Receive buffer of the datagram sockets, bytes: as much as the host permits.
const RECEIVE_BUFFER: usize = 8 << 20;
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
    let (listeners, reasons) = listen::listeners_at(args, port, "--iperf2");
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
