//! Integration tests, a module for each subject.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod appendices;
mod captures;
mod common;
mod conversations;
mod coordinator;
mod extension;
mod features;
mod suites;
mod transitions;
mod travels;
