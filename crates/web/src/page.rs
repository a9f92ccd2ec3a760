//! One page with everything in it: no picture, letter or program comes from elsewhere.

mod matrices;
mod until;

use std::fmt::Write as _;
use std::net::IpAddr;

use thiserror::Error;

use crate::chart::palette::{DARK, LIGHT};
use crate::chart::{Chart, Size, svg};
use crate::escape::{capital, markup};
use crate::figure::{self, Figure, figures};
use crate::record::{Record, RecordEnd};
use crate::table::Table;
use crate::verdicts::Verdicts;
use crate::{tables, words};

pub use matrices::{MatrixReport, ReportedMatrix};

/// Maximum size of a page in bytes.
const LARGEST: usize = 1_000_000;
/// Points of a line: the largest of these numbers with which the page is small enough.
const POINTS: [usize; 6] = [160, 100, 60, 40, 24, 12];

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
/// The SHA-256 of the script, by which the page lets this one run and no other.
const SCRIPT_HASH: &str = include_str!("page/page.js.sha256");

/// Too many results for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the page would have {bytes} bytes, more than {LARGEST}: report fewer results at once")]
pub struct TooLarge {
    /// Size of the page in bytes.
    pub bytes: usize,
}

/// The page, without verdicts.
///
/// # Errors
///
/// When it would have more than a million bytes, however few points its lines have.
pub fn page(records: &[Record]) -> Result<String, TooLarge> {
    page_with(records, &Verdicts::default())
}

/// The page with verdicts on sets of the results.
///
/// # Errors
///
/// As [`page`].
pub fn page_with(records: &[Record], verdicts: &Verdicts) -> Result<String, TooLarge> {
    let mut figures = figures(records);
    let results = (records, verdicts);
    fitting(results, &figures).or_else(|_| {
        // They weigh most, and the numbers are in the CSV.
        figure::leave_out_heat(&mut figures);
        fitting(results, &figures)
    })
}

/// The page, if it is small enough.
fn checked(page: String) -> Result<String, TooLarge> {
    let bytes = page.len();
    if bytes <= LARGEST {
        Ok(page)
    } else {
        Err(TooLarge { bytes })
    }
}

/// The page with as many points as let it stay small enough.
fn fitting(results: (&[Record], &Verdicts), figures: &[Figure]) -> Result<String, TooLarge> {
    let at = |points| checked(written(results, figures, points));
    let [most, between @ .., fewest] = POINTS;
    at(most).or_else(|_| {
        // If the smallest number does not fit, no other does.
        let last = at(fewest)?;
        let more = between.into_iter().find_map(|points| at(points).ok());
        Ok(more.unwrap_or(last))
    })
}

fn written(
    (records, verdicts): (&[Record], &Verdicts),
    figures: &[Figure],
    points: usize,
) -> String {
    let mut main = String::new();
    summary(&mut main, records, verdicts);
    until::section(&mut main, records);
    main.push_str("<div class=\"figures\">\n");
    for figure in figures.iter().filter(|figure| !figure.charts.is_empty()) {
        section(&mut main, figure, points);
    }
    main.push_str("</div>\n");
    not_here(&mut main, figures);
    numbers(&mut main, records, verdicts);
    hosts(&mut main, records);
    let link = until::is_there(records).then_some(until::LINK);
    let before = format!("{SUMMARY}{}", link.unwrap_or_default());
    let links = (before.as_str(), NUMBERS_AND_HOSTS);
    document((&title(records), &runs(records)), figures, links, &main)
}

/// A page of curves: `summary` is the part behind the charts, in HTML, and `record` one
/// of the runs, for the facts about the hosts.
pub(crate) fn of_curve(
    title: &str,
    summary: &str,
    (about, charts): (&str, &[(Chart, Table)]),
    record: Option<&Record>,
) -> Result<String, TooLarge> {
    let figure = Figure {
        id: "curves",
        heading: "Curves".to_owned(),
        about: about.to_owned(),
        charts: charts.to_vec(),
        missing: Vec::new(),
    };
    let mut main = String::new();
    if charts.is_empty() {
        main.push_str("<p class=\"missing\">No run has a metric.</p>");
    } else {
        section(&mut main, &figure, usize::MAX);
    }
    main.push_str(summary);
    hosts(&mut main, record.map_or(&[], std::slice::from_ref));
    let figures = std::slice::from_ref(&figure);
    let kind = "<p class=\"quiet\">A sweep</p>";
    checked(document(
        (title, kind),
        figures,
        ("", NUMBERS_AND_HOSTS),
        &main,
    ))
}

/// The page of a check: its answer, charts, and everything as text.
///
/// # Errors
///
/// When it would have more than a million bytes.
pub fn check_page(
    (title, answer): (&str, &str),
    figures: &[Figure],
    text: &str,
) -> Result<String, TooLarge> {
    let mut main = format!(
        "<section id=\"summary\"><h2>Summary</h2>\n<p class=\"verdict\">{}</p></section>\n",
        markup(answer)
    );
    for figure in figures.iter().filter(|figure| !figure.charts.is_empty()) {
        section(&mut main, figure, crate::POINTS);
    }
    _ = writeln!(
        main,
        "<section id=\"numbers\"><h2>Numbers</h2>\n<pre class=\"scroll\" tabindex=\"0\">{}</pre>\n\
         </section>",
        markup(text)
    );
    checked(document((title, ""), figures, (SUMMARY, NUMBERS), &main))
}

/// Links to parts of the page.
const SUMMARY: &str = "<a href=\"#summary\">Summary</a>";
const NUMBERS: &str = "<a href=\"#numbers\">Numbers</a>";
const NUMBERS_AND_HOSTS: &str =
    "<a href=\"#numbers\">Numbers</a><a href=\"#hosts\">Hosts and commands</a>";

/// The document around the main part. `title` is the title, and what follows it in HTML; `links`
/// are those to parts in front of the figures and behind them.
fn document(title: (&str, &str), figures: &[Figure], links: (&str, &str), main: &str) -> String {
    let mut text = String::new();
    head(&mut text, title.0);
    text.push_str("<body>\n<a class=\"skip\" href=\"#main\">To the results</a>\n");
    header(&mut text, title, figures, links);
    _ = writeln!(text, "<main id=\"main\">\n{main}</main>");
    footer(&mut text);
    _ = writeln!(text, "<script>{SCRIPT}</script>\n</body>\n</html>");
    text
}

/// Subject of the test: the title that the user gave, or the test with its hosts or files.
fn title(records: &[Record]) -> String {
    let test = |record: &Record| record.test.clone();
    match records {
        [record] => {
            let tested = || test(record).map(|test| format!("{test}{}", ends(record)));
            let title = record.title.clone().or_else(tested);
            title.unwrap_or_else(|| record.label.clone())
        }
        [first, second] => match (test(first), test(second)) {
            (Some(one), Some(other)) if one == other => {
                format!("{one}: {} and {}", first.label, second.label)
            }
            (Some(one), Some(other)) => {
                format!("{one} ({}) and {other} ({})", first.label, second.label)
            }
            (None, _) | (_, None) => format!("{} and {}", first.label, second.label),
        },
        [first, others @ ..] => {
            let count = records.len();
            let same = test(first).filter(|one| {
                others
                    .iter()
                    .all(|record| test(record).as_ref() == Some(one))
            });
            same.map_or_else(
                || format!("{count} results"),
                |test| format!("{test}: {count} results"),
            )
        }
        [] => "0 results".to_owned(),
    }
}

/// The two ends of a test, as far as their names or addresses are known.
fn ends(record: &Record) -> String {
    let is_any = |name: &str| name.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified());
    let name = |end: &RecordEnd| {
        let known = end.name.clone().or_else(|| end.address.clone());
        known.filter(|name| !is_any(name))
    };
    match (name(&record.local), name(&record.remote)) {
        (Some(local), Some(remote)) if local != remote => format!(" between {local} and {remote}"),
        (_, Some(remote)) => format!(" with {remote}"),
        _ => String::new(),
    }
}

/// Largest number of results whose dates and commands are at the top.
const AT_THE_TOP: usize = 3;

/// Dates and commands of the results, for the top of the page.
fn runs(records: &[Record]) -> String {
    let mut text = String::new();
    let shown = records.iter().filter(|_| records.len() <= AT_THE_TOP);
    for record in shown {
        let mut parts = Vec::new();
        if records.len() > 1 || !title(records).contains(&record.label) {
            parts.push(markup(&record.label));
        }
        parts.extend(
            record
                .started
                .and_then(netperf_text::date::date)
                .map(|date| markup(&date)),
        );
        let main = record.commands.first();
        parts.extend(main.map(|(_, command)| format!("<code>{}</code>", markup(command))));
        if !parts.is_empty() {
            _ = write!(text, "<p class=\"quiet\">{}</p>", parts.join(" · "));
        }
    }
    text
}

fn head(text: &mut String, title: &str) {
    let hash = SCRIPT_HASH.trim();
    _ = write!(
        text,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'sha256-{hash}'; img-src data:; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{} – netperf report</title>\n<style>\n{}{STYLE}{}</style>\n</head>\n",
        markup(title),
        colours(),
        svg::RULES
    );
}

/// Both themes: that of the system, unless one of the two is chosen on the page. Paper is
/// white, whatever is chosen: browsers leave grounds out when they print.
fn colours() -> String {
    let (light, dark) = (LIGHT.css(), DARK.css());
    format!(
        ":root{{color-scheme:light;{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}\n\
         :root:has(#theme-light:checked){{color-scheme:light;{light}}}\n\
         @media screen{{:root:has(#theme-dark:checked){{color-scheme:dark;{dark}}}}}\n"
    )
}

fn header(
    text: &mut String,
    (title, runs): (&str, &str),
    figures: &[Figure],
    (before, behind): (&str, &str),
) {
    _ = write!(
        text,
        "<header><div class=\"top\"><div><p class=\"kind\">netperf report</p><h1>{}</h1>\
         {runs}</div>\n<fieldset class=\"theme\"><legend>Colours</legend>",
        markup(title)
    );
    for (id, name, checked) in [
        ("system", "System", " checked"),
        ("light", "Light", ""),
        ("dark", "Dark", ""),
    ] {
        _ = write!(
            text,
            "<input type=\"radio\" name=\"theme\" id=\"theme-{id}\"{checked}><label for=\"theme-{id}\">{name}</label>"
        );
    }
    text.push_str("</fieldset></div>\n<nav aria-label=\"Parts of the page\">");
    text.push_str(before);
    for figure in figures.iter().filter(|figure| !figure.charts.is_empty()) {
        let heading = markup(&figure.heading);
        _ = write!(text, "<a href=\"#{}\">{heading}</a>", figure.id);
    }
    text.push_str(behind);
    text.push_str("</nav></header>\n");
}

/// The answer: the verdicts on sets of runs with the values of each run, or else a card for each
/// result.
fn summary(text: &mut String, records: &[Record], verdicts: &Verdicts) {
    text.push_str("<section id=\"summary\"><h2>Summary</h2>\n");
    if verdicts.are_of_sets() {
        verdicts.sentences(text);
        text.push_str("<div class=\"charts strips\">\n");
        for (chart, table) in verdicts.charts() {
            drawing(text, (&chart, &table), "", usize::MAX);
        }
        text.push_str("</div>\n");
        remarks(text, records);
    } else {
        text.push_str("<div class=\"cards\">\n");
        for (index, record) in records.iter().enumerate() {
            card(text, index, record);
        }
        text.push_str("</div>\n");
        verdicts.sentences(text);
    }
    text.push_str("</section>\n");
}

/// Why runs failed, and the warnings of all runs, each once with the number of runs that have it.
fn remarks(text: &mut String, records: &[Record]) {
    let mut failed = Vec::new();
    let mut warnings: Vec<(&str, usize)> = Vec::new();
    for record in records {
        let error = record
            .error
            .as_ref()
            .map(|error| format!("{}: {error}", record.label));
        failed.extend(error);
        for warning in &record.doubts {
            match warnings.iter_mut().find(|(known, _)| known == warning) {
                Some((_, count)) => *count += 1,
                None => warnings.push((warning, 1)),
            }
        }
    }
    doubts(text, "doubts failed", "Runs that failed", &failed);
    let lines: Vec<String> = warnings
        .into_iter()
        .map(|(warning, count)| match count {
            all if all == records.len() => warning.to_owned(),
            _ => format!("{warning} ({count} of {} runs)", records.len()),
        })
        .collect();
    doubts(text, "doubts", "Warnings", &lines);
}

/// All figures as tables, those of verdicts first.
fn numbers(text: &mut String, records: &[Record], verdicts: &Verdicts) {
    text.push_str("<section id=\"numbers\"><h2>Numbers</h2>\n");
    verdicts.tables(text);
    let table = tables::key_table(records, verdicts);
    if table.rows.is_empty() {
        text.push_str("<p class=\"missing\">No file has a metric.</p>");
    } else {
        if let Some(line) = tables::about_changes(records, verdicts) {
            _ = writeln!(text, "<p class=\"about\">{}</p>", markup(&line));
        }
        text.push_str(&table.html());
    }
    text.push_str("</section>\n");
}

fn card(text: &mut String, index: usize, record: &Record) {
    let colour = index % 6;
    _ = write!(
        text,
        "<article class=\"card c{colour}\"><h3>{}</h3>",
        markup(&record.label)
    );
    match (&record.headline, &record.error) {
        (Some(rate), _) => {
            let rate = rate.to_string();
            let (value, unit) = rate.rsplit_once('\u{a0}').unwrap_or((&rate, ""));
            _ = write!(
                text,
                "<p class=\"headline\">{} <span class=\"unit\">{}</span></p>",
                markup(value),
                markup(unit)
            );
        }
        (None, Some(_)) => text.push_str("<p class=\"headline none\">failed</p>"),
        (None, None) => text.push_str("<p class=\"headline none\">no single metric</p>"),
    }
    for line in words::summary(record) {
        _ = write!(text, "<p>{}</p>", markup(&line));
    }
    if let Some(error) = &record.error {
        _ = write!(
            text,
            "<div class=\"doubts failed\"><h4>Why it failed</h4><pre>{}</pre></div>",
            markup(error)
        );
    }
    doubts(text, "doubts", "Warnings", &record.doubts);
    text.push_str("</article>\n");
}

/// A list under a heading; nothing if it is empty.
pub(crate) fn doubts(text: &mut String, class: &str, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    _ = write!(text, "<div class=\"{class}\"><h4>{heading}</h4><ul>");
    for line in lines {
        _ = write!(text, "<li>{}</li>", markup(line));
    }
    text.push_str("</ul></div>");
}

fn section(text: &mut String, figure: &Figure, points: usize) {
    let (id, heading) = (figure.id, markup(&figure.heading));
    let class = if figure.charts.len() > 1 {
        "several"
    } else {
        "one"
    };
    _ = writeln!(
        text,
        "<section id=\"{id}\" class=\"{class}\"><h2>{heading}</h2>"
    );
    _ = writeln!(text, "<p class=\"about\">{}</p>", markup(&figure.about));
    text.push_str("<div class=\"charts\">\n");
    for (chart, table) in &figure.charts {
        drawing(text, (chart, table), &figure.heading, points);
    }
    text.push_str("</div>\n");
    for line in &figure.missing {
        _ = writeln!(text, "<p class=\"missing\">{}</p>", markup(line));
    }
    text.push_str("</section>\n");
}

/// Figures without any chart, and why.
fn not_here(text: &mut String, figures: &[Figure]) {
    let empty = || figures.iter().filter(|figure| figure.charts.is_empty());
    if empty().next().is_none() {
        return;
    }
    text.push_str("<section id=\"not-here\"><h2>What is not here</h2><ul class=\"missing\">");
    for line in empty().flat_map(|figure| &figure.missing) {
        _ = write!(text, "<li>{}</li>", markup(line));
    }
    text.push_str("</ul></section>\n");
}

/// A chart for wide and for narrow pages, and the table of the same. Its title is hidden where it
/// is the heading above.
fn drawing(text: &mut String, (chart, table): (&Chart, &Table), heading: &str, points: usize) {
    let wide = svg::inline(&chart.drawn(Size::column(points)), chart, "wide");
    let narrow = svg::inline(&chart.drawn(Size::narrow(points)), chart, "narrow");
    let class = if chart.title == heading {
        " class=\"same\""
    } else {
        ""
    };
    _ = writeln!(
        text,
        "<figure id=\"{}\"><figcaption><span{class}>{}</span><button type=\"button\" class=\"enlarge\" hidden>\
         Enlarge</button></figcaption>\n{wide}\n{narrow}\n\
         <details><summary>Show data table</summary>{}</details></figure>",
        markup(&format!("chart-{}", chart.id)),
        markup(&chart.title),
        table.html()
    );
}

fn hosts(text: &mut String, records: &[Record]) {
    text.push_str("<section id=\"hosts\"><h2>Hosts and commands</h2>\n");
    let open = if records.len() == 1 { " open" } else { "" };
    for (index, record) in records.iter().enumerate() {
        let (colour, label) = (index % 6, markup(&record.label));
        _ = write!(
            text,
            "<details class=\"run c{colour}\"{open}><summary>{label}</summary>"
        );
        if record.commands.is_empty() {
            text.push_str("<p class=\"missing\">The file does not have its command.</p>");
        }
        for (of, command) in &record.commands {
            if !of.is_empty() {
                _ = write!(text, "<p class=\"of\">{}</p>", markup(of));
            }
            _ = write!(
                text,
                "<pre class=\"command\" tabindex=\"0\">{}</pre>",
                markup(command)
            );
        }
        text.push_str("<div class=\"facts\">");
        facts(text, "The run", &tables::run_facts(record));
        for end in [&record.local, &record.remote] {
            facts(text, &capital(end.role), &tables::end_facts(end));
        }
        text.push_str("</div></details>\n");
    }
    text.push_str("</section>\n");
}

fn facts(text: &mut String, heading: &str, facts: &[(String, String)]) {
    _ = write!(text, "<div><h4>{}</h4>", markup(heading));
    if facts.is_empty() {
        text.push_str("<p class=\"missing\">Nothing is known of it.</p>");
    }
    definitions(text, facts);
    text.push_str("</div>");
}

/// Names with their values.
fn definitions(text: &mut String, facts: &[(String, String)]) {
    text.push_str("<dl>");
    for (name, value) in facts {
        _ = write!(text, "<dt>{}</dt><dd>{}</dd>", markup(name), markup(value));
    }
    text.push_str("</dl>");
}

fn footer(text: &mut String) {
    let version = env!("CARGO_PKG_VERSION");
    _ = writeln!(
        text,
        "<footer><p>Made by <code>netperf report</code> {version}. The file is \
         complete: it loads nothing from the network.</p></footer>\n<div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden></div>"
    );
}

#[cfg(test)]
mod tests;
