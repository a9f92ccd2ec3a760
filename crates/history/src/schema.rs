//! The tables, and the steps between their versions.

use crate::database::{Database, SqlDialect, within};
use crate::error::HistoryError;

/// The table that identifies a history; it holds the version of the others.
pub(crate) const MARK: &str = "netperf_history";

/// The statements of each version of the tables. A published step is never changed; the
/// next one corrects it. `{counted}`, `{bytes}` and `{clustered}` stand for the SQL of the
/// store.
const STEPS: &[&[&str]] = &[
    &[
        "CREATE TABLE netperf_history (version BIGINT NOT NULL)",
        "INSERT INTO netperf_history VALUES (1)",
        // Results of one configuration are comparable.
        "CREATE TABLE configurations (
        id {counted},
        key TEXT NOT NULL UNIQUE,
        test TEXT NOT NULL,
        host TEXT NOT NULL,
        label TEXT NOT NULL,
        command TEXT NOT NULL)",
        // Hosts rarely change: most results share their manifest with the one before.
        "CREATE TABLE manifests (
        id {counted},
        key TEXT NOT NULL UNIQUE,
        facts {bytes} NOT NULL)",
        "CREATE TABLE results (
        id {counted},
        digest TEXT NOT NULL UNIQUE,
        configuration BIGINT NOT NULL REFERENCES configurations (id),
        manifest BIGINT NOT NULL REFERENCES manifests (id),
        started BIGINT NOT NULL,
        saved BIGINT NOT NULL,
        origin TEXT NOT NULL,
        command TEXT NOT NULL,
        value DOUBLE PRECISION NOT NULL,
        unit TEXT NOT NULL)",
        "CREATE INDEX results_by_time ON results (started, id)",
        "CREATE INDEX results_by_configuration ON results (configuration, started, id)",
        "CREATE INDEX results_by_manifest ON results (manifest)",
        // A separate table, so that lists do not read documents.
        "CREATE TABLE documents (
        result BIGINT PRIMARY KEY REFERENCES results (id),
        length BIGINT NOT NULL,
        deflated {bytes} NOT NULL)",
        // A figure of a configuration: the subject of a trend.
        "CREATE TABLE kinds (
        id {counted},
        configuration BIGINT NOT NULL REFERENCES configurations (id),
        name TEXT NOT NULL,
        unit TEXT NOT NULL,
        better TEXT NOT NULL,
        UNIQUE (configuration, name, unit))",
        // In the order in which trends read them, with all columns that they need.
        "CREATE TABLE figures (
        kind BIGINT NOT NULL REFERENCES kinds (id),
        started BIGINT NOT NULL,
        result BIGINT NOT NULL REFERENCES results (id),
        manifest BIGINT NOT NULL,
        value DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (kind, started, result)) {clustered}",
        "CREATE INDEX figures_by_result ON figures (result)",
    ],
    &[
        // Campaigns between many hosts. The document has no cells: these have their own table.
        "CREATE TABLE campaigns (
        id {counted},
        campaign TEXT NOT NULL UNIQUE,
        started BIGINT NOT NULL,
        saved BIGINT NOT NULL,
        title TEXT NOT NULL,
        complete BIGINT NOT NULL,
        length BIGINT NOT NULL,
        deflated {bytes} NOT NULL)",
        // Sender and receiver are indices of members; missing is empty for a cell with figures.
        "CREATE TABLE campaign_cells (
        campaign BIGINT NOT NULL REFERENCES campaigns (id),
        sender BIGINT NOT NULL,
        receiver BIGINT NOT NULL,
        round BIGINT NOT NULL,
        missing TEXT NOT NULL,
        throughput DOUBLE PRECISION,
        transaction_rate DOUBLE PRECISION,
        latency_p50 DOUBLE PRECISION,
        latency_p99 DOUBLE PRECISION,
        loss DOUBLE PRECISION,
        unloaded_latency_p50 DOUBLE PRECISION,
        loaded_latency_p50 DOUBLE PRECISION,
        unloaded_latency_p99 DOUBLE PRECISION,
        loaded_latency_p99 DOUBLE PRECISION,
        PRIMARY KEY (campaign, sender, receiver, round)) {clustered}",
    ],
    &[
        // A result that a signal cut short has no rows in figures, and so is in no trend.
        "ALTER TABLE results ADD COLUMN complete BIGINT NOT NULL DEFAULT 1",
    ],
];

/// The newest known version.
pub(crate) fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the tables to the newest version, in one transaction.
pub(crate) fn bring_up(database: &mut dyn Database, place: &str) -> Result<(), HistoryError> {
    if version(database, place)? == newest() {
        return Ok(());
    }
    within(database, |database| steps(database, place))
}

/// Runs the missing steps. Another process may have run them in the meantime.
fn steps(database: &mut dyn Database, place: &str) -> Result<(), HistoryError> {
    let from = version(database, place)?;
    let dialect = database.dialect();
    for (step, statements) in (1..).zip(STEPS).filter(|(step, _)| *step > from) {
        for statement in *statements {
            database.run(&spoken(statement, dialect), &[])?;
        }
        database.run("UPDATE netperf_history SET version = $1", &[step.into()])?;
    }
    Ok(())
}

fn spoken(statement: &str, dialect: SqlDialect) -> String {
    statement
        .replace("{counted}", dialect.counted)
        .replace("{bytes}", dialect.bytes)
        .replace("{clustered}", dialect.clustered)
}

/// The version of the tables, 0 without any.
pub(crate) fn version(database: &mut dyn Database, place: &str) -> Result<i64, HistoryError> {
    if !database.has_table(MARK)? {
        return Ok(0);
    }
    let mut rows = database.rows("SELECT version FROM netperf_history", &[])?;
    let found = rows.first_mut().map_or(0, |row| row.whole());
    if found > newest() {
        return Err(HistoryError::Newer {
            place: place.to_owned(),
            found,
            known: newest(),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::Sqlite;

    #[test]
    fn tables_of_an_earlier_version_are_brought_up() {
        let scratch = netperf_testkit::Scratch::new();
        let mut file = Sqlite::open(&scratch.path().join("h.sqlite"), true).unwrap();
        let place = "h.sqlite";
        assert_eq!(version(&mut file, place), Ok(0));
        let dialect = file.dialect();
        for statement in STEPS[0] {
            file.run(&spoken(statement, dialect), &[]).unwrap();
        }
        assert_eq!(version(&mut file, place), Ok(1));
        assert_eq!(file.has_table("campaigns"), Ok(false));
        for _ in 0..2 {
            assert_eq!(bring_up(&mut file, place), Ok(()));
            assert_eq!(version(&mut file, place), Ok(3));
            assert_eq!(file.has_table("campaigns"), Ok(true));
        }
        assert_eq!(newest(), 3);
    }

    #[test]
    fn a_version_beyond_the_newest_is_refused() {
        let scratch = netperf_testkit::Scratch::new();
        let mut file = Sqlite::open(&scratch.path().join("h.sqlite"), true).unwrap();
        bring_up(&mut file, "h.sqlite").unwrap();
        let next = newest() + 1;
        let statement = "UPDATE netperf_history SET version = $1";
        assert_eq!(file.run(statement, &[next.into()]), Ok(1));
        let refused = Err(HistoryError::Newer {
            place: "h.sqlite".to_owned(),
            found: next,
            known: newest(),
        });
        assert_eq!(version(&mut file, "h.sqlite"), refused);
    }
}
