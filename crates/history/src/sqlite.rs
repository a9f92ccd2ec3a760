//! The embedded store: an SQLite file.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_model::system_text;
use rusqlite::types::{Value as Held, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::database::{Database, SqlDialect, SqlRow, SqlValue};
use crate::error::HistoryError;
use crate::schema::MARK;

/// Maximum time to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two attempts where SQLite itself does not wait.
const PAUSE: Duration = Duration::from_millis(10);

/// An open file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    /// Opens a history, or creates it if `make` is set, readable only by its owner: results
    /// name hosts.
    pub(crate) fn open(path: &Path, make: bool) -> Result<Self, HistoryError> {
        let shown = shown(path);
        if path.is_dir() {
            return Err(HistoryError::Folder(shown));
        }
        let failed = |error: &std::io::Error| HistoryError::Store {
            place: shown.clone(),
            why: system_text(error),
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
            return Err(HistoryError::Absent(shown));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags);
        let opened = connection.and_then(|connection| Self::prepared(connection, path));
        let (mut file, is_empty) = match opened {
            Err(error) if !make && is_for_reading(&error) => {
                // Queries need no more; SQLite refuses writes.
                let connection = for_reading(path);
                let opened = connection.and_then(|connection| Self::prepared(connection, path));
                let (mut file, _) = opened.map_err(|error| trouble(path, &error))?;
                return if file.has_table(MARK)? {
                    Ok(file)
                } else {
                    Err(HistoryError::Foreign(shown))
                };
            }
            opened => opened.map_err(|error| trouble(path, &error))?,
        };
        // A file of another program must not be changed, not even its journal.
        if !is_empty && !file.has_table(MARK)? {
            return Err(HistoryError::Foreign(shown));
        }
        file.write_ahead().map_err(|error| trouble(path, &error))?;
        Ok(file)
    }

    /// An open database, and true if it is empty.
    fn prepared(connection: Connection, path: &Path) -> rusqlite::Result<(Self, bool)> {
        connection.busy_timeout(PATIENCE)?;
        // A result reported as saved is on the disk: each commit waits for it.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let tables = "SELECT count(*) FROM sqlite_master";
        let tables: i64 = connection.query_row(tables, [], |row| row.get(0))?;
        let path = path.to_owned();
        Ok((Self { connection, path }, tables == 0))
    }

    /// Enables the write-ahead log: readers and a writer do not block each other, and
    /// checksums detect torn writes. The setting is permanent. It needs exclusive access
    /// for a moment, for which SQLite itself does not wait.
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

    fn ask(&self, statement: &str, values: &[SqlValue]) -> rusqlite::Result<Vec<SqlRow>> {
        let mut prepared = self.connection.prepare(statement)?;
        let columns = prepared.column_count();
        let mut found = prepared.query(rusqlite::params_from_iter(values.iter().map(held)))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns).map(|at| row.get_ref(at).map(value));
            rows.push(SqlRow::new(values.collect::<Result<_, _>>()?));
        }
        Ok(rows)
    }
}

impl Database for Sqlite {
    fn dialect(&self) -> SqlDialect {
        SqlDialect {
            counted: "INTEGER PRIMARY KEY AUTOINCREMENT",
            bytes: "BLOB",
            clustered: "WITHOUT ROWID",
            begin: &["BEGIN IMMEDIATE"],
        }
    }

    fn run(&mut self, statement: &str, values: &[SqlValue]) -> Result<u64, HistoryError> {
        let statement = statement.replace('$', "?");
        let values = rusqlite::params_from_iter(values.iter().map(held));
        let changed = self
            .connection
            .prepare(&statement)
            .and_then(|mut prepared| prepared.execute(values));
        let changed = changed.map_err(|error| trouble(&self.path, &error))?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HistoryError> {
        self.ask(&statement.replace('$', "?"), values)
            .map_err(|error| trouble(&self.path, &error))
    }

    fn has_table(&mut self, name: &str) -> Result<bool, HistoryError> {
        let statement = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1";
        Ok(!self.rows(statement, &[name.into()])?.is_empty())
    }

    fn check(&mut self) -> Result<Vec<String>, HistoryError> {
        let rows = self.rows("PRAGMA integrity_check", &[])?;
        let found = rows.into_iter().map(|mut row| row.text());
        Ok(found.filter(|line| line != "ok").collect())
    }
}

fn held(value: &SqlValue) -> Held {
    match value {
        SqlValue::Null => Held::Null,
        SqlValue::Whole(value) => Held::Integer(*value),
        SqlValue::Real(value) => Held::Real(*value),
        SqlValue::Text(value) => Held::Text(value.clone()),
        SqlValue::Bytes(value) => Held::Blob(value.clone()),
    }
}

fn value(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Whole(value),
        ValueRef::Real(value) => SqlValue::Real(value),
        ValueRef::Text(value) => SqlValue::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => SqlValue::Bytes(value.to_vec()),
    }
}

/// Returns true if the file or its directory cannot be written.
fn is_for_reading(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen)
    )
}

/// Opens a read-only file, such as a backup, another user's file, or one on a read-only
/// disk. SQLite creates no files beside an immutable one
/// (<https://www.sqlite.org/wal.html#read_only_databases>); with an active writer these
/// files exist.
fn for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let how = match std::fs::metadata(journal) {
        Ok(journal) if journal.len() > 0 => "mode=ro",
        Ok(_) | Err(_) => "immutable=1",
    };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut address = "file://".to_owned();
    for byte in whole.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            address.push(char::from(*byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("{address}?{how}"), flags)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn trouble(path: &Path, error: &rusqlite::Error) -> HistoryError {
    let place = shown(path);
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return HistoryError::Foreign(place);
    }
    let why = netperf_web::escape::line(&error.to_string());
    if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) {
        let why = damage(path).unwrap_or(why);
        return HistoryError::Damaged { place, why };
    }
    HistoryError::Store { place, why }
}

/// The first damage that SQLite finds in a file; `None` if it cannot look.
fn damage(path: &Path) -> Option<String> {
    let connection = for_reading(path).ok()?;
    let first = "PRAGMA integrity_check(1)";
    let found: String = connection.query_row(first, [], |row| row.get(0)).ok()?;
    let line = found.lines().find(|line| !line.starts_with("***"))?;
    (line != "ok").then(|| netperf_web::escape::line(line))
}

fn shown(path: &Path) -> String {
    netperf_web::escape::line(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn failure(code: i32) -> rusqlite::Error {
        let text = Some("what\nhappened".to_owned());
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), text)
    }

    #[test]
    fn only_some_errors_are_of_files_that_cannot_be_written_or_are_busy() {
        use rusqlite::ffi;
        for (code, reading, busy) in [
            (ffi::SQLITE_READONLY, true, false),
            (ffi::SQLITE_CANTOPEN, true, false),
            (ffi::SQLITE_BUSY, false, true),
            (ffi::SQLITE_LOCKED, false, true),
            (ffi::SQLITE_FULL, false, false),
        ] {
            let error = failure(code);
            assert_eq!(
                (is_for_reading(&error), is_busy(&error)),
                (reading, busy),
                "{code}"
            );
        }
    }

    #[test]
    fn an_error_is_told_with_the_file_in_one_line() {
        let told = |code| trouble(Path::new("/x/a\nb"), &failure(code));
        let place = || "/x/a\u{fffd}b".to_owned();
        let foreign = HistoryError::Foreign(place());
        assert_eq!(told(rusqlite::ffi::SQLITE_NOTADB), foreign);
        let full = HistoryError::Store {
            place: place(),
            why: "what\u{fffd}happened".to_owned(),
        };
        assert_eq!(told(rusqlite::ffi::SQLITE_FULL), full);
    }

    #[test]
    fn a_history_is_its_owners_alone() {
        let scratch = netperf_testkit::Scratch::new();
        let path = scratch.path().join("deep/h.sqlite");
        let file = Sqlite::open(&path, true).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&scratch.path().join("deep")), 0o700);
        let setting = |name: &str| -> String {
            let pragma = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
            file.connection
                .query_row(&pragma, [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!(setting("journal_mode"), "wal");
        assert_eq!(setting("foreign_keys"), "1");
        // FULL: a commit waits for the disk.
        assert_eq!(setting("synchronous"), "2");
    }

    #[test]
    fn every_kind_of_value_comes_back() {
        let scratch = netperf_testkit::Scratch::new();
        let mut file = Sqlite::open(&scratch.path().join("h.sqlite"), true).unwrap();
        file.run("CREATE TABLE t (a, b, c, d, e)", &[]).unwrap();
        let values = [
            SqlValue::Null,
            SqlValue::Whole(-7),
            SqlValue::Real(2.5),
            SqlValue::Text("x$1".to_owned()),
            SqlValue::Bytes(vec![0, 255]),
        ];
        let added = file.run("INSERT INTO t VALUES ($1, $2, $3, $4, $5)", &values);
        assert_eq!(added, Ok(1));
        let found = file.ask("SELECT * FROM t", &[]).unwrap();
        let expected = SqlRow::new(values.to_vec());
        assert_eq!(format!("{found:?}"), format!("{:?}", [expected]));
        assert_eq!(file.check(), Ok(Vec::new()));
        assert_eq!(
            (file.has_table("t"), file.has_table("u")),
            (Ok(true), Ok(false))
        );
    }

    #[test]
    fn a_file_is_read_where_nothing_beside_it_can_be_written() {
        let scratch = netperf_testkit::Scratch::new();
        let path = scratch.path().join("50% of it? #1.sqlite");
        let beside = |ending: &str| scratch.path().join(format!("50% of it? #1.sqlite{ending}"));
        let is_read = || {
            let opened = for_reading(&path).and_then(|found| Sqlite::prepared(found, &path));
            let (mut file, is_empty) = opened.unwrap();
            assert!(!is_empty && file.has_table(MARK).unwrap());
            let refused = file.run("DELETE FROM netperf_history", &[]).unwrap_err();
            assert!(refused.to_string().contains("readonly"), "{refused}");
        };
        let file = Sqlite::open(&path, true).unwrap();
        let table = "CREATE TABLE netperf_history (version BIGINT NOT NULL)";
        file.connection.execute(table, []).unwrap();
        assert!(beside("-wal").exists());
        is_read();
        drop(file);
        assert!(!beside("-wal").exists());
        is_read();
        assert!(!beside("-shm").exists());
    }
}
