//! Two outputs of one command line, figures apart: the round trip.
//!
//! A line with figures is alike when both lines are what printf makes of the same
//! row; every other line must be equal. Interim results come in any number.

use netperf_report::format::classic::rows::ROWS;

use super::Transcript;
use super::scan::{Read, scan};

/// Values that say what a host is.
const HOST_FACTS: [&str; 14] = [
    "SYSNAME",
    "SYSTEM_MODEL",
    "RELEASE",
    "VERSION",
    "MACHINE",
    "CPU_MODEL",
    "DRIVER",
    "SECURITY",
    "INTERFACE",
    "SLOT",
    "UUID",
    "COMMAND_LINE",
    "CONG_CONTROL",
    "CPU_FREQUENCY",
];

/// Shares of CPU time that were never asked for: memory never written to.
const RESIDUE: [&str; 2] = ["REMOTE_CPU_PERCENT", "REMOTE_CPU_PEAK"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Classic,
    Columns,
    Csv,
    Keyval,
}

impl Transcript {
    /// The test it runs, in upper case.
    pub(super) fn test(&self) -> String {
        let words = || self.argv.iter().take_while(|word| *word != "--");
        let pairs = words().zip(words().skip(1));
        let apart = pairs.filter(|(word, _)| *word == "-t");
        let glued = words().filter_map(|word| word.strip_prefix("-t"));
        let name = apart
            .map(|(_, name)| name.as_str())
            .chain(glued.filter(|name| !name.is_empty()))
            .last();
        name.unwrap_or("TCP_STREAM").to_ascii_uppercase()
    }

    fn format(&self) -> Format {
        let own = self.argv.iter().skip_while(|word| *word != "--");
        let chosen = own.filter_map(|word| match word.get(..2) {
            Some("-k") => Some(Format::Keyval),
            Some("-o") => Some(Format::Csv),
            Some("-O") => Some(Format::Columns),
            _ => None,
        });
        let without = if self.test() == "OMNI" {
            Format::Columns
        } else {
            Format::Classic
        };
        chosen.last().unwrap_or(without)
    }
}

/// The first difference, if there is any.
pub(crate) fn difference(transcript: &Transcript, stdout: &str) -> Option<String> {
    let format = transcript.format();
    let golden = full_build(&transcript.stdout);
    let (golden_interims, golden) = apart(&golden, format);
    let (interims, lines) = apart(stdout, format);
    if interims != golden_interims {
        return Some(format!("interim {interims:?}, not {golden_interims:?}"));
    }
    if lines.len() != golden.len() {
        return Some(format!("{} lines, not {}", lines.len(), golden.len()));
    }
    let test = transcript.test();
    let unlike = golden.iter().zip(&lines).find_map(|(golden, line)| {
        let same = golden == line || alike(format, &test, golden, line);
        (!same).then(|| format!("\n{line:?} is not like\n{golden:?}"))
    });
    unlike.or_else(|| (format == Format::Columns).then(|| ragged(&lines))?)
}

/// As a build prints it that has everything.
pub(crate) fn full_build(stdout: &str) -> String {
    if stdout.contains(": histogram : interval") {
        return stdout.to_owned();
    }
    stdout.replacen(" : demo", " : histogram : interval : dirty data : demo", 1)
}

/// The kinds of interim lines, in order and once each, and all other lines.
fn apart(text: &str, format: Format) -> (Vec<String>, Vec<&str>) {
    let mut interims = Vec::new();
    let mut others = Vec::new();
    for line in text.split('\n') {
        // The blanks in front pad the rate.
        let kind = masked(line.trim_start());
        if !is_interim(line, format) {
            others.push(line);
        } else if !interims.contains(&kind) {
            interims.push(kind);
        }
    }
    (interims, others)
}

fn is_interim(line: &str, format: Format) -> bool {
    let fields: Vec<&str> = line.split(',').collect();
    let csv = format == Format::Csv && fields.len() == 4 && fields[1].ends_with("/s");
    // A row of results has no time of day.
    let timed = || fields[3].starts_with("17") || fields[3].len() > 12;
    let keyval = ["RESULT[", "UNITS[", "INTERVAL[", "ENDING["]
        .iter()
        .any(|name| {
            line.strip_prefix("NETPERF_")
                .is_some_and(|rest| rest.starts_with(name))
        });
    let keyval = keyval || line.starts_with("NETPERF_INTERIM_RESULT[");
    line.starts_with("Interim result: ") || keyval || (csv && timed())
}

/// The line with `9` for every number, decimals kept.
pub(crate) fn masked(line: &str) -> String {
    let mut out = String::new();
    let mut whole = false;
    for letter in line.chars() {
        let digit = letter.is_ascii_digit();
        let decimal = out.ends_with('.') || out.ends_with(".9") || out.ends_with(".99");
        if !digit && letter != ' ' {
            out.push(letter);
        } else if letter == ' ' && !out.ends_with(' ') {
            out.push(' ');
        } else if digit && (!whole || decimal) {
            out.push('9');
        }
        whole = digit;
    }
    out
}

fn alike(format: Format, test: &str, golden: &str, line: &str) -> bool {
    histogram_row(golden, line)
        || match format {
            Format::Classic => same_row(test, golden, line),
            Format::Keyval => same_key(golden, line),
            Format::Csv => cells_alike(golden.split(','), line.split(',')),
            Format::Columns => cells_alike(golden.split_whitespace(), line.split_whitespace()),
        }
}

/// The rows a test can print.
fn rows_of(test: &str) -> &'static [&'static str] {
    match test {
        "TCP_RR" => &["R1c", "R1", "R2", "R3", "V0cb", "V0b"],
        "UDP_RR" => &["R1cu", "R1", "R2", "V0cb", "V0b"],
        "STREAM_STREAM" => &["X1c", "X1", "X2", "V0c", "V0"],
        "STREAM_RR" | "DG_RR" => &["C1c", "R1", "R2", "UA", "V0c", "V0"],
        "DG_STREAM" => &["D1c", "D1", "D2c", "D2", "V0x", "V0"],
        "TCP_CRR" | "TCP_CC" => &["C1c", "R1", "R2", "C3", "V0c", "V0"],
        "TCP_MSS" => &["MSSb"],
        "UDP_STREAM" => &["U1c", "U1", "U2c", "U2", "V0u", "V0"],
        "LOC_CPU" | "REM_CPU" => &["MSSb"],
        _ => &["S1c", "S1", "S2", "S2g", "MSS", "V0cb", "V0b"],
    }
}

fn template(id: &str) -> &'static str {
    let row = ROWS.iter().find(|row| row.id == id);
    row.expect("a row of the report").template
}

/// True if one row makes both lines, with the same sizes where they are settings.
fn same_row(test: &str, golden: &str, line: &str) -> bool {
    rows_of(test).iter().any(|id| {
        let read = |line| scan(template(id), line);
        let (Some(golden), Some(line)) = (read(golden), read(line)) else {
            return false;
        };
        settings(id).iter().all(|at| golden[*at] == line[*at]) && same_texts(&golden, &line)
    })
}

/// Which figures of a row are settings.
fn settings(id: &str) -> &'static [usize] {
    match id {
        "R1" | "R1c" | "R1cu" | "C1c" => &[2, 3],
        "R3" | "C3" => &[0, 1, 2, 3],
        "U1" | "U1c" => &[1],
        _ => &[],
    }
}

/// Brands and units are settings too.
fn same_texts(golden: &[Read], line: &[Read]) -> bool {
    let is_text = |read: &Read| matches!(read, Read::Text(_));
    let pairs = golden.iter().zip(line);
    pairs
        .filter(|(golden, _)| is_text(golden))
        .all(|(golden, line)| golden == line)
}

/// A decade of a histogram, or what stands below the decades.
fn histogram_row(golden: &str, line: &str) -> bool {
    let below = ["H9", "HT"].iter().any(|id| {
        let fits = |line| scan(template(id), line).is_some();
        fits(golden) && fits(line)
    });
    let split = |line: &str| {
        let (label, row) = line.split_at_checked(14)?;
        scan(template("H"), row)?;
        Some(label.to_owned())
    };
    below || (split(golden).is_some() && split(golden) == split(line))
}

fn same_key(golden: &str, line: &str) -> bool {
    let (Some((golden_key, golden)), Some((key, value))) =
        (golden.split_once('='), line.split_once('='))
    else {
        return false;
    };
    let free = HOST_FACTS.iter().any(|fact| key.contains(fact))
        || RESIDUE.iter().any(|residue| key.starts_with(residue));
    let tied = if free {
        !value.is_empty()
    } else {
        cell_alike(golden, value)
    };
    golden_key == key && tied
}

fn cells_alike<'a>(
    golden: impl Iterator<Item = &'a str> + Clone,
    line: impl Iterator<Item = &'a str> + Clone,
) -> bool {
    golden.clone().count() == line.clone().count()
        && golden
            .zip(line)
            .all(|(golden, cell)| cell_alike(golden, cell))
}

/// Numbers with as many decimals, or equal texts.
fn cell_alike(golden: &str, cell: &str) -> bool {
    // With `-o`, a blank takes the place of a value that is missing in front.
    if let (Some(golden), Some(cell)) = (golden.strip_prefix(' '), cell.strip_prefix(' ')) {
        return cell_alike(golden, cell);
    }
    let decimals = |text: &str| {
        let number: f64 = text.parse().ok()?;
        let fraction = text
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len());
        number.is_finite().then_some(fraction)
    };
    golden == cell || (decimals(golden).is_some() && decimals(golden) == decimals(cell))
}

/// Every line of a block of columns is padded to the same length.
fn ragged(lines: &[&str]) -> Option<String> {
    let blocks = lines.split(|line| line.is_empty() || line.contains(" TEST from "));
    let columns = |block: &&[&str]| block.iter().all(|line| line.ends_with(' '));
    let mut blocks = blocks.filter(|block| !block.is_empty()).filter(columns);
    let ragged = blocks.find(|block| block.iter().any(|line| line.len() != block[0].len()));
    ragged.map(|block| format!("ragged columns: {block:#?}"))
}

#[test]
fn masks_keep_decimals_and_nothing_else_of_a_number() {
    assert_eq!(
        masked("result: 54626.08 10^6bits/s"),
        "result: 9.99 9^9bits/s"
    );
    assert_eq!(masked("[12]=0.357"), "[9]=9.999");
}

#[test]
fn cells_are_alike_by_decimals_or_equal() {
    assert!(cell_alike("54.20", "7.00") && cell_alike("cubic", "cubic"));
    assert!(!cell_alike("54.20", "7.0") && !cell_alike("-1", "nan") && !cell_alike("a", "b"));
}
