//! The listener: accepts control connections and starts a process for each.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use netperf_cli::{LogLevel, SandboxArg, ServerArgs};
use netperf_daemon::file_helper::FileHelper;
use netperf_daemon::log::ServerLog;
use netperf_daemon::metrics_server::{self, MetricsServer};
use netperf_daemon::own_user::UserChange;
use netperf_daemon::rights_helper;
use netperf_daemon::sandbox::Means;
use netperf_model::{Family, OnePort};
use netperf_os::process::{self, Forked};
use netperf_os::resolve::{Want, resolve};
use netperf_os::{Domain, Protocol, Socket, Type, address, privileges, without};
use netperf_program::output::{
    FAILED, Failure, INVALID, UNSUPPORTED, lacks_zone, out, system_text,
};

use super::accept_loop::AcceptLoop;
use super::agent::AgentProgram;
use super::environment::Environment;
use super::iperf2;
use super::iperf3::Iperf3Sockets;
use super::one_port;
use super::process_limits;

/// Host in the start message without `-L`.
const ANY_HOST: &str = "IN(6)ADDR_ANY";
const BACKLOG: i32 = 1024;

/// Opens the listeners and serves until a signal.
pub(super) fn run(args: &ServerArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let failed = |line: std::fmt::Arguments<'_>| Failure::netserver(FAILED, line);
    process_limits::check(args)?;
    // Sessions inherit nothing; a kernel without the call is older than Linux 5.11.
    let _marked = netperf_os::process::close_all_on_exec();
    let mut log =
        ServerLog::open(args, environment.journal).map_err(|error| no_log(args, &error))?;
    log = log.with_debug_output(args);
    checked(args)?;
    let user = UserChange::planned(args, environment.preloaded)?;
    let agent = args.agent.enabled.then(AgentProgram::find).transpose();
    let agent = agent.map_err(|line| failed(format_args!("{line}")))?;
    let files = file_helper(args, environment, user.is_some(), &mut log);
    let helps = !environment.preloaded && keep_rights(args, user.as_ref(), &mut log);
    let metrics_server = metrics_server(args)?;
    let supervised = environment.supervisor.listens();
    let (listeners, reasons) = if supervised {
        (environment.supervisor.listeners(), Vec::new())
    } else {
        listeners(args)
    };
    if listeners.is_empty() && supervised {
        let line = "none of the supervisor's sockets (LISTEN_FDS) listens";
        return Err(Failure::netserver(FAILED, line));
    }
    if listeners.is_empty() {
        let line = format!(
            "Unable to start netserver with  {}",
            described(args, args.port())
        );
        let hint = reasons.concat();
        return Err(Failure {
            hint,
            ..Failure::stderr(FAILED, line)
        });
    }
    let of_iperf3 = iperf3_sockets(args)?;
    let iperf2 = iperf2::listen(args)?;
    let _unheard = environment.supervisor.connect();
    if let Some(user) = user {
        user.carry_out(args, &mut log)?;
    } else if helps {
        let gone = privileges::keep_only(&[]);
        gone.map_err(|error| failed(format_args!("cannot give up rights: {error}")))?;
    }
    if let Some(listener) = listeners.first() {
        process_limits::check_start(args, listener)?;
    }
    check_datagrams(args, &listeners)?;
    let port = port_of(&listeners);
    if supervised {
        out("Starting netserver with the sockets of its supervisor (LISTEN_FDS)\n");
    } else {
        let port = port.clone().filter(|_| args.port() == "0");
        let described = described(args, port.as_deref().unwrap_or(args.port()));
        out(&format!("Starting netserver with host {described}\n"));
        tell_ports_of_iperf(args, &of_iperf3.listeners, &iperf2.listeners);
    }
    if !args.foreground && !supervised {
        let side = detach().map_err(|error| {
            failed(format_args!("cannot go to the background: {error}; use -D"))
        })?;
        if matches!(side, Forked::Parent(_)) {
            return Ok(ExitCode::SUCCESS);
        }
    }
    if args.debug > 0 {
        out("accept_connections: enter\n");
    }
    let port = port.unwrap_or_else(|| args.port().to_owned());
    let agent = agent.map(|program| program.start(args, &port)).transpose();
    let agent = agent.map_err(|error| failed(format_args!("--agent: {}", system_text(&error))))?;
    let outputs = (log, metrics_server);
    let processes = (files, agent);
    let sockets = (listeners, of_iperf3, iperf2);
    let accept_loop = AcceptLoop::open(&environment.argv, args, sockets, outputs, processes)
        .map_err(|error| failed(format_args!("cannot listen: {error}")))?;
    environment.supervisor.tell("READY=1\nSTATUS=serving");
    Ok(accept_loop.serve(&environment.supervisor))
}

/// Opens the sockets for iperf3 clients, if configured.
pub(super) fn iperf3_sockets(args: &ServerArgs) -> Result<Iperf3Sockets, Failure> {
    let Some(port) = &args.iperf3 else {
        return Ok(Iperf3Sockets::default());
    };
    let (listeners, reasons) = listeners_at(args, port, "--iperf3");
    if listeners.is_empty() {
        return Err(Failure::stderr(FAILED, reasons.concat().trim_end()));
    }
    let datagrams: io::Result<Vec<_>> = listeners.iter().map(one_port::beside).collect();
    let datagrams = datagrams.map_err(|error| {
        let reason = system_text(&error);
        Failure::netserver(FAILED, format_args!("--iperf3: port {port}: {reason}"))
    })?;
    Ok(Iperf3Sockets {
        listeners,
        datagrams,
    })
}

/// Starts the process that keeps rights of root. Without it, calls that take one fail. Returns
/// true if it was started.
fn keep_rights(args: &ServerArgs, user: Option<&UserChange>, log: &mut ServerLog) -> bool {
    let to = match user {
        None => None,
        Some(user) => match user.user_with_rights() {
            None => return false,
            to => to,
        },
    };
    rights_helper::start(args, to).unwrap_or_else(|error| {
        let text = format!("no process for rights of root: {error}");
        log.say(LogLevel::Warn, "rights", &[("error", text.into())]);
        false
    })
}

/// The process that reads the files which SIGHUP reads again, and opens the log file of a netserver
/// that changes its user; `None` without such a file. A preloaded library may not pass descriptors
/// on.
fn file_helper(
    args: &ServerArgs,
    environment: &Environment,
    changes_user: bool,
    log: &mut ServerLog,
) -> Option<FileHelper> {
    let key = netperf_program::key::path(args.access.key_file.as_deref());
    let paths: Vec<_> = key.into_iter().chain(args.config.clone()).collect();
    let log_file = log.file().filter(|_| changes_user);
    if paths.is_empty() && log_file.is_none() || environment.preloaded {
        return None;
    }
    match FileHelper::start(paths, log_file) {
        Ok(files) => Some(files),
        Err(error) => {
            let text = format!("no process to read files again: {error}");
            log.say(LogLevel::Warn, "files", &[("error", text.into())]);
            None
        }
    }
}

/// Start message, in the words of the original.
fn described(args: &ServerArgs, port: &str) -> String {
    let host = args.listen.host.as_deref().unwrap_or(ANY_HOST);
    let family = args.family().label();
    format!("'{host}' port '{port}' and family {family}")
}

/// The port of the first listener.
fn port_of(listeners: &[Socket]) -> Option<String> {
    let first = listeners.first()?.local_addr().ok()?.as_socket()?;
    Some(first.port().to_string())
}

/// Tells the ports that the kernel has chosen for clients of iperf.
fn tell_ports_of_iperf(args: &ServerArgs, of_iperf3: &[Socket], of_iperf2: &[Socket]) {
    let all = [
        ("iperf3", &args.iperf3, of_iperf3),
        ("iperf2", &args.iperf2, of_iperf2),
    ];
    for (name, asked, listeners) in all {
        let chosen = port_of(listeners).filter(|_| asked.as_deref() == Some("0"));
        if let Some(port) = chosen {
            out(&format!("Port of {name} clients: {port}\n"));
        }
    }
}

/// Checks that each port is given for one purpose only.
fn different_ports(args: &ServerArgs) -> Result<(), Failure> {
    let number = |text: &str| text.parse().ok().filter(|port: &u16| *port > 0);
    let metrics = args.operations.metrics.as_deref();
    let metrics = metrics.and_then(metrics_server::address);
    // With -L, the address of --metrics may differ from that of -p: the same port is permitted.
    let metrics = metrics.filter(|_| args.listen.host.is_none());
    let ports = [
        ("-p", number(args.port())),
        ("--iperf3", args.iperf3.as_deref().and_then(number)),
        ("--iperf2", args.iperf2.as_deref().and_then(number)),
        ("--metrics", metrics.map(|at| at.port())),
    ];
    for (index, (option, port)) in ports.iter().enumerate() {
        let before = ports.iter().take(index);
        let same = before.filter(|_| port.is_some()).find(|one| one.1 == *port);
        if let (Some((other, _)), Some(port)) = (same, port) {
            let line = format!(
                "{option}: port {port} is that of {other}, too: give another port with {option}"
            );
            return Err(Failure::netserver(INVALID, line));
        }
    }
    Ok(())
}

/// Checks the options on this machine.
pub(super) fn checked(args: &ServerArgs) -> Result<(), Failure> {
    different_ports(args)?;
    let operations = &args.operations;
    if operations.sandbox == SandboxArg::Require {
        if args.no_fork {
            let line = "--sandbox require takes a process for each session, and -f has none";
            return Err(Failure::netserver(FAILED, line));
        }
        if process::threads() > 1 {
            let line = "--sandbox require: a preloaded library has started a thread, which keeps \
                        its rights";
            return Err(Failure::netserver(FAILED, line));
        }
        if let Some(missing) = Means::find().missing() {
            let line = format!("--sandbox require: this kernel has no {missing}");
            return Err(Failure::netserver(UNSUPPORTED, line));
        }
    }
    let files = operations.files.as_deref();
    if let Some(folder) = files.filter(|folder| !folder.is_dir()) {
        let line = format!("--files: {} is not a folder", folder.display());
        return Err(Failure::netserver(FAILED, line));
    }
    Ok(())
}

/// Opens the metrics server, if configured.
pub(super) fn metrics_server(args: &ServerArgs) -> Result<Option<MetricsServer>, Failure> {
    let Some(text) = &args.operations.metrics else {
        return Ok(None);
    };
    let wrong = |exit, why: &str| Failure::netserver(exit, format_args!("--metrics {text}: {why}"));
    let at =
        metrics_server::address(text).ok_or_else(|| wrong(INVALID, metrics_server::EXPECTED))?;
    let metrics_server = MetricsServer::open(at);
    metrics_server.map(Some).map_err(|error| {
        let way_out = way_out(&error, "--metrics");
        wrong(FAILED, &format!("{}{way_out}", system_text(&error)))
    })
}

/// Checks that datagrams can arrive through the listener's port, if requested explicitly.
/// Sessions bind to the same port later, as the user that netserver has switched to.
fn check_datagrams(args: &ServerArgs, listeners: &[Socket]) -> Result<(), Failure> {
    if args.access.one_port != Some(OnePort::On) || args.no_fork {
        return Ok(());
    }
    let mut sockets = listeners.iter().map(one_port::beside);
    let Some(error) = sockets.find_map(Result::err) else {
        return Ok(());
    };
    let kind = error.kind();
    let way_out = if kind == io::ErrorKind::PermissionDenied {
        " (as this user); use a port from 1024 on"
    } else if kind == io::ErrorKind::AddrInUse {
        "; use a port that is free"
    } else {
        "; use another address"
    };
    let line = format!(
        "--one-port on: port {} cannot receive datagrams: {}{way_out}, or --one-port tcp",
        args.port(),
        system_text(&error)
    );
    Err(Failure::netserver(UNSUPPORTED, line))
}

/// Failure to open the log.
pub(super) fn no_log(args: &ServerArgs, error: &io::Error) -> Failure {
    let file = args.operations.log_file.as_deref().unwrap_or(Path::new(""));
    let file = file.display();
    Failure::netserver(
        FAILED,
        format_args!("cannot write the log to {file}: {error}"),
    )
}

/// All listeners that can be opened: on each address of the host, or on the IPv6 wildcard
/// (which also accepts IPv4 if the system permits) and the IPv4 wildcard. For all others a line
/// with the reason.
pub(super) fn listeners(args: &ServerArgs) -> (Vec<Socket>, Vec<String>) {
    listeners_at(args, args.port(), "-p")
}

/// The same at the port of an option.
pub(super) fn listeners_at(
    args: &ServerArgs,
    port: &str,
    option: &str,
) -> (Vec<Socket>, Vec<String>) {
    let wanted = match args.family() {
        Family::Unspecified => Want::Any,
        Family::V4 => Want::V4,
        Family::V6 => Want::V6,
    };
    let host = args.listen.host.as_deref();
    if let Some(host) = host.filter(|host| host.starts_with("vsock:")) {
        return split([vsock_listener(host, port).map_err(|error| {
            let text = system_text(&error);
            format!("netserver: listen at {host} port {port}: {text}\n")
        })]);
    }
    // Without a host only the port is resolved, so that service names work.
    let (name, family) = host.map_or(("127.0.0.1", Want::V4), |host| (host, wanted));
    match resolve(name, port, family, Type::STREAM) {
        Ok(found) if host.is_some() => at_one_port(found.addresses, option),
        Ok(found) => {
            let port = found.addresses.first().map_or(0, SocketAddr::port);
            at_one_port(wildcards(port, wanted), option)
        }
        Err(error) if error.is_unknown_service() => split([Err(format!(
            "netserver: {option} '{port}': a port is a number from 1 to 65535 or a name in \
             /etc/services\n"
        ))]),
        Err(error) => split([Err(format!(
            "netserver: -L '{name}': {error}; give an address of this host\n"
        ))]),
    }
}

fn split(opened: impl IntoIterator<Item = Result<Socket, String>>) -> (Vec<Socket>, Vec<String>) {
    let (mut listeners, mut reasons) = (Vec::new(), Vec::new());
    for opened in opened {
        match opened {
            Ok(listener) => listeners.push(listener),
            Err(reason) => reasons.push(reason),
        }
    }
    (listeners, reasons)
}

/// Listeners at these addresses. All have the port that the kernel chose for the first one.
fn at_one_port(addresses: Vec<SocketAddr>, option: &str) -> (Vec<Socket>, Vec<String>) {
    let mut chosen = None;
    split(addresses.into_iter().map(|mut address| {
        if let Some(port) = chosen.filter(|_| address.port() == 0) {
            address.set_port(port);
        }
        let opened = open(address, option);
        let socket = opened.as_ref().ok();
        let bound = socket.and_then(|socket| socket.local_addr().ok()?.as_socket());
        chosen = chosen.or_else(|| bound.map(|at| at.port()));
        opened
    }))
}

/// Remedy for a port that cannot be opened; empty if none is known.
fn way_out(error: &io::Error, option: &str) -> String {
    let kind = error.kind();
    if kind == io::ErrorKind::AddrInUse {
        format!(
            ": another program has it (`ss -ltnp` shows which); give another port with {option}"
        )
    } else if kind == io::ErrorKind::PermissionDenied {
        format!(": ports below 1024 need root or CAP_NET_BIND_SERVICE; give another with {option}")
    } else {
        String::new()
    }
}

/// A listener, or a line with the reason for none.
fn open(address: SocketAddr, option: &str) -> Result<Socket, String> {
    listener(address).map_err(|error| {
        let kind = error.kind();
        let of_port = way_out(&error, option);
        let way_out = if !of_port.is_empty() {
            &of_port
        } else if kind == io::ErrorKind::AddrNotAvailable {
            ": this host does not have the address; -L takes one of its own"
        } else if lacks_zone(address) {
            ": a link-local address needs the interface, as in fe80::1%eth0"
        } else {
            ""
        };
        let (ip, port, text) = (address.ip(), address.port(), system_text(&error));
        format!("netserver: listen at {ip} port {port}: {text}{way_out}\n")
    })
}

/// A vsock(7) listener for `vsock:any` or `vsock:CID`.
fn vsock_listener(host: &str, port: &str) -> io::Result<Socket> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let cid = match host.strip_prefix("vsock:").unwrap_or(host) {
        "any" => address::VSOCK_ANY,
        number => number.parse().map_err(invalid)?,
    };
    let socket = Socket::new(Domain::VSOCK, Type::STREAM, None)?;
    socket.bind(&address::vsock(cid, port.parse().map_err(invalid)?))?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Addresses of all interfaces, IPv6 first.
pub(super) fn wildcards(port: u16, wanted: Want) -> Vec<SocketAddr> {
    let v6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
    let v4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    match wanted {
        Want::Any => vec![v6, v4],
        Want::V4 => vec![v4],
        Want::V6 => vec![v6],
    }
}

fn listener(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    without::share_port(&socket, true);
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Moves to the background. The listeners are already open, so that clients can connect as soon
/// as the command returns.
pub(super) fn detach() -> io::Result<Forked> {
    let side = process::fork()?;
    if side == Forked::Child {
        process::new_session()?;
        // Looked up before chdir(2); sessions are started from this file.
        let _file = process::own_file();
        std::env::set_current_dir("/")?;
        process::close_standard_streams()?;
    }
    Ok(side)
}
