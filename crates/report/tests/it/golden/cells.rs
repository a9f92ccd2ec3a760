//! Selector output as cells: read, changed, and laid out again.
//!
//! The layout here is written from the description of the formats, apart from
//! the one under test.

use netperf_model::{Format, ReportPlan};
use netperf_report::selection::{Entry, Selection};
use netperf_report::selectors::Selector;

/// One column with the value it shows, if it shows one.
pub(crate) struct Cell {
    pub(crate) row: Option<&'static Selector>,
    pub(crate) value: Option<String>,
}

/// The output of a selection, block by block.
pub(crate) struct Cells {
    pub(crate) blocks: Vec<Vec<Cell>>,
}

impl Cells {
    pub(crate) fn read(text: &str, selection: &Selection, report: &ReportPlan) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        match &report.format {
            Format::Keyval(_) => read_keyval(&lines, selection),
            Format::Csv(_) => read_csv(&lines, selection, report),
            Format::Columns(_)
            | Format::Classic
            | Format::Json
            | Format::JsonStream
            | Format::Human
            | Format::Iperf(_) => read_columns(&lines, selection, report),
        }
    }

    pub(crate) fn print(&self, report: &ReportPlan) -> String {
        match &report.format {
            Format::Keyval(_) => self.print_keyval(),
            Format::Csv(_) => self.print_csv(report.headers),
            Format::Columns(_)
            | Format::Classic
            | Format::Json
            | Format::JsonStream
            | Format::Human
            | Format::Iperf(_) => self.print_columns(report.headers),
        }
    }

    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.blocks.iter_mut().flatten()
    }

    fn print_keyval(&self) -> String {
        let mut out = String::new();
        for cell in self.blocks.iter().flatten() {
            if let (Some(row), Some(value)) = (cell.row, &cell.value) {
                out += &format!("{}={value}\n", row.name);
            }
        }
        out
    }

    fn print_csv(&self, headers: bool) -> String {
        if self.blocks.first().is_none_or(Vec::is_empty) {
            return String::new();
        }
        let cells = || self.blocks.iter().flatten();
        let names: Vec<String> = cells()
            .filter_map(|cell| Some(cell.row?.heading()))
            .collect();
        let mut out = String::new();
        if headers {
            out += &(names.join(",") + "\n");
        }
        let last = cells().count() - 1;
        for (at, cell) in cells().enumerate() {
            match &cell.value {
                Some(value) if at == last => out += value,
                Some(value) => out += &format!("{value},"),
                None if at == last => out += ",",
                None => out += ", ",
            }
        }
        out + "\n"
    }

    fn print_columns(&self, headers: bool) -> String {
        let mut out = String::new();
        for (number, block) in self.blocks.iter().enumerate() {
            if block.is_empty() {
                continue;
            }
            if number > 0 {
                out.push('\n');
            }
            let mut lines = vec![String::new(); 5];
            for cell in block {
                let width = cell.width();
                for (at, line) in lines.iter_mut().enumerate() {
                    let text = match (at, cell.row) {
                        (4, _) => cell.value.as_deref().unwrap_or(""),
                        (at, Some(row)) => row.header[at].as_str(),
                        (_, None) => "",
                    };
                    *line += &format!("{text:<width$}");
                }
            }
            let shown = if headers { &lines[..] } else { &lines[4..] };
            out += &(shown.join("\n") + "\n");
        }
        out
    }
}

impl Cell {
    fn width(&self) -> usize {
        let header = self.row.map_or(0, |row| {
            row.header.iter().map(String::len).max().unwrap_or(0)
        });
        let value = self.value.as_ref().map_or(0, |value| value.len() + 1);
        header.max(value) + 1
    }
}

fn row(entry: &Entry) -> Option<&'static Selector> {
    match entry {
        Entry::Known(row) => Some(row),
        Entry::Latency(column) => panic!("no transcript has {column:?}"),
        Entry::Unknown => None,
    }
}

fn read_keyval(lines: &[&str], selection: &Selection) -> Cells {
    let mut lines = lines.iter().peekable();
    let mut read = |entry: &Entry| {
        let row = row(entry);
        let value = row.and_then(|row| {
            let value = lines
                .peek()?
                .strip_prefix(row.name.as_str())?
                .strip_prefix('=')?;
            lines.next();
            Some(value.to_owned())
        });
        Cell { row, value }
    };
    let blocks = selection.blocks.iter();
    Cells {
        blocks: blocks
            .map(|block| block.iter().map(&mut read).collect())
            .collect(),
    }
}

fn read_csv(lines: &[&str], selection: &Selection, report: &ReportPlan) -> Cells {
    let mut rest = lines
        .get(usize::from(report.headers))
        .copied()
        .unwrap_or("");
    let mut read = |entry: &Entry| {
        let row = row(entry);
        let gap = row.is_none_or(|row| row.name == "RESULT_BRAND" && !rest.starts_with('"'));
        if gap {
            rest = rest.get(2..).unwrap_or("");
            return Cell { row, value: None };
        }
        let end = match rest.strip_prefix('"') {
            Some(quoted) => quoted.find('"').expect("a closing quote") + 2,
            None => rest.find(',').unwrap_or(rest.len()),
        };
        let value = rest[..end].to_owned();
        rest = rest.get(end + 1..).unwrap_or("");
        Cell {
            row,
            value: Some(value),
        }
    };
    let blocks = selection.blocks.iter();
    Cells {
        blocks: blocks
            .map(|block| block.iter().map(&mut read).collect())
            .collect(),
    }
}

fn read_columns(lines: &[&str], selection: &Selection, report: &ReportPlan) -> Cells {
    let mut at = 0;
    let mut blocks = Vec::new();
    for (number, block) in selection.blocks.iter().enumerate() {
        if block.is_empty() {
            blocks.push(Vec::new());
            continue;
        }
        at += usize::from(number > 0) + if report.headers { 4 } else { 0 };
        let mut rest = lines.get(at).copied().unwrap_or("");
        at += 1;
        let mut cells = Vec::new();
        for entry in block {
            let cell = Cell {
                row: row(entry),
                value: column_value(row(entry), rest),
            };
            rest = rest.get(cell.width()..).unwrap_or("");
            cells.push(cell);
        }
        blocks.push(cells);
    }
    Cells { blocks }
}

/// The value at the start of the rest of a line of columns.
fn column_value(row: Option<&'static Selector>, rest: &str) -> Option<String> {
    let row = row?;
    let end = match row.name.as_str() {
        "OUTPUT_NONE" => 1,
        "RESULT_BRAND" if !rest.starts_with('"') => return None,
        _ if rest.starts_with("IP Default") => "IP Default".len(),
        _ if rest.starts_with('"') => rest[1..].find('"')? + 2,
        _ => rest.find(' ').unwrap_or(rest.len()),
    };
    rest.get(..end).map(str::to_owned)
}
