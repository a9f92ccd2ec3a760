//! The protocol of iperf 2 (docs/spec/iperf2.md), as pure functions: messages, both ends as state
//! machines, the command line, and rows of results.
//!
//! Nothing here has a socket or a clock, or prints.

pub mod messages;
pub mod options;
pub mod rows;
pub mod states;
