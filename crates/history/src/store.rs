//! A history and its queries.

mod campaigns;
mod forget;
mod save;

use std::collections::HashMap;
use std::io::Read as _;

use flate2::read::DeflateDecoder;
use serde::Serialize;

use crate::database::{Database, SqlRow, SqlValue};
use crate::entry;
use crate::error::HistoryError;
use crate::location::Location;
use crate::manifest::{self, ManifestFacts};
#[cfg(feature = "postgres")]
use crate::postgres::Postgres;
use crate::schema;
use crate::sqlite::Sqlite;
use crate::time;

pub use campaigns::ListedCampaign;
pub use forget::{Forget, Forgotten};
pub use save::Added;

/// The limit of a query without a limit.
const ALL: i64 = 1 << 40;
/// Minimum number of digits of a digest that names a result.
const FEWEST_DIGITS: usize = 6;
/// Largest document, bytes.
const LARGEST_DOCUMENT: u64 = 256 << 20;
/// Largest manifest, bytes.
const LARGEST_MANIFEST: u64 = 4 << 20;
/// Number of manifests per query.
const AT_ONCE: usize = 500;

/// An open history.
pub struct Store {
    database: Box<dyn Database>,
    place: String,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// A filter of results. The empty filter selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The name of the test, in any case.
    pub test: Option<String>,
    /// The host at the other end.
    pub host: Option<String>,
    /// The label.
    pub label: Option<String>,
    /// The key of their configuration, or its first letters.
    pub configuration: Option<String>,
    /// The earliest time, in microseconds since 1970.
    pub since: Option<i64>,
    /// The end of the time range, exclusive.
    pub before: Option<i64>,
}

/// A result in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// The digest of its document.
    pub digest: String,
    /// Its start, in microseconds since 1970.
    #[serde(rename = "started_unix_seconds", serialize_with = "time::in_seconds")]
    pub started: i64,
    /// The key of its configuration.
    pub configuration: String,
    /// The name of the test.
    pub test: String,
    /// The host at the other end.
    pub host: String,
    /// The label.
    pub label: String,
    /// The command line.
    #[serde(rename = "command_line")]
    pub command: String,
    /// The result itself.
    pub value: f64,
    /// The sign of its unit.
    pub unit: String,
    /// False if a signal ended the run before its time.
    pub complete: bool,
}

/// Comparable results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Configuration {
    /// Its number in the store.
    #[serde(skip)]
    pub(crate) id: i64,
    /// Its key.
    pub key: String,
    /// The name of the test.
    pub test: String,
    /// The host at the other end.
    pub host: String,
    /// The label.
    pub label: String,
    /// A command line of it.
    #[serde(rename = "command_line")]
    pub command: String,
    /// The number of results.
    pub results: i64,
    /// The start of the first, in microseconds since 1970.
    #[serde(skip)]
    pub first: i64,
    /// The start of the last.
    #[serde(skip)]
    pub last: i64,
}

/// A figure of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FigureKind {
    /// Its number in the store.
    #[serde(skip)]
    pub(crate) id: i64,
    /// Its name.
    pub name: String,
    /// The sign of its unit.
    pub unit: String,
    /// `higher` or `lower`.
    #[serde(rename = "better_when")]
    pub better: String,
}

/// A figure of one result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrendPoint {
    /// The start of the result, in microseconds since 1970.
    #[serde(rename = "started_unix_seconds", serialize_with = "time::in_seconds")]
    pub started: i64,
    /// The number of the result.
    pub result: i64,
    /// The number of its manifest.
    #[serde(skip)]
    pub manifest: i64,
    /// The figure.
    pub value: f64,
}

/// Every figure of a result, for exports.
#[derive(Clone, Debug, PartialEq)]
pub struct Figured {
    /// The number of the result.
    pub result: i64,
    /// The name of the figure.
    pub name: String,
    /// The sign of its unit.
    pub unit: String,
    /// Its value.
    pub value: f64,
}

impl Store {
    /// Opens a history, or creates it if `make` is set.
    ///
    /// # Errors If there is none, if it is something else, or if a newer version wrote it.
    pub fn open(place: &Location, make: bool) -> Result<Self, HistoryError> {
        let mut database: Box<dyn Database> = match place {
            Location::File(path) => Box::new(Sqlite::open(path, make)?),
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => Box::new(Postgres::open(address, make)?),
        };
        let place = place.to_string();
        if !make && schema::version(database.as_mut(), &place)? == 0 {
            return Err(HistoryError::Absent(place));
        }
        schema::bring_up(database.as_mut(), &place)?;
        Ok(Self { database, place })
    }

    /// Results, the newest first.
    ///
    /// # Errors If the store fails.
    pub fn list(
        &mut self,
        filter: &Filter,
        limit: Option<u32>,
    ) -> Result<Vec<Listed>, HistoryError> {
        let (statement, values) = list(filter, limit.map_or(ALL, i64::from));
        let rows = self.database.rows(&statement, &values)?;
        Ok(rows.into_iter().map(listed).collect())
    }

    /// The number of a result, found by its number or by the first digits of its digest.
    ///
    /// # Errors If there is none, or more than one.
    pub fn find(&mut self, name: &str) -> Result<i64, HistoryError> {
        let unknown = || HistoryError::Unknown(netperf_web::escape::line(name));
        let mut rows = if let Ok(id) = name.parse::<i64>() {
            let statement = "SELECT id FROM results WHERE id = $1";
            self.database.rows(statement, &[id.into()])?
        } else {
            let digits = name.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !digits || name.len() < FEWEST_DIGITS {
                return Err(unknown());
            }
            let from = name.to_ascii_lowercase();
            // Digests with this prefix lie between the prefix and the prefix followed by
            // `g`.
            let to = format!("{from}g");
            let statement = "SELECT id FROM results WHERE digest >= $1 AND digest < $2 LIMIT 2";
            let values = [from.as_str().into(), to.as_str().into()];
            self.database.rows(statement, &values)?
        };
        match rows.as_mut_slice() {
            [] => Err(unknown()),
            [row] => Ok(row.whole()),
            _ => Err(HistoryError::Ambiguous(name.to_owned())),
        }
    }

    /// The document of a result, byte for byte.
    ///
    /// # Errors If there is none, or it is damaged.
    pub fn document(&mut self, id: i64) -> Result<Vec<u8>, HistoryError> {
        let statement = "SELECT length, deflated FROM documents WHERE result = $1";
        let mut rows = self.database.rows(statement, &[id.into()])?;
        let row = rows
            .first_mut()
            .ok_or_else(|| HistoryError::Unknown(id.to_string()))?;
        let (length, packed) = (row.whole(), row.bytes());
        self.inflated(id, length, &packed)
    }

    fn inflated(&self, id: i64, length: i64, packed: &[u8]) -> Result<Vec<u8>, HistoryError> {
        let mut document = Vec::new();
        let length = u64::try_from(length).unwrap_or(0);
        if length > LARGEST_DOCUMENT {
            return Err(HistoryError::Store {
                place: self.place.clone(),
                why: format!("the document of result {id} has {length} bytes, more than 256 MiB"),
            });
        }
        let read = DeflateDecoder::new(packed)
            .take(length + 1)
            .read_to_end(&mut document);
        let whole = u64::try_from(document.len()).is_ok_and(|found| found == length);
        match read {
            Ok(_) if whole => Ok(document),
            Ok(_) | Err(_) => Err(HistoryError::Store {
                place: self.place.clone(),
                why: format!("the document of result {id} is damaged"),
            }),
        }
    }

    /// Configurations with their results, the most recently measured first.
    ///
    /// # Errors If the store fails.
    pub fn configurations(&mut self, filter: &Filter) -> Result<Vec<Configuration>, HistoryError> {
        let (statement, values) = configurations(filter);
        let rows = self.database.rows(&statement, &values)?;
        Ok(rows.into_iter().map(configuration).collect())
    }

    /// The figures of a configuration, the result itself first.
    ///
    /// # Errors If the store fails.
    pub fn kinds(&mut self, of: &Configuration) -> Result<Vec<FigureKind>, HistoryError> {
        let statement = "SELECT id, name, unit, better FROM kinds WHERE configuration = $1 \
                         ORDER BY id";
        let rows = self.database.rows(statement, &[of.id.into()])?;
        let kinds = rows.into_iter().map(|mut row| FigureKind {
            id: row.whole(),
            name: row.text(),
            unit: row.text(),
            better: row.text(),
        });
        Ok(kinds.collect())
    }

    /// A figure over time, the oldest first, at most the last `limit` points. Only the
    /// times of the filter apply.
    ///
    /// # Errors If the store fails.
    pub fn series(
        &mut self,
        of: &FigureKind,
        filter: &Filter,
        last: Option<u32>,
    ) -> Result<Vec<TrendPoint>, HistoryError> {
        let values = [
            of.id.into(),
            filter.since.unwrap_or(i64::MIN).into(),
            filter.before.unwrap_or(i64::MAX).into(),
            last.map_or(ALL, i64::from).into(),
        ];
        let mut rows = self.database.rows(SERIES, &values)?;
        rows.reverse();
        let points = rows.into_iter().map(|mut row| TrendPoint {
            started: row.whole(),
            result: row.whole(),
            manifest: row.whole(),
            value: row.real(),
        });
        Ok(points.collect())
    }

    /// The facts of manifests by their numbers.
    ///
    /// # Errors If the store fails.
    pub fn manifests(&mut self, ids: &[i64]) -> Result<HashMap<i64, ManifestFacts>, HistoryError> {
        let mut found = HashMap::new();
        for ids in ids.chunks(AT_ONCE) {
            let statement = format!(
                "SELECT id, facts FROM manifests WHERE id IN ({})",
                numbers(ids)
            );
            for mut row in self.database.rows(&statement, &[])? {
                let (id, packed) = (row.whole(), row.bytes());
                let mut text = String::new();
                // A manifest that cannot be decompressed has no facts.
                let read = DeflateDecoder::new(packed.as_slice())
                    .take(LARGEST_MANIFEST)
                    .read_to_string(&mut text);
                if read.is_ok() {
                    found.insert(id, manifest::read(&text));
                }
            }
        }
        Ok(found)
    }

    /// Every figure of the filtered results, in the order of results.
    ///
    /// # Errors If the store fails.
    pub fn figures(&mut self, filter: &Filter) -> Result<Vec<Figured>, HistoryError> {
        let wanted = Conditions::of(filter);
        let statement = format!(
            "SELECT f.result, k.name, k.unit, f.value FROM results r \
             JOIN configurations c ON c.id = r.configuration \
             JOIN figures f ON f.result = r.id JOIN kinds k ON k.id = f.kind \
             WHERE {} ORDER BY r.started DESC, r.id DESC, k.id",
            wanted.text
        );
        let rows = self.database.rows(&statement, &wanted.values)?;
        let figures = rows.into_iter().map(|mut row| Figured {
            result: row.whole(),
            name: row.text(),
            unit: row.text(),
            value: row.real(),
        });
        Ok(figures.collect())
    }

    /// Reads everything and returns the damage found.
    ///
    /// # Errors If the store fails.
    pub fn check(&mut self) -> Result<Vec<String>, HistoryError> {
        let mut wrong = self.database.check()?;
        let mut from = 0;
        loop {
            let statement = "SELECT r.id, r.digest, d.length, d.deflated FROM results r \
                             LEFT JOIN documents d ON d.result = r.id WHERE r.id > $1 \
                             ORDER BY r.id LIMIT 100";
            let rows = self.database.rows(statement, &[from.into()])?;
            if rows.is_empty() {
                return Ok(wrong);
            }
            for mut row in rows {
                from = row.whole();
                let (digest, length, packed) = (row.text(), row.whole(), row.bytes());
                let found = self.inflated(from, length, &packed);
                if !found.is_ok_and(|document| entry::digest_of(&document) == digest) {
                    wrong.push(format!("the document of result {from} is damaged"));
                }
            }
        }
    }
}

/// A figure over time, in the order of the table.
const SERIES: &str = "SELECT started, result, manifest, value FROM figures \
                      WHERE kind = $1 AND started >= $2 AND started < $3 \
                      ORDER BY started DESC, result DESC LIMIT $4";

fn list(filter: &Filter, limit: i64) -> (String, Vec<SqlValue>) {
    let mut wanted = Conditions::of(filter);
    let limit = wanted.value(limit.into());
    let statement = format!(
        "SELECT r.id, r.digest, r.started, c.key, c.test, c.host, c.label, r.command, \
         r.value, r.unit, r.complete FROM results r JOIN configurations c ON c.id = r.configuration \
         WHERE {} ORDER BY r.started DESC, r.id DESC LIMIT {limit}",
        wanted.text
    );
    (statement, wanted.values)
}

fn configurations(filter: &Filter) -> (String, Vec<SqlValue>) {
    let wanted = Conditions::of(filter);
    let statement = format!(
        "SELECT c.id, c.key, c.test, c.host, c.label, c.command, s.results, s.first, s.last \
         FROM (SELECT r.configuration, count(*) AS results, min(r.started) AS first, \
         max(r.started) AS last FROM results r JOIN configurations c \
         ON c.id = r.configuration WHERE {} GROUP BY r.configuration) AS s \
         JOIN configurations c ON c.id = s.configuration ORDER BY s.last DESC, c.id",
        wanted.text
    );
    (statement, wanted.values)
}

fn listed(mut row: SqlRow) -> Listed {
    Listed {
        id: row.whole(),
        digest: row.text(),
        started: row.whole(),
        configuration: row.text(),
        test: row.text(),
        host: row.text(),
        label: row.text(),
        command: row.text(),
        value: row.real(),
        unit: row.text(),
        complete: row.whole() != 0,
    }
}

fn configuration(mut row: SqlRow) -> Configuration {
    Configuration {
        id: row.whole(),
        key: row.text(),
        test: row.text(),
        host: row.text(),
        label: row.text(),
        command: row.text(),
        results: row.whole(),
        first: row.whole(),
        last: row.whole(),
    }
}

/// Numbers with commas between them.
fn numbers(ids: &[i64]) -> String {
    let texts: Vec<String> = ids.iter().map(i64::to_string).collect();
    texts.join(", ")
}

/// The SQL condition for `r`, a result, and `c`, its configuration.
struct Conditions {
    text: String,
    values: Vec<SqlValue>,
}

impl Conditions {
    fn of(filter: &Filter) -> Self {
        let mut all = Self {
            text: "1 = 1".to_owned(),
            values: Vec::new(),
        };
        let key = filter.configuration.as_deref().map(str::to_ascii_lowercase);
        let after = key.as_ref().map(|key| format!("{key}g"));
        let text = |text: Option<&str>| text.map(SqlValue::from);
        let test = filter.test.as_ref().map(|test| test.to_uppercase());
        for (condition, value) in [
            ("upper(c.test) =", text(test.as_deref())),
            ("c.host =", text(filter.host.as_deref())),
            ("c.label =", text(filter.label.as_deref())),
            ("c.key >=", text(key.as_deref())),
            ("c.key <", text(after.as_deref())),
            ("r.started >=", filter.since.map(SqlValue::from)),
            ("r.started <", filter.before.map(SqlValue::from)),
        ] {
            if let Some(value) = value {
                all.add(condition, value);
            }
        }
        all
    }

    fn add(&mut self, condition: &str, value: SqlValue) {
        let name = self.value(value);
        self.text.push_str(&format!(" AND {condition} {name}"));
    }

    /// Adds a value; returns its name in the statement.
    fn value(&mut self, value: SqlValue) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;

    #[test]
    fn lists_trends_and_configurations_come_from_indices() {
        let scratch = netperf_testkit::Scratch::new();
        let place = Location::File(scratch.path().join("h.sqlite"));
        let mut store = Store::open(&place, true).unwrap();
        let everything = Filter::default();
        for (statement, values) in [
            list(&everything, 20),
            configurations(&everything),
            (SERIES.to_owned(), vec![SqlValue::Whole(1); 4]),
            (
                "SELECT id FROM results WHERE digest = $1".to_owned(),
                vec!["x".into()],
            ),
        ] {
            let explained = format!("EXPLAIN QUERY PLAN {statement}");
            for mut row in store.database.rows(&explained, &values).unwrap() {
                let (_id, _parent, _unused) = (row.whole(), row.whole(), row.whole());
                let step = row.text();
                let whole_table = ["SCAN r", "SCAN f", "SCAN d"]
                    .iter()
                    .any(|of| step.starts_with(of));
                assert!(
                    !whole_table || step.contains("INDEX"),
                    "{statement}: {step}"
                );
                let sorted = step.contains("TEMP B-TREE") && !statement.contains("GROUP BY");
                assert!(!sorted, "{statement}: {step}");
            }
        }
    }
}
