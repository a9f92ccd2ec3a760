//! Runs that went on until their result was known: what was asked, and what was reached.

use std::fmt::Write as _;

use netperf_report::document::UntilResult;

use crate::escape::markup;
use crate::record::Record;
use crate::unit::{Quantity, figure};
use crate::until;

/// A bar that is so many times as long as what was asked for is full.
const LONGEST: f64 = 2.0;

/// The link to the part on the page.
pub(super) const LINK: &str = "<a href=\"#until\">Precision</a>";

/// Returns true if any record has a run with `--until`.
pub(super) fn is_there(records: &[Record]) -> bool {
    records.iter().any(|record| record.until.is_some())
}

/// A card for each record with such a run.
pub(super) fn section(text: &mut String, records: &[Record]) {
    if !is_there(records) {
        return;
    }
    text.push_str(
        "<section id=\"until\"><h2>Until the result is known</h2>\n\
         <p class=\"about\">A run with --until goes on until its results are as precise as \
         requested. The true value lies in the interval as often as the confidence level says; a \
         bar that ends before its mark is an interval that is narrow enough.</p>\n\
         <div class=\"cards\">\n",
    );
    for (index, record) in records.iter().enumerate() {
        if let Some(until) = &record.until {
            card(text, index % 6, &record.label, until);
        }
    }
    text.push_str("</div></section>\n");
}

fn card(text: &mut String, colour: usize, label: &str, until: &UntilResult) {
    let none = if until.end == "reached" { "" } else { " none" };
    _ = write!(
        text,
        "<article class=\"card c{colour}\"><h3>{}</h3><p class=\"headline{none}\">{}</p>",
        markup(label),
        markup(&until.end)
    );
    super::definitions(text, &until::facts(until));
    widths(text, until);
    text.push_str("</article>\n");
}

/// Each figure, and how wide its interval is beside what was asked for.
fn widths(text: &mut String, until: &UntilResult) {
    text.push_str("<ul class=\"widths\">");
    for known in until::figures(until) {
        let value = known.value.as_ref().map(Quantity::to_string);
        let width = known
            .percent
            .map(|percent| format!("±{}\u{a0}%", figure(percent)));
        let wide = known.percent.zip(until.wanted_percent.0);
        let class = match wide {
            Some((percent, wanted)) if percent > wanted => " class=\"wide\"",
            _ => "",
        };
        _ = write!(
            text,
            "<li{class}><span>{} <strong>{}</strong></span><span class=\"width\">{}</span>",
            markup(&known.name),
            value.map_or_else(|| "unknown".to_owned(), |value| markup(&value)),
            width.unwrap_or_default(),
        );
        if let Some((percent, wanted)) = wide.filter(|(_, wanted)| *wanted > 0.0) {
            let share = (percent / wanted / LONGEST).clamp(0.0, 1.0) * 100.0;
            _ = write!(text, "<i><b style=\"width:{share:.1}%\"></b></i>");
        }
        text.push_str("</li>");
    }
    text.push_str("</ul>");
}
