//! The protocol of iperf3 (docs/spec/iperf3.md), as pure functions: messages, both ends as state
//! machines, the command line, and output as text and JSON.
//!
//! Nothing here has a socket or a clock, or prints.

pub mod defaults;
pub mod doubt;
pub mod figures;
pub mod json;
pub mod messages;
pub mod options;
pub mod states;
pub mod text;
pub mod verbose;
