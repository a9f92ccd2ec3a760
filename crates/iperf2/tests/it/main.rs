//! Integration tests, a module for each subject.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod messages;
mod states;
