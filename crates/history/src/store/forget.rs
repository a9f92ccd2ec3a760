//! Deletion of results and campaigns.

use super::{Conditions, Filter, Store, numbers};
use crate::database::{Database, SqlValue, within};
use crate::error::HistoryError;

/// Results that are deleted with one statement.
const AT_ONCE: usize = 500;

/// The results to delete among the filtered ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forget {
    /// These results, and the campaigns with these identifiers.
    Named(Vec<i64>, Vec<String>),
    /// All but this many of the newest results of each configuration, and campaigns of each title.
    AllBut(u32),
    /// Those that started before this time, in microseconds since 1970.
    Before(i64),
}

/// Deleted results and campaigns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Numbers of results.
    pub results: Vec<i64>,
    /// Identifiers of campaigns.
    pub campaigns: Vec<String>,
}

impl Store {
    /// Deletes results and campaigns, or only returns them. A filter by what only results have
    /// selects no campaign.
    ///
    /// # Errors If the store fails; then nothing is deleted.
    pub fn forget(
        &mut self,
        what: &Forget,
        filter: &Filter,
        only_tell: bool,
    ) -> Result<Forgotten, HistoryError> {
        if only_tell {
            return all_doomed(self.database.as_mut(), what, filter);
        }
        within(self.database.as_mut(), |database| {
            let doomed = all_doomed(database, what, filter)?;
            for ids in doomed.results.chunks(AT_ONCE) {
                delete(database, &numbers(ids))?;
            }
            if !doomed.results.is_empty() {
                sweep(database)?;
            }
            for campaign in &doomed.campaigns {
                delete_campaign(database, campaign)?;
            }
            Ok(doomed)
        })
    }
}

fn all_doomed(
    database: &mut dyn Database,
    what: &Forget,
    filter: &Filter,
) -> Result<Forgotten, HistoryError> {
    Ok(Forgotten {
        results: doomed(database, what, filter)?,
        campaigns: doomed_campaigns(database, what, filter)?,
    })
}

fn doomed_campaigns(
    database: &mut dyn Database,
    what: &Forget,
    filter: &Filter,
) -> Result<Vec<String>, HistoryError> {
    let of_results = [
        &filter.test,
        &filter.host,
        &filter.label,
        &filter.configuration,
    ];
    if of_results.into_iter().any(Option::is_some) {
        return Ok(Vec::new());
    }
    let since = filter.since.unwrap_or(i64::MIN);
    let before = filter.before.unwrap_or(i64::MAX);
    let times = "started >= $1 AND started < $2";
    let (statement, values): (String, Vec<SqlValue>) = match what {
        Forget::Named(_, campaigns) => return Ok(campaigns.clone()),
        Forget::Before(time) => (
            format!("SELECT campaign FROM campaigns WHERE {times} ORDER BY started"),
            vec![since.into(), before.min(*time).into()],
        ),
        Forget::AllBut(kept) => (
            format!(
                "SELECT campaign FROM (SELECT campaign, started, row_number() OVER (PARTITION BY \
                 title ORDER BY started DESC, id DESC) AS place FROM campaigns WHERE {times}) \
                 AS ranked WHERE place > $3 ORDER BY started"
            ),
            vec![since.into(), before.into(), i64::from(*kept).into()],
        ),
    };
    let rows = database.rows(&statement, &values)?;
    Ok(rows.into_iter().map(|mut row| row.text()).collect())
}

fn delete_campaign(database: &mut dyn Database, campaign: &str) -> Result<(), HistoryError> {
    let of_it = "SELECT id FROM campaigns WHERE campaign = $1";
    for statement in [
        format!("DELETE FROM campaign_cells WHERE campaign IN ({of_it})"),
        "DELETE FROM campaigns WHERE campaign = $1".to_owned(),
    ] {
        database.run(&statement, &[campaign.into()])?;
    }
    Ok(())
}

fn doomed(
    database: &mut dyn Database,
    what: &Forget,
    filter: &Filter,
) -> Result<Vec<i64>, HistoryError> {
    let mut wanted = Conditions::of(filter);
    let from = "FROM results r JOIN configurations c ON c.id = r.configuration";
    let statement = match what {
        Forget::Named(ids, _) if ids.is_empty() => return Ok(Vec::new()),
        Forget::Named(ids, _) => {
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
