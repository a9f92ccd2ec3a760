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
pub mod catalog;
#[cfg_attr(not(feature = "files"), path = "config/absent.rs")]
mod config;
mod entry;
mod help;
mod masked;
mod options;
mod parse;
mod peer_served;
mod programs;
mod resolve;
mod subcommand;
mod topic;
mod usage;
mod vary;

pub use masked::masked_words;
pub use netperf_arguments::args::{
    AccessArgs, AgentArgs, Args, ConfidenceArg, CpuArg, FlowsArgs, GlobalArgs, HostArg, HumanArg,
    IoArgs, IterationsArg, JsonArg, NameForm, Networks, OnePortArg, OutputArg, OutputLayout,
    PerDirection, PerEnd, Progress, RateArg, RateArgs, RateCounts, SeriesArgs, ServerArgs, Show,
    SocketKindArg, TestArgs, TransportArg, UntilArg, UntilArgs,
};
pub use netperf_arguments::command::{
    CliError, Command, ListCommand, Notice, OutputStream, Parsed, RunCommand, ServerCommand,
    UnknownTest, Usage,
};
pub use netperf_arguments::environment::{CliEnvironment, DEFAULT_PORT, VERSION};
pub use netperf_arguments::fault::Fault;
pub use netperf_arguments::grammar::{TestDirection, bits_per_second};
pub use netperf_arguments::long::{Misuse, OptionProblem};
pub use netperf_arguments::operations::{LogFormat, LogLevel, Operations, SandboxArg};
pub use programs::{
    asks_for_json, check_config, netperf, netperf_with, netserver, settings_to_check, subcommand,
};
pub use subcommand::*;
pub use vary::varied;
