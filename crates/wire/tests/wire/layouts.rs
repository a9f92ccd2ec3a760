//! The layouts against the tables of the wire document.

use std::fs;

use netperf_wire::messages::{self, Row};
use netperf_wire::{FieldKind, FieldLayout, Stage};

const DOCUMENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/spec/control-protocol.md"
);

/// The tables that have a message: nine tests of three records, first in the
/// document and first in the list of messages.
const TABLES: usize = 27;

#[test]
fn every_layout_is_the_table_of_the_wire_document() {
    let text = fs::read_to_string(DOCUMENT).expect("the wire document is in the repository");
    let tables = tables(&text);
    assert!(tables.len() >= TABLES);
    for (row, table) in messages::ALL.iter().zip(&tables).take(TABLES) {
        assert_eq!(&declared(row), table, "{}", row.name);
    }
}

#[test]
fn tests_come_first_among_the_messages_and_in_threes() {
    let stages: Vec<_> = messages::ALL.iter().map(|row| row.stage).collect();
    let (tests, others) = stages.split_at(TABLES);
    for three in tests.chunks(3) {
        assert_eq!(three, [Stage::Request, Stage::Response, Stage::Results]);
    }
    assert!(!others.contains(&Stage::Results));
}

/// A layout as lines of the document's tables, and the line below.
fn declared(row: &Row) -> Vec<String> {
    let mut lines: Vec<String> = row.layout.iter().flat_map(field_lines).collect();
    lines.push(format!("Ends at byte {}", row.end));
    lines
}

fn field_lines(field: &FieldLayout) -> Vec<String> {
    let FieldLayout {
        name, offset, len, ..
    } = *field;
    let line = |offset, kind: &str, name: &str| format!("{offset} {kind} {name}");
    match field.kind {
        FieldKind::Word => vec![line(offset, "word", name)],
        FieldKind::Single => vec![line(offset, "f32", name)],
        FieldKind::Double => vec![line(offset, "f64", name)],
        FieldKind::Address => vec![line(offset, "u32[4]", name)],
        FieldKind::Text => vec![line(offset, &format!("char[{len}]"), name)],
        FieldKind::SwappedText => {
            vec![line(offset, &format!("char[{len}] (word-swapped)"), name)]
        }
        // The document shows a 64-bit count as its two words.
        FieldKind::Counter => vec![
            line(offset, "word", &format!("{name}_hi")),
            line(offset + 4, "word", &format!("{name}_lo")),
        ],
    }
}

/// Every table of fields, with the line that says where it ends.
fn tables(text: &str) -> Vec<Vec<String>> {
    let mut tables = Vec::new();
    let mut lines = text.lines();
    while lines.any(|line| line.starts_with("| Off | Type | Field |")) {
        let mut table = Vec::new();
        for line in lines.by_ref() {
            if let Some(end) = line.strip_prefix("Ends at byte ") {
                let end = end.split(' ').next().unwrap_or_default();
                table.push(format!("Ends at byte {end}"));
                break;
            }
            table.extend(table_line(line));
        }
        tables.push(table);
    }
    tables
}

/// `| 8 | i32 | `name` | meaning |` without the meaning; signs do not show in bytes.
fn table_line(line: &str) -> Option<String> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let offset: usize = cells.next()?.parse().ok()?;
    let kind = match cells.next()? {
        "i32" | "u32" => "word",
        other => other,
    };
    let name = cells.next()?.trim_matches('`');
    Some(format!("{offset} {kind} {name}"))
}
