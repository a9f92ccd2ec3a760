//! The layouts against the tables of the wire document.

use std::fs;

use netperf_wire::messages::{
    self, MessageRow, RrResponse, SctpRrResponse, SctpStreamResponse, SctpStreamResults,
    StreamResponse, StreamResults, XtiTcpStreamResults,
};
use netperf_wire::{FieldKind, FieldLayout, Message, RequestKind, Stage};

const DOCUMENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/spec/control-protocol.md"
);

/// The tables of what an ordinary Linux build has: nine tests of three records, first in
/// the document and first in the list of messages.
const ORDINARY: usize = 27;

/// Every table that has a message. Those of SCTP, XTI and DLPI, which share many
/// records, come next, in the order of the document as well.
const TABLES: usize = ORDINARY + 2 + 3 + 10;

#[test]
fn every_layout_is_the_table_of_the_wire_document() {
    let text = fs::read_to_string(DOCUMENT).expect("the wire document is in the repository");
    let tables = tables(&text);
    assert_eq!(tables.len(), TABLES);
    for (row, table) in messages::ALL.iter().zip(&tables).take(TABLES) {
        assert_eq!(&declared(row), table, "{}", row.name);
    }
}

#[test]
fn ordinary_tests_come_first_among_the_messages_and_in_threes() {
    let stages: Vec<_> = messages::ALL.iter().map(|row| row.stage).collect();
    for three in stages[..ORDINARY].chunks(3) {
        assert_eq!(three, [Stage::Request, Stage::Response, Stage::Results]);
    }
}

#[test]
fn a_response_that_is_another_with_a_word_more_is_so() {
    let one_more = |end| FieldLayout {
        name: "non_blocking",
        offset: end,
        len: 4,
        kind: FieldKind::Word,
    };
    let stream = [StreamResponse::LAYOUT, &[one_more(StreamResponse::END)]].concat();
    assert_eq!(SctpStreamResponse::LAYOUT, stream);
    let rr = [RrResponse::LAYOUT, &[one_more(RrResponse::END)]].concat();
    assert_eq!(SctpRrResponse::LAYOUT, rr);
}

#[test]
fn results_that_are_others_without_two_words_are_so() {
    let (shorter, _) = StreamResults::LAYOUT.split_at(StreamResults::LAYOUT.len() - 2);
    assert_eq!(SctpStreamResults::LAYOUT, shorter);
    let [bytes, rest @ ..] = XtiTcpStreamResults::LAYOUT else {
        panic!("there are fields");
    };
    assert_eq!((bytes.name, bytes.len), ("bytes_received", 8));
    assert_eq!(rest, &shorter[1..]);
}

#[test]
fn every_number_is_that_of_the_wire_document() {
    let text = fs::read_to_string(DOCUMENT).expect("the wire document is in the repository");
    let numbers: Vec<_> = text.lines().flat_map(number_rows).collect();
    for kind in RequestKind::NAMED {
        let known = [kind.number(), kind.response_number(), kind.results_number()];
        let shown = numbers.iter().find(|(name, _)| name == kind.name());
        assert_eq!(shown.map(|row| row.1), Some(known), "{kind}");
    }
}

/// The rows of `| names | requests | responses | results | 2.7 server |` in a line, for
/// those names that have a number.
fn number_rows(line: &str) -> Vec<(String, [u32; 3])> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, names, requests, responses, results, _, _] = cells[..] else {
        return Vec::new();
    };
    let requests: Vec<u32> = requests
        .split(", ")
        .map_while(|number| number.parse().ok())
        .collect();
    let names = names.split(", ").map(|name| {
        let name = name.trim_matches('*');
        name.strip_suffix(" (classic)").unwrap_or(name).to_owned()
    });
    names
        .zip(requests)
        .map(|(name, request)| {
            let numbers = [responses, results].map(|cell| number_cell(cell, request));
            (name, [request, numbers[0], numbers[1]])
        })
        .collect()
}

/// A number, `D+1` for one more than the request's, or `-` for none.
fn number_cell(cell: &str, request: u32) -> u32 {
    let number = cell.split(' ').next().unwrap_or_default();
    match number.strip_prefix("D+") {
        Some(more) => request + more.parse::<u32>().expect("a number"),
        None => number.parse().unwrap_or(0),
    }
}

/// A layout as lines of the document's tables, and the line below.
fn declared(row: &MessageRow) -> Vec<String> {
    let mut lines: Vec<String> = row.layout.iter().flat_map(field_lines).collect();
    lines.push(format!("Ends at byte {}", row.end - unshown(row)));
    lines
}

/// The bytes of a byte string whose length varies that the document does not show.
fn unshown(row: &MessageRow) -> usize {
    let last = row.layout.last().expect("there are fields");
    if last.kind == FieldKind::SwappedBytes {
        last.len - 4
    } else {
        0
    }
}

fn field_lines(field: &FieldLayout) -> Vec<String> {
    let FieldLayout {
        name, offset, len, ..
    } = *field;
    let line = |offset, kind: &str, name: &str| format!("{offset} {kind} {name}");
    match field.kind {
        // Of a byte string whose length varies the document shows the first word.
        FieldKind::Word | FieldKind::SwappedBytes => vec![line(offset, "word", name)],
        FieldKind::Single => vec![line(offset, "f32", name)],
        FieldKind::Double | FieldKind::DoubleLowWordFirst => vec![line(offset, "f64", name)],
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
