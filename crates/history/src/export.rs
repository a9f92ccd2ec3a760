//! Results as a table for other programs, one per row.

use netperf_text::csv;
use std::collections::HashMap;

use crate::error::HistoryError;
use crate::store::{Filter, Listed, Store};
use crate::time;

/// A column with one cell per result.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportColumn {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: ExportCells,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportCells {
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Points in time in microseconds since 1970.
    Times(Vec<i64>),
    /// Texts.
    Texts(Vec<String>),
    /// Figures; `None` for a result without this figure.
    Figures(Vec<Option<f64>>),
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportTable {
    /// Its columns, all of the same length.
    pub columns: Vec<ExportColumn>,
    /// The number of results.
    pub rows: usize,
}

impl ExportTable {
    /// The filtered results, the newest first, with a column for each figure that any of
    /// them has.
    ///
    /// # Errors If the store fails.
    pub fn of(store: &mut Store, filter: &Filter) -> Result<Self, HistoryError> {
        let results = store.list(filter, None)?;
        let figures = store.figures(filter)?;
        let places: HashMap<i64, usize> = results.iter().map(|r| r.id).zip(0..).collect();
        let mut named: Vec<(String, Vec<Option<f64>>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for figure in figures {
            let name = format!("{} ({})", figure.name, figure.unit);
            let at = *known.entry(name.clone()).or_insert_with(|| {
                named.push((name, vec![None; results.len()]));
                named.len() - 1
            });
            let row = places.get(&figure.result).copied();
            let cell = row.and_then(|row| named.get_mut(at)?.1.get_mut(row));
            if let Some(cell) = cell {
                *cell = Some(figure.value);
            }
        }
        let ids = results.iter().map(|result| result.id).collect();
        let started = results.iter().map(|result| result.started).collect();
        let texts = |text: fn(&Listed) -> &String| {
            ExportCells::Texts(results.iter().map(|result| text(result).clone()).collect())
        };
        let facts = [
            ("id", ExportCells::Whole(ids)),
            ("started", ExportCells::Times(started)),
            ("digest", texts(|result| &result.digest)),
            ("test", texts(|result| &result.test)),
            ("host", texts(|result| &result.host)),
            ("label", texts(|result| &result.label)),
            ("configuration", texts(|result| &result.configuration)),
            ("command_line", texts(|result| &result.command)),
        ];
        let facts = facts.map(|(name, cells)| (name.to_owned(), cells));
        let figures = named.into_iter();
        let figures = figures.map(|(name, cells)| (name, ExportCells::Figures(cells)));
        let columns = facts.into_iter().chain(figures);
        Ok(Self {
            columns: columns
                .map(|(name, cells)| ExportColumn { name, cells })
                .collect(),
            rows: results.len(),
        })
    }

    /// As comma separated values (RFC 4180), with a line of titles.
    #[must_use]
    pub fn csv(&self) -> String {
        let titles = self.columns.iter().map(|column| csv::text(&column.name));
        let mut text = csv::line(titles);
        for row in 0..self.rows {
            let cells = self.columns.iter().map(|column| column.cell(row));
            text.push_str(&csv::line(cells));
        }
        text
    }
}

impl ExportColumn {
    fn cell(&self, row: usize) -> String {
        let cell = match &self.cells {
            ExportCells::Whole(cells) => cells.get(row).map(i64::to_string),
            ExportCells::Times(cells) => cells.get(row).map(|micros| time::exact(*micros)),
            ExportCells::Texts(cells) => cells.get(row).map(|cell| csv::text(cell)),
            ExportCells::Figures(cells) => cells.get(row).copied().flatten().map(csv::number),
        };
        cell.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_result_and_nothing_for_a_missing_figure() {
        let column = |name: &str, cells| ExportColumn {
            name: name.to_owned(),
            cells,
        };
        let rate = vec![Some(2.5), None, Some(f64::INFINITY)];
        let table = ExportTable {
            columns: vec![
                column("id", ExportCells::Whole(vec![3, 2, 1])),
                column("started", ExportCells::Times(vec![1_500_000, 0, 0])),
                column(
                    "host",
                    ExportCells::Texts(["a,b", "=cmd()", ""].map(Into::into).into()),
                ),
                column("rate (1/s)", ExportCells::Figures(rate)),
            ],
            rows: 3,
        };
        let expected = "\"id\",\"started\",\"host\",\"rate (1/s)\"\n\
                        3,1970-01-01T00:00:01.500000Z,\"a,b\",2.5\n\
                        2,1970-01-01T00:00:00.000000Z,\"'=cmd()\",\n\
                        1,1970-01-01T00:00:00.000000Z,\"\",\n";
        assert_eq!(table.csv(), expected);
    }
}
