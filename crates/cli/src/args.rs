//! Stage 1: what was typed, letter by letter. No look at the machine.

mod global;
mod server;
mod subcommands;
mod test;

pub use global::{
    ConfidenceArg, CpuArg, FlowsArgs, GlobalArgs, HumanArg, IoArgs, IterationsArg, JsonArg,
    OnePortArg, Progress, RateArg, RateArgs, RateCounts, SeriesArgs, Show, UntilArg, UntilArgs,
};
pub use server::{AccessArgs, AgentArgs, Networks, ServerArgs};
pub use subcommands::{
    CampaignArgs, CheckArgs, CompareArgs, HistoryArgs, ReportArgs, SweepArgs, SweepWords,
};
pub use test::{OutputArg, OutputLayout, SocketKindArg, TestArgs, TransportArg};

use netperf_model::Family;

/// Everything that was typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// argv\[0\].
    pub program: String,
    /// argv joined by blanks, with the passphrase masked.
    pub command_line: String,
    /// In front of `--`.
    pub global: GlobalArgs,
    /// Behind it.
    pub test: TestArgs,
    /// Words in front of `--` that are neither options nor values of one.
    pub left_over: Vec<String>,
    /// Such words behind `--` or a letter, where scripts have them.
    pub left_behind: Vec<String>,
    /// Lines about values of letters that are not used as they were typed.
    pub garbled: Vec<String>,
    /// Long options, without their dashes.
    pub named: Vec<String>,
}

/// A value for netperf's end and one for netserver's; `None` was not typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerEnd<T> {
    /// netperf's.
    pub local: Option<T>,
    /// netserver's.
    pub remote: Option<T>,
}

/// A value for sending and one for receiving; `None` was not typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerDirection<T> {
    /// For sending.
    pub send: Option<T>,
    /// For receiving.
    pub recv: Option<T>,
}

/// A host and a family, as `-H` and `-L` take them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostArg {
    /// The name or address.
    pub host: Option<String>,
    /// Prefix length behind a `/` (OMNI options only).
    pub random_bits: Option<u8>,
    /// The family in force after `-4`, `-6` and every `-H`.
    pub family: Option<Family>,
}
