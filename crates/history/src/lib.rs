//! Results kept for years: a store of documents, trends, and what changed when a figure did.
//!
//! A [`Result`](entry::Entry) goes in as the bytes that netperf, iperf3 or flent wrote and
//! comes out as the same bytes. Beside them lie its figures and the facts that it was
//! measured under (its manifest), so that questions over a hundred thousand results are
//! answered from indices. The store is a file of SQLite, or a PostgreSQL that a URL names;
//! both have the same tables and answer the same statements.

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
