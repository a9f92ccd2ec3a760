//! Causes of failed connections and the remedies: the operation, the address, the system's words.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use netperf_model::{Family, TransportId};
use netperf_os::io::MESSAGE_TOO_LONG;
use netperf_os::resolve::ResolveError;
use netperf_program::output::{lacks_zone, system_text};

/// Port of iperf3.
const IPERF3: u16 = 5201;

/// The call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// bind(2) to the local address.
    Bind,
    /// connect(2), or the socket.
    Connect,
}

/// A failed attempt to connect.
#[derive(Debug)]
pub(super) struct FailedConnect {
    /// The operation, the address, the system's words.
    pub(super) what: String,
    /// The remedy, after a colon; empty if none is known.
    pub(super) way_out: &'static str,
}

impl FailedConnect {
    /// The attempts of all addresses in one line, in which each remedy is given once.
    pub(super) fn line_of(attempts: &[Self]) -> String {
        let mut line = String::new();
        for (position, attempt) in attempts.iter().enumerate() {
            let between = if position == 0 { "" } else { "; " };
            line.push_str(between);
            line.push_str(&attempt.what);
            let next = attempts.get(position + 1);
            if next.is_none_or(|next| next.way_out != attempt.way_out) {
                line.push_str(attempt.way_out);
            }
        }
        line
    }
}

/// A failed attempt to connect from an address to another.
pub(super) fn connecting(
    step: Step,
    (from, to): (SocketAddr, SocketAddr),
    error: &io::Error,
) -> FailedConnect {
    let (operation, address) = match step {
        Step::Bind => ("bind to", from),
        Step::Connect => ("connect to", to),
    };
    let way_out = match (step, error.kind()) {
        (Step::Bind, ErrorKind::AddrNotAvailable) => {
            ": this host does not have the address; -L takes one of its own"
        }
        (Step::Bind, ErrorKind::AddrInUse) => ": give another local port, as in -p 12865,0",
        (Step::Bind, ErrorKind::PermissionDenied) => {
            ": local ports below 1024 need root; give another, as in -p 12865,0"
        }
        (Step::Connect, ErrorKind::PermissionDenied) => ": a firewall of this host forbids it",
        (_, ErrorKind::ConnectionRefused) if to.port() == IPERF3 => {
            ": no program listens there; 5201 is the port of iperf3, and netserver's is 12865 unless \
             it has another one (-p)"
        }
        (_, ErrorKind::ConnectionRefused) => {
            ": no program listens there; start netserver on that host, or give its port with -p"
        }
        (_, ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable) => {
            ": no route leads there; check the address and the routes of this host"
        }
        (_, ErrorKind::TimedOut) => {
            ": no answer; the host is down, or a firewall drops the packets"
        }
        _ if lacks_zone(address) => {
            ": a link-local address needs the interface, as in fe80::1%eth0"
        }
        _ => "",
    };
    let (ip, port, text) = (address.ip(), address.port(), system_text(error));
    FailedConnect {
        what: format!("{operation} {ip} port {port}: {text}"),
        way_out,
    }
}

/// The line about a datagram that does not fit into a packet of IP; empty for other errors.
pub(super) fn too_long(number: i32, transport: TransportId, family: Family) -> String {
    if number != MESSAGE_TOO_LONG || !matches!(transport, TransportId::Udp | TransportId::UdpLite) {
        return String::new();
    }
    let most = match family {
        Family::V4 => "65507 bytes over IPv4",
        Family::V6 => "65527 bytes over IPv6",
        Family::Unspecified => "65507 bytes over IPv4 and 65527 over IPv6",
    };
    format!(
        "netperf: a datagram has at most {most}, and one packet with -f after --: give a smaller size to -m (--send-size) or -r \
         (--request-size)\n"
    )
}

/// A failed bind(2) of netperf's data socket.
pub(super) fn binding_data(at: SocketAddr, error: &io::Error) -> String {
    let kind = error.kind();
    let way_out = if kind == ErrorKind::AddrInUse {
        ": name another port with -P (--data-port), or none"
    } else if kind == ErrorKind::PermissionDenied {
        ": ports below 1024 need root; name another with -P (--data-port), or none"
    } else if kind == ErrorKind::AddrNotAvailable && lacks_zone(at) {
        ": a link-local address needs the interface, as in fe80::1%eth0"
    } else if kind == ErrorKind::AddrNotAvailable {
        ": this host does not have the address; -L takes one of its own"
    } else {
        ""
    };
    let (ip, port, text) = (at.ip(), at.port(), system_text(error));
    format!("bind the data socket to {ip} port {port}: {text}{way_out}")
}

/// A name or port that does not resolve.
pub(super) fn resolving(host: &str, port: &str, error: &ResolveError) -> String {
    if error.is_unknown_service() {
        return format!(
            "'{port}' is not a port: a port is a number from 1 to 65535 or a name in /etc/services"
        );
    }
    let text = &error.text;
    if let Some((host, port)) = with_port(host) {
        return format!(
            "'{host}:{port}' is not a host: give the port with -p, as in {host} -p {port}"
        );
    }
    let way_out = if error.is_passing() {
        "the name server does not answer; try again, or give an address"
    } else if host.parse::<IpAddr>().is_ok() {
        "the address is of the other family; check -4, -6 and the families of -H and -L"
    } else {
        "check the spelling, and -4 and -6, or give an address"
    };
    format!("look up '{host}': {text}: {way_out}")
}

/// A host with a port behind it, as other programs take them.
fn with_port(host: &str) -> Option<(&str, &str)> {
    let (name, port) = host.rsplit_once(':')?;
    let name = match name.strip_prefix('[') {
        Some(v6) => v6.strip_suffix(']')?,
        None if name.contains(':') || name.is_empty() => return None,
        None => name,
    };
    port.parse::<u16>().is_ok().then_some((name, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_failed_connection_names_operation_address_cause_and_remedy() {
        let (from, to) = (at("192.0.2.9:0"), at("192.0.2.1:12865"));
        for (step, to, errno, expected) in [
            (
                Step::Connect,
                to,
                111,
                "connect to 192.0.2.1 port 12865: Connection refused: no",
            ),
            (
                Step::Connect,
                at("192.0.2.1:5201"),
                111,
                "connect to 192.0.2.1 port 5201: Connection refused: no program listens there; \
                 5201 is the port of iperf3",
            ),
            (
                Step::Connect,
                to,
                101,
                "connect to 192.0.2.1 port 12865: Network is unreachable: no r",
            ),
            (
                Step::Connect,
                to,
                113,
                "connect to 192.0.2.1 port 12865: No route to host: no r",
            ),
            (
                Step::Connect,
                to,
                110,
                "connect to 192.0.2.1 port 12865: Connection timed out: no a",
            ),
            (
                Step::Bind,
                to,
                99,
                "bind to 192.0.2.9 port 0: Cannot assign requested address: this",
            ),
            (
                Step::Bind,
                to,
                98,
                "bind to 192.0.2.9 port 0: Address already in use: give another",
            ),
            (
                Step::Bind,
                to,
                13,
                "bind to 192.0.2.9 port 0: Permission denied: local ports",
            ),
            (
                Step::Connect,
                at("[fe80::1]:12865"),
                22,
                "connect to fe80::1 port 12865: Invalid argument: a link-local address needs",
            ),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let line = FailedConnect::line_of(&[connecting(step, (from, to), &error)]);
            assert!(line.starts_with(expected), "{line}");
        }
    }

    #[test]
    fn a_remedy_of_several_addresses_is_given_once() {
        let from = at("192.0.2.9:0");
        let failed = |to, errno| {
            let error = io::Error::from_raw_os_error(errno);
            connecting(Step::Connect, (from, at(to)), &error)
        };
        let line = FailedConnect::line_of(&[failed("[::1]:9", 111), failed("127.0.0.1:9", 111)]);
        assert_eq!(line.matches("no program listens").count(), 1, "{line}");
        assert!(line.starts_with("connect to ::1 port 9: Connection refused; connect"));
        let line = FailedConnect::line_of(&[failed("[::1]:9", 111), failed("127.0.0.1:9", 101)]);
        assert!(
            line.contains("port with -p; connect to 127.0.0.1"),
            "{line}"
        );
        assert!(line.ends_with("the routes of this host"), "{line}");
    }

    #[test]
    fn a_datagram_that_is_too_long_is_answered_with_the_limit() {
        let v4 = too_long(90, TransportId::Udp, Family::V4);
        assert!(v4.starts_with("netperf: a datagram has at most 65507 bytes over IPv4, "));
        let v6 = too_long(90, TransportId::UdpLite, Family::V6);
        assert!(v6.contains("65527 bytes over IPv6"), "{v6}");
        assert_eq!(too_long(11, TransportId::Udp, Family::V4), "");
        assert_eq!(too_long(90, TransportId::UnixDatagram, Family::V4), "");
    }

    #[test]
    fn a_port_behind_a_host_is_recognised() {
        for (host, parts) in [
            ("127.0.0.1:23000", Some(("127.0.0.1", "23000"))),
            ("db1:5201", Some(("db1", "5201"))),
            ("[fd00::1]:5201", Some(("fd00::1", "5201"))),
            ("fd00::1", None),
            ("db1:http", None),
            ("db1", None),
        ] {
            assert_eq!(with_port(host), parts, "{host}");
        }
    }
}
