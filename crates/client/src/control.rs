//! Reaching netserver (control-protocol.md 2.2).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use netperf_model::{ControlPlan, DataAddress, Family};
use netperf_os::resolve::{ResolveError, ResolvedHost, Want, resolve};
use netperf_os::{Domain, Protocol, Socket, Type, address, without};
use netperf_program::connect::connect_within;
use netperf_program::output::{Failure, REFUSED, system_text};
use netperf_transport::socket::wildcard;

use super::private;
use super::way_out::{FailedConnect, Step, connecting, resolving};

/// Time limit of a connection attempt to one address.
const CONNECT: Duration = Duration::from_secs(30);
/// A resolver that asks to be tried again gets this many tries, a second apart.
const TRIES: u32 = 6;

/// An established control connection.
#[derive(Debug)]
pub(crate) struct ControlConnection {
    pub(crate) socket: Socket,
    /// netserver's address; `None` if it is not an IP address.
    pub(crate) peer: Option<SocketAddr>,
    /// Local address; `None` if it is not an IP address.
    pub(crate) local: Option<SocketAddr>,
    /// True for a private netserver that this program started; it needs no authentication.
    pub(crate) private: bool,
}

/// Resolves a name, with patience for a resolver that is busy.
pub(crate) fn look_up(
    host: &str,
    service: &str,
    family: Family,
    kind: Type,
) -> Result<ResolvedHost, ResolveError> {
    let want = match family {
        Family::Unspecified => Want::Any,
        Family::V4 => Want::V4,
        Family::V6 => Want::V6,
    };
    let mut tries = 1;
    loop {
        match resolve(host, service, want, kind) {
            Err(error) if error.is_passing() && tries < TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_secs(1));
            }
            done => return done,
        }
    }
}

/// Connects to netserver, trying every pair of addresses in turn.
///
/// Starts a private netserver if neither host nor port is given and nothing listens.
pub(crate) fn establish(plan: &ControlPlan) -> Result<ControlConnection, Failure> {
    let remote = &plan.remote;
    if let Some(cid) = context_id(&remote.host) {
        return over_vsock(cid, &remote.port);
    }
    let mut family = remote.family;
    if remote.named {
        let found = look_up(&remote.host, "0", family, Type::STREAM)
            .map_err(|error| unknown_host(&remote.host, family, &error))?;
        family = found.addresses.first().map_or(family, family_of);
    }
    let described = Described {
        plan,
        remote_family: family,
    };
    // All addresses: netserver may listen in the other family alone.
    let remotes = look_up(&remote.host, &remote.port, remote.family, Type::STREAM)
        .map_err(|error| described.unresolved(remote, family, &error))?;
    let local = &plan.local;
    let locals = look_up(&local.host, &local.port, local.family, Type::STREAM)
        .map_err(|error| described.unresolved(local, local.family, &error))?;
    let mut refused = false;
    let mut causes = Vec::new();
    for to in &remotes.addresses {
        let other = local.family != Family::Unspecified && local.family != family_of(to);
        let locals = if other {
            Vec::new()
        } else {
            matching(local, &locals.addresses, *to)
        };
        if locals.is_empty() {
            let (ip, port) = (to.ip(), to.port());
            causes.push(FailedConnect {
                what: format!("connect to {ip} port {port}: -L has no address of this family"),
                way_out: "",
            });
        }
        for from in locals {
            match connect(from, *to) {
                Ok(control) => return Ok(control),
                Err((step, error)) => {
                    refused |= error.kind() == io::ErrorKind::ConnectionRefused;
                    causes.push(connecting(step, (from, *to), &error));
                }
            }
        }
    }
    let failure = not_connected(described.not_reached(), &causes);
    if refused && !plan.explicit {
        return private::start(&remotes.addresses).ok_or(failure);
    }
    Err(failure)
}

/// Adds the causes, one of each address, to a failure.
fn not_connected(failure: Failure, causes: &[FailedConnect]) -> Failure {
    let line = FailedConnect::line_of(causes);
    let failure = causes.iter().fold(failure, |failure, cause| {
        failure.hint(format_args!("{}{}", cause.what, cause.way_out))
    });
    Failure {
        in_short: (!line.is_empty()).then(|| format!("netperf: {line}\n")),
        ..failure
    }
}

/// The context id in `vsock:3`, the name of a host that is reached by vsock(7).
pub(crate) fn context_id(host: &str) -> Option<u32> {
    host.strip_prefix("vsock:")?.parse().ok()
}

/// Connects to a netserver that listens with `-L vsock:any` or `-L vsock:CID`.
fn over_vsock(cid: u32, port: &str) -> Result<ControlConnection, Failure> {
    let connected = port
        .parse()
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
        .and_then(|port| {
            let socket = Socket::new(Domain::VSOCK, Type::STREAM, None)?;
            connect_within(&socket, &address::vsock(cid, port), CONNECT)?;
            Ok(socket)
        });
    match connected {
        Ok(socket) => Ok(ControlConnection {
            socket,
            peer: None,
            local: None,
            private: false,
        }),
        Err(error) => {
            let why = system_text(&error);
            let line = format!(
                "establish control: are you sure there is a netserver listening on vsock:{cid} at \
                 port {port}? {why}; start it with: netserver -L vsock:any"
            );
            Err(Failure::stdout(REFUSED, line).without_netserver())
        }
    }
}

fn connect(from: SocketAddr, to: SocketAddr) -> Result<ControlConnection, (Step, io::Error)> {
    let failed = |step| move |error| (step, error);
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))
        .map_err(failed(Step::Connect))?;
    if from.port() != 0 || !from.ip().is_unspecified() {
        without::share_port(&socket, true);
        socket.bind(&from.into()).map_err(failed(Step::Bind))?;
    }
    connect_within(&socket, &to.into(), CONNECT).map_err(failed(Step::Connect))?;
    let local = socket.local_addr().map_err(failed(Step::Connect))?;
    let local = local.as_socket().unwrap_or(from);
    Ok(ControlConnection {
        socket,
        peer: Some(to),
        local: Some(local),
        private: false,
    })
}

/// Local addresses from which `to` can be reached: those of the named host, or the wildcard of
/// the same family.
fn matching(local: &DataAddress, found: &[SocketAddr], to: SocketAddr) -> Vec<SocketAddr> {
    if local.named {
        let same_family = |from: &&SocketAddr| from.is_ipv4() == to.is_ipv4();
        return found.iter().filter(same_family).copied().collect();
    }
    let port = found.first().map_or(0, SocketAddr::port);
    vec![SocketAddr::new(wildcard(family_of(&to)), port)]
}

pub(crate) fn family_of(address: &SocketAddr) -> Family {
    if address.is_ipv4() {
        Family::V4
    } else {
        Family::V6
    }
}

/// Parameters of messages about a failed control connection.
struct Described<'a> {
    plan: &'a ControlPlan,
    remote_family: Family,
}

impl Described<'_> {
    fn attempt(&self) -> String {
        let ControlPlan { remote, local, .. } = self.plan;
        format!(
            "establish_control could not establish the control connection from {} port {} \
             address family {} to {} port {} address family {}",
            local.host,
            local.port,
            local.family.label(),
            remote.host,
            remote.port,
            self.remote_family.label()
        )
    }

    fn not_reached(&self) -> Failure {
        let remote = &self.plan.remote;
        let lines = format!(
            "establish control: are you sure there is a netserver listening on {} at port {}?\n{}",
            remote.host,
            remote.port,
            self.attempt()
        );
        Failure::stdout(REFUSED, lines).without_netserver()
    }

    fn unresolved(&self, host: &DataAddress, family: Family, error: &ResolveError) -> Failure {
        let lines = format!(
            "{}\n{}",
            not_resolved(&host.host, &host.port, family, error),
            self.attempt()
        );
        Failure::stdout(REFUSED, lines)
            .hint(resolving(&host.host, &host.port, error))
            .without_netserver()
    }
}

fn unknown_host(host: &str, family: Family, error: &ResolveError) -> Failure {
    let lines = format!(
        "{}\nNetperf could not resolve {host} as a host name",
        not_resolved(host, "(null)", family, error)
    );
    Failure::stdout(REFUSED, lines)
        .hint(resolving(host, "0", error))
        .without_netserver()
}

fn not_resolved(host: &str, port: &str, family: Family, error: &ResolveError) -> String {
    format!(
        "resolve_host: could not resolve host '{host}' port '{port}' af {}\n\
         \tgetaddrinfo returned {} {}",
        family.label(),
        error.code,
        error.text
    )
}
