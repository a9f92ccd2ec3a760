//! `iperf -s`: a server with the options and the output of iperf 2.1.8, in one process.

mod board;
mod shown;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::Scope;
use std::time::Duration;

use netperf_daemon::record::NoRecords;
use netperf_daemon::sandbox;
use netperf_iperf2::options::Iperf2Args;
use netperf_iperf2::rows::ListeningHead;
use netperf_measure::clock::{self, Moment};
use netperf_model::{Policy, Require};
use netperf_os::net::addresses;
use netperf_os::process::Forked;
use netperf_os::resolve::{Want, resolve};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, ready, sleep};
use netperf_os::{Domain, Protocol, Socket, Type, alarm, without};
use netperf_program::iperf2::{prepare_process, stamp};
use netperf_program::output::{err, out, system_text};
use netperf_program::threads::spawn;

pub(super) use self::board::Iperf2Board;
pub(super) use self::shown::{ShownBack, ShownConnection, ShownFlow};
use super::connection::serve_shown as serve_connection;
use super::datagrams::{MOST as MOST_DATAGRAM, serve_shown as serve_datagrams};
use crate::listen::detach;

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 128;
/// Most connections at a time.
const MOST: u32 = 1000;
/// Longest wait between looks, while something runs and while nothing does.
const LOOK: Duration = Duration::from_millis(10);
const IDLE: Duration = Duration::from_secs(1);
/// Time in which final datagrams are answered again before the server ends.
const LINGER: Duration = Duration::from_millis(500);

/// State that the threads of a server share.
struct Iperf2Shared {
    board: Arc<Iperf2Board>,
    policy: Policy,
    /// The user stops the server, or it has served all.
    stop: AtomicBool,
    /// Connections that run.
    running: AtomicU32,
    /// When it stops to listen.
    until: Option<Moment>,
}

impl Iperf2Shared {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| until.left().is_zero())
    }
}

/// Runs a server until it is stopped, or has served what it should.
pub fn serve(args: &Iperf2Args) -> ExitCode {
    if let Err(line) = prepare_process(args) {
        err(&line);
        return ExitCode::FAILURE;
    }
    let sockets = match sockets(args) {
        Ok(sockets) => sockets,
        Err(error) => {
            err(&format!("listener bind failed: {}\n", system_text(&error)));
            // The original ends with success.
            return ExitCode::SUCCESS;
        }
    };
    let failed = |what: &str, error: &io::Error| {
        err(&format!("iperf: {what}: {}\n", system_text(error)));
        ExitCode::FAILURE
    };
    let board = match Iperf2Board::new(args) {
        Ok(board) => Arc::new(board),
        Err(error) => return failed("cannot serve", &error),
    };
    if args.daemon {
        match background() {
            Ok(Forked::Parent(_)) => return ExitCode::SUCCESS,
            Ok(Forked::Child) => {}
            Err(error) => return failed("cannot become a daemon", &error),
        }
    }
    if board.args().shows_heads() {
        sockets
            .first()
            .into_iter()
            .for_each(|socket| head(args, socket, &board));
    }
    // The time zone is read once, before the sandbox hides its file.
    let _known = stamp(false);
    if let Err(error) = alarm::catch_signals() {
        return failed("cannot catch signals", &error);
    }
    if let Err(error) = sandbox::confine_server(None, true) {
        return failed("cannot confine the server", &error);
    }
    let shared = Iperf2Shared {
        board,
        policy: Policy {
            require: Some(Require::None),
            ..Policy::default()
        },
        stop: AtomicBool::new(false),
        running: AtomicU32::new(0),
        until: args.limit.map(|limit| clock::now().plus(limit)),
    };
    let served = if args.plan.udp {
        run_datagrams(args, sockets, &shared)
    } else {
        run_connections(args, &sockets, &shared)
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed("cannot serve", &error),
    }
}

/// Goes into the background, and says so where the original does.
fn background() -> io::Result<Forked> {
    err("Running Iperf Server as a daemon\n");
    detach()
}

/// The listeners, or the sockets of datagrams: one for each port.
fn sockets(args: &Iperf2Args) -> io::Result<Vec<Socket>> {
    let first = args.plan.port;
    let ports = first..=args.last_port.unwrap_or(first);
    ports.map(|port| socket(args, port)).collect()
}

/// The listener, or the socket of datagrams, of a port.
fn socket(args: &Iperf2Args, port: u16) -> io::Result<Socket> {
    let any: IpAddr = if args.plan.ipv6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    let at = match &args.bind {
        None => SocketAddr::new(any, port),
        Some(host) => {
            let want = if args.plan.ipv6 { Want::V6 } else { Want::Any };
            let found = resolve(host, &port.to_string(), want, Type::STREAM);
            let found = found.map_err(|error| io::Error::other(error.to_string()))?;
            let first = found.addresses.first().copied();
            first.ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))?
        }
    };
    let (kind, protocol) = if args.plan.udp {
        (Type::DGRAM, Protocol::UDP)
    } else {
        (Type::STREAM, Protocol::TCP)
    };
    let socket = Socket::new(Domain::for_address(at), kind, Some(protocol))?;
    if let Some(tos) = args.plan.tos {
        let option = if at.is_ipv6() {
            IntOption::TrafficClassV6
        } else {
            IntOption::TosV4
        };
        // Accepted connections have it, too.
        sockopt::set(socket.as_fd(), option, tos.into())?;
    }
    if let Some(window) = args.window {
        socket.set_recv_buffer_size(window)?;
        socket.set_send_buffer_size(window)?;
    }
    if let Some(device) = &args.device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    if args.plan.udp {
        if at.ip().is_multicast() {
            without::share_port(&socket, true);
        }
        socket.bind(&at.into())?;
        join(&socket, at.ip(), args)?;
        return Ok(socket);
    }
    without::share_port(&socket, true);
    if let Some(size) = args.segment {
        sockopt::set(socket.as_fd(), IntOption::SegmentSize, size)?;
    }
    if args.no_delay {
        sockopt::set(socket.as_fd(), IntOption::NoDelay, 1)?;
    }
    if let Some(name) = &args.congestion {
        if let Err(error) = socket.set_tcp_congestion(name.as_bytes()) {
            let cause = system_text(&error);
            err(&format!(
                "Attempt to set '{name}' congestion control failed: {cause}\n"
            ));
        }
    }
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Joins a group of multicast, perhaps for one source (RFC 3678).
fn join(socket: &Socket, group: IpAddr, args: &Iperf2Args) -> io::Result<()> {
    if !group.is_multicast() {
        return Ok(());
    }
    let source = args.source.as_ref().map(|text| text.parse::<IpAddr>());
    let source = source
        .transpose()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "-H: an address is expected"))?;
    match (group, source) {
        (IpAddr::V4(group), None) => socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED),
        (IpAddr::V4(group), Some(IpAddr::V4(source))) => {
            socket.join_ssm_v4(&source, &group, &Ipv4Addr::UNSPECIFIED)
        }
        (IpAddr::V6(group), None) => socket.join_multicast_v6(&group, 0),
        (_, Some(_)) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "-H: sources of IPv4 only",
        )),
    }
}

fn head(args: &Iperf2Args, socket: &Socket, board: &Iperf2Board) {
    let mut settings = String::new();
    if let Some(name) = args.congestion.as_ref().filter(|_| !args.plan.udp) {
        settings.push_str(&format!("TCP congestion control set to {name}\n"));
    }
    if let Some(size) = args.segment.filter(|_| !args.plan.udp) {
        settings.push_str(&format!("MSS req size {size} bytes (per TCP_MAXSEG)\n"));
    } else if args.shows_segment && !args.plan.udp {
        if let Ok(size) = sockopt::fetch(socket.as_fd(), IntOption::SegmentSize) {
            settings.push_str(&format!("MSS size {size} bytes\n"));
        }
    }
    if let Some(tos) = args.plan.tos {
        settings.push_str(&format!("TOS will be set to 0x{tos:x}\n"));
    }
    if args.single && !args.plan.udp {
        settings.push_str("Server set to single client traffic mode (serialize traffic tests)\n");
    }
    let head = ListeningHead {
        args,
        port: args.plan.port,
        last_port: args.last_port,
        buffer: socket.recv_buffer_size().unwrap_or_default(),
        process: std::process::id(),
        read: if args.plan.udp {
            MOST_DATAGRAM
        } else {
            board.largest_read()
        },
        settings: &settings,
    };
    out(&head.text());
}

/// Prints rows until `is_over`, or the user stops the server. While nothing runs it waits for news
/// of the board, a signal, or the end of the server's time. It does not wait for the socket: another
/// thread takes what arrives there, and poll(2) goes on if that is done before it looks.
fn watch(shared: &Iperf2Shared, is_idle: impl Fn() -> bool, is_over: impl Fn() -> bool) {
    let news = shared.board.news();
    while !is_over() {
        if alarm::stopped_by_user() {
            break;
        }
        news.clear();
        shared.board.tick();
        let due = shared.board.due();
        if due.is_none() && is_idle() {
            let left = shared.until.map_or(IDLE, Moment::left);
            let _signalled = ready(news.as_fd(), Interest::Read, left.min(IDLE).max(LOOK));
        } else {
            sleep(due.map_or(LOOK, |due| due.left().min(LOOK)));
        }
    }
}

fn run_connections(
    args: &Iperf2Args,
    listeners: &[Socket],
    shared: &Iperf2Shared,
) -> io::Result<()> {
    std::thread::scope(|scope| {
        let mut accepting = Vec::new();
        for listener in listeners {
            match spawn(scope, || accept_all(scope, args, listener, shared)) {
                Ok(thread) => accepting.push(thread),
                Err(error) => {
                    stop(listeners, shared);
                    return Err(error);
                }
            }
        }
        let is_idle = || shared.running.load(Ordering::Relaxed) == 0;
        let accepts = || accepting.iter().any(|one| !one.is_finished());
        watch(
            shared,
            || is_idle() && accepts(),
            || !accepts() && is_idle(),
        );
        stop(listeners, shared);
        Ok(())
    })
}

/// Stops the threads that accept connections.
fn stop(listeners: &[Socket], shared: &Iperf2Shared) {
    shared.stop.store(true, Ordering::Relaxed);
    for listener in listeners {
        // Wakes the thread that waits for connections.
        let _closed = listener.shutdown(std::net::Shutdown::Both);
    }
}

/// Accepts connections; each has a thread.
fn accept_all<'scope>(
    scope: &'scope Scope<'scope, '_>,
    args: &Iperf2Args,
    listener: &Socket,
    shared: &'scope Iperf2Shared,
) {
    let mut accepted = 0;
    while !shared.is_stopped() && !shared.is_late() {
        if args.count.is_some_and(|count| accepted >= count) {
            return;
        }
        let most = if args.single { 1 } else { MOST };
        if shared.running.load(Ordering::Relaxed) >= most {
            sleep(LOOK);
            continue;
        }
        let left = shared.until.map_or(IDLE, Moment::left).min(IDLE);
        if !ready(listener.as_fd(), Interest::Read, left).unwrap_or(false) {
            continue;
        }
        let Ok((control, _)) = listener.accept() else {
            sleep(LOOK);
            continue;
        };
        if control.set_nonblocking(false).is_err() {
            continue;
        }
        accepted += 1;
        shared.running.fetch_add(1, Ordering::Relaxed);
        let builder = std::thread::Builder::new().name("connection".to_owned());
        let client = addresses(&control).1.map(|client| client.ip());
        let stream = client.map(|client| shared.board.accepted(client));
        let started = builder.spawn_scoped(scope, move || {
            let shown = ShownConnection {
                board: &shared.board,
                stop: &shared.stop,
                number: None,
                remarks: String::new(),
                accepted: stream,
            };
            serve_connection(control, shared.policy.clone(), &mut NoRecords, Some(shown));
            shared.running.fetch_sub(1, Ordering::Relaxed);
        });
        if let Err(error) = started {
            err(&format!("iperf: thread: {}\n", system_text(&error)));
            shared.running.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn run_datagrams(args: &Iperf2Args, sockets: Vec<Socket>, shared: &Iperf2Shared) -> io::Result<()> {
    std::thread::scope(|scope| {
        let mut serving = Vec::new();
        for socket in sockets {
            let board = Some(Arc::clone(&shared.board));
            let started = spawn(scope, || {
                serve_datagrams(socket, shared.policy.clone(), board, &shared.stop);
            });
            match started {
                Ok(thread) => serving.push(thread),
                Err(error) => {
                    shared.stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        let has_ended = || serving.iter().any(|one| one.is_finished());
        let is_idle = || shared.board.is_idle() && !has_ended();
        let ports = u32::try_from(serving.len()).unwrap_or(u32::MAX);
        // So many of each port, as of connections.
        let most = args.count.map(|count| count.saturating_mul(ports));
        watch(shared, is_idle, || {
            let ended = shared.board.ended();
            let enough = most.is_some_and(|most| ended >= most);
            let idle = shared.board.is_idle();
            has_ended() || (idle && (enough || shared.is_late()))
        });
        if !alarm::stopped_by_user() {
            // Reports may be asked for again.
            sleep(LINGER);
        }
        shared.stop.store(true, Ordering::Relaxed);
        Ok(())
    })
}
