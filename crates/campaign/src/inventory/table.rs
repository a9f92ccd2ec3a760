//! An inventory as a table for a person.

use std::fmt::Write as _;

use netperf_web::escape;

use super::InventoryMember;

/// The members as a table.
#[must_use]
pub fn table(members: &[InventoryMember]) -> String {
    let head = ["name", "control", "data", "labels"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head)
        .chain(members.iter().map(row))
        .collect();
    aligned(&rows)
}

/// Rows whose columns are as wide as their longest cell.
#[must_use]
pub fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            _ = write!(line, "{cell:width$}  ");
        }
        _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn row(member: &InventoryMember) -> [String; 4] {
    let data: Vec<String> = member.data.iter().map(ToString::to_string).collect();
    let label = |(key, value): (&String, &String)| format!("{key}={value}");
    let labels: Vec<String> = member.labels.iter().map(label).collect();
    [
        member.name.clone(),
        member.control.clone(),
        data.join(","),
        labels.join(" "),
    ]
    .map(|cell| escape::line(&cell))
}
