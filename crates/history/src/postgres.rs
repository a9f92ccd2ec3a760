//! The store on a server: PostgreSQL, through tokio-postgres on the calling thread.
//!
//! The tables are in the schema `netperf` of the database that the address names.

mod address;
mod budget;
mod connection;
mod login;
mod tls;
mod value;

pub use address::PostgresAddress;

use connection::Connection;

use crate::database::{Database, SqlDialect, SqlRow, SqlValue};
use crate::error::HistoryError;

/// The schema that the tables are in.
const SCHEMA: &str = "netperf";
/// Writers hold this lock for a transaction: two that add the same configuration would
/// conflict. The number is arbitrary.
const TURN: &str = "SELECT pg_advisory_xact_lock(7364297113)";

/// An open connection.
#[derive(Debug)]
pub(crate) struct Postgres {
    connection: Connection,
    place: String,
}

impl Postgres {
    /// Connects, and creates the schema if there is none and `make` is set.
    pub(crate) fn open(address: &PostgresAddress, make: bool) -> Result<Self, HistoryError> {
        let place = address.to_string();
        let connection = Connection::open(address).map_err(|why| HistoryError::Store {
            place: place.clone(),
            why,
        })?;
        let mut server = Self { connection, place };
        server.run("SET statement_timeout = '60s'", &[])?;
        if make && !server.has_schema()? {
            for statement in [
                "BEGIN",
                TURN,
                "CREATE SCHEMA IF NOT EXISTS netperf",
                "COMMIT",
            ] {
                server.run(statement, &[])?;
            }
        }
        server.run("SET search_path TO netperf", &[])?;
        Ok(server)
    }

    fn has_schema(&mut self) -> Result<bool, HistoryError> {
        let statement = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
        Ok(!self.rows(statement, &[SCHEMA.into()])?.is_empty())
    }

    fn ask(
        &mut self,
        statement: &str,
        values: &[SqlValue],
    ) -> Result<(Vec<SqlRow>, u64), HistoryError> {
        let answer = self.connection.ask(statement, values);
        answer.map_err(|why| HistoryError::Store {
            place: self.place.clone(),
            why,
        })
    }
}

impl Database for Postgres {
    fn dialect(&self) -> SqlDialect {
        SqlDialect {
            counted: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            bytes: "BYTEA",
            clustered: "",
            begin: &["BEGIN", TURN],
        }
    }

    fn run(&mut self, statement: &str, values: &[SqlValue]) -> Result<u64, HistoryError> {
        self.ask(statement, values).map(|(_, touched)| touched)
    }

    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HistoryError> {
        self.ask(statement, values).map(|(rows, _)| rows)
    }

    fn has_table(&mut self, name: &str) -> Result<bool, HistoryError> {
        let statement = "SELECT 1 FROM pg_catalog.pg_tables \
                         WHERE schemaname = $1 AND tablename = $2";
        Ok(!self
            .rows(statement, &[SCHEMA.into(), name.into()])?
            .is_empty())
    }

    fn check(&mut self) -> Result<Vec<String>, HistoryError> {
        // The server checks its own pages; documents have digests.
        Ok(Vec::new())
    }
}
