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
            // In the background the current folder is another one.
            let files = args.operations.files.take();
            args.operations.files = files.and_then(|files| std::path::absolute(files).ok());
            with_key(*args, argv)
        }
        Ok(ServerCommand::Usage(usage)) => {
            output::say(usage.stream, &usage.text);
            ExitCode::from(usage.exit)
        }
        Ok(ServerCommand::Version(text)) => {
            out(&format!("{text}sandbox: {}\n", Means::find().described()));
            ExitCode::SUCCESS
        }
        Err(error) => crate::client::cli_failure(&error),
    }
}

/// What the environment says.
#[derive(Debug)]
struct Environment {
    /// Our own words.
    argv: Vec<OsString>,
    /// Whether standard error leads to the journal of systemd.
    journal: bool,
    /// Whether standard output takes the records of a session.
    records: bool,
    /// The descriptor by which data comes in that arrives at our listener's port.
    handoff: Option<i32>,
    /// Whether a library is loaded in front of others, which needs what nobody here knows.
    preloaded: bool,
    /// Who started us, and what for.
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

/// Serves with the key, if there is to be one.
fn with_key(mut args: ServerArgs, argv: &[OsString]) -> ExitCode {
    let secret = if key::variable(session_process::RECORDS).is_some() {
        // Our listener has read it.
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
        output::err("netserver: require is key, and there is none: give one with key-file\n");
        return ExitCode::FAILURE;
    }
    serve(&args, argv)
}

/// One way in for a session: descriptor 0 is its control connection, whether inetd
/// or a listener of ours started it.
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

/// The exit status of a command line with a value that makes no sense.
const INVALID_VALUE: u8 = 2;

/// Asks the netserver at an address whether it is well.
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

/// The exit status of a session without the walls that it should have.
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

/// The session of this process: told to the listener that started it, or to a log.
fn one_session(control: Socket, args: &ServerArgs, environment: &Environment) -> ExitCode {
    if environment.records {
        return serve_for_listener(control, args, environment);
    }
    // What inetd starts may have the client at all three descriptors, who is not to read
    // the log.
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
