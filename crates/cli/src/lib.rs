//! Option tables and grammar: argv to plan.
//!
//! Reading a command line has two stages. The first records what was typed,
//! letter by letter ([`Args`]); the second makes a [`netperf_model::TestPlan`] and
//! a [`netperf_model::ReportPlan`] of it, with every default filled in. Neither
//! prints, exits, or looks at the machine: what must be known of that comes in
//! through [`CliEnvironment`], and what must be printed goes out in [`Parsed`].
//!
//! Each parser has one table of options in `options/`; a row has the letter, the
//! long name, what the option takes, its help and how it is recorded. Letters are
//! read as leniently as scripts have always seen them read; long names may stand on
//! either side of `--`, and their values must make sense.

mod applies;
mod args;
mod campaign;
mod check;
mod command;
mod compare;
#[cfg_attr(not(feature = "files"), path = "config/absent.rs")]
mod config;
pub mod docs;
mod entry;
mod fault;
mod foreign;
mod garbled;
mod getopt;
mod grammar;
mod group;
mod help;
mod history;
mod kind;
mod long;
mod masked;
mod operations;
mod options;
mod parse;
mod peer_served;
mod places;
mod report;
mod resolve;
mod subcommand;
mod sweep;
mod table;
mod topic;
mod usage;
mod vary;

use std::ffi::OsString;
use std::io;
use std::path::Path;

pub use args::{
    AccessArgs, AgentArgs, Args, CampaignArgs, CheckArgs, CompareArgs, ConfidenceArg, CpuArg,
    FlowsArgs, GlobalArgs, HistoryArgs, HostArg, HumanArg, IoArgs, IterationsArg, JsonArg,
    Networks, OnePortArg, OutputArg, OutputLayout, PerDirection, PerEnd, Progress, RateArg,
    RateArgs, RateCounts, ReportArgs, SeriesArgs, ServerArgs, Show, SocketKindArg, SweepArgs,
    SweepWords, TestArgs, TransportArg, UntilArg, UntilArgs,
};
pub use campaign::CampaignVerb;
pub use command::{
    CliError, Command, ListCommand, Notice, OutputStream, Parsed, RunCommand, ServerCommand,
    UnknownTest, Usage,
};
pub use fault::Fault;
pub use grammar::TestDirection;
pub use history::HistoryVerb;
pub use long::{Misuse, OptionProblem};
pub use masked::masked_words;
pub use operations::{LogFormat, LogLevel, Operations, SandboxArg};
pub use subcommand::{Subcommand, subcommand};
#[cfg(feature = "files")]
pub use sweep::sweep_file;
pub use vary::varied;

/// netserver's port unless `-p` says otherwise.
pub const DEFAULT_PORT: &str = "12865";

/// The line of `-V`. Scripts take it for that of the netperf whose options and
/// messages these are, so it does not change with our own version.
pub const VERSION: &str = "Netperf version 2.7.1\n";

/// External information that the second stage needs.
#[derive(Clone, Copy)]
pub struct CliEnvironment<'a> {
    /// Reads a selection file.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<String>,
    /// Returns true if a word is the name of an output selector, ignoring case.
    pub is_selector: &'a dyn Fn(&str) -> bool,
    /// Names of output selectors to suggest in place of a wrong one.
    pub selectors: &'a [&'a str],
    /// True if `DUMP_TCP_INFO` is in the environment.
    pub dump_tcp_info: bool,
}

impl std::fmt::Debug for CliEnvironment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CliEnvironment")
            .field("dump_tcp_info", &self.dump_tcp_info)
            .finish_non_exhaustive()
    }
}

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
        faults.extend(args.contradiction().map(|text| Fault {
            file: name.to_owned(),
            line: 0,
            key: None,
            text,
        }));
    }
    faults
}

/// argv as text. An empty argv gets the usual name of the program.
fn words(argv: &[OsString], program: &str) -> Result<Vec<String>, CliError> {
    let Some(name) = argv.first() else {
        return Ok(vec![program.to_owned()]);
    };
    argv.iter()
        .enumerate()
        .map(|(position, word)| {
            let text = word.to_str().map(str::to_owned);
            text.ok_or_else(|| CliError::NotUtf8 {
                program: name.to_string_lossy().into_owned(),
                position,
            })
        })
        .collect()
}
