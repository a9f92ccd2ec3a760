//! Integration tests, a module for each subject.

mod code_size;
mod dependencies;
mod type_names;
