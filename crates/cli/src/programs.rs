//! The command lines of both programs.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use netperf_arguments::args::{HumanArg, NameForm, ServerArgs};
use netperf_arguments::command::{CliError, Command, Parsed, ServerCommand};
use netperf_arguments::environment::{CliEnvironment, words};
use netperf_arguments::fault::Fault;

use crate::subcommand::Subcommand;
use crate::{config, parse, topic};

/// Reads netperf's command line, argv\[0\] included.
#[must_use]
pub fn netperf(argv: &[OsString], environment: &CliEnvironment<'_>) -> Parsed<Command> {
    netperf_with(argv, environment, HumanArg::No)
}

/// Reads netperf's command line as [`netperf`] does, with the output that the environment
/// variable `NETPERF_OUTPUT` asks for.
#[must_use]
pub fn netperf_with(
    argv: &[OsString],
    environment: &CliEnvironment<'_>,
    human: HumanArg,
) -> Parsed<Command> {
    let mut notices = Vec::new();
    let command = words(argv, "netperf")
        .and_then(|words| parse::netperf(&words, environment, human, &mut notices));
    Parsed { notices, command }
}

/// Reads the command line of a subcommand, argv\[0\] included; `None` if its first word is none.
///
/// # Errors
///
/// When a word is no text, or an option's name or value is wrong.
#[must_use]
pub fn subcommand(argv: &[OsString]) -> Option<Result<Subcommand, CliError>> {
    let word = argv.get(1)?.to_str()?;
    if word == topic::HELP {
        let usage = topic::explained(argv)?;
        return Some(usage.map(Subcommand::Help));
    }
    crate::subcommand::read(word, argv)
}

/// Returns true if a command line that may not be readable asks for JSON, wherever in it.
#[must_use]
pub fn asks_for_json(argv: &[OsString]) -> bool {
    let formats = ["--json", "--json-stream"];
    argv.iter()
        .any(|word| formats.iter().any(|format| word == format))
}

/// Reads netserver's command line, argv\[0\] included, and the file of settings that it
/// names, by `read_file`. Done again, it gives what the file says by then.
#[must_use]
pub fn netserver(
    argv: &[OsString],
    read_file: &dyn Fn(&Path) -> io::Result<String>,
) -> Parsed<ServerCommand> {
    let mut notices = Vec::new();
    let command = words(argv, "netserver")
        .and_then(|words| parse::netserver(&words, read_file, &mut notices));
    Parsed { notices, command }
}

/// Reads the settings of `--check-config` and the options beside it. `None` if the command line
/// does not have the option, or the file has faults.
#[must_use]
pub fn settings_to_check(
    argv: &[OsString],
    read_file: &dyn Fn(&Path) -> io::Result<String>,
) -> Option<Box<ServerArgs>> {
    parse::settings_to_check(&words(argv, "netserver").ok()?, read_file)
}

/// Reads the text of a file of settings, called `name`: all that is wrong with it.
#[must_use]
pub fn check_config(name: &str, text: &str) -> Vec<Fault> {
    let mut args = ServerArgs::default();
    let mut faults = config::apply(name, text, &mut args);
    if faults.is_empty() {
        faults.extend(args.contradiction(NameForm::InFile).map(|text| Fault {
            file: name.to_owned(),
            line: 0,
            key: None,
            text,
        }));
    }
    faults
}
