//! Integration tests, a module for each subject.

mod common;
mod consumers;
mod golden;
mod json;
mod layouts;
mod printf;
mod robust;
mod suites;
mod unknown_sends;
