//! A row of the selector table, and the selectors that it stands for.

use crate::control::Whose;
use crate::values::Value;
use crate::view::{EndView, View};

/// One selector.
#[derive(Debug)]
pub struct Selector {
    /// Its name, upper case.
    pub name: String,
    /// Its header lines, empty where it has fewer than four.
    pub header: [String; 4],
    /// The unit of its value.
    pub unit: &'static str,
    /// The printf format of its value.
    pub format: &'static str,
    /// Measurements that it needs beyond those of every run.
    pub need: Need,
    /// Its meaning, in one line.
    pub meaning: String,
    value: SelectorValue,
    /// The end that the value is of, if it is of one.
    whose: Whose,
}

/// The value of a selector.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SelectorValue {
    /// Of the run.
    Run(fn(&View<'_>) -> Value),
    /// Of one end.
    End(fn(&View<'_>, EndView<'_>) -> Value),
}

/// A row of the table: one selector, or one for each end. In rows of both ends `{END}` stands
/// for LOCAL or REMOTE, `{E}` for L or R, `{End}` for Local or Remote, and `{end}` for netperf
/// or netserver. A header line `a|b` is `a` at netperf's end and `b` at netserver's.
#[derive(Debug)]
pub(crate) struct SelectorRow {
    name: &'static str,
    header: [&'static str; 4],
    unit: &'static str,
    format: &'static str,
    need: Need,
    value: SelectorValue,
    meaning: &'static str,
}

impl SelectorRow {
    fn selector(&self, whose: Whose) -> Selector {
        let (upper, letter, word, program) = match whose {
            Whose::Local => ("LOCAL", "L", "Local", "netperf"),
            Whose::Remote => ("REMOTE", "R", "Remote", "netserver"),
        };
        let line = |line: &'static str| {
            let (local, remote) = line.split_once('|').unwrap_or((line, line));
            let own = if whose == Whose::Local { local } else { remote };
            own.replace("{End}", word)
        };
        Selector {
            name: self.name.replace("{END}", upper).replace("{E}", letter),
            header: self.header.map(line),
            unit: self.unit,
            format: self.format,
            need: self.need,
            meaning: self.meaning.replace("{end}", program),
            value: self.value,
            whose,
        }
    }
}

/// The selectors of a table. A group of rows of both ends has all selectors of netperf's end
/// in front of those of netserver's end.
pub(super) fn selectors(table: &[&[SelectorRow]]) -> Vec<Selector> {
    let mut selectors = Vec::new();
    for group in table {
        selectors.extend(group.iter().map(|row| row.selector(Whose::Local)));
        let of_both = |row: &&SelectorRow| matches!(row.value, SelectorValue::End(_));
        let of_both = group.iter().filter(of_both);
        selectors.extend(of_both.map(|row| row.selector(Whose::Remote)));
    }
    selectors
}

/// Needs of a selector beyond the measurements of every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Times of single operations.
    Latency,
    /// The congestion control in force.
    Congestion,
    /// Facts about the hosts.
    Hosts,
}

impl Selector {
    /// The header lines that are not empty, joined by single blanks.
    #[must_use]
    pub fn heading(&self) -> String {
        let lines = self.header.iter().filter(|line| !line.is_empty());
        lines.cloned().collect::<Vec<_>>().join(" ")
    }

    /// The value of this selector as printed; `None` when it is to be left out.
    #[must_use]
    pub fn print(&self, view: &View<'_>) -> Option<String> {
        let value = match self.value {
            SelectorValue::Run(value) => value(view),
            SelectorValue::End(value) => value(view, view.end(self.whose)),
        };
        value.print(self.format)
    }
}

/// A row, column by column.
pub(crate) const fn row(
    name: &'static str,
    header: [&'static str; 4],
    unit: &'static str,
    format: &'static str,
    need: Need,
    value: SelectorValue,
    meaning: &'static str,
) -> SelectorRow {
    SelectorRow {
        name,
        header,
        unit,
        format,
        need,
        value,
        meaning,
    }
}
