//! Reads snapshots from text: of this program, of `netstat -s` and of `ethtool -S`.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{CounterSnapshot, HostCounter, SnapshotForm, SnapshotOrigin};

/// First words of a snapshot of this program.
pub(super) const ORIGIN: &str = "# netperf counters ";

/// Lines of `netstat -s` with a value that counts nothing.
const NO_COUNTERS: [&str; 2] = ["Forwarding", "connections established"];

/// Placeholder of the number in the name of a counter of `netstat -s`.
const PLACE: &str = "N";

/// Why a text is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// It has no counter.
    #[error("no counters: expected the output of netperf counters, netstat -s or ethtool -S")]
    Nothing,
    /// A value is not one of a counter.
    #[error("line {line}: {value} is not the value of a counter, from 0 to 18446744073709551615")]
    Value {
        /// The line, from 1.
        line: usize,
        /// The text there.
        value: String,
    },
    /// The first line is cut.
    #[error("line 1: no time and no boot identifier, as netperf counters writes them")]
    Origin,
}

/// Reads the counters of a text. Lines without a number are titles.
///
/// # Errors
/// When it has none, or a value that is not one.
pub fn parsed(text: &str) -> Result<CounterSnapshot, SnapshotError> {
    let origin = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(ORIGIN));
    let origin = origin.map(origin_of).transpose()?;
    let mut reader = CounterReader::default();
    for (number, line) in (1..).zip(text.lines()) {
        if !line.starts_with('#') {
            reader.line(number, line)?;
        }
    }
    if reader.counters.is_empty() {
        return Err(SnapshotError::Nothing);
    }
    let form = if origin.is_some() {
        SnapshotForm::Own
    } else if reader.has_sentences {
        SnapshotForm::Netstat
    } else {
        SnapshotForm::Ethtool
    };
    Ok(CounterSnapshot {
        form,
        origin,
        counters: reader.counters,
    })
}

fn origin_of(words: &str) -> Result<SnapshotOrigin, SnapshotError> {
    let (time, boot) = words.split_once(' ').ok_or(SnapshotError::Origin)?;
    let time: f64 = time.parse().map_err(|_| SnapshotError::Origin)?;
    if !time.is_finite() {
        return Err(SnapshotError::Origin);
    }
    Ok(SnapshotOrigin {
        time,
        boot: boot.trim().to_owned(),
    })
}

/// Lines read so far.
#[derive(Default)]
struct CounterReader {
    /// The title at the beginning of a line.
    section: String,
    /// A title within the section, and its indentation.
    title: Option<(usize, String)>,
    counters: Vec<HostCounter>,
    /// Number of times that a name has occurred.
    names: BTreeMap<(String, String), usize>,
    /// A counter is a sentence, as those of `netstat -s` are.
    has_sentences: bool,
}

impl CounterReader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), SnapshotError> {
        let words = line.trim();
        let indent = line.len() - line.trim_start().len();
        if self
            .title
            .as_ref()
            .is_some_and(|(outer, _)| indent <= *outer)
        {
            self.title = None;
        }
        if indent == 0 || self.section.is_empty() {
            // Counters are indented below a title.
            if let (0, Some(title)) = (indent, words.strip_suffix(':')) {
                title.clone_into(&mut self.section);
            }
        } else if let Some((name, value)) = named(words) {
            let value = value_of(number, value)?;
            self.has_sentences |= name == "Forwarding";
            self.add(name, value);
        } else if let Some(title) = words.strip_suffix(':') {
            self.title = Some((indent, title.to_owned()));
        } else {
            self.sentence(number, words)?;
        }
        Ok(())
    }

    /// A line in which numbers stand between words.
    fn sentence(&mut self, number: usize, words: &str) -> Result<(), SnapshotError> {
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let values: Vec<&str> = words.split_whitespace().filter(is_number).collect();
        let is_place = |word| if is_number(&word) { PLACE } else { word };
        let all: Vec<&str> = words.split_whitespace().map(is_place).collect();
        let name = all.join(" ");
        let name = name.strip_prefix("N ").unwrap_or(&name);
        for value in values {
            let value = value_of(number, value)?;
            self.has_sentences = true;
            self.add(name, value);
        }
        Ok(())
    }

    fn add(&mut self, name: &str, value: u64) {
        if NO_COUNTERS.contains(&name) {
            return;
        }
        let name = match &self.title {
            Some((_, title)) => format!("{title}: {name}"),
            None => name.to_owned(),
        };
        let key = (self.section.clone(), name.clone());
        let times = self.names.entry(key).or_default();
        *times += 1;
        let name = if *times == 1 {
            name
        } else {
            format!("{name} ({times})")
        };
        self.counters.push(HostCounter {
            section: self.section.clone(),
            name,
            value,
        });
    }
}

/// The value of a counter in this line.
fn value_of(line: usize, value: &str) -> Result<u64, SnapshotError> {
    value.parse().map_err(|_| SnapshotError::Value {
        line,
        value: value.to_owned(),
    })
}

/// A name and a number with a colon between them.
fn named(words: &str) -> Option<(&str, &str)> {
    let (name, value) = words.rsplit_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    let is_value = value
        .trim_start_matches('-')
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    (!name.is_empty() && value.ends_with(|last: char| last.is_ascii_digit()) && is_value)
        .then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(text: &str) -> Vec<(String, String, u64)> {
        let counters = parsed(text).unwrap().counters.into_iter();
        counters
            .map(|one| (one.section, one.name, one.value))
            .collect()
    }

    fn is(section: &str, name: &str, value: u64) -> (String, String, u64) {
        (section.to_owned(), name.to_owned(), value)
    }

    #[test]
    fn host_counters_of_netstat_are_read_with_their_titles() {
        let text = "Ip:\n    Forwarding: 2\n    452746086 total packets received\n\
                    Icmp:\n    1 input ICMP message failed\n    ICMP input histogram:\n        \
                    destination unreachable: 36025\n    3 ICMP messages sent\n    ICMP output \
                    histogram:\n        destination unreachable: 7\n\
                    Tcp:\n    1 connections established\n\
                    TcpExt:\n    Quick ack mode was activated 12 times\n    \
                    TCPSackShifted: 4\n    2 of 3 packets\n";
        assert_eq!(parsed(text).unwrap().form, SnapshotForm::Netstat);
        assert_eq!(
            each(text),
            [
                is("Ip", "total packets received", 452_746_086),
                is("Icmp", "input ICMP message failed", 1),
                is(
                    "Icmp",
                    "ICMP input histogram: destination unreachable",
                    36_025
                ),
                is("Icmp", "ICMP messages sent", 3),
                is("Icmp", "ICMP output histogram: destination unreachable", 7),
                is("TcpExt", "Quick ack mode was activated N times", 12),
                is("TcpExt", "TCPSackShifted", 4),
                is("TcpExt", "of N packets", 2),
                is("TcpExt", "of N packets (2)", 3),
            ]
        );
    }

    #[test]
    fn host_counters_of_ethtool_are_read_with_colons_in_their_names() {
        let text =
            "NIC statistics:\n     rx_packets: 17\n     [0]: rx_bytes: 18446744073709551615\n";
        assert_eq!(parsed(text).unwrap().form, SnapshotForm::Ethtool);
        assert_eq!(
            each(text),
            [
                is("NIC statistics", "rx_packets", 17),
                is("NIC statistics", "[0]: rx_bytes", u64::MAX)
            ]
        );
    }

    #[test]
    fn host_counters_are_refused_where_a_text_has_none_or_a_value_is_none() {
        for text in [
            "",
            "\n\n",
            "hello 5 worlds\n",
            "  5 packets\n",
            "Ip:\n    nothing here\n",
            "\0\u{1}",
        ] {
            assert_eq!(parsed(text), Err(SnapshotError::Nothing), "{text:?}");
        }
        for value in ["18446744073709551616", "-5"] {
            let wrong = SnapshotError::Value {
                line: 2,
                value: value.to_owned(),
            };
            assert_eq!(parsed(&format!("eth0:\n   rx: {value}\n")), Err(wrong));
        }
        let large = parsed("Ip:\n   18446744073709551616 packets\n");
        assert!(matches!(large, Err(SnapshotError::Value { line: 2, .. })));
        for first in ["# netperf counters \n", "# netperf counters inf b\n"] {
            let text = format!("{first}Ip:\n   InReceives: 1\n");
            assert_eq!(parsed(&text), Err(SnapshotError::Origin));
        }
    }
}
