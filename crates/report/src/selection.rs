//! Which selectors to print: parsing of lists and files (cli.md 5.1).

use netperf_model::{Format, ReportPlan, SelectionSource, TestId, TestPlan};
use thiserror::Error;

use crate::latency::LatencyColumn;
use crate::selectors::{self, BLOCKS, Need, OUTPUT_END, OUTPUT_NONE, Selector};
use crate::view::View;

/// A list or file has at most this many blocks; the rest is ignored.
const MOST_BLOCKS: usize = 4;

/// A name in a file must be shorter than this.
const LONGEST_NAME: usize = 80;

/// One column, or what stands in its place.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A selector.
    Known(&'static Selector),
    /// A selector of operation times that the table does not list.
    Latency(LatencyColumn),
    /// A name in a list that no selector has.
    Unknown,
}

impl Entry {
    /// The selector called `name`, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let in_table = selectors::by_name(name).map(Self::Known);
        in_table.or_else(|| LatencyColumn::named(name).map(Self::Latency))
    }

    /// Its name; `None` for a name that no selector has.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Known(row) => Some(&row.name),
            Self::Latency(column) => Some(column.name()),
            Self::Unknown => None,
        }
    }

    /// Its header lines, empty where it has fewer than four.
    #[must_use]
    pub fn header(&self) -> [String; 4] {
        match self {
            Self::Known(row) => row.header.clone(),
            Self::Latency(column) => column.header(),
            Self::Unknown => [const { String::new() }; 4],
        }
    }

    /// The header lines that are not empty, joined by single blanks.
    #[must_use]
    pub fn heading(&self) -> String {
        let lines = self.header();
        let used = lines.into_iter().filter(|line| !line.is_empty());
        used.collect::<Vec<String>>().join(" ")
    }

    /// Its value as printed; `None` when it is to be left out.
    #[must_use]
    pub fn print(&self, view: &View<'_>) -> Option<String> {
        match self {
            Self::Known(row) => row.print(view),
            Self::Latency(column) => column.print(view),
            Self::Unknown => None,
        }
    }

    const fn need(&self) -> Need {
        match self {
            Self::Known(row) => row.need,
            Self::Latency(column) if column.needs_latency() => Need::Latency,
            Self::Latency(_) | Self::Unknown => Need::Nothing,
        }
    }
}

/// Values to print, block by block.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The blocks, in order; a block may be empty.
    pub blocks: Vec<Vec<Entry>>,
    /// Measurements that it needs.
    pub needs: Needs,
}

/// Measurements beyond those of every run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Times of single operations.
    pub latency: bool,
    /// The congestion control in force.
    pub congestion: bool,
    /// Facts about the hosts.
    pub hosts: bool,
}

/// A name in a selection file is too long. The text is the line for standard output; the
/// original swaps the two numbers, and scripts see them so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Output selection starting column {line} on line {characters} is too long")]
pub struct SelectionError {
    /// Its line, from 1.
    pub line: usize,
    /// The characters of the file up to where it became too long, plus one.
    pub characters: usize,
}

impl SelectionError {
    /// The exit status the original gives.
    pub const EXIT: u8 = 255;
}

/// How `?` lists the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// One per line (`-O`).
    Lines,
    /// All on one line with commas (`-k`, `-o`).
    Commas,
    /// Those beyond the original's too, one per line with its meaning.
    Meanings,
}

/// All names, in order, with the closing newline.
#[must_use]
pub fn all_names(listing: Listing) -> String {
    let separator = match listing {
        Listing::Lines => "\n",
        Listing::Commas => ",",
        Listing::Meanings => return meanings(),
    };
    selectors::names().join(separator) + "\n"
}

fn meanings() -> String {
    let line = |row: &Selector| format!("{:<28} {} [{}]\n", row.name, row.meaning, row.unit);
    selectors::all().map(line).collect::<String>()
        + "P<number>_LATENCY and P<number>_LATENCY_NS: that percentile, as in P99.99_LATENCY_NS\n"
}

impl Selection {
    /// The selection that a report will print; OMNI has one without being asked.
    /// `None` for the classic layouts.
    ///
    /// # Errors
    /// When a name in a selection file is too long.
    pub fn of(plan: &TestPlan, report: &ReportPlan) -> Result<Option<Self>, SelectionError> {
        let source = match &report.format {
            Format::Classic if plan.test == TestId::Omni => &SelectionSource::Default,
            Format::Classic
            | Format::Json
            | Format::JsonStream
            | Format::Human
            | Format::Iperf(_) => return Ok(None),
            Format::Columns(source) | Format::Csv(source) | Format::Keyval(source) => source,
        };
        let mut selection = match source {
            SelectionSource::Default => Self::default_for(plan),
            SelectionSource::All => Self::all(),
            SelectionSource::List(list) => Self::from_list(list),
            SelectionSource::File(text) => Self::from_file(text)?,
        };
        if report.debug > 0 {
            selection.drop_unknown();
        }
        Ok(Some(selection))
    }

    /// With `-d` the original skips unknown names altogether.
    fn drop_unknown(&mut self) {
        for block in &mut self.blocks {
            block.retain(|entry| !matches!(entry, Entry::Unknown));
        }
    }

    /// Every selector, in four blocks.
    #[must_use]
    pub fn all() -> Self {
        let block = |rows: &'static Vec<Selector>| rows.iter().map(Entry::Known).collect();
        Self::from_blocks(BLOCKS.iter().map(block).collect())
    }

    /// A list: `;` between blocks; commas and blanks between names.
    #[must_use]
    pub fn from_list(list: &str) -> Self {
        let entry = |name: &str| Entry::named(name).unwrap_or(Entry::Unknown);
        let block = |names: &str| {
            let names = names.split([',', ' ']).filter(|name| !name.is_empty());
            without_end(names.map(entry))
        };
        Self::from_blocks(list.split(';').take(MOST_BLOCKS).map(block).collect())
    }

    /// A file: one block per line, names between commas, blanks part of names.
    ///
    /// # Errors
    /// When a name is too long.
    pub fn from_file(text: &str) -> Result<Self, SelectionError> {
        check_lengths(text)?;
        let block = |line: &str| without_end(line.split(',').map(entry_in_file));
        let mut selection = Self::from_blocks(text.lines().take(MOST_BLOCKS).map(block).collect());
        // The original switches the statistics on for lists only.
        selection.needs.latency = false;
        Ok(selection)
    }

    /// Default selection of a test for a format.
    #[must_use]
    pub fn default_for(plan: &TestPlan) -> Self {
        let names = if plan.flow.counts_transactions() {
            TRANSACTIONS
        } else if plan.flow.duplex.is_some() {
            BOTH_WAYS
        } else if plan.flow.receives {
            RECEIVE
        } else {
            SEND
        };
        let wants_cpu = plan.local.cpu.is_some() || plan.remote.cpu.is_some();
        let cpu = if wants_cpu { CPU } else { "" };
        Self::from_list(&[names, cpu].concat())
    }

    /// A line about what a source selects that is not printed; `None` if all of it is.
    #[must_use]
    pub fn left_out(source: &SelectionSource) -> Option<String> {
        let (blocks, unit): (Vec<&str>, _) = match source {
            SelectionSource::List(list) => (list.split(';').collect(), "part between semicolons"),
            SelectionSource::File(text) => (text.lines().collect(), "line"),
            SelectionSource::Default | SelectionSource::All => return None,
        };
        let beyond = blocks.get(MOST_BLOCKS..)?;
        let names = beyond.iter().flat_map(|block| block.split([',', ' ']));
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "output selection: {} not in force, because a selection has no fifth {unit}: join \
                 them with commas",
                names.join(",")
            )
        })
    }

    fn from_blocks(blocks: Vec<Vec<Entry>>) -> Self {
        let needs = |wanted: Need| {
            let mut entries = blocks.iter().flatten();
            entries.any(|entry| entry.need() == wanted)
        };
        let needs = Needs {
            latency: needs(Need::Latency),
            congestion: needs(Need::Congestion),
            hosts: needs(Need::Hosts),
        };
        Self { blocks, needs }
    }
}

/// The entries without OUTPUT_END, which selects nothing.
fn without_end(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let is_end = |entry: &Entry| entry.name() == Some(OUTPUT_END);
    entries.filter(|entry| !is_end(entry)).collect()
}

/// A name in a file may also be the header words; what is neither becomes the
/// filler column.
fn entry_in_file(name: &str) -> Entry {
    let by_heading = || {
        selectors::original()
            .find(|row| row.heading().eq_ignore_ascii_case(name))
            .map(Entry::Known)
    };
    Entry::named(name)
        .or_else(by_heading)
        .or_else(|| Entry::named(OUTPUT_NONE))
        .unwrap_or(Entry::Unknown)
}

fn check_lengths(text: &str) -> Result<(), SelectionError> {
    let (mut line, mut length) = (1, 0);
    for (at, character) in text.chars().enumerate() {
        if character == '\n' {
            line += 1;
        }
        length = if matches!(character, '\n' | ',') {
            0
        } else {
            length + 1
        };
        if line > MOST_BLOCKS {
            break;
        }
        if length == LONGEST_NAME {
            let characters = at + 2;
            return Err(SelectionError { line, characters });
        }
    }
    Ok(())
}

const SEND: &str =
    "LSS_SIZE_END,RSR_SIZE_END,LOCAL_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";

const RECEIVE: &str =
    "RSS_SIZE_END,LSR_SIZE_END,REMOTE_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";

const BOTH_WAYS: &str = "LOCAL_SEND_SIZE,REMOTE_SEND_SIZE,ELAPSED_TIME,REMOTE_RECV_THROUGHPUT,\
                         LOCAL_RECV_THROUGHPUT,THROUGHPUT,THROUGHPUT_UNITS";

const TRANSACTIONS: &str = "LSS_SIZE_END,LSR_SIZE_END,RSR_SIZE_END,RSS_SIZE_END,REQUEST_SIZE,\
                            RESPONSE_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";

/// Appended to the others if an end measures CPU utilisation.
const CPU: &str = ",LOCAL_CPU_UTIL,LOCAL_CPU_PERCENT_USER,LOCAL_CPU_PERCENT_SYSTEM,\
                   LOCAL_CPU_PERCENT_IOWAIT,LOCAL_CPU_PERCENT_IRQ,LOCAL_CPU_PERCENT_SWINTR,\
                   LOCAL_CPU_METHOD,REMOTE_CPU_UTIL,REMOTE_CPU_PERCENT_USER,\
                   REMOTE_CPU_PERCENT_SYSTEM,REMOTE_CPU_PERCENT_IOWAIT,REMOTE_CPU_PERCENT_IRQ,\
                   REMOTE_CPU_PERCENT_SWINTR,REMOTE_CPU_METHOD,LOCAL_SD,REMOTE_SD,SD_UNITS";

#[cfg(test)]
mod tests {
    use super::*;

    fn names(selection: &Selection) -> Vec<Vec<&str>> {
        let mut blocks = Vec::new();
        for block in &selection.blocks {
            blocks.push(block.iter().map(|e| e.name().unwrap_or("?")).collect());
        }
        blocks
    }

    #[test]
    fn a_list_takes_commas_and_blanks_in_any_case() {
        let selection = Selection::from_list("throughput, Elapsed_Time LOCAL_SEND_SIZE,,bogus");
        assert_eq!(
            names(&selection),
            [["THROUGHPUT", "ELAPSED_TIME", "LOCAL_SEND_SIZE", "?"]]
        );
    }

    #[test]
    fn a_list_has_four_blocks_at_most_and_may_begin_with_an_empty_one() {
        let selection = Selection::from_list(";UUID;;UUID;UUID");
        assert_eq!(
            names(&selection),
            [vec![], vec!["UUID"], vec![], vec!["UUID"]]
        );
    }

    #[test]
    fn output_end_selects_nothing() {
        let selection = Selection::from_list("UUID,OUTPUT_END,PROTOCOL;DIRECTION");
        let expected = [vec!["UUID", "PROTOCOL"], vec!["DIRECTION"]];
        assert_eq!(names(&selection), expected);
    }

    #[test]
    fn a_file_keeps_blanks_in_names_and_knows_header_words() {
        let text = "THROUGHPUT, ELAPSED_TIME,Throughput Units\nmean_latency\n\nUUID\nPROTOCOL\n";
        let selection = Selection::from_file(text).unwrap();
        assert_eq!(
            names(&selection),
            [
                vec!["THROUGHPUT", "OUTPUT_NONE", "THROUGHPUT_UNITS"],
                vec!["MEAN_LATENCY"],
                vec!["OUTPUT_NONE"],
                vec!["UUID"],
            ]
        );
        assert!(!selection.needs.latency);
    }

    #[test]
    fn any_percentile_is_a_name_in_lists_and_files_but_not_in_all() {
        let expected = [["P99.9_LATENCY", "MIN_LATENCY_NS"]];
        let list = "p99.9_latency,Min_Latency_ns";
        assert_eq!(names(&Selection::from_list(list)), expected);
        let file = Selection::from_file(list).unwrap();
        assert_eq!(names(&file), expected);
        assert!(!file.needs.latency);
        assert_eq!(names(&Selection::all()).concat().len(), 173);
    }

    #[test]
    fn a_name_of_eighty_characters_in_a_file_is_refused_with_swapped_numbers() {
        let error = Selection::from_file(&"A".repeat(81)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Output selection starting column 1 on line 81 is too long"
        );
        assert!(Selection::from_file(&"A".repeat(79)).is_ok());
    }

    #[test]
    fn latency_and_congestion_control_are_needed_only_when_listed() {
        assert_eq!(Selection::from_list("RT_LATENCY").needs, Needs::default());
        assert!(Selection::from_list("p50_lATENCY").needs.latency);
        assert!(Selection::from_list("P99.99_LATENCY").needs.latency);
        assert!(Selection::from_list("LOCAL_CONG_CONTROL").needs.congestion);
        assert!(Selection::from_list("remote_sysname").needs.hosts);
        let everything = Needs {
            latency: true,
            congestion: true,
            hosts: true,
        };
        assert_eq!(Selection::all().needs, everything);
    }

    #[test]
    fn every_default_selection_names_selectors_that_exist() {
        for list in [SEND, RECEIVE, BOTH_WAYS, TRANSACTIONS, CPU] {
            let selection = Selection::from_list(list);
            let names = names(&selection).concat();
            assert!(!names.contains(&"?"), "{list}");
        }
    }

    #[test]
    fn meanings_have_a_line_for_each_selector() {
        let text = all_names(Listing::Meanings);
        for name in ["THROUGHPUT", "RATE_SEED", "UDP_LOST", "UNTIL_END"] {
            let listed = text
                .lines()
                .any(|line| line.split(' ').next() == Some(name));
            assert!(listed, "{name}");
        }
        assert_eq!(text.lines().count(), selectors::all().count() + 1);
    }
}
