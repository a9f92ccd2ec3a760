//! Which lines the options choose, and the titles that were printed.

use std::net::SocketAddr;

use super::shown_address;
use crate::options::Iperf2Args;

impl Iperf2Args {
    /// True if the lines of this letter of `-x` are left out, as all are with `-y C`.
    pub fn leaves_out(&self, letter: char) -> bool {
        self.csv || self.left_out.contains(letter)
    }

    /// True if heads are printed.
    pub fn shows_heads(&self) -> bool {
        !self.leaves_out('S')
    }

    /// True if connections have lines.
    pub fn shows_connections(&self) -> bool {
        !self.sum_only && !self.leaves_out('C')
    }

    /// True if streams have their own rows, other than lines of comma-separated values.
    pub fn shows_rows(&self) -> bool {
        !self.sum_only && self.shows_sums()
    }

    /// True if several streams have a sum.
    pub fn shows_sums(&self) -> bool {
        !self.leaves_out('D')
    }

    /// An address, perhaps with its last part only (`--hide-ips`).
    pub fn shown(&self, address: SocketAddr) -> String {
        shown_address(address.ip(), self.hides_addresses)
    }
}

/// Titles that were printed.
#[derive(Debug, Default)]
pub struct PrintedTitles(Vec<&'static str>);

impl PrintedTitles {
    /// These titles, or nothing if they were printed before.
    pub fn print(&mut self, titles: &'static str) -> &'static str {
        if self.0.contains(&titles) {
            return "";
        }
        self.0.push(titles);
        titles
    }

    /// The next rows have titles again.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_printed_once_until_they_are_cleared() {
        let mut titles = PrintedTitles::default();
        assert_eq!([titles.print("a"), titles.print("b")], ["a", "b"]);
        assert_eq!(titles.print("a"), "");
        titles.clear();
        assert_eq!(titles.print("a"), "a");
    }

    #[test]
    fn letters_of_x_choose_lines() {
        let with = |left_out: &str, csv, sum_only| Iperf2Args {
            left_out: left_out.to_owned(),
            csv,
            sum_only,
            ..Iperf2Args::default()
        };
        let lines = |args: &Iperf2Args| {
            [
                args.shows_heads(),
                args.shows_connections(),
                args.shows_rows(),
                args.shows_sums(),
            ]
        };
        assert_eq!(lines(&with("", false, false)), [true; 4]);
        assert_eq!(lines(&with("", true, false)), [false; 4]);
        assert_eq!(lines(&with("S", false, false)), [false, true, true, true]);
        assert_eq!(lines(&with("", false, true)), [true, false, false, true]);
        assert_eq!(
            lines(&with("DC", false, false)),
            [true, false, false, false]
        );
    }
}
