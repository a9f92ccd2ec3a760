//! A campaign in progress on a whole screen: its hosts, its rounds, and the matrix while it fills.

use std::fmt::Write as _;

use netperf_comparison::Letters;
use netperf_web::chart::ValueClasses;
use netperf_web::escape::line;

use super::view::{margin, rows};
use super::{Matrix, MatrixView};
use crate::progress::plural;

/// Lines above the matrix and below it, without events.
const FRAME: usize = 7;
/// Most lines for what happened.
const MOST_EVENTS: usize = 4;

/// Contents of a screen.
#[derive(Clone, Copy, Debug)]
pub struct CampaignScreen<'a> {
    /// The campaign in words.
    pub title: &'a str,
    /// The hosts by state.
    pub hosts: &'a str,
    /// Rounds that are over, and all.
    pub rounds: (usize, usize),
    /// Time left in words.
    pub left: &'a str,
    /// Events, the newest last.
    pub events: &'a [String],
    /// The matrix of the main figure, once a value has come.
    pub matrix: Option<&'a Matrix>,
}

impl CampaignScreen<'_> {
    /// The lines of a screen of so many rows: at most `view.width` letters each, apart from
    /// colours.
    #[must_use]
    pub fn lines(&self, rows: usize, view: MatrixView) -> Vec<String> {
        let cut = |text: &str| -> String { line(text).chars().take(view.width).collect() };
        let mut lines = vec![
            cut(self.title),
            cut(self.hosts),
            self.bar(view),
            String::new(),
        ];
        let events = self.events.len().min(MOST_EVENTS);
        let events = self
            .events
            .get(self.events.len() - events..)
            .unwrap_or_default();
        let room = rows.saturating_sub(FRAME + events.len());
        match self.matrix {
            Some(matrix) => lines.extend(matrix.part(room, view)),
            None => lines.push("no value yet".to_owned()),
        }
        let below: Vec<String> = events.iter().map(|event| cut(event)).collect();
        lines.truncate(rows.saturating_sub(below.len() + 1));
        lines.extend(below);
        lines.push(cut("q ends the campaign"));
        lines.truncate(rows);
        match view.letters {
            Letters::Unicode => lines,
            Letters::Ascii => lines.iter().map(|line| ascii(line)).collect(),
        }
    }

    fn bar(&self, view: MatrixView) -> String {
        let (done, rounds) = self.rounds;
        let said = format!(" {done} of {}; {} left", plural(rounds, "round"), self.left);
        let width = view.width.saturating_sub(said.chars().count() + 2).min(40);
        let full = (width * done).checked_div(rounds).unwrap_or(0).min(width);
        let bar = format!("[{}{}]", "#".repeat(full), ".".repeat(width - full));
        let text: String = format!("{bar}{said}").chars().take(view.width).collect();
        text
    }
}

fn ascii(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ").replace('…', "..")
}

impl Matrix {
    /// The matrix in at most so many lines; several members share a row where there are too few.
    fn part(&self, most: usize, view: MatrixView) -> Vec<String> {
        let map = self.map(&[]);
        let title = line(&self.figure.name);
        let Some(classes) = ValueClasses::of(map.values()) else {
            return vec![format!("{title}: no value")];
        };
        // Two lines are the title and the numbers of columns.
        let most = most.saturating_sub(2).max(1);
        let longest = margin(&map, view);
        let room = view.width.saturating_sub(longest.1).max(1);
        let widths = [8, 7, 6, 2, 1];
        let members = map.names.len();
        let fits = |width: &usize| members * width <= room && members <= most;
        let width = widths.into_iter().find(fits).unwrap_or(1);
        let shown = map.grouped((room / width).min(most));
        let (_, sign) = classes.labels(&map.unit);
        let each = members.div_ceil(shown.names.len().max(1));
        let mut text = String::new();
        let shared = if each > 1 {
            format!("; each letter is the median of {each} x {each} paths")
        } else {
            String::new()
        };
        let head = format!("{title}, {sign}; rows send{shared}");
        let head: String = head.chars().take(view.width).collect();
        _ = writeln!(text, "{head}");
        rows(&mut text, &shown, view, (longest.0, width), &classes);
        text.lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixMember;
    use crate::outcome::FIGURES;
    use crate::pattern::Cell;

    fn matrix(members: usize, filled: usize) -> Matrix {
        let member = |at: usize| MatrixMember {
            name: format!("node-{at}"),
            ..MatrixMember::default()
        };
        let mut matrix = Matrix::new(FIGURES[0].of_matrix(), (0..members).map(member).collect());
        for from in 0..filled {
            for to in (0..members).filter(|to| *to != from) {
                let share = f64::from(u32::try_from((from * 7 + to) % 10).unwrap());
                matrix.set(Cell { from, to }, Ok(1e9 + 1e7 * share));
            }
        }
        matrix
    }

    #[test]
    fn every_screen_fits_its_terminal() {
        for (columns, rows) in [(80, 24), (120, 40), (20, 6), (40, 3)] {
            for members in [2, 8, 16, 40, 300] {
                for letters in [Letters::Unicode, Letters::Ascii] {
                    let matrix = matrix(members, members / 2);
                    let events = ["h3 is lost: it is silent for 2 s".to_owned()];
                    let screen = CampaignScreen {
                        title: "Campaign 0123456789abcdef: pairs of 300 members, TCP_STREAM",
                        hosts: "300 hosts: 150 measuring, 149 idle, 1 lost",
                        rounds: (3, 14),
                        left: "3 min 20 s",
                        events: &events,
                        matrix: Some(&matrix),
                    };
                    let view = MatrixView {
                        width: columns,
                        letters,
                        colour: false,
                    };
                    let lines = screen.lines(rows, view);
                    assert!(lines.len() <= rows, "{members}: {lines:?}");
                    for line in &lines {
                        assert!(line.chars().count() <= columns, "{members}: {line}");
                        assert!(letters == Letters::Unicode || line.is_ascii(), "{line}");
                    }
                    if columns >= 80 {
                        let all = lines.join("\n");
                        assert!(all.contains("] 3 of 14 rounds; 3 min 20 s left"), "{all}");
                        assert!(
                            all.contains("h3 is lost") && all.contains("q ends"),
                            "{all}"
                        );
                        assert!(all.contains("throughput, Gbit/s"), "{all}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_screen_without_a_value_says_so() {
        let screen = CampaignScreen {
            title: "",
            hosts: "",
            rounds: (0, 0),
            left: "",
            events: &[],
            matrix: None,
        };
        let lines = screen.lines(24, MatrixView::default());
        assert!(lines.contains(&"no value yet".to_owned()), "{lines:?}");
    }
}
