//! The interface of both stores: run a statement, return rows.

use crate::trouble::Trouble;

/// A value that goes in or comes out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// None.
    Null,
    /// BIGINT.
    Whole(i64),
    /// DOUBLE PRECISION.
    Real(f64),
    /// TEXT.
    Text(String),
    /// BLOB or BYTEA.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

/// SQL that differs between the stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// The type of an automatic key.
    pub(crate) counted: &'static str,
    /// The type of bytes.
    pub(crate) bytes: &'static str,
    /// The suffix of a table that consists of its primary key.
    pub(crate) clustered: &'static str,
    /// Statements that begin a write transaction and exclude other writers.
    pub(crate) begin: &'static [&'static str],
}

/// A store of rows. Statements name their values `$1`, `$2` and so on, in this order.
pub(crate) trait Database {
    /// The SQL of this store.
    fn dialect(&self) -> Dialect;
    /// Runs a statement; returns the number of rows it changed.
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<u64, Trouble>;
    /// Runs a statement that returns rows.
    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Trouble>;
    /// Returns true if there is a table with this name.
    fn has_table(&mut self, name: &str) -> Result<bool, Trouble>;
    /// Damage that the store itself detects.
    fn check(&mut self) -> Result<Vec<String>, Trouble>;
}

/// Runs `work` in a transaction; a failure rolls it back.
pub(crate) fn within<T>(
    database: &mut dyn Database,
    work: impl FnOnce(&mut dyn Database) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let begun = database.dialect().begin.iter();
    let begun = begun.map(|statement| database.run(statement, &[]));
    let begun: Result<Vec<u64>, Trouble> = begun.collect();
    let done = begun.and_then(|_| work(database));
    match done {
        Ok(value) => {
            database.run("COMMIT", &[])?;
            Ok(value)
        }
        Err(trouble) => {
            // The first error is the one to report.
            database.run("ROLLBACK", &[]).ok();
            Err(trouble)
        }
    }
}

/// A row, read from the left.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// The next value as a whole number; 0 for a missing one, which the tables exclude.
    pub(crate) fn whole(&mut self) -> i64 {
        match self.0.next() {
            Some(Value::Whole(value)) => value,
            Some(Value::Null | Value::Real(_) | Value::Text(_) | Value::Bytes(_)) | None => 0,
        }
    }

    /// The next value as a number.
    pub(crate) fn real(&mut self) -> f64 {
        match self.0.next() {
            Some(Value::Real(value)) => value,
            Some(Value::Null | Value::Whole(_) | Value::Text(_) | Value::Bytes(_)) | None => {
                f64::NAN
            }
        }
    }

    /// The next value as text.
    pub(crate) fn text(&mut self) -> String {
        match self.0.next() {
            Some(Value::Text(value)) => value,
            Some(Value::Null | Value::Whole(_) | Value::Real(_) | Value::Bytes(_)) | None => {
                String::new()
            }
        }
    }

    /// The next value as bytes.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        match self.0.next() {
            Some(Value::Bytes(value)) => value,
            Some(Value::Null | Value::Whole(_) | Value::Real(_) | Value::Text(_)) | None => {
                Vec::new()
            }
        }
    }
}
