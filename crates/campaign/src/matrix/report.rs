//! Matrices for the page of a campaign, and the comparison of two campaigns.

use std::collections::BTreeMap;

use netperf_stats::discovery::{TableChange, compare_tables};
use netperf_stats::moments::median;
use netperf_stats::polish::Outlier;
use netperf_web::ReportedMatrix;
use netperf_web::table::Table;
use netperf_web::unit::Quantity;

use super::{CellValue, Matrix, RACK};
use crate::pattern::Cell;

/// The false discovery rate of a comparison.
pub const COMPARED_RATE: f64 = 0.01;

impl Matrix {
    /// The matrix for [`netperf_web::MatrixReport`], with tables of outliers and of pairs of
    /// racks. `about` says in a sentence how the values were measured; `notes` has a text beside
    /// each outlier, such as its first and second value.
    #[must_use]
    pub fn reported(
        &self,
        (id, about): (&str, &str),
        outliers: &[Outlier],
        notes: &[String],
    ) -> ReportedMatrix {
        let head = ["outlier", "first, and again", "deviations"];
        let mut table = Table::new("Outliers by median polish", 2, &head);
        for (at, outlier) in outliers.iter().enumerate() {
            table.rows.push(vec![
                self.describe(outlier),
                notes.get(at).cloned().unwrap_or_default(),
                netperf_web::unit::figure(outlier.score),
            ]);
        }
        ReportedMatrix {
            id: id.to_owned(),
            title: netperf_web::escape::capital(&self.figure.name),
            about: about.to_owned(),
            map: self.map(outliers),
            tables: vec![table, self.pairs_of(RACK)],
        }
    }

    /// The median and the worst value of each pair of groups by a label; empty with less than
    /// two groups.
    #[must_use]
    pub fn pairs_of(&self, label: &str) -> Table {
        let caption = format!("Pairs of {label}s");
        let mut table = Table::new(&caption, 2, &["from", "to", "median", "worst", "paths"]);
        let (names, groups) = (self.group_names(label), self.groups(label));
        if names.len() < 2 || groups.is_empty() {
            return table;
        }
        let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for (from, row) in self.table().into_iter().enumerate() {
            for (to, value) in row.into_iter().enumerate() {
                let block = values.entry((groups[from], groups[to])).or_default();
                block.extend(value);
            }
        }
        let shown = |value: f64| Quantity::new(value, self.unit()).to_string();
        let least = self.figure.better_when == "higher";
        for ((from, to), values) in values {
            let worst = if least { f64::min } else { f64::max };
            let worst = values.iter().copied().reduce(worst);
            let (Some(median), Some(worst)) = (median(&values), worst) else {
                continue;
            };
            table.rows.push(vec![
                names[from].to_owned(),
                names[to].to_owned(),
                shown(median),
                shown(worst),
                values.len().to_string(),
            ]);
        }
        table
    }

    /// The values of this matrix in the order of the members of another, by name.
    fn in_order_of(&self, other: &Self) -> Vec<Vec<Option<f64>>> {
        let places = self.members.iter().enumerate();
        let places: BTreeMap<&str, usize> = places
            .map(|(at, member)| (member.name.as_str(), at))
            .collect();
        let place = |at: usize| places.get(other.members[at].name.as_str()).copied();
        let value = |from: usize, to: usize| {
            let (from, to) = (place(from)?, place(to)?);
            match self.get(Cell { from, to }) {
                CellValue::Value(value) => Some(value),
                CellValue::Empty | CellValue::Missing(_) => None,
            }
        };
        let all = 0..other.members.len();
        let row = |from: usize| all.clone().map(|to| value(from, to)).collect();
        all.clone().map(row).collect()
    }

    /// Compares this matrix with a later one of the same figure, cell by cell, with a false
    /// discovery rate of 1 %. Members are matched by name: rows and columns are those of this
    /// matrix. `None` for different figures, or with too few cells in common.
    #[must_use]
    pub fn compare(&self, later: &Self) -> Option<TableChange> {
        if self.figure != later.figure {
            return None;
        }
        let (first, second) = (self.table(), later.in_order_of(self));
        compare_tables(&first, &second, self.scale(), COMPARED_RATE)
    }
}
