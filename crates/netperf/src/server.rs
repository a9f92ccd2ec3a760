//! The netserver program.

mod door;
mod host;
mod listen;
mod note;
mod session;

use std::ffi::OsString;
use std::process::ExitCode;

use netperf_cli::{ServerArgs, ServerCommand};

use crate::output::{self, out};

/// Runs netserver.
#[must_use]
pub fn main(argv: &[OsString]) -> ExitCode {
    netperf_os::process::set_name(c"netserver");
    let parsed = netperf_cli::netserver(argv, &|path| std::fs::read_to_string(path));
    output::notices(&parsed.notices, false);
    match parsed.command {
        Ok(ServerCommand::Serve(args)) => serve(&args),
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

/// One way in for a session: descriptor 0 is its control connection, whether inetd
/// or a listener of ours started it.
fn serve(args: &ServerArgs) -> ExitCode {
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
        session::serve(control.into(), args);
        return ExitCode::SUCCESS;
    }
    trace("setup_listens");
    listen::run(args)
}
