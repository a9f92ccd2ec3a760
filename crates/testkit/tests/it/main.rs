//! Integration tests, a module for each subject.

mod dependencies;
