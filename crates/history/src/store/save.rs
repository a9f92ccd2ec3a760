//! Storage of results.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::Store;
use crate::database::{Database, SqlValue, within};
use crate::entry::{self, HistoryEntry};
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

/// Numbers of shared rows, valid for one transaction: after it another process may delete
/// them.
#[derive(Default)]
struct SharedRows {
    configurations: HashMap<String, i64>,
    manifests: HashMap<String, i64>,
    kinds: HashMap<(i64, String, String), i64>,
}

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
    let configuration = configuration(database, shared, entry)?;
    let manifest = manifest_of(database, shared, entry)?;
    let headline = entry.figures.first();
    let id = numbered(
        database,
        "INSERT INTO results (digest, configuration, manifest, started, saved, origin, command, \
         value, unit) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
        &[
            entry.digest.as_str().into(),
            configuration.into(),
            manifest.into(),
            entry.started.into(),
            now.into(),
            entry.origin.into(),
            entry.command.as_str().into(),
            headline.map_or(0.0, |figure| figure.quantity.value).into(),
            headline
                .map_or("", |figure| figure.quantity.unit.sign())
                .into(),
        ],
    )?;
    let length = i64::try_from(entry.document.len()).unwrap_or(i64::MAX);
    let values = [id.into(), length.into(), deflated(&entry.document).into()];
    database.run("INSERT INTO documents VALUES ($1, $2, $3)", &values)?;
    for figure in &entry.figures {
        let kind = kind(database, shared, configuration, figure)?;
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

fn configuration(
    database: &mut dyn Database,
    shared: &mut SharedRows,
    entry: &HistoryEntry,
) -> Result<i64, HistoryError> {
    let values = [entry.configuration.as_str().into()];
    let find = ("SELECT id FROM configurations WHERE key = $1", &values[..]);
    let key = entry.configuration.clone();
    known_or_made(
        database,
        &mut shared.configurations,
        (key, find),
        |database| {
            numbered(
                database,
                "INSERT INTO configurations (key, test, host, label, command) \
             VALUES ($1, $2, $3, $4, $5) RETURNING id",
                &[
                    entry.configuration.as_str().into(),
                    entry.test.as_str().into(),
                    entry.host.as_str().into(),
                    entry.label.as_str().into(),
                    entry.command.as_str().into(),
                ],
            )
        },
    )
}

fn manifest_of(
    database: &mut dyn Database,
    shared: &mut SharedRows,
    entry: &HistoryEntry,
) -> Result<i64, HistoryError> {
    let key = entry.manifest_key();
    let values = [key.as_str().into()];
    let find = ("SELECT id FROM manifests WHERE key = $1", &values[..]);
    let own = key.clone();
    known_or_made(database, &mut shared.manifests, (own, find), |database| {
        numbered(
            database,
            "INSERT INTO manifests (key, facts) VALUES ($1, $2) RETURNING id",
            &[
                key.as_str().into(),
                deflated(manifest::written(&entry.manifest).as_bytes()).into(),
            ],
        )
    })
}

fn kind(
    database: &mut dyn Database,
    shared: &mut SharedRows,
    configuration: i64,
    figure: &netperf_campaign::RunFigure,
) -> Result<i64, HistoryError> {
    let (name, unit) = (figure.name.as_str(), figure.quantity.unit.sign());
    let values: [SqlValue; 3] = [configuration.into(), name.into(), unit.into()];
    let find = (
        "SELECT id FROM kinds WHERE configuration = $1 AND name = $2 AND unit = $3",
        &values[..],
    );
    let key = (configuration, name.to_owned(), unit.to_owned());
    known_or_made(database, &mut shared.kinds, (key, find), |database| {
        numbered(
            database,
            "INSERT INTO kinds (configuration, name, unit, better) VALUES ($1, $2, $3, $4) \
             RETURNING id",
            &[
                configuration.into(),
                name.into(),
                unit.into(),
                entry::better(figure.better).into(),
            ],
        )
    })
}

/// The number of a shared row: known from earlier in this transaction, found by a query, or
/// inserted.
fn known_or_made<K: Hash + Eq>(
    database: &mut dyn Database,
    known: &mut HashMap<K, i64>,
    (key, (statement, values)): (K, (&str, &[SqlValue])),
    make: impl FnOnce(&mut dyn Database) -> Result<i64, HistoryError>,
) -> Result<i64, HistoryError> {
    if let Some(id) = known.get(&key) {
        return Ok(*id);
    }
    let id = match one(database, statement, values)? {
        Some(id) => id,
        None => make(database)?,
    };
    known.insert(key, id);
    Ok(id)
}

/// The number in the only row, if there is one.
fn one(
    database: &mut dyn Database,
    statement: &str,
    values: &[SqlValue],
) -> Result<Option<i64>, HistoryError> {
    let mut rows = database.rows(statement, values)?;
    Ok(rows.first_mut().map(|row| row.whole()))
}

/// The number of a new row.
fn numbered(
    database: &mut dyn Database,
    statement: &str,
    values: &[SqlValue],
) -> Result<i64, HistoryError> {
    let id = one(database, statement, values)?;
    id.ok_or_else(|| HistoryError::Document("the store gave a new row no number".to_owned()))
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector cannot fail.
    let written = encoder.write_all(bytes);
    debug_assert!(written.is_ok());
    encoder.finish().unwrap_or_default()
}
