//! Integration tests, a module for each subject.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod heartbeat;
mod interrupted_connect;
mod interrupted_tls;
mod ktls_lab;
mod link;
mod sctp_lab;
