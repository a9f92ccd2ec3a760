//! The page of a campaign: matrices of senders and receivers.

use std::fmt::Write as _;

use super::{SUMMARY, TooLarge, checked, document, doubts};
use crate::chart::{Body, Chart, MapCell, MatrixMap, Size, ValueClasses, svg};
use crate::escape::markup;
use crate::figure::Figure;
use crate::table::Table;
use crate::unit::{Quantity, figure};

/// Most members of a matrix whose values are on the page as a table.
const MOST_IN_TABLES: usize = 128;

/// A page of matrices. All texts are plain; the page escapes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatrixReport {
    /// The title.
    pub title: String,
    /// Lines under the title: date, command, number of members.
    pub about: Vec<String>,
    /// Reasons to doubt the results, such as members that are missing.
    pub doubts: Vec<String>,
    /// Tables above the matrices, such as the facts of the campaign.
    pub summary: Vec<Table>,
    /// The matrices.
    pub matrices: Vec<ReportedMatrix>,
    /// The members with their labels and facts.
    pub members: Table,
}

/// A matrix of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedMatrix {
    /// Its identifier in the page: letters, digits and hyphens.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its meaning in a sentence or two.
    pub about: String,
    /// Its values.
    pub map: MatrixMap,
    /// Tables below it, such as outliers or medians of pairs of racks.
    pub tables: Vec<Table>,
}

/// Parts of a page that are left out, one after the other, until it is small enough.
#[derive(Clone, Copy)]
struct Extras {
    has_tips: bool,
    has_values: bool,
}

impl MatrixReport {
    /// The page, with nothing from elsewhere. If it would have more than a million bytes, the
    /// tables of values are left out first, and then the tooltips of squares.
    ///
    /// # Errors
    /// When it would have more than a million bytes even then.
    pub fn page(&self) -> Result<String, TooLarge> {
        let with = |has_tips, has_values| {
            checked(self.written(Extras {
                has_tips,
                has_values,
            }))
        };
        with(true, true)
            .or_else(|_| with(true, false))
            .or_else(|_| with(false, true))
            .or_else(|_| with(false, false))
    }

    fn written(&self, extras: Extras) -> String {
        let mut main = "<section id=\"summary\"><h2>Summary</h2>\n".to_owned();
        doubts(&mut main, "doubts", "Warnings", &self.doubts);
        for table in self.summary.iter().filter(|table| !table.rows.is_empty()) {
            main.push_str(&table.html());
        }
        if self.matrices.is_empty() {
            main.push_str("<p class=\"missing\">There is no matrix.</p>");
        }
        main.push_str("</section>\n");
        main.push_str("<div id=\"matrices\">\n");
        for matrix in &self.matrices {
            matrix.write(&mut main, extras);
        }
        main.push_str("</div>\n");
        _ = writeln!(
            main,
            "<section id=\"hosts\"><h2>Hosts</h2>\n{}</section>",
            self.members.html()
        );
        let mut about = String::new();
        for line in &self.about {
            _ = write!(about, "<p class=\"quiet\">{}</p>", markup(line));
        }
        document(
            (&self.title, &about),
            &self.anchors(),
            (SUMMARY, "<a href=\"#hosts\">Hosts</a>"),
            &main,
        )
    }

    /// The entries of the navigation.
    fn anchors(&self) -> Vec<Figure> {
        if self.matrices.is_empty() {
            return Vec::new();
        }
        let chart = |matrix: &ReportedMatrix| (matrix.chart(false), Table::default());
        vec![Figure {
            id: "matrices",
            heading: "Matrices".to_owned(),
            about: String::new(),
            charts: self.matrices.iter().take(1).map(chart).collect(),
            missing: Vec::new(),
        }]
    }
}

impl ReportedMatrix {
    /// It as a chart, for a page or a picture.
    #[must_use]
    pub fn chart(&self, has_tips: bool) -> Chart {
        let map = MatrixMap {
            has_tips,
            ..self.map.clone()
        };
        Chart::new(&self.id, 0, self.title.as_str(), Body::Matrix(map))
    }

    fn write(&self, text: &mut String, extras: Extras) {
        let chart = self.chart(extras.has_tips);
        let wide = svg::inline(&chart.drawn(Size::matrix()), &chart, "matrix");
        let small = self.chart(false);
        let narrow = svg::inline(&small.drawn(Size::narrow(0)), &small, "narrow");
        let (id, title) = (markup(&self.id), markup(&self.title));
        let shared = match self.map.shared() {
            1 => String::new(),
            each => format!(" Each square is the median of {each} × {each} paths."),
        };
        _ = writeln!(
            text,
            "<section id=\"{id}\" class=\"matrices\"><h2>{title}</h2>\n<p class=\"about\">{}{shared}</p>\n\
             <figure id=\"chart-{id}\"><div class=\"scroll\">{wide}{narrow}</div>\n\
             <details><summary>Medians of each host</summary>{}</details>",
            markup(&self.about),
            self.medians().html()
        );
        if extras.has_values && self.map.names.len() <= MOST_IN_TABLES {
            _ = writeln!(
                text,
                "<details><summary>Show data table</summary>{}</details>",
                self.values().html()
            );
        }
        text.push_str("</figure>\n");
        for table in self.tables.iter().filter(|table| !table.rows.is_empty()) {
            text.push_str(&table.html());
        }
        text.push_str("</section>\n");
    }

    fn medians(&self) -> Table {
        let map = &self.map;
        let head = ["host", "as sender", "as receiver"];
        let mut table = Table::new(&format!("{}: medians", self.title), 1, &head);
        let shown = |value: Option<f64>| {
            let value = value.map(|value| Quantity::new(value, map.unit.clone()));
            value.map_or_else(|| "missing".to_owned(), |value| value.to_string())
        };
        let medians = map.row_medians().into_iter().zip(map.column_medians());
        for (name, (row, column)) in map.names.iter().zip(medians) {
            table
                .rows
                .push(vec![name.clone(), shown(row), shown(column)]);
        }
        table
    }

    /// All values, in one unit. Columns have the numbers of members; outliers a star.
    fn values(&self) -> Table {
        let map = &self.map;
        let largest =
            ValueClasses::of(map.values()).and_then(|classes| classes.ends.last().copied());
        let (factor, sign) = map.unit.scaled(largest.unwrap_or(0.0));
        let caption = format!("{}, {sign}; * is an outlier", self.title);
        let numbers: Vec<String> = (1..=map.names.len()).map(|at| at.to_string()).collect();
        let mut head = vec!["from / to"];
        head.extend(numbers.iter().map(String::as_str));
        let mut table = Table::new(&caption, 1, &head);
        let cell = |cell: &MapCell| match cell {
            MapCell::Empty => String::new(),
            MapCell::Missing => "missing".to_owned(),
            MapCell::Value { value, is_flagged } => {
                let star = if *is_flagged { "*" } else { "" };
                format!("{}{star}", figure(value / factor))
            }
        };
        for (at, (name, cells)) in map.names.iter().zip(&map.cells).enumerate() {
            let mut row = vec![format!("{} {name}", at + 1)];
            row.extend(cells.iter().map(cell));
            table.rows.push(row);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Unit;

    fn report(members: usize, matrices: usize) -> MatrixReport {
        let names: Vec<String> = (0..members).map(|at| format!("<host{at}>")).collect();
        let cell = |row: usize, column: usize| match (row, column) {
            _ if row == column => MapCell::Empty,
            (_, 5) => MapCell::Missing,
            _ => MapCell::Value {
                value: 9.4e8 + 1e6 * crate::number::of((row * 31 + column * 17) % 97),
                is_flagged: row == 3 && column == 4,
            },
        };
        let row = |row| (0..members).map(|column| cell(row, column)).collect();
        let map = MatrixMap {
            cells: (0..members).map(row).collect(),
            names,
            unit: Unit::BitsPerSecond,
            row_flags: vec![2],
            column_flags: vec![6],
            has_tips: true,
        };
        let matrix = |at: usize| ReportedMatrix {
            id: format!("m{at}"),
            title: "Throughput <1>".to_owned(),
            about: "Median of the window.".to_owned(),
            map: map.clone(),
            tables: Vec::new(),
        };
        MatrixReport {
            title: "A & B".to_owned(),
            doubts: vec!["host5 is missing".to_owned()],
            matrices: (0..matrices).map(matrix).collect(),
            members: Table::new("Members", 2, &["host", "rack"]),
            ..MatrixReport::default()
        }
    }

    #[test]
    fn a_page_of_sixty_four_hosts_has_all_values_and_less_than_a_million_bytes() {
        let page = report(64, 1).page().unwrap();
        println!("{} bytes", page.len());
        assert!(page.len() < 1_000_000);
        assert!(!page.contains("<host") && page.contains("&lt;host63&gt;"));
        for part in [
            "<div id=\"matrices\"",
            "Show data table",
            "<title>&lt;host3&gt; to &lt;host4&gt;: ",
            "outlying path",
            "missing",
            "host5 is missing",
        ] {
            assert!(page.contains(part), "{part}");
        }
        for part in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(part), "{part}");
        }
    }

    #[test]
    fn a_large_page_has_less_and_stays_small() {
        let page = report(64, 4).page().unwrap();
        assert!(!page.contains("<title>&lt;host3&gt; to"));
        let page = report(200, 1).page().unwrap();
        assert!(page.contains("Each square is the median of 3 × 3 paths."));
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
        let page = MatrixReport::default().page().unwrap();
        assert!(page.contains("There is no matrix."));
    }

    #[test]
    #[ignore = "nightly: a million paths"]
    fn a_page_of_a_thousand_members_stays_small() {
        let page = report(1000, 1).page().unwrap();
        assert!(page.contains("Each square is the median of 11 × 11 paths."));
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
    }
}
