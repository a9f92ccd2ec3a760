//! Integration tests, a module for each subject.

mod anything;
mod bidirectional;
mod combinations;
mod common;
mod consumers;
mod flows;
mod help;
mod long;
mod plans;
mod server;
mod suites;
mod transcripts;
mod whole_values;
