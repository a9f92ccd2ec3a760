//! The netserver program.

mod accept_loop;
mod admission;
mod host;
mod listen;
mod log;
mod metrics;
mod metrics_server;
mod one_port;
mod pending;
mod poller;
mod record;
pub mod sandbox;
mod secure;
mod session;
mod session_log;
mod session_process;
mod supervisor;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use log::{LogValue, ServerLog};
use netperf_cli::{LogLevel, SandboxArg, ServerArgs, ServerCommand};
use netperf_model::{Require, Secret};
use netperf_os::{Socket, pass};
use record::{SessionEnd, SessionRecord};
use sandbox::Means;
use session_log::{ProcessEnd, SessionLog};
use supervisor::Supervisor;

use crate::key;
use crate::output::{self, err, out};

/// Runs netserver.
#[must_use]
pub fn main(argv: &[OsString]) -> ExitCode {
    netperf_os::process::set_name(c"netserver");
    let parsed = netperf_cli::netserver(argv, &|path| std::fs::read_to_string(path));
    output::notices(&parsed.notices, false);
    match parsed.command {
        Ok(ServerCommand::Serve(mut args)) => {
            // Daemonising changes the working directory.
            let files = args.operations.files.take();
            args.operations.files = files.and_then(|files| std::path::absolute(files).ok());
            with_key(*args, argv)
        }
        Ok(ServerCommand::Usage(usage)) => output::usage(&usage),
        Ok(ServerCommand::Version(text)) => {
            out(&format!("{text}sandbox: {}\n", Means::find().described()));
            ExitCode::SUCCESS
        }
        Err(error) => crate::client::cli_failure(&error),
    }
}

/// Environment of the process.
#[derive(Debug)]
struct Environment {
    /// Command line of this process.
    argv: Vec<OsString>,
    /// True if standard error is connected to the systemd journal.
    journal: bool,
    /// True if session records go to standard output.
    records: bool,
    /// Descriptor of the hand-off socket for data that arrives at the listener's port.
    handoff: Option<i32>,
    /// True if a library is preloaded, which may need system calls or files that the sandbox
    /// forbids.
    preloaded: bool,
    /// Supervisor that started the process, and the sockets that it passed.
    supervisor: Supervisor,
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
    fn look(argv: &[OsString]) -> Self {
        let has = |name: &str| std::env::var_os(name).is_some();
        Self {
            argv: argv.to_vec(),
            journal: has("JOURNAL_STREAM"),
            records: has(session_process::RECORDS),
            handoff: std::env::var(session_process::HANDOFF)
                .ok()
                .and_then(|number| number.parse().ok()),
            preloaded: has("LD_PRELOAD"),
            supervisor: Supervisor::new(|name| std::env::var_os(name)),
        }
    }
}

/// Loads the key, if one is configured, and serves.
fn with_key(mut args: ServerArgs, argv: &[OsString]) -> ExitCode {
    let secret = if key::variable(session_process::RECORDS).is_some() {
        // The listener has read it.
        Ok(key::variable(session_process::SECRET).and_then(|digits| Secret::from_hex(&digits)))
    } else {
        key::load(args.access.key_file.as_deref())
    };
    match secret {
        Ok(secret) => args.access.secret = secret,
        Err(line) => {
            output::err(&format!("netserver: {line}\n"));
            return ExitCode::FAILURE;
        }
    }
    if args.require() == Require::Key && args.access.secret.is_none() {
        output::err("netserver: require is key, but there is none: give one with key-file\n");
        return ExitCode::FAILURE;
    }
    serve(&args, argv)
}

/// Runs a session if descriptor 0 is a control connection from inetd or from the netserver
/// listener; otherwise runs the listener.
fn serve(args: &ServerArgs, argv: &[OsString]) -> ExitCode {
    let environment = Environment::look(argv);
    let trace = |line: &str| {
        if args.debug > 0 {
            out(&format!("{line}: enter\n"));
        }
    };
    trace("check_if_inetd");
    if let Some(asked) = &args.operations.health {
        return health(asked);
    }
    let inetd = !args.standalone && !environment.supervisor.listens();
    if inetd && netperf_os::process::standard_input_is_socket() {
        let Some(control) = netperf_os::process::take_standard_input() else {
            return ExitCode::FAILURE;
        };
        return one_session(control.into(), args, &environment);
    }
    trace("setup_listens");
    listen::run(args, &environment)
}

/// Exit status for an invalid option value.
const INVALID_VALUE: u8 = 2;

/// Queries /health of the netserver at an address.
fn health(asked: &str) -> ExitCode {
    let Some(at) = metrics_server::address(asked) else {
        err(&format!(
            "netserver: --health {asked}: {}\n",
            metrics_server::EXPECTED
        ));
        return ExitCode::from(INVALID_VALUE);
    };
    match metrics_server::ask(at) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let why = output::system_text(&error);
            err(&format!("netserver: --health {asked}: {why}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Exit status of a session that could not be sandboxed.
const UNCONFINED: u8 = 3;

fn confine(args: &ServerArgs, environment: &Environment) -> io::Result<()> {
    let wanted = match args.operations.sandbox {
        SandboxArg::Auto if environment.preloaded => SandboxArg::Off,
        wanted @ (SandboxArg::Auto | SandboxArg::Require | SandboxArg::Off) => wanted,
    };
    sandbox::confine(wanted, args.operations.files.as_deref())
}

fn serve_for_listener(control: Socket, args: &ServerArgs, environment: &Environment) -> ExitCode {
    if confine(args, environment).is_err() {
        out(&SessionRecord::Ended(SessionEnd::Unconfined).line());
        return ExitCode::from(UNCONFINED);
    }
    let handoff = environment.handoff.and_then(pass::take_inherited);
    let handoff = handoff.map(Socket::from);
    session::serve(control, args, handoff, &mut |record| out(&record.line()));
    ExitCode::SUCCESS
}

/// Serves the session of this process and reports it to the listener or to a log.
fn one_session(control: Socket, args: &ServerArgs, environment: &Environment) -> ExitCode {
    if environment.records {
        return serve_for_listener(control, args, environment);
    }
    // inetd may connect all three standard streams to the client, which must not read the log.
    let to_client = netperf_os::process::standard_error_is_socket() && !environment.journal;
    let mut log = match ServerLog::open(args, environment.journal) {
        Ok(log) if args.operations.log_file.is_some() || !to_client => log,
        Ok(log) => log.silent(),
        Err(error) => return listen::no_log(args, &error),
    };
    let peer = control
        .peer_addr()
        .map(|peer| accept_loop::described(&peer));
    if let Err(error) = confine(args, environment) {
        let fields = [("error", LogValue::Text(error.to_string()))];
        log.say(LogLevel::Error, "sandbox", &fields);
        return ExitCode::from(UNCONFINED);
    }
    let mut session_log = SessionLog::new(peer.unwrap_or_default());
    session::serve(control, args, None, &mut |record| session_log.enter(record));
    session_log.write(ProcessEnd::Exit(0), &mut log);
    ExitCode::SUCCESS
}
