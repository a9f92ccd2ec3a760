//! Stage 1: what was typed, letter by letter. No look at the machine.

mod global;
mod parts;
mod server;
mod test;
mod test_direction;

pub use global::{
    ConfidenceArg, CpuArg, FlowsArgs, GlobalArgs, HumanArg, IoArgs, IterationsArg, JsonArg,
    OnePortArg, Progress, RateArg, RateArgs, RateCounts, SeriesArgs, Show, UntilArg, UntilArgs,
};
pub use parts::{HostArg, PerDirection, PerEnd};
pub use server::{AccessArgs, AgentArgs, NameForm, Networks, ServerArgs};
pub use test::{OutputArg, OutputLayout, SocketKindArg, TestArgs, TransportArg};
pub use test_direction::TestDirection;

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

impl Args {
    /// Returns true if an option was given by its long name.
    #[must_use]
    pub fn is_named(&self, option: &str) -> bool {
        self.named.iter().any(|name| name == option)
    }
}
