use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use netperf_model::Secret;

use super::*;
use crate::chart::scene::{Ink, SceneItem};
use crate::record::{Heat, Range, RecordEnd, Sample, TimedOperation, Track};
use crate::unit::{Quantity, Unit};
use crate::verdicts::ReportedVerdict;

/// A result with a little of most things.
fn small() -> Record {
    let sample = |at: f64, value: f64| Sample {
        at,
        span: 1.0,
        value,
        joined: at > 1.0,
    };
    Record {
        label: "small".to_owned(),
        origin: "netperf --json",
        commands: vec![(String::new(), "netperf -t TCP_STREAM".to_owned())],
        test: Some("TCP_STREAM".to_owned()),
        headline: Some(Quantity::new(1e9, Unit::BitsPerSecond)),
        rates: vec![Track {
            name: String::new(),
            unit: Unit::BitsPerSecond,
            samples: vec![sample(1.0, 9e8), sample(2.0, 1.1e9)],
        }],
        doubts: vec!["A doubt.".to_owned()],
        local: RecordEnd {
            role: "client",
            ..RecordEnd::default()
        },
        remote: RecordEnd {
            role: "server",
            ..RecordEnd::default()
        },
        ..Record::default()
    }
}

#[test]
fn the_title_says_what_was_tested_and_the_top_when_and_how() {
    let one = Record {
        started: Some(951_782_400.0),
        local: RecordEnd {
            name: Some("0.0.0.0".to_owned()),
            ..RecordEnd::default()
        },
        remote: RecordEnd {
            name: Some("db1".to_owned()),
            ..RecordEnd::default()
        },
        ..small()
    };
    assert_eq!(title(std::slice::from_ref(&one)), "TCP_STREAM with db1");
    let top = runs(std::slice::from_ref(&one));
    let wanted = ["small", "2000-02-29", "<code>netperf -t TCP_STREAM</code>"];
    assert!(wanted.iter().all(|part| top.contains(part)), "{top}");
    let other = Record {
        label: "other".to_owned(),
        ..one.clone()
    };
    let both = [one.clone(), other.clone()];
    assert_eq!(title(&both), "TCP_STREAM: small and other");
    assert_eq!(runs(&both).matches("<p ").count(), 2);
    let reply = Record {
        test: Some("TCP_RR".to_owned()),
        ..other.clone()
    };
    let different = [one.clone(), reply];
    assert_eq!(title(&different), "TCP_STREAM (small) and TCP_RR (other)");
    let many = [one.clone(), one.clone(), other.clone(), one.clone()];
    assert_eq!(title(&many), "TCP_STREAM: 4 results");
    assert_eq!(runs(&many), "");
    let named = Record {
        title: Some("Before <the> change".to_owned()),
        ..one
    };
    assert_eq!(title(&[named]), "Before <the> change");
}

/// The tags of a page, one in a line, without what is drawn and styled.
fn outline(page: &str) -> String {
    let mut lines = String::new();
    let mut rest = page;
    let mut deep: usize = 0;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        rest = after;
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        if name == "script" {
            // Its comparisons are no tags.
            rest = after.find("</script").map_or("", |end| &after[end..]);
        }
        let drawn = [
            "path", "text", "circle", "rect", "title", "tr", "td", "th", "dt", "dd",
        ];
        if name.starts_with('!') || drawn.contains(&name.trim_start_matches('/')) {
            continue;
        }
        if name.starts_with('/') {
            deep = deep.saturating_sub(1);
            continue;
        }
        let marks = ["id=", "class=", "role=", "aria-label=", "href="];
        let kept = tag
            .split("\" ")
            .filter(|part| marks.iter().any(|mark| part.contains(mark)));
        let kept: Vec<&str> = kept.collect();
        let words = after.split('<').next().unwrap_or_default();
        let words = if ["style", "script"].contains(&name) {
            ""
        } else {
            words.trim()
        };
        let kept = kept.join("\" ");
        let kept = kept.strip_prefix(name).unwrap_or(&kept).trim();
        let line = format!("{name} {kept} {words}");
        lines.push_str(&format!("{}{}\n", "  ".repeat(deep), line.trim_end()));
        if !["meta", "link", "input", "path"].contains(&name) && !tag.ends_with('/') {
            deep += 1;
        }
    }
    lines
}

#[test]
fn the_page_has_its_parts_in_order() {
    insta::assert_snapshot!(outline(&page(&[small()]).unwrap()));
}

#[test]
fn the_page_lets_its_own_script_run_and_nothing_else() {
    let page = page(&[small()]).unwrap();
    let policy = page
        .split("Content-Security-Policy\" content=\"")
        .nth(1)
        .unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for outside in [
        "http:",
        "https:",
        "//",
        "url(",
        "@import",
        "<iframe",
        "<object",
        " src=",
        "javascript:",
    ] {
        let found = page.split(outside).count() - 1;
        assert_eq!(found, 0, "{outside}");
    }
    let mut sum = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut sum.stdin.take().unwrap(), SCRIPT.as_bytes()).unwrap();
    let said = sum.wait_with_output().unwrap().stdout;
    let hash = String::from_utf8(said).unwrap();
    let hash = Secret::from_hex(hash.split(' ').next().unwrap()).unwrap();
    assert_eq!(
        BASE64_STANDARD.encode(hash.bytes()),
        SCRIPT_HASH.trim(),
        "page.js changed: write the SHA-256 of it, in base64, into page.js.sha256"
    );
}

#[test]
fn axes_units_and_legends_are_there() {
    let mut other = small();
    other.label = "other".to_owned();
    let page = page(&[small(), other]).unwrap();
    for text in [
        ">throughput, Gbit/s<",
        ">time, s<",
        ">small<",
        ">other<",
        ">0.5<",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Once for desks and once for hands.
    assert_eq!(page.matches(">throughput, Gbit/s<").count(), 2);
}

#[test]
fn page_names_missing_values() {
    let page = page(&[small()]).unwrap();
    for text in [
        "No times of operations",
        "No CPU utilisation",
        "No values of TCP_INFO",
        "No file has results of several flows",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let empty = super::page(&[Record::default()]).unwrap();
    assert!(empty.contains("The file names no test.") && empty.contains("no single metric"));
    assert!(super::page(&[]).is_ok());
}

#[test]
fn a_result_keeps_its_mark_whatever_other_lines_are_there() {
    let mut records = [small(), small(), small()];
    for (record, label) in records.iter_mut().zip(["one", "two", "three"]) {
        label.clone_into(&mut record.label);
    }
    // The second one is in one chart and not in the other.
    records[0].windows = records[0].rates.clone();
    records[2].windows = records[2].rates.clone();
    let figures = figures(&records);
    let charts = figures.iter().flat_map(|figure| &figure.charts);
    let marks = charts.map(|(chart, _)| {
        let items = chart.drawn(Size::wide(100)).items;
        // The legend stands in front of everything.
        items.into_iter().find_map(|item| {
            let SceneItem::Mark {
                ink: Ink::Series(2),
                shape,
                ..
            } = item
            else {
                return None;
            };
            Some(shape)
        })
    });
    assert_eq!(marks.collect::<Vec<_>>(), [Some(2), Some(2)]);
}

#[test]
fn figures_that_only_some_results_have_stand_where_they_belong() {
    let with = |names: &[&str]| Record {
        figures: names
            .iter()
            .map(|name| ((*name).to_owned(), Quantity::new(1.0, Unit::Percent)))
            .collect(),
        ..Record::default()
    };
    let records = [with(&["a", "c"]), with(&["a", "b", "c", "d"])];
    let rows = words::key_figures(&records);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[test]
fn heat_maps_are_left_out_where_the_page_would_be_too_large() {
    let range = |row: u16| Range {
        from: 2f64.powi(row.into()) * 1e-6,
        to: 2f64.powi(row.into()) * 2e-6,
        count: 1e9,
    };
    let column = |at: u32| {
        let at = f64::from(at);
        (at, at + 1.0, (0..22).map(range).collect())
    };
    let heat = Heat {
        operation: TimedOperation::default(),
        name: String::new(),
        columns: (0..90).map(column).collect(),
    };
    let mut records = vec![small()];
    records[0].heat = vec![heat];
    let left_out = "No latency over time: with that of so many results";
    assert!(!page(&records).unwrap().contains(left_out));
    records.resize(4, records[0].clone());
    let page = page(&records).unwrap();
    assert!(page.contains(left_out) && page.contains("Throughput over time"));
}

#[test]
fn dark_colours_are_for_screens_alone() {
    let rules = colours();
    let dark: Vec<&str> = rules
        .lines()
        .filter(|rule| rule.contains("color-scheme:dark;"))
        .collect();
    assert_eq!(dark.len(), 2);
    assert!(dark.iter().all(|rule| rule.starts_with("@media screen")));
}

#[test]
fn every_part_with_verdicts_has_a_link() {
    let verdict = ReportedVerdict {
        title: "small to other".to_owned(),
        figures: None,
        sentences: vec!["No verdict.".to_owned()],
    };
    let verdicts = Verdicts {
        all: vec![verdict],
        ..Verdicts::default()
    };
    let with = page_with(&[small(), small()], &verdicts).unwrap();
    let summary = with.split("<section").nth(1).unwrap();
    assert!(
        summary.contains("<p class=\"verdict\">No verdict.</p>"),
        "{summary}"
    );
    assert!(with.contains("href=\"#numbers\"") && with.contains("<section id=\"numbers\""));
}

#[test]
fn page_of_compared_sets_begins_with_the_verdict_and_the_values_of_all_runs() {
    let runs: Vec<Record> = (0..6)
        .map(|at| Record {
            label: format!("run{at}"),
            doubts: vec!["The CPU was busy.".to_owned()],
            ..small()
        })
        .collect();
    let set = |from: usize| (from..from + 3).map(|at| (format!("run{at}"), 1e9 + number(at)));
    let verdicts = Verdicts {
        has_repetitions: true,
        all: vec![ReportedVerdict {
            title: "b, compared with a".to_owned(),
            figures: Some(Table::new("Compared", 1, &["metric"])),
            sentences: vec!["b is better.".to_owned()],
        }],
        values: vec![crate::ComparedValues {
            name: "throughput".to_owned(),
            unit: Unit::BitsPerSecond,
            sets: vec![
                ("a".to_owned(), set(0).collect()),
                ("b".to_owned(), set(3).collect()),
            ],
        }],
    };
    let page = page_with(&runs, &verdicts).unwrap();
    let summary = page.split("<section").nth(1).unwrap();
    let wanted = [
        "<p class=\"verdict\">b is better.</p>",
        "id=\"chart-compared\"",
        "run5: 1.00",
        "median 1.00",
        "<li>The CPU was busy.</li>",
    ];
    assert!(
        wanted.iter().all(|part| summary.contains(part)),
        "{summary}"
    );
    assert!(!summary.contains("class=\"card"), "{summary}");
    // Lines and marks, the verdict first.
    let at = |part: &str| summary.find(part).unwrap();
    assert!(at("b is better") < at("chart-compared") && at("chart-compared") < at("The CPU"));
}

fn number(at: usize) -> f64 {
    crate::number::of(at)
}
