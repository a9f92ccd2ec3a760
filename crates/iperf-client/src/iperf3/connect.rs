//! Connections of a client.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_iperf3::messages::{CONNECT_WORD, ConnectWord, Cookie, PORT, Parameters, Protocol};
use netperf_measure::clock;
use netperf_os::resolve::{Want, resolve};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, ready};
use netperf_os::{Domain, Protocol as SocketProtocol, Socket, Type, alarm, io as calls, without};
use netperf_program::connect::connect_within;
use netperf_program::iperf3::socket::{equip, labelled, limit_unacknowledged, send_all};
use netperf_program::output::system_text;

use super::plan::Iperf3Plan;

/// Default time limit for a connection.
const CONNECT: Duration = Duration::from_secs(60);
/// Time after which a connect word is repeated, and number of words.
const AGAIN: Duration = Duration::from_secs(1);
const WORDS: u32 = 10;

/// The failure of a test that the user ended before it began.
pub(super) const STOPPED: &str = "interrupt - the client has terminated";

/// Text of an error of the system.
pub(super) fn said(error: &io::Error) -> String {
    system_text(error)
}

fn wanted(plan: &Iperf3Plan) -> Want {
    match plan.family {
        Some('4') => Want::V4,
        Some('6') => Want::V6,
        Some(_) | None => Want::Any,
    }
}

/// The address to bind to, of the family of the peer.
fn bound(plan: &Iperf3Plan, peer: SocketAddr) -> Result<Option<IpAddr>, String> {
    let Some(host) = &plan.bind else {
        return Ok(None);
    };
    let found = resolve(host, "0", wanted(plan), Type::STREAM)
        .map_err(|error| format!("unable to bind to {host}: {error}"))?;
    let same = found.addresses.iter().map(SocketAddr::ip);
    let same = same.into_iter().find(|ip| ip.is_ipv4() == peer.is_ipv4());
    match same {
        Some(ip) => Ok(Some(ip)),
        None => Err(format!("unable to bind to {host}: it has no such address")),
    }
}

/// Why a connection failed.
enum StreamFailure {
    /// A sentence.
    Known(String),
    /// The text of the system.
    System(String),
}

fn connected(
    kind: Type,
    (plan, own_port): (&Iperf3Plan, Option<u16>),
    peer: SocketAddr,
    prepare: impl FnOnce(&Socket) -> Result<SocketAddr, StreamFailure>,
) -> Result<Socket, StreamFailure> {
    let unable = |error: io::Error| StreamFailure::System(said(&error));
    let protocol = if kind == Type::STREAM {
        SocketProtocol::TCP
    } else {
        SocketProtocol::UDP
    };
    let socket = Socket::new(Domain::for_address(peer), kind, Some(protocol)).map_err(unable)?;
    if let Some(device) = &plan.device {
        let bound = socket.bind_device(Some(device.as_bytes()));
        bound.map_err(|error| {
            let system = said(&error);
            StreamFailure::Known(format!("unable to bind to device {device}: {system}"))
        })?;
    }
    let peer = prepare(&socket)?;
    let own = bound(plan, peer).map_err(StreamFailure::System)?;
    if own.is_some() || own_port.is_some() {
        let any = if peer.is_ipv4() {
            IpAddr::from([0; 4])
        } else {
            IpAddr::from([0; 16])
        };
        let at = SocketAddr::new(own.unwrap_or(any), own_port.unwrap_or(0));
        without::share_port(&socket, true);
        socket.bind(&at.into()).map_err(unable)?;
    }
    let time = plan.connect_timeout.unwrap_or(CONNECT);
    connect_within(&socket, &peer.into(), time).map_err(unable)?;
    Ok(socket)
}

/// Opens the control connection.
pub(super) fn control(plan: &Iperf3Plan) -> Result<Socket, String> {
    let unable = |text: String| format!("unable to connect to server: {text}");
    let port = plan.port.clone().unwrap_or(PORT.to_string());
    let found = resolve(&plan.host, &port, wanted(plan), Type::STREAM)
        .map_err(|error| unable(error.to_string()))?;
    let mut last = "no address".to_owned();
    for peer in found.addresses {
        if alarm::stopped_by_user() {
            return Err(STOPPED.to_owned());
        }
        match connected(Type::STREAM, (plan, None), peer, |_| Ok(peer)) {
            Ok(socket) => {
                let _delayed = sockopt::set(socket.as_fd(), IntOption::NoDelay, 1);
                return Ok(socket);
            }
            Err(_) if alarm::stopped_by_user() => return Err(STOPPED.to_owned()),
            Err(StreamFailure::Known(text)) => return Err(text),
            Err(StreamFailure::System(text)) => last = text,
        }
    }
    Err(unable(last))
}

/// The segment size of the control connection, which is the default length of datagrams.
pub(super) fn segment_size(control: &Socket) -> Option<u32> {
    let size = sockopt::fetch(control.as_fd(), IntOption::SegmentSize).ok()?;
    u32::try_from(size).ok().filter(|size| *size >= 16)
}

/// Opens a stream.
pub(super) fn stream(
    own: (&Iperf3Plan, Option<u16>),
    peer: SocketAddr,
    parameters: &Parameters,
    cookie: &Cookie,
) -> Result<Socket, String> {
    let prepare = |socket: &Socket| {
        let done = equip(socket, parameters).and_then(|()| labelled(socket, peer, parameters));
        done.map_err(|error| StreamFailure::Known(error.to_string()))
    };
    let unable = |failure: StreamFailure| match failure {
        StreamFailure::Known(text) => text,
        StreamFailure::System(text) => format!("unable to connect stream: {text}"),
    };
    if parameters.protocol == Protocol::Udp {
        let socket = connected(Type::DGRAM, own, peer, prepare).map_err(unable)?;
        greet(&socket)?;
        return Ok(socket);
    }
    let socket = connected(Type::STREAM, own, peer, prepare).map_err(|failure| {
        if alarm::stopped_by_user() {
            STOPPED.to_owned()
        } else {
            unable(failure)
        }
    })?;
    if let Some(time) = own.0.send_timeout {
        limit_unacknowledged(&socket, time)
            .map_err(|error| format!("unable to set TCP USER TIMEOUT: {}", said(&error)))?;
    }
    send_all(&socket, cookie.bytes())
        .map_err(|error| unable(StreamFailure::System(said(&error))))?;
    Ok(socket)
}

/// Sends the connect word of a stream of datagrams until it is answered.
fn greet(socket: &Socket) -> Result<(), String> {
    let unable = |text: &str| format!("unable to read from stream socket: {text}");
    for _ in 0..WORDS {
        if let Err(error) = calls::send(socket.as_fd(), &ConnectWord::Connect.bytes()) {
            return Err(unable(&said(&error)));
        }
        let until = clock::now().plus(AGAIN);
        while !until.left().is_zero() && !alarm::stopped_by_user() {
            let wait = until.left() + Duration::from_millis(1);
            if !matches!(ready(socket.as_fd(), Interest::Read, wait), Ok(true)) {
                continue;
            }
            let mut bytes = [0; CONNECT_WORD + 1];
            match calls::recv_now(socket.as_fd(), &mut bytes) {
                Ok(count) => {
                    let word = bytes.get(..count).and_then(ConnectWord::from_server);
                    return match word {
                        Some(_) => Ok(()),
                        None => Err(unable("the server's answer is not a connect word")),
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(unable(&said(&error))),
            }
        }
        if alarm::stopped_by_user() {
            return Err(STOPPED.to_owned());
        }
    }
    Err(unable("the server does not answer datagrams"))
}
