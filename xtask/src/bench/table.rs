//! The table: printed row by row, and kept as Markdown and JSON.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::stats::Spread;

/// Limit of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// Of the median ratio.
    AtLeast(f64),
    /// Of the figure.
    Below(f64),
    Nothing,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Reference of the comparison, or name of the figure.
    pub(crate) against: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: Spread,
    pub(crate) theirs: Option<Spread>,
    /// Ours through theirs, round by round.
    pub(crate) ratio: Option<Spread>,
    pub(crate) asked: Asked,
}

impl Line {
    /// A figure that is compared with nothing.
    pub(crate) fn figure(
        name: &str,
        what: &str,
        figure: f64,
        unit: &'static str,
        asked: Asked,
    ) -> Self {
        Self {
            name: name.to_owned(),
            against: what.to_owned(),
            unit,
            ours: Spread::of(vec![figure]),
            theirs: None,
            ratio: None,
            asked,
        }
    }

    /// True if the limit is met; `None` if there is none.
    pub(crate) fn met(&self) -> Option<bool> {
        match self.asked {
            Asked::AtLeast(least) => Some(self.ratio.as_ref()?.median() >= least),
            Asked::Below(most) => Some(self.ours.median() < most),
            Asked::Nothing => None,
        }
    }

    /// Its row in Markdown.
    pub(crate) fn row(&self) -> String {
        let ratio = self.ratio.as_ref();
        let cells = [
            self.name.clone(),
            self.against.clone(),
            figure(self.ours.median()),
            self.theirs
                .as_ref()
                .map_or_else(String::new, |theirs| figure(theirs.median())),
            self.unit.to_owned(),
            ratio.map_or_else(String::new, |ratio| format!("{:.3}", ratio.median())),
            ratio.map_or_else(String::new, |ratio| {
                format!("{:.3}–{:.3}", ratio.least(), ratio.most())
            }),
            match self.asked {
                Asked::AtLeast(least) => format!("≥ {least}"),
                Asked::Below(most) => format!("< {most}"),
                Asked::Nothing => String::new(),
            },
            match self.met() {
                Some(true) => "ok",
                Some(false) => "missed",
                None => "",
            }
            .to_owned(),
        ];
        line(&cells)
    }

    fn json(&self) -> Value {
        let side = |spread: &Spread| {
            json!({
                "median": spread.median(), "min": spread.least(), "max": spread.most(),
                "figures": spread.figures,
            })
        };
        let (at_least, below) = match self.asked {
            Asked::AtLeast(least) => (Some(least), None),
            Asked::Below(most) => (None, Some(most)),
            Asked::Nothing => (None, None),
        };
        json!({
            "name": self.name,
            "against": self.against,
            "unit": self.unit,
            "ours": side(&self.ours),
            "theirs": self.theirs.as_ref().map(side),
            "ratio": self.ratio.as_ref().map(side),
            "at_least": at_least,
            "below": below,
            "met": self.met(),
        })
    }
}

const WIDTHS: [usize; 9] = [30, 22, 12, 12, 10, 8, 14, 8, 6];

fn line(cells: &[String; 9]) -> String {
    let mut line = String::from("|");
    for (index, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        // Numbers to the right.
        let padded = if matches!(index, 2 | 3 | 5..=7) {
            format!(" {cell:>width$} |")
        } else {
            format!(" {cell:<width$} |")
        };
        line.push_str(&padded);
    }
    line
}

/// A figure with as many places as mean something.
fn figure(figure: f64) -> String {
    if figure.abs() >= 1000.0 {
        format!("{figure:.0}")
    } else {
        format!("{figure:.2}")
    }
}

/// The two lines above all rows.
pub(crate) fn head() -> String {
    let names = [
        "row",
        "against",
        "ours",
        "theirs",
        "unit",
        "ratio",
        "min–max",
        "asked",
        "",
    ];
    let rule = WIDTHS.iter().enumerate().map(|(index, width)| {
        let end = if matches!(index, 2 | 3 | 5..=7) {
            ":"
        } else {
            "-"
        };
        format!(" {}{end} |", "-".repeat(width - 1))
    });
    format!(
        "{}\n|{}",
        line(&names.map(str::to_owned)),
        rule.collect::<String>()
    )
}

/// Keeps the table in both forms.
pub(crate) fn keep(
    folder: &Path,
    about: &[(String, String)],
    lines: &[Line],
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    let mut text = String::new();
    for (key, value) in about {
        text.push_str(&format!("- {key}: {value}\n"));
    }
    let rows: Vec<String> = lines.iter().map(Line::row).collect();
    text.push_str(&format!("\n{}\n{}\n", head(), rows.join("\n")));
    fs::write(folder.join("bench.md"), text).map_err(failed)?;
    let about: serde_json::Map<String, Value> = about
        .iter()
        .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
        .collect();
    let document = json!({
        "about": about,
        "rows": lines.iter().map(Line::json).collect::<Vec<_>>(),
    });
    fs::write(folder.join("bench.json"), format!("{document:#}\n")).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_its_median_is_what_is_asked() {
        let line = |ratios: Vec<f64>| Line {
            name: "tcp_rr".to_owned(),
            against: "netperf 2.7.0".to_owned(),
            unit: "trans/s",
            ours: Spread::of(vec![2.0; ratios.len()]),
            theirs: Some(Spread::of(vec![1.0; ratios.len()])),
            ratio: Some(Spread::of(ratios)),
            asked: Asked::AtLeast(0.98),
        };
        assert_eq!(line(vec![0.9, 0.98, 1.2]).met(), Some(true));
        assert_eq!(line(vec![0.9, 0.97, 1.2]).met(), Some(false));
        assert!(line(vec![0.5]).row().contains("missed"));
        let memory = Line::figure("flows", "memory", 5000.0, "bytes", Asked::Below(4096.0));
        assert_eq!(memory.met(), Some(false));
        assert_eq!(
            memory.row().matches('|').count(),
            head().lines().next().unwrap().matches('|').count()
        );
    }
}
