//! Integration tests, a module for each subject.

mod dependencies;
mod type_names;
mod verdicts;
