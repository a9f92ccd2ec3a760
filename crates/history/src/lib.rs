//! History of results: a store of documents, trends, and level changes with their facts.
//!
//! An [`HistoryEntry`] stores the bytes that netperf, iperf3 or flent wrote, unchanged. Its
//! figures and the facts it was measured under (its manifest) are in separate tables, so
//! that indices answer queries over a hundred thousand results. The store is an SQLite file
//! or a PostgreSQL database; both have the same tables and run the same statements.

#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests compare what was written down")
)]

mod database;
mod error;
#[cfg(feature = "postgres")]
mod postgres;
mod schema;
mod sqlite;

pub mod change;
pub mod entry;
pub mod export;
pub mod location;
pub mod manifest;
pub mod store;
pub mod text;
pub mod time;

pub use entry::HistoryEntry;
pub use error::HistoryError;
pub use location::{Location, Variables};
#[cfg(feature = "postgres")]
pub use postgres::PostgresAddress;
pub use store::{Added, Filter, Forget, Forgotten, ListedCampaign, Store};
