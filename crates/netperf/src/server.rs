//! The netserver program.

mod account;
mod door;
mod hall;
mod host;
mod listen;
mod log;
mod record;
mod running;
mod secure;
mod session;

use std::ffi::OsString;
use std::process::ExitCode;

use account::{Account, End};
use log::Log;
use netperf_cli::{ServerArgs, ServerCommand};
use netperf_model::{Require, Secret};
use netperf_os::Socket;

use crate::key;
use crate::output::{self, out};

/// Runs netserver.
#[must_use]
pub fn main(argv: &[OsString]) -> ExitCode {
    netperf_os::process::set_name(c"netserver");
    let parsed = netperf_cli::netserver(argv, &|path| std::fs::read_to_string(path));
    output::notices(&parsed.notices, false);
    match parsed.command {
        Ok(ServerCommand::Serve(args)) => with_key(*args),
        Ok(ServerCommand::Usage(usage)) => {
            output::say(usage.stream, &usage.text);
            ExitCode::from(usage.exit)
        }
        Ok(ServerCommand::Version(text)) => {
            out(&text);
            ExitCode::SUCCESS
        }
        Err(error) => crate::client::cli_failure(&error),
    }
}

/// What the environment says.
#[derive(Debug)]
struct Around {
    /// Whether standard error leads to the journal of systemd.
    journal: bool,
    /// Whether standard output takes the records of a session.
    records: bool,
}

impl Around {
    #[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
    fn look() -> Self {
        let has = |name: &str| std::env::var_os(name).is_some();
        Self {
            journal: has("JOURNAL_STREAM"),
            records: has(running::RECORDS),
        }
    }
}

/// Serves with the key, if there is to be one.
fn with_key(mut args: ServerArgs) -> ExitCode {
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
    serve(&args)
}

/// One way in for a session: descriptor 0 is its control connection, whether inetd
/// or a listener of ours started it.
fn serve(args: &ServerArgs) -> ExitCode {
    let around = Around::look();
    let trace = |line: &str| {
        if args.debug > 0 {
            out(&format!("{line}: enter\n"));
        }
    };
    trace("check_if_inetd");
    if !args.standalone && netperf_os::process::standard_input_is_socket() {
        let Some(control) = netperf_os::process::take_standard_input() else {
            return ExitCode::FAILURE;
        };
        return one_session(control.into(), args, &around);
    }
    trace("setup_listens");
    listen::run(args, &around)
}

/// The session of this process: told to the listener that started it, or to a log.
fn one_session(control: Socket, args: &ServerArgs, around: &Around) -> ExitCode {
    if around.records {
        session::serve(control, args, &mut |record| out(&record.line()));
        return ExitCode::SUCCESS;
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
    let mut account = Account::new(peer.unwrap_or_default());
    session::serve(control, args, &mut |record| account.enter(record));
    account.write(End::Exit(0), &mut log);
    ExitCode::SUCCESS
}
