use netperf_comparison::Letters;
use netperf_stats::testing::Dice;

use super::*;

fn members(count: usize) -> Vec<MatrixMember> {
    let member = |at: usize| MatrixMember {
        name: format!("node{at}"),
        labels: BTreeMap::from([("rack".to_owned(), format!("r{}", at / 4))]),
    };
    (0..count).map(member).collect()
}

fn throughput() -> MatrixFigure {
    MatrixFigure {
        name: "throughput".to_owned(),
        unit: "bit/s".to_owned(),
        better_when: "higher".to_owned(),
    }
}

/// Members with about 20 Mbit/s, of which one sender and one path have half.
fn matrix(count: usize) -> Matrix {
    let mut matrix = Matrix::new(throughput(), members(count));
    let mut dice = Dice::new(3);
    for from in 0..count {
        for to in 0..count {
            let slow = from == 3 || (from, to) == (1, 2);
            let rate = 20e6 * (0.01 * dice.normal()).exp() * if slow { 0.5 } else { 1.0 };
            if from != to {
                matrix.set(Cell { from, to }, Ok(rate));
            }
        }
    }
    matrix.set(Cell { from: 5, to: 0 }, Err("node5 was lost"));
    matrix
}

fn head(count: usize) -> CellsHead {
    let latency = MatrixFigure {
        name: "latency P99".to_owned(),
        unit: "s".to_owned(),
        better_when: "lower".to_owned(),
    };
    CellsHead {
        schema: CELLS_SCHEMA.to_owned(),
        campaign: "c1".to_owned(),
        title: "all pairs".to_owned(),
        started_unix_seconds: 1.5e9,
        members: members(count),
        figures: vec![throughput(), latency],
        plan: None,
    }
}

#[test]
fn outliers_are_named() {
    let matrix = matrix(12);
    let outliers = matrix.outliers();
    let said: Vec<String> = outliers.iter().map(|one| matrix.describe(one)).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("sender node3: ") && said[0].ends_with(" %"));
    assert!((outliers[0].effect - 0.5).abs() < 0.03, "{outliers:?}");
    assert!(said[1].starts_with("path node1 to node2: "), "{said:?}");
    let medians = matrix.sender_medians();
    assert!((medians[3].unwrap() / 10e6 - 1.0).abs() < 0.05);
    assert!((matrix.receiver_medians()[3].unwrap() / 20e6 - 1.0).abs() < 0.05);
    assert!((matrix.median().unwrap() / 20e6 - 1.0).abs() < 0.05);
    assert_eq!(matrix.missing(), [("node5 was lost", 1)]);
    assert_eq!(
        matrix.get(Cell { from: 5, to: 0 }),
        CellValue::Missing("node5 was lost")
    );
    assert_eq!(matrix.get(Cell { from: 5, to: 5 }), CellValue::Empty);
    assert_eq!(matrix.get(Cell { from: 99, to: 5 }), CellValue::Empty);
}

#[test]
fn every_matrix_fits_into_eighty_columns() {
    for count in [2, 3, 8, 9, 12, 20, 21, 64, 65, 100, 300] {
        let matrix = matrix(count.max(6));
        let outliers = matrix.outliers();
        for letters in [Letters::Unicode, Letters::Ascii] {
            let view = MatrixView {
                letters,
                ..MatrixView::default()
            };
            let text = matrix.text(&outliers, view);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest.unwrap() <= 80, "{count}: {text}");
            if letters == Letters::Ascii {
                assert!(text.is_ascii(), "{text}");
            }
            assert!(text.contains("Outlier   sender node3: "), "{text}");
            assert!(text.contains("Missing   1 cell: node5 was lost"), "{text}");
        }
    }
}

#[test]
fn a_small_matrix_has_values_and_a_large_one_letters() {
    let of = |count: usize, colour| {
        let matrix = matrix(count);
        let view = MatrixView {
            letters: Letters::Ascii,
            colour,
            ..MatrixView::default()
        };
        matrix.text(&matrix.outliers(), view)
    };
    let small = of(8, false);
    println!("{small}");
    let row = small.lines().find(|line| line.contains("node3")).unwrap();
    assert!(row.starts_with("4 node3 ! "), "{small}");
    assert!(row.matches('.').count() >= 7, "{small}");
    assert_eq!(
        small.lines().filter(|line| line.contains("!")).count(),
        2,
        "{small}"
    );
    let large = of(24, false);
    println!("{large}");
    let row = large.lines().find(|line| line.contains("node3 ")).unwrap();
    assert_eq!(row.matches('.').count(), 23, "{large}");
    assert!(
        large.contains(". 9.") && large.contains("! outlier"),
        "{large}"
    );
    // Colours add nothing but colours.
    let mut coloured = of(24, true);
    assert!(coloured.contains("\u{1b}[38;5;"));
    while let Some(begin) = coloured.find('\u{1b}') {
        let end = begin + coloured[begin..].find('m').unwrap();
        coloured.replace_range(begin..=end, "");
    }
    assert_eq!(coloured, large);
}

#[test]
fn a_matrix_without_a_value_says_so() {
    let mut matrix = Matrix::new(throughput(), members(3));
    matrix.set(Cell { from: 0, to: 1 }, Ok(f64::NAN));
    assert_eq!(matrix.outliers(), []);
    assert_eq!(
        matrix.text(&[], MatrixView::default()),
        "throughput: no value\n"
    );
}

#[test]
fn cells_come_back_as_they_were_written() {
    let head = head(3);
    let values = |from, to, values: [Option<f64>; 2]| CellRecord {
        cell: Cell { from, to },
        round: 0,
        again: false,
        window: None,
        outcome: CellOutcome::Values(values.to_vec()),
    };
    let missing = CellRecord {
        cell: Cell { from: 2, to: 0 },
        round: 4,
        again: false,
        window: None,
        outcome: CellOutcome::Missing("lost".to_owned()),
    };
    let cells = [
        values(0, 1, [Some(9.5e8), Some(1e-3)]),
        values(1, 2, [Some(9.4e8), None]),
        missing,
    ];
    let mut writer = CellWriter::new(Vec::new(), &head).unwrap();
    cells.iter().for_each(|cell| writer.write(cell).unwrap());
    let written = writer.finish(false, vec!["node2".to_owned()]).unwrap();
    let text = String::from_utf8(written.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[2],
        r#"{"from":1,"to":2,"round":0,"values":[940000000.0,null]}"#
    );
    assert_eq!(lines[3], r#"{"from":2,"to":0,"round":4,"missing":"lost"}"#);
    let mut reader = CellReader::new(written.as_slice()).unwrap();
    assert_eq!(reader.head(), &head);
    let read: Vec<CellRecord> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(read, cells);
    let end = reader.end();
    assert_eq!((end.complete, end.cells), (false, 3));
    assert_eq!(end.missing_members, ["node2"]);
    // A writer that was killed leaves part of a line, and no end.
    let cut = &written[..text.find("lost").unwrap()];
    let mut reader = CellReader::new(cut).unwrap();
    let matrices = reader.matrices().unwrap();
    assert_eq!(
        matrices[0].get(Cell { from: 0, to: 1 }),
        CellValue::Value(9.5e8)
    );
    assert_eq!(
        matrices[1].get(Cell { from: 1, to: 2 }),
        CellValue::Missing(NO_VALUE)
    );
    assert_eq!((reader.end().complete, reader.end().cells), (false, 2));
}

#[test]
fn a_cell_of_several_rounds_has_their_median() {
    let mut matrix = Matrix::new(throughput(), members(2));
    let cell = Cell { from: 0, to: 1 };
    let mut record = CellRecord {
        cell,
        round: 0,
        again: false,
        window: None,
        outcome: CellOutcome::Missing("lost".to_owned()),
    };
    matrix.add(&record, 0);
    assert!(!matrix.has_values());
    for value in [9.0, 1.0, 2.0] {
        record.outcome = CellOutcome::Values(vec![Some(value)]);
        matrix.add(&record, 0);
    }
    record.outcome = CellOutcome::Missing("lost".to_owned());
    matrix.add(&record, 0);
    record.again = true;
    record.outcome = CellOutcome::Values(vec![Some(100.0)]);
    matrix.add(&record, 0);
    assert_eq!(matrix.get(cell), CellValue::Value(2.0));
    matrix.join(Cell { from: 2, to: 0 }, Ok(1.0));
}

#[test]
fn lines_that_are_no_cells_are_refused() {
    let head = serde_json::to_string(&head(3)).unwrap();
    let refused = |lines: &str| {
        let text = format!("{head}\n{lines}\n");
        let reader = CellReader::new(text.as_bytes()).unwrap();
        let error = reader.map(|cell| cell.map(drop)).find_map(Result::err);
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(
        refused(r#"{"from":0,"to":3,"missing":""}"#),
        "line 2: there is no member 3"
    );
    assert_eq!(
        refused(r#"{"from":0,"to":1,"values":[1.0]}"#),
        "line 2: 1 values of 2 metrics"
    );
    assert_eq!(refused("[]"), "line 2: neither a cell nor the end");
    assert!(refused(&"x".repeat(100_000)).contains("more than 65536 bytes"));
    for first in ["", "{}\n", "{\"schema\":\"netperf-1\"}\n"] {
        assert!(CellReader::new(first.as_bytes()).is_err());
    }
    let other = head.replace(CELLS_SCHEMA, "netperf-cells-9") + "\n";
    let error = CellReader::new(other.as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with("the schema is netperf-cells-9"), "{error}");
}

#[test]
fn a_report_has_outliers_and_pairs_of_racks() {
    let matrix = matrix(12);
    let outliers = matrix.outliers();
    let notes = vec!["confirmed".to_owned()];
    let reported = matrix.reported(("throughput", "10 s windows."), &outliers, &notes);
    let [found, racks] = reported.tables.as_slice() else {
        panic!("{:?}", reported.tables);
    };
    assert_eq!(
        (found.rows.len(), found.rows[0][1].as_str()),
        (2, "confirmed")
    );
    // The diagonal of a rack is empty.
    assert_eq!(racks.rows.len(), 9);
    assert_eq!(
        (racks.rows[0][0].as_str(), racks.rows[0][4].as_str()),
        ("r0", "12")
    );
    let worst = &racks.rows[0][3];
    assert!(
        worst.starts_with("9.") || worst.starts_with("10."),
        "{worst}"
    );
    assert_eq!(reported.map.row_flags, [3]);
    let report = netperf_web::MatrixReport {
        matrices: vec![reported],
        ..netperf_web::MatrixReport::default()
    };
    assert!(report.page().unwrap().contains("sender node3: "));
}

#[test]
fn campaigns_are_compared_by_the_names_of_members() {
    let first = matrix(12);
    // The same members in the opposite order, and one path that is slower.
    let mut later = Matrix::new(throughput(), members(12).into_iter().rev().collect());
    let mut dice = Dice::new(8);
    for from in 0..12 {
        for to in 0..12 {
            let CellValue::Value(value) = first.get(Cell { from, to }) else {
                continue;
            };
            let slower = if (from, to) == (8, 9) { 0.5 } else { 1.0 };
            let cell = Cell {
                from: 11 - from,
                to: 11 - to,
            };
            later.set(cell, Ok(value * slower * (0.01 * dice.normal()).exp()));
        }
    }
    let change = first.compare(&later).unwrap();
    let changed: Vec<(usize, usize)> = change
        .cells
        .iter()
        .filter(|cell| cell.changed)
        .map(|cell| cell.at)
        .collect();
    assert_eq!(changed, [(8, 9)]);
    assert!((change.median - 1.0).abs() < 0.01);
    assert_eq!(change.cells.len(), 12 * 11 - 1);
    let mut other = throughput();
    other.name = "latency".to_owned();
    let other = Matrix::new(other, members(12));
    assert_eq!(first.compare(&other), None);
}
