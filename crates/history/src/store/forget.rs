//! Deletion of results.

use super::{Conditions, Filter, Store, numbers};
use crate::database::{Database, within};
use crate::error::HistoryError;

/// Results that are deleted with one statement.
const AT_ONCE: usize = 500;

/// The results to delete among the filtered ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forget {
    /// These results.
    Results(Vec<i64>),
    /// All but this many of the newest results of each configuration.
    AllBut(u32),
    /// Results that started before this time, in microseconds since 1970.
    Before(i64),
}

impl Store {
    /// Deletes results, or only returns them.
    ///
    /// # Errors If the store fails; then nothing is deleted.
    pub fn forget(
        &mut self,
        what: &Forget,
        filter: &Filter,
        only_tell: bool,
    ) -> Result<Vec<i64>, HistoryError> {
        if only_tell {
            return doomed(self.database.as_mut(), what, filter);
        }
        within(self.database.as_mut(), |database| {
            let ids = doomed(database, what, filter)?;
            for ids in ids.chunks(AT_ONCE) {
                delete(database, &numbers(ids))?;
            }
            if !ids.is_empty() {
                sweep(database)?;
            }
            Ok(ids)
        })
    }
}

fn doomed(
    database: &mut dyn Database,
    what: &Forget,
    filter: &Filter,
) -> Result<Vec<i64>, HistoryError> {
    let mut wanted = Conditions::of(filter);
    let from = "FROM results r JOIN configurations c ON c.id = r.configuration";
    let statement = match what {
        Forget::Results(ids) if ids.is_empty() => return Ok(Vec::new()),
        Forget::Results(ids) => {
            let text = &wanted.text;
            format!(
                "SELECT r.id {from} WHERE {text} AND r.id IN ({})",
                numbers(ids)
            )
        }
        Forget::Before(time) => {
            wanted.add("r.started <", (*time).into());
            format!("SELECT r.id {from} WHERE {}", wanted.text)
        }
        Forget::AllBut(kept) => {
            let kept = wanted.value(i64::from(*kept).into());
            format!(
                "SELECT id FROM (SELECT r.id AS id, row_number() OVER (PARTITION BY \
                 r.configuration ORDER BY r.started DESC, r.id DESC) AS place {from} \
                 WHERE {}) AS ranked WHERE place > {kept}",
                wanted.text
            )
        }
    };
    let rows = database.rows(&statement, &wanted.values)?;
    let mut ids: Vec<i64> = rows.into_iter().map(|mut row| row.whole()).collect();
    ids.sort_unstable();
    Ok(ids)
}

fn delete(database: &mut dyn Database, ids: &str) -> Result<(), HistoryError> {
    for (table, column) in [
        ("figures", "result"),
        ("documents", "result"),
        ("results", "id"),
    ] {
        database.run(
            &format!("DELETE FROM {table} WHERE {column} IN ({ids})"),
            &[],
        )?;
    }
    Ok(())
}

/// Deletes the rows that no result refers to.
fn sweep(database: &mut dyn Database) -> Result<(), HistoryError> {
    for (table, needed_by, column) in [
        ("kinds", "figures", "kind"),
        ("manifests", "results", "manifest"),
        ("configurations", "results", "configuration"),
    ] {
        let statement = format!(
            "DELETE FROM {table} WHERE NOT EXISTS \
             (SELECT 1 FROM {needed_by} WHERE {needed_by}.{column} = {table}.id)"
        );
        database.run(&statement, &[])?;
    }
    Ok(())
}
