//! The netserver program.

mod account;
mod desk;
mod door;
mod guests;
mod hall;
mod host;
mod listen;
mod log;
mod metrics;
mod one_port;
mod porter;
mod record;
mod running;
pub mod sandbox;
mod secure;
mod session;
mod supervisor;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use account::{Account, End};
use log::{Log, Value};
use netperf_cli::{LogLevel, SandboxArg, ServerArgs, ServerCommand};
use netperf_model::{Require, Secret};
use netperf_os::{Socket, pass};
use record::{Ending, Record};
use sandbox::Means;
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
struct Around {
    /// Our own words.
    argv: Vec<OsString>,
    /// Whether standard error leads to the journal of systemd.
    journal: bool,
    /// Whether standard output takes the records of a session.
    records: bool,
    /// The descriptor by which data comes in that arrives at our listener's port.
    hatch: Option<i32>,
    /// Whether a library is loaded in front of others, which needs what nobody here knows.
    preloaded: bool,
    /// Who started us, and what for.
    supervisor: Supervisor,
}

impl Around {
    #[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
    fn look(argv: &[OsString]) -> Self {
        let has = |name: &str| std::env::var_os(name).is_some();
        Self {
            argv: argv.to_vec(),
            journal: has("JOURNAL_STREAM"),
            records: has(running::RECORDS),
            hatch: std::env::var(running::HATCH)
                .ok()
                .and_then(|number| number.parse().ok()),
            preloaded: has("LD_PRELOAD"),
            supervisor: Supervisor::new(|name| std::env::var_os(name)),
        }
    }
}

/// Serves with the key, if there is to be one.
fn with_key(mut args: ServerArgs, argv: &[OsString]) -> ExitCode {
    let secret = if key::variable(running::RECORDS).is_some() {
        // Our listener has read it.
        Ok(key::variable(running::SECRET).and_then(|digits| Secret::from_hex(&digits)))
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
    let around = Around::look(argv);
    let trace = |line: &str| {
        if args.debug > 0 {
            out(&format!("{line}: enter\n"));
        }
    };
    trace("check_if_inetd");
    if let Some(asked) = &args.operations.health {
        return health(asked);
    }
    let inetd = !args.standalone && !around.supervisor.listens();
    if inetd && netperf_os::process::standard_input_is_socket() {
        let Some(control) = netperf_os::process::take_standard_input() else {
            return ExitCode::FAILURE;
        };
        return one_session(control.into(), args, &around);
    }
    trace("setup_listens");
    listen::run(args, &around)
}

/// The exit status of a command line with a value that makes no sense.
const NO_SENSE: u8 = 2;

/// Asks the netserver at an address whether it is well.
fn health(asked: &str) -> ExitCode {
    let Some(at) = desk::address(asked) else {
        err(&format!(
            "netserver: --health {asked}: {}\n",
            desk::EXPECTED
        ));
        return ExitCode::from(NO_SENSE);
    };
    match desk::ask(at) {
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

fn confine(args: &ServerArgs, around: &Around) -> io::Result<()> {
    let wanted = match args.operations.sandbox {
        SandboxArg::Auto if around.preloaded => SandboxArg::Off,
        wanted @ (SandboxArg::Auto | SandboxArg::Require | SandboxArg::Off) => wanted,
    };
    sandbox::confine(wanted, args.operations.files.as_deref())
}

fn told_to_listener(control: Socket, args: &ServerArgs, around: &Around) -> ExitCode {
    if confine(args, around).is_err() {
        out(&Record::Ended(Ending::Unconfined).line());
        return ExitCode::from(UNCONFINED);
    }
    let hatch = around.hatch.and_then(pass::take_inherited);
    let hatch = hatch.map(Socket::from);
    session::serve(control, args, hatch, &mut |record| out(&record.line()));
    ExitCode::SUCCESS
}

/// The session of this process: told to the listener that started it, or to a log.
fn one_session(control: Socket, args: &ServerArgs, around: &Around) -> ExitCode {
    if around.records {
        return told_to_listener(control, args, around);
    }
    // What inetd starts may have the client at all three descriptors, who is not to read
    // the log.
    let to_client = netperf_os::process::standard_error_is_socket() && !around.journal;
    let mut log = match Log::open(args, around.journal) {
        Ok(log) if args.operations.log_file.is_some() || !to_client => log,
        Ok(log) => log.silent(),
        Err(error) => return listen::no_log(args, &error),
    };
    let peer = control.peer_addr().map(|peer| hall::described(&peer));
    if let Err(error) = confine(args, around) {
        let fields = [("error", Value::Text(error.to_string()))];
        log.say(LogLevel::Error, "sandbox", &fields);
        return ExitCode::from(UNCONFINED);
    }
    let mut account = Account::new(peer.unwrap_or_default());
    session::serve(control, args, None, &mut |record| account.enter(record));
    account.write(End::Exit(0), &mut log);
    ExitCode::SUCCESS
}
