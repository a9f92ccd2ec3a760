//! History of results: a store of documents, trends, and level changes with their facts.
//!
//! An [`Entry`] stores the bytes that netperf, iperf3 or flent wrote, unchanged. Its
//! figures and the facts it was measured under (its manifest) are in separate tables, so
//! that indices answer queries over a hundred thousand results. The store is an SQLite file
//! or a PostgreSQL database; both have the same tables and run the same statements.

#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests compare what was written down")
)]

mod database;
#[cfg(feature = "postgres")]
mod postgres;
mod schema;
mod sqlite;
mod trouble;

pub mod change;
pub mod entry;
pub mod export;
pub mod manifest;
pub mod place;
pub mod store;
pub mod text;
pub mod time;

pub use entry::Entry;
pub use place::{Place, Surroundings};
#[cfg(feature = "postgres")]
pub use postgres::Address;
pub use store::{Added, Filter, Forget, Store};
pub use trouble::Trouble;
