//! Creating sockets of a transport.

use std::io;

use netperf_model::{Domain as AddressDomain, Family, SocketKind, TransportId};
use netperf_os::{Domain, Protocol, Socket, Type, rights};

use crate::built::check_transport;

/// The domain of a transport's sockets; an unspecified family is IPv4.
fn domain(domain: AddressDomain, kind: SocketKind, family: Family) -> Domain {
    match (domain, family) {
        (AddressDomain::Inet, Family::V6) => Domain::IPV6,
        (AddressDomain::Inet, Family::V4 | Family::Unspecified) => Domain::IPV4,
        (AddressDomain::Unix, _) => Domain::UNIX,
        (AddressDomain::Vsock, _) => Domain::VSOCK,
        (AddressDomain::Link, _) if kind == SocketKind::Stream => {
            Domain::from(netperf_os::link::LLC)
        }
        (AddressDomain::Link, _) => Domain::PACKET,
        (AddressDomain::Atm, _) => Domain::from(netperf_os::address::ATM_PVC),
    }
}

/// Creates a bare socket of a transport.
///
/// # Errors
/// `EPROTONOSUPPORT` or `ESOCKTNOSUPPORT` when the kernel lacks the transport; `Unsupported`
/// when this build does.
pub fn create(transport: TransportId, family: Family) -> io::Result<Socket> {
    create_with(transport, family, |kind| kind)
}

/// The same, whose calls return at once (socket(2), `SOCK_NONBLOCK`).
pub(super) fn create_nonblocking(transport: TransportId, family: Family) -> io::Result<Socket> {
    create_with(transport, family, Type::nonblocking)
}

fn create_with(
    transport: TransportId,
    family: Family,
    flags: fn(Type) -> Type,
) -> io::Result<Socket> {
    check_transport(transport)?;
    if transport == TransportId::Sdp && !netperf_os::process::has_library("libsdp") {
        return Err(io::Error::from_raw_os_error(netperf_os::io::NO_SUCH_FAMILY));
    }
    let row = transport.row();
    let kind = match row.kind {
        // Whole frames, headers and all.
        SocketKind::Datagram if row.domain == AddressDomain::Link => Type::RAW,
        SocketKind::Stream => Type::STREAM,
        SocketKind::Datagram => Type::DGRAM,
        SocketKind::SeqPacket => Type::SEQPACKET,
        SocketKind::Dccp => Type::DCCP,
    };
    let protocol = match row.protocol {
        _ if row.domain == AddressDomain::Atm => {
            Some(Protocol::from(i32::from(netperf_os::atm::AAL5)))
        }
        0 => None,
        number => Some(Protocol::from(i32::from(number))),
    };
    let socket = rights::open(domain(row.domain, row.kind, family), flags(kind), protocol)?;
    #[cfg(feature = "tls")]
    if transport == TransportId::Ktls {
        crate::tls::probe(&socket)?;
    }
    Ok(socket)
}

/// A socket of a transport, of whichever family the host has.
///
/// # Errors
/// As [`create`].
pub fn any(transport: TransportId) -> io::Result<Socket> {
    create(transport, Family::V4).or_else(|_| create(transport, Family::V6))
}
