//! Integration tests, a module for each subject.

mod behaviours;
#[cfg(feature = "postgres")]
mod cluster;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
