//! Integration tests, a module for each subject.

mod behaviours;
mod cluster;
mod postgres;
mod sqlite;
