//! The result of a campaign for a person: text and page.

use std::fmt::Write as _;

use netperf_comparison::Letters;
use netperf_stats::polish::Outlier;
use netperf_text::escape;
use netperf_text::unit::{Unit, quantity};
use netperf_web::table::Table;
use netperf_web::{MatrixReport, ReportedMatrix, TooLarge};

use super::{CampaignDocument, CampaignMember, sums_text};
use crate::matrix::{Matrix, MatrixView};
use crate::progress::plural;

/// Most reasons for doubt in the text.
const MOST_DOUBTS: usize = 30;
/// Most cells without a measurement that the text names.
const MOST_MISSING: usize = 10;

/// Adds a line. Words of agents and of files steer no terminal and begin no other line.
fn add_line(text: &mut String, words: String) {
    let _infallible = writeln!(text, "{}", escape::line(&words));
}

impl CampaignDocument {
    /// The result for a person. `matrices` are those of the document or of its file of cells.
    #[must_use]
    pub fn text(&self, matrices: &[Matrix], view: MatrixView) -> String {
        let mut text = String::new();
        let plan = &self.plan;
        // A file of cells does not say how many rounds there are.
        let rounds = self.cells.iter().map(|one| one.round + 1).max();
        let rounds = rounds.map_or_else(|| "windows".to_owned(), rounds_of);
        add_line(
            &mut text,
            format!(
                "Campaign {}: {} of {} members, {}, {rounds} of {} s",
                self.campaign,
                plan.pattern_name(),
                self.members.len(),
                plan.test,
                plan.window
            ),
        );
        if let Some(error) = self.cut_error_seconds {
            let error = quantity(error, Unit::Seconds);
            add_line(
                &mut text,
                format!("The clocks of the members agree to within {error}"),
            );
        }
        for (at, matrix) in matrices.iter().enumerate() {
            let with_and_without_load = matrix.figure.name.ends_with("loaded latency P99");
            if at > 0 && !with_and_without_load {
                continue;
            }
            let (outliers, notes) = self.reported(matrix);
            add_line(&mut text, String::new());
            let shown = matrix.text_with(&outliers, &notes, view);
            text.push_str(shown.trim_end());
            text.push('\n');
        }
        if matrices.len() > 1 {
            add_line(&mut text, String::new());
            add_line(&mut text, in_columns("metric", "median", "worst", "path"));
        }
        for matrix in matrices.iter().filter(|_| matrices.len() > 1) {
            if let Some(words) = summary(matrix) {
                add_line(&mut text, words);
            }
        }
        for matrix in matrices.iter().skip(1) {
            let (outliers, notes) = self.reported(matrix);
            for (outlier, note) in outliers.iter().zip(notes) {
                let said = matrix.describe(outlier);
                add_line(&mut text, format!("{}: {said}; {note}", matrix.figure.name));
            }
        }
        for words in self.sums_of_rounds() {
            add_line(&mut text, words);
        }
        add_line(&mut text, String::new());
        add_line(
            &mut text,
            format!(
                "Cells: {} of {} measured",
                self.cells_measured, self.cells_planned
            ),
        );
        self.add_remarks(&mut text);
        match view.letters {
            Letters::Unicode => text,
            Letters::Ascii => text.replace(['\u{a0}', '\u{202f}'], " "),
        }
    }

    /// Adds the reasons to doubt the result, and the cells without a measurement.
    fn add_remarks(&self, text: &mut String) {
        let doubts = self.doubts();
        let hidden = doubts.len().saturating_sub(MOST_DOUBTS);
        for doubt in doubts.into_iter().take(MOST_DOUBTS) {
            add_line(text, doubt);
        }
        if hidden > 0 {
            add_line(
                text,
                format!("and {}: see --json", plural(hidden, "more line")),
            );
        }
        let mut missing = self.cells.iter().filter(|one| one.missing.is_some());
        for cell in missing.by_ref().take(MOST_MISSING) {
            let name = |index: usize| self.members.get(index).map_or("", |one| &one.member.name);
            let why = cell.missing.as_deref().unwrap_or_default();
            add_line(
                text,
                format!("Missing: {} -> {}: {why}", name(cell.from), name(cell.to)),
            );
        }
        let hidden = missing.count();
        if hidden > 0 {
            add_line(text, format!("and {hidden} more missing cells: see --json"));
        }
    }

    /// The sums of patterns whose loads run at the same time, and of tests with CPU utilisation,
    /// below an empty line.
    fn sums_of_rounds(&self) -> Vec<String> {
        let mut members = self.sums.iter().flat_map(|sum| &sum.members);
        let has_cpu = members.any(|one| one.cpu_percent.is_some());
        if self.sums.is_empty() || (self.plan.has_disjoint_rounds() && !has_cpu) {
            return Vec::new();
        }
        let lines = sums_text::lines(&self.sums, &self.members);
        std::iter::once(String::new()).chain(lines).collect()
    }

    /// The outliers of a matrix that hold, each with its second value in words.
    fn reported(&self, matrix: &Matrix) -> (Vec<Outlier>, Vec<String>) {
        let own = self.outliers.iter();
        let own = own.filter(|one| one.is_reported() && one.is_of(matrix));
        own.filter_map(|one| Some((one.outlier()?, one.note(matrix))))
            .unzip()
    }

    /// Reasons to doubt the result, in words.
    fn doubts(&self) -> Vec<String> {
        let lost = |one: &CampaignMember| {
            let lost = one.lost.as_ref()?;
            let name = &one.member.name;
            let at = lost.at_seconds.map(|at| format!(" at {at:.1} s"));
            let at = at.unwrap_or_default();
            Some(format!("{name} was lost{at}: {}", lost.reason))
        };
        let ended = self
            .ended
            .iter()
            .map(|why| format!("It ended early: {why}"));
        let lost = self.members.iter().filter_map(lost);
        ended
            .chain(lost)
            .chain(self.not_repeated())
            .chain(self.clock_doubts())
            .collect()
    }

    /// Number of outliers that the second measurement does not show.
    fn not_repeated(&self) -> Option<String> {
        let count = self
            .outliers
            .iter()
            .filter(|one| !one.is_reported())
            .count();
        let outliers = if count == 1 { "outlier" } else { "outliers" };
        (count > 0).then(|| {
            format!("Not shown: {count} {outliers} that a second measurement does not show")
        })
    }

    /// The result as a page. `matrices` are those of the document or of its file of cells.
    ///
    /// # Errors
    /// When it would have more than a million bytes.
    pub fn page(&self, matrices: &[Matrix]) -> Result<String, TooLarge> {
        let about = format!(
            "{} of {} members, windows of {} s",
            self.plan.pattern_name(),
            self.members.len(),
            self.plan.window
        );
        let cut = self.cut_error_seconds.map(|error| {
            format!(
                "The clocks of the members, by which windows begin and end, agree to within {}.",
                quantity(error, Unit::Seconds)
            )
        });
        let missing = matrices.first().map(Matrix::missing).unwrap_or_default();
        let missing = missing.iter().map(|(why, count)| match count {
            1 => format!("1 cell is missing: {why}"),
            _ => format!("{count} cells are missing: {why}"),
        });
        let doubts = self.doubts().into_iter().chain(missing).collect();
        let numbered = matrices.iter().enumerate();
        MatrixReport {
            title: format!("Campaign {}: {}", self.campaign, self.plan.test),
            about: std::iter::once(about).chain(cut).collect(),
            doubts,
            summary: vec![summaries(matrices)],
            matrices: numbered.map(|one| self.on_page(one)).collect(),
            members: self.table_of_members(),
        }
        .page()
    }

    fn on_page(&self, (number, matrix): (usize, &Matrix)) -> ReportedMatrix {
        let own = self.outliers.iter();
        let own = own.filter(|one| one.is_reported() && one.is_of(matrix));
        let both = own.filter_map(|one| Some((one.outlier()?, one.values(matrix))));
        let (outliers, notes): (Vec<Outlier>, Vec<String>) = both.unzip();
        let about = if matrix.figure.name.starts_with("loaded") {
            "Probes beside the loads of the round."
        } else if matrix.figure.name.starts_with("unloaded") {
            "Probes of the same paths, before any load."
        } else {
            "Median of all rounds."
        };
        matrix.reported((&format!("m{number}"), about), &outliers, &notes)
    }

    fn table_of_members(&self) -> Table {
        let head = ["name", "control", "version", "CPUs", "state"];
        let any_lost = self.members.iter().any(|one| one.lost.is_some());
        let columns = if any_lost { head.len() } else { head.len() - 1 };
        let mut members = Table::new("Members", 1, &head[..columns]);
        for one in &self.members {
            let lost = one.lost.as_ref();
            let state = lost.map_or_else(String::new, |lost| format!("lost: {}", lost.reason));
            let mut row = vec![
                one.member.name.clone(),
                one.member.control.clone(),
                one.version.clone().unwrap_or_default(),
                one.cpus.map(|cpus| cpus.to_string()).unwrap_or_default(),
                state,
            ];
            row.truncate(columns);
            members.rows.push(row);
        }
        members
    }
}

/// Median and worst value of each matrix.
fn summaries(matrices: &[Matrix]) -> Table {
    let mut table = Table::new("Metrics", 1, &["metric", "median", "worst", "path"]);
    for matrix in matrices {
        if let (Some(median), Some((worst, path))) = (matrix.median(), matrix.worst()) {
            table.rows.push(vec![
                matrix.figure.name.clone(),
                matrix.quantity(median),
                matrix.quantity(worst),
                path,
            ]);
        }
    }
    table
}

/// A line about a matrix.
fn summary(matrix: &Matrix) -> Option<String> {
    let (worst, path) = matrix.worst()?;
    let median = matrix.quantity(matrix.median()?);
    let worst = matrix.quantity(worst);
    Some(in_columns(&matrix.figure.name, &median, &worst, &path))
}

fn rounds_of(count: usize) -> String {
    let rounds = if count == 1 { "round" } else { "rounds" };
    format!("{count} {rounds}")
}

/// A figure, its median, its worst value and the path of that.
fn in_columns(figure: &str, median: &str, worst: &str, path: &str) -> String {
    format!("{figure:20} {median:>14} {worst:>14}  {path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_text::escape::is_unprintable;

    use crate::inventory::InventoryMember;
    use crate::outcome::{CampaignCell, CellFigures, FORMAT, LostMember};
    use crate::plan::CampaignPlan;

    /// A campaign of two members, one of which was lost.
    fn document() -> CampaignDocument {
        let members = crate::inventory::read(
            "a\nb\n".as_bytes(),
            &crate::inventory::InventoryOptions::default(),
        )
        .unwrap();
        let member = |member: InventoryMember| CampaignMember {
            member,
            version: None,
            cpus: None,
            clock: None,
            lost: None,
        };
        let cell = |from, to, bits: Option<f64>| CampaignCell {
            from,
            to,
            round: 0,
            window: None,
            figures: CellFigures {
                bits_per_second: bits,
                ..CellFigures::default()
            },
            missing: bits.is_none().then(|| "b is lost".to_owned()),
            warnings: Vec::new(),
        };
        CampaignDocument {
            format: FORMAT.to_owned(),
            campaign: "c1".to_owned(),
            started_unix_seconds: 0.0,
            plan: CampaignPlan::read("pattern = \"mesh\"\ntest = \"TCP_STREAM\"").unwrap(),
            complete: false,
            ended: None,
            members: members.into_iter().map(member).collect(),
            cut_error_seconds: Some(7e-6),
            cells_planned: 2,
            cells_measured: 1,
            cells: vec![cell(0, 1, Some(5e9)), cell(1, 0, None)],
            cells_file: None,
            sums: Vec::new(),
            cells_again: Vec::new(),
            outliers: Vec::new(),
        }
    }

    #[test]
    fn campaign_text_steers_no_terminal_whatever_a_document_says() {
        let hostile = "a\u{1b}[2J\u{9b}1m\u{202e}\r\n\u{200b}";
        let mut document = document();
        document.campaign.push_str(hostile);
        document.plan.test.push_str(hostile);
        document.ended = Some(hostile.to_owned());
        for member in &mut document.members {
            member.member.name.push_str(hostile);
            member.lost = Some(LostMember {
                at_seconds: Some(1.0),
                reason: hostile.to_owned(),
            });
        }
        for cell in &mut document.cells {
            cell.missing = cell.missing.take().map(|_| hostile.to_owned());
        }
        let text = document.text(&document.matrices(), MatrixView::default());
        let steers = |letter: char| letter != '\n' && is_unprintable(letter);
        assert!(!text.contains(steers), "{text:?}");
        assert!(
            text.contains("Missing: ") && text.contains("was lost"),
            "{text}"
        );
    }

    #[test]
    fn the_table_tells_what_is_missing_from_what_was_not_asked() {
        let document = document();
        let matrices = document.matrices();
        let text = document.text(&matrices, MatrixView::default());
        assert!(
            text.contains("5.00 Gbit/s") || text.contains("5.00"),
            "{text}"
        );
        assert!(text.contains("Missing: b -> a: b is lost"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let page = document.page(&matrices).unwrap();
        assert!(
            page.contains("<svg") && page.contains("b is lost"),
            "{page}"
        );
        let json = serde_json::to_string(&document).unwrap();
        assert_eq!(CampaignDocument::read(&json), Ok(document));
    }
}
