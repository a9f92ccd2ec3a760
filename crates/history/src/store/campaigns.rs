//! Campaigns of a history: a document, and a row for each cell.

use netperf_campaign::matrix::{CellOutcome, CellRecord, CellsHead, Matrix};
use netperf_campaign::outcome::CampaignDocument;
use netperf_campaign::pattern::Cell;
use serde::Serialize;

use super::save::{deflated, insert, one};
use super::{Added, FEWEST_DIGITS, Store};
use crate::database::{Database, SqlRow, SqlValue, within};
use crate::error::HistoryError;
use crate::time;

/// Columns of the figures, in the order of [`netperf_campaign::outcome::FIGURES`].
const COLUMNS: [&str; 9] = [
    "throughput",
    "transaction_rate",
    "latency_p50",
    "latency_p99",
    "loss",
    "unloaded_latency_p50",
    "loaded_latency_p50",
    "unloaded_latency_p99",
    "loaded_latency_p99",
];
/// Columns in front of them.
const KEYS: usize = 5;
/// Cells that are stored with one statement.
const AT_ONCE: usize = 50;

/// A campaign in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedCampaign {
    /// Its identifier.
    pub campaign: String,
    /// Its start, in microseconds since 1970.
    #[serde(rename = "started_unix_seconds", serialize_with = "time::in_seconds")]
    pub started: i64,
    /// Its title.
    pub title: String,
    /// False if something was not measured.
    pub complete: bool,
}

impl Store {
    /// Stores a campaign with its cells, which are read one after the other, or nothing of it on
    /// failure. When this returns, it is on the disk.
    ///
    /// # Errors If the store or a cell fails.
    pub fn add_campaign(
        &mut self,
        document: &CampaignDocument,
        cells: &mut dyn Iterator<Item = Result<CellRecord, String>>,
        now: i64,
    ) -> Result<Added, HistoryError> {
        within(self.database.as_mut(), |database| {
            let known = "SELECT id FROM campaigns WHERE campaign = $1";
            let name = [document.campaign.as_str().into()];
            if let Some(id) = one(database, known, &name)? {
                return Ok(Added { id, known: true });
            }
            let bad = |error: serde_json::Error| HistoryError::Document(error.to_string());
            let kept = CampaignDocument {
                cells: Vec::new(),
                cells_file: None,
                ..document.clone()
            };
            let text = serde_json::to_vec(&kept).map_err(bad)?;
            let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
            let id = insert(
                database,
                "campaigns",
                &[
                    ("campaign", document.campaign.as_str().into()),
                    (
                        "started",
                        time::micros(document.started_unix_seconds)
                            .unwrap_or(0)
                            .into(),
                    ),
                    ("saved", now.into()),
                    ("title", document.head().title.as_str().into()),
                    ("complete", i64::from(document.complete).into()),
                    ("length", length.into()),
                    ("deflated", deflated(&text).into()),
                ],
            )?;
            let mut rows = Vec::new();
            for cell in cells {
                let cell = cell.map_err(HistoryError::Document)?;
                if !cell.again {
                    rows.push(cell);
                }
                if rows.len() == AT_ONCE {
                    store(database, id, &rows)?;
                    rows.clear();
                }
            }
            store(database, id, &rows)?;
            Ok(Added { id, known: false })
        })
    }

    /// The campaigns, the newest first.
    ///
    /// # Errors If the store fails.
    pub fn campaigns(&mut self) -> Result<Vec<ListedCampaign>, HistoryError> {
        let statement = "SELECT campaign, started, title, complete FROM campaigns \
                         ORDER BY started DESC, id DESC";
        let rows = self.database.rows(statement, &[])?;
        let listed = rows.into_iter().map(|mut row| ListedCampaign {
            campaign: row.text(),
            started: row.whole(),
            title: row.text(),
            complete: row.whole() != 0,
        });
        Ok(listed.collect())
    }

    /// A campaign by its identifier, or the first digits of it: its document without cells, and
    /// its matrices.
    ///
    /// # Errors If there is none, more than one, or it is damaged.
    pub fn campaign(
        &mut self,
        name: &str,
    ) -> Result<(CampaignDocument, Vec<Matrix>), HistoryError> {
        let mut row = self.named(name, "id, length, deflated")?;
        let (id, length, packed) = (row.whole(), row.whole(), row.bytes());
        let text = self.inflated(id, length, &packed)?;
        let text = String::from_utf8_lossy(&text);
        let document = CampaignDocument::read(&text).map_err(|why| HistoryError::Store {
            place: self.place.clone(),
            why: format!("the campaign {name}: {why}"),
        })?;
        let head = document.head();
        let matrices = self.matrices(id, &head)?;
        Ok((document, matrices))
    }

    /// The identifier of a campaign by its first digits.
    ///
    /// # Errors If there is none, or more than one.
    pub fn find_campaign(&mut self, name: &str) -> Result<String, HistoryError> {
        self.named(name, "campaign").map(|mut row| row.text())
    }

    /// Columns of the campaign with this identifier, or these first digits of it.
    fn named(&mut self, name: &str, columns: &str) -> Result<SqlRow, HistoryError> {
        let unknown = || HistoryError::Unknown(netperf_web::escape::line(name));
        let digits = name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !digits || name.len() < FEWEST_DIGITS {
            return Err(unknown());
        }
        let from = name.to_ascii_lowercase();
        let to = format!("{from}g");
        let statement = format!(
            "SELECT {columns} FROM campaigns WHERE campaign >= $1 AND campaign < $2 LIMIT 2"
        );
        let values = [from.as_str().into(), to.as_str().into()];
        let mut rows = self.database.rows(&statement, &values)?.into_iter();
        match (rows.next(), rows.next()) {
            (Some(row), None) => Ok(row),
            (None, _) => Err(unknown()),
            (Some(_), Some(_)) => Err(HistoryError::Ambiguous(netperf_web::escape::line(name))),
        }
    }

    /// The matrices of a campaign, read sender by sender.
    fn matrices(&mut self, id: i64, head: &CellsHead) -> Result<Vec<Matrix>, HistoryError> {
        let mut matrices = Matrix::of_head(head);
        let columns = COLUMNS.join(", ");
        let statement = format!(
            "SELECT receiver, round, missing, {columns} FROM campaign_cells \
             WHERE campaign = $1 AND sender = $2 ORDER BY receiver, round"
        );
        for (from, sender) in (0..head.members.len()).zip(0_i64..) {
            for mut row in self
                .database
                .rows(&statement, &[id.into(), sender.into()])?
            {
                let receiver = row.whole();
                let _round = row.whole();
                let missing = row.text();
                let to = usize::try_from(receiver).unwrap_or(usize::MAX);
                for matrix in &mut matrices {
                    let value = Some(row.real()).filter(|value| value.is_finite());
                    let why = if missing.is_empty() {
                        netperf_campaign::matrix::NO_VALUE
                    } else {
                        &missing
                    };
                    matrix.join(Cell { from, to }, value.ok_or(why));
                }
            }
        }
        matrices.retain(Matrix::has_values);
        Ok(matrices)
    }
}

fn store(database: &mut dyn Database, id: i64, cells: &[CellRecord]) -> Result<(), HistoryError> {
    if cells.is_empty() {
        return Ok(());
    }
    let number = |value: usize| SqlValue::Whole(i64::try_from(value).unwrap_or(i64::MAX));
    let mut values: Vec<SqlValue> = Vec::new();
    let mut rows = Vec::new();
    for cell in cells {
        let first = values.len() + 1;
        values.extend([
            id.into(),
            number(cell.cell.from),
            number(cell.cell.to),
            number(cell.round),
        ]);
        let (missing, figures) = match &cell.outcome {
            CellOutcome::Missing(why) if why.is_empty() => ("missing", &[][..]),
            CellOutcome::Missing(why) => (why.as_str(), &[][..]),
            CellOutcome::Values(values) => ("", values.as_slice()),
        };
        values.push(missing.into());
        for at in 0..COLUMNS.len() {
            let value = figures.get(at).copied().flatten();
            values.push(value.map_or(SqlValue::Null, SqlValue::Real));
        }
        // A null has no separate type.
        let name = |at: usize| {
            if at < first + KEYS {
                format!("${at}")
            } else {
                format!("CAST(${at} AS DOUBLE PRECISION)")
            }
        };
        let names: Vec<String> = (first..=values.len()).map(name).collect();
        rows.push(format!("({})", names.join(", ")));
    }
    let columns = COLUMNS.join(", ");
    let rows = rows.join(", ");
    let statement = format!(
        "INSERT INTO campaign_cells (campaign, sender, receiver, round, missing, {columns}) \
         VALUES {rows} ON CONFLICT DO NOTHING"
    );
    database.run(&statement, &values).map(drop)
}

#[cfg(test)]
mod tests {
    use netperf_campaign::outcome::FIGURES;

    use super::*;

    #[test]
    fn each_figure_has_its_column() {
        let names = FIGURES.map(|figure| figure.name.to_lowercase().replace(' ', "_"));
        assert_eq!(names, COLUMNS);
    }
}
