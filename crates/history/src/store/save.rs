//! Storage of results.

use std::collections::HashMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::Store;
use crate::database::{Database, SqlValue, within};
use crate::entry::HistoryEntry;
use crate::error::HistoryError;
use crate::manifest;

/// The outcome of storing a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its number.
    pub id: i64,
    /// True if it was stored before.
    pub known: bool,
}

/// Numbers of shared rows by table and key, valid for one transaction: after it another
/// process may delete them.
type SharedRows = HashMap<(&'static str, String), i64>;

impl Store {
    /// Stores all of the results, or none on failure. When this returns, they are on the
    /// disk.
    ///
    /// # Errors If the store fails.
    pub fn add(&mut self, entries: &[HistoryEntry], now: i64) -> Result<Vec<Added>, HistoryError> {
        within(self.database.as_mut(), |database| {
            let mut shared = SharedRows::default();
            let added = entries.iter().map(|entry| {
                let found = one(
                    database,
                    "SELECT id FROM results WHERE digest = $1",
                    &[entry.digest.as_str().into()],
                )?;
                match found {
                    Some(id) => Ok(Added { id, known: true }),
                    None => save(database, &mut shared, entry, now),
                }
            });
            added.collect()
        })
    }
}

fn save(
    database: &mut dyn Database,
    shared: &mut SharedRows,
    entry: &HistoryEntry,
    now: i64,
) -> Result<Added, HistoryError> {
    let configuration = shared_row(
        (database, shared),
        ("configurations", 1),
        &[
            ("key", entry.configuration.as_str().into()),
            ("test", entry.test.as_str().into()),
            ("host", entry.host.as_str().into()),
            ("label", entry.label.as_str().into()),
            ("command", entry.command.as_str().into()),
        ],
    )?;
    let facts = deflated(manifest::written(&entry.manifest).as_bytes());
    let manifest = shared_row(
        (database, shared),
        ("manifests", 1),
        &[
            ("key", entry.manifest_key().as_str().into()),
            ("facts", facts.into()),
        ],
    )?;
    let headline = entry.figures.first();
    let value = headline.map_or(0.0, |figure| figure.quantity.value);
    let unit = headline.map_or("", |figure| figure.quantity.unit.sign());
    let id = insert(
        database,
        "results",
        &[
            ("digest", entry.digest.as_str().into()),
            ("configuration", configuration.into()),
            ("manifest", manifest.into()),
            ("started", entry.started.into()),
            ("saved", now.into()),
            ("origin", entry.origin.into()),
            ("command", entry.command.as_str().into()),
            ("value", value.into()),
            ("unit", unit.into()),
            ("complete", i64::from(entry.complete).into()),
        ],
    )?;
    let length = i64::try_from(entry.document.len()).unwrap_or(i64::MAX);
    let values = [id.into(), length.into(), deflated(&entry.document).into()];
    database.run("INSERT INTO documents VALUES ($1, $2, $3)", &values)?;
    for figure in entry.figures.iter().filter(|_| entry.complete) {
        let kind = shared_row(
            (database, shared),
            ("kinds", 3),
            &[
                ("configuration", configuration.into()),
                ("name", figure.name.as_str().into()),
                ("unit", figure.quantity.unit.sign().into()),
                ("better", figure.better.word().into()),
            ],
        )?;
        let values = [
            kind.into(),
            entry.started.into(),
            id.into(),
            manifest.into(),
            figure.quantity.value.into(),
        ];
        let statement = "INSERT INTO figures VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        database.run(statement, &values)?;
    }
    Ok(Added { id, known: false })
}

/// The number of a shared row. The first `keys` columns identify it; it is inserted if there
/// is none.
fn shared_row(
    (database, shared): (&mut dyn Database, &mut SharedRows),
    (table, keys): (&'static str, usize),
    columns: &[(&str, SqlValue)],
) -> Result<i64, HistoryError> {
    let keys = columns.get(..keys).unwrap_or_default();
    let key = (table, format!("{keys:?}"));
    if let Some(id) = shared.get(&key) {
        return Ok(*id);
    }
    let conditions = keys.iter().zip(1..);
    let conditions = conditions.map(|((name, _), number)| format!("{name} = ${number}"));
    let conditions = conditions.collect::<Vec<_>>().join(" AND ");
    let statement = format!("SELECT id FROM {table} WHERE {conditions}");
    let values: Vec<SqlValue> = keys.iter().map(|(_, value)| value.clone()).collect();
    let id = match one(database, &statement, &values)? {
        Some(id) => id,
        None => insert(database, table, columns)?,
    };
    shared.insert(key, id);
    Ok(id)
}

/// Inserts a row; returns its number.
pub(super) fn insert(
    database: &mut dyn Database,
    table: &str,
    columns: &[(&str, SqlValue)],
) -> Result<i64, HistoryError> {
    let (names, values): (Vec<&str>, Vec<SqlValue>) = columns.iter().cloned().unzip();
    let places: Vec<String> = (1..=names.len())
        .map(|number| format!("${number}"))
        .collect();
    let statement = format!(
        "INSERT INTO {table} ({}) VALUES ({}) RETURNING id",
        names.join(", "),
        places.join(", ")
    );
    let id = one(database, &statement, &values)?;
    id.ok_or_else(|| {
        HistoryError::Document("the database returned no number for a new row".to_owned())
    })
}

/// The number in the only row, if there is one.
pub(super) fn one(
    database: &mut dyn Database,
    statement: &str,
    values: &[SqlValue],
) -> Result<Option<i64>, HistoryError> {
    let mut rows = database.rows(statement, values)?;
    Ok(rows.first_mut().map(|row| row.whole()))
}

pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector cannot fail.
    let written = encoder.write_all(bytes);
    debug_assert!(written.is_ok());
    encoder.finish().unwrap_or_default()
}
