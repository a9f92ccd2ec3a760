//! netserver as a daemon: the log, records and counts of its sessions, metrics, the sandbox, helper
//! processes, its user and its supervisor.

pub mod file_helper;
pub mod helper_process;
pub mod histogram;
pub mod log;
pub mod metrics;
pub mod metrics_server;
pub mod own_user;
pub mod poller;
pub mod record;
pub mod rights_helper;
pub mod sandbox;
pub mod session_log;
pub mod supervisor;
