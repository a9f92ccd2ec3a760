//! The embedded store: a file of SQLite.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{Value as Held, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::database::{Database, Dialect, Row, Value};
use crate::schema::MARK;
use crate::trouble::{Trouble, plain};

/// How long another writer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait before asking again for what SQLite itself does not wait for.
const PAUSE: Duration = Duration::from_millis(10);

/// An open file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    /// Opens a history. One that is not there is made when that is wanted, readable by its
    /// owner alone: results name hosts.
    pub(crate) fn open(path: &Path, make: bool) -> Result<Self, Trouble> {
        let shown = shown(path);
        let failed = |error: &std::io::Error| Trouble::Store {
            place: shown.clone(),
            why: plain(error),
        };
        if make {
            if let Some(folder) = path.parent() {
                let mut builder = DirBuilder::new();
                let builder = builder.recursive(true).mode(0o700);
                builder.create(folder).map_err(|error| failed(&error))?;
            }
            let mut options = OpenOptions::new();
            let options = options.create(true).truncate(false).write(true).mode(0o600);
            options.open(path).map_err(|error| failed(&error))?;
        } else if !path.try_exists().map_err(|error| failed(&error))? {
            return Err(Trouble::Absent(shown));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags);
        let connection = connection.map_err(|error| trouble(path, &error))?;
        let mut file = Self {
            connection,
            path: path.to_owned(),
        };
        file.prepare().map_err(|error| trouble(path, &error))?;
        // Nothing of somebody else's file may be changed, not even its journal.
        if !file.is_empty()? && !file.has_table(MARK)? {
            return Err(Trouble::Foreign(shown));
        }
        file.write_ahead().map_err(|error| trouble(path, &error))?;
        Ok(file)
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(PATIENCE)?;
        // What is reported as saved is on the disk: each commit waits for it.
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        self.connection.pragma_update(None, "foreign_keys", true)
    }

    /// Readers and a writer go on beside each other, and a torn write is found by its
    /// checksum. The file remembers; the first to ask must be alone for a moment, which
    /// SQLite does not wait for by itself.
    fn write_ahead(&self) -> rusqlite::Result<()> {
        let mode: String = self
            .connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if mode == "wal" {
            return Ok(());
        }
        let tries = PATIENCE.as_millis() / PAUSE.as_millis();
        for _ in 0..tries {
            let switched =
                self.connection
                    .pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
            match switched {
                Err(error) if is_busy(&error) => std::thread::sleep(PAUSE),
                done => return done,
            }
        }
        self.connection
            .pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
    }

    fn is_empty(&mut self) -> Result<bool, Trouble> {
        let mut rows = self.rows("SELECT count(*) FROM sqlite_master", &[])?;
        Ok(rows.first_mut().is_some_and(|row| row.whole() == 0))
    }

    fn ask(&self, statement: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let mut prepared = self.connection.prepare(statement)?;
        let columns = prepared.column_count();
        let mut found = prepared.query(rusqlite::params_from_iter(values.iter().map(held)))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns).map(|at| row.get_ref(at).map(value));
            rows.push(Row::new(values.collect::<Result<_, _>>()?));
        }
        Ok(rows)
    }
}

impl Database for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect {
            counted: "INTEGER PRIMARY KEY AUTOINCREMENT",
            bytes: "BLOB",
            clustered: "WITHOUT ROWID",
            begin: &["BEGIN IMMEDIATE"],
        }
    }

    fn run(&mut self, statement: &str, values: &[Value]) -> Result<u64, Trouble> {
        let statement = statement.replace('$', "?");
        let values = rusqlite::params_from_iter(values.iter().map(held));
        let changed = self
            .connection
            .prepare(&statement)
            .and_then(|mut prepared| prepared.execute(values));
        let changed = changed.map_err(|error| trouble(&self.path, &error))?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Trouble> {
        self.ask(&statement.replace('$', "?"), values)
            .map_err(|error| trouble(&self.path, &error))
    }

    fn has_table(&mut self, name: &str) -> Result<bool, Trouble> {
        let statement = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1";
        Ok(!self.rows(statement, &[name.into()])?.is_empty())
    }

    fn check(&mut self) -> Result<Vec<String>, Trouble> {
        let rows = self.rows("PRAGMA integrity_check", &[])?;
        let found = rows.into_iter().map(|mut row| row.text());
        Ok(found.filter(|line| line != "ok").collect())
    }
}

fn held(value: &Value) -> Held {
    match value {
        Value::Null => Held::Null,
        Value::Whole(value) => Held::Integer(*value),
        Value::Real(value) => Held::Real(*value),
        Value::Text(value) => Held::Text(value.clone()),
        Value::Bytes(value) => Held::Blob(value.clone()),
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Whole(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn trouble(path: &Path, error: &rusqlite::Error) -> Trouble {
    let place = shown(path);
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return Trouble::Foreign(place);
    }
    let why = netperf_web::escape::line(&error.to_string());
    Trouble::Store { place, why }
}

fn shown(path: &Path) -> String {
    netperf_web::escape::line(&path.to_string_lossy())
}
