//! The interface of both stores: run a statement, return rows.

use crate::error::HistoryError;

/// A value that goes in or comes out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqlValue {
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

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<Vec<u8>> for SqlValue {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

/// SQL that differs between the stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SqlDialect {
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
    fn dialect(&self) -> SqlDialect;
    /// Runs a statement; returns the number of rows it changed.
    fn run(&mut self, statement: &str, values: &[SqlValue]) -> Result<u64, HistoryError>;
    /// Runs a statement that returns rows.
    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HistoryError>;
    /// Returns true if there is a table with this name.
    fn has_table(&mut self, name: &str) -> Result<bool, HistoryError>;
    /// Damage that the store itself detects.
    fn check(&mut self) -> Result<Vec<String>, HistoryError>;
}

/// Runs `work` in a transaction; a failure rolls it back.
pub(crate) fn within<T>(
    database: &mut dyn Database,
    work: impl FnOnce(&mut dyn Database) -> Result<T, HistoryError>,
) -> Result<T, HistoryError> {
    let mut begin = database.dialect().begin.iter();
    let begun = begin.try_for_each(|statement| database.run(statement, &[]).map(drop));
    let done = begun.and_then(|()| work(database));
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
pub(crate) struct SqlRow(std::vec::IntoIter<SqlValue>);

impl SqlRow {
    pub(crate) fn new(values: Vec<SqlValue>) -> Self {
        Self(values.into_iter())
    }

    /// The next value as a whole number; 0 for a missing one, which the tables exclude.
    pub(crate) fn whole(&mut self) -> i64 {
        let Some(SqlValue::Whole(value)) = self.0.next() else {
            return 0;
        };
        value
    }

    /// The next value as a number.
    pub(crate) fn real(&mut self) -> f64 {
        let Some(SqlValue::Real(value)) = self.0.next() else {
            return f64::NAN;
        };
        value
    }

    /// The next value as text.
    pub(crate) fn text(&mut self) -> String {
        let Some(SqlValue::Text(value)) = self.0.next() else {
            return String::new();
        };
        value
    }

    /// The next value as bytes.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let Some(SqlValue::Bytes(value)) = self.0.next() else {
            return Vec::new();
        };
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that notes its statements, and fails at one of them.
    struct Noted {
        statements: Vec<String>,
        fails: &'static str,
    }

    impl Database for Noted {
        fn dialect(&self) -> SqlDialect {
            SqlDialect {
                counted: "",
                bytes: "",
                clustered: "",
                begin: &["BEGIN", "LOCK"],
            }
        }

        fn run(&mut self, statement: &str, _: &[SqlValue]) -> Result<u64, HistoryError> {
            self.statements.push(statement.to_owned());
            if statement == self.fails {
                return Err(HistoryError::Document(format!("no {statement}")));
            }
            Ok(0)
        }

        fn rows(&mut self, _: &str, _: &[SqlValue]) -> Result<Vec<SqlRow>, HistoryError> {
            Ok(Vec::new())
        }

        fn has_table(&mut self, _: &str) -> Result<bool, HistoryError> {
            Ok(false)
        }

        fn check(&mut self) -> Result<Vec<String>, HistoryError> {
            Ok(Vec::new())
        }
    }

    /// The outcome of a transaction with one statement, and all statements that were run.
    fn transaction(fails: &'static str) -> (Result<u64, String>, Vec<String>) {
        let mut store = Noted {
            statements: Vec::new(),
            fails,
        };
        let done = within(&mut store, |store| store.run("WORK", &[]).map(|_| 7));
        (done.map_err(|error| error.to_string()), store.statements)
    }

    #[test]
    fn a_transaction_is_kept_as_a_whole_or_not_at_all() {
        let (done, statements) = transaction("");
        assert_eq!(done, Ok(7));
        assert_eq!(statements, ["BEGIN", "LOCK", "WORK", "COMMIT"]);
        let (done, statements) = transaction("WORK");
        assert_eq!(done, Err("no WORK".to_owned()));
        assert_eq!(statements, ["BEGIN", "LOCK", "WORK", "ROLLBACK"]);
        let (done, statements) = transaction("LOCK");
        assert_eq!(done, Err("no LOCK".to_owned()));
        assert_eq!(statements, ["BEGIN", "LOCK", "ROLLBACK"]);
        assert_eq!(transaction("COMMIT").0, Err("no COMMIT".to_owned()));
    }

    #[test]
    fn a_row_is_read_from_the_left_and_what_is_missing_is_nothing() {
        let values = [5_i64.into(), 2.5.into(), "x".into(), vec![7].into()];
        let mut row = SqlRow::new(values.to_vec());
        assert_eq!((row.whole(), row.real()), (5, 2.5));
        assert_eq!((row.text(), row.bytes()), ("x".to_owned(), vec![7]));
        let mut row = SqlRow::new(vec![SqlValue::Null; 4]);
        assert_eq!(row.whole(), 0);
        assert!(row.real().is_nan());
        assert_eq!((row.text(), row.bytes()), (String::new(), Vec::new()));
    }
}
