//! An inventory as a table for a person.

use netperf_text::columns::aligned;
use netperf_text::escape;

use super::InventoryMember;

/// The members as a table.
#[must_use]
pub fn table(members: &[InventoryMember]) -> String {
    let head = ["name", "control", "data", "labels"];
    let head = head.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head)
        .chain(members.iter().map(row))
        .collect();
    aligned(&rows, &[])
}

fn row(member: &InventoryMember) -> Vec<String> {
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
    .to_vec()
}
