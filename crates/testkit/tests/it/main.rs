//! Integration tests, a module for each subject.

mod absent;
mod dependencies;
mod import_cycles;
mod type_names;
mod verdicts;
