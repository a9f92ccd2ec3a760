//! Code that netperf and netserver share: standard streams and exit statuses, keys, the control
//! connection, what child processes inherit, and both ends of iperf tests.

pub mod agent_variables;
pub mod connect;
pub mod file;
pub mod file_answers;
pub mod iperf2;
pub mod iperf3;
pub mod key;
pub mod link;
pub mod memory;
pub mod output;
pub mod session_settings;
pub mod threads;
