//! Integration tests, a module for each subject.

mod common;
mod hostile;
mod samples;
mod shown;
