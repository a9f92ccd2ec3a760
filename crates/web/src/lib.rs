//! Results as a page, pictures, and tables.
//!
//! [`read`] makes a [`Record`] of a file that netperf, iperf3 or flent wrote, whatever
//! the file holds; [`figures`] draws charts of several records, one over the other;
//! [`page`], [`markdown`], [`csv`] and [`pictures`] write them. Nothing here touches files,
//! and nothing is shown that a record does not have.

#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests compare what was written down")
)]

pub mod chart;
pub mod curve;
pub mod escape;
pub mod figure;
mod number;
mod page;
mod read;
pub mod record;
pub mod table;
mod tables;
mod until;
mod verdicts;
mod weight;
mod words;

pub use chart::png::PngTooLarge;
pub use figure::{Figure, figures};
pub use netperf_report::document::Document;
pub use netperf_text::unit;
pub use page::{MatrixReport, ReportedMatrix, TooLarge, check_page, page, page_with};
pub use read::{Unreadable, document, read};
pub use record::{Record, is_of_cpu};
pub use tables::{csv, markdown, markdown_with};
pub use verdicts::{ComparedValues, ReportedVerdict, Verdicts};
pub use weight::JsonWeight;

use chart::{Size, svg};

/// Points of a line in a picture.
const POINTS: usize = 400;

/// A picture as a file: its name without an ending, and its scene with its title.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of the file, without an ending.
    pub name: String,
    chart: chart::Chart,
}

impl Picture {
    /// As PNG.
    ///
    /// # Errors
    /// The chart is too large for a picture of dots; SVG has no limit.
    pub fn png(&self) -> Result<Vec<u8>, PngTooLarge> {
        chart::png::file(&self.chart.drawn(Size::wide(POINTS)), &self.chart)
    }

    /// As SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::file(&self.chart.drawn(Size::wide(POINTS)), &self.chart)
    }
}

/// All charts of some records and of the verdicts on them, each as a picture.
#[must_use]
pub fn pictures(records: &[Record], verdicts: &Verdicts) -> Vec<Picture> {
    let of_records = figures(records)
        .into_iter()
        .flat_map(|figure| figure.charts);
    let charts = verdicts.charts().into_iter().chain(of_records);
    let pictures = charts.map(|(chart, _)| Picture {
        name: chart.id.clone(),
        chart,
    });
    pictures.collect()
}

/// Makes the labels of records unique: equal ones are numbered.
pub fn tell_apart(records: &mut [Record]) {
    let mut taken: Vec<String> = Vec::new();
    for record in records {
        let name = record.label.clone();
        let mut number = 1;
        while taken.contains(&record.label) {
            number += 1;
            record.label = format!("{name} ({number})");
        }
        taken.push(record.label.clone());
    }
}
