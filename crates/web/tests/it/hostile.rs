//! Hostile files: every text may be markup, every number absurd, and
//! anything may be missing.

use std::io::Read as _;

use crate::common::{SAMPLES, sample};
use netperf_web::{Record, Verdicts, chart::Size, csv, figures, markdown, page, pictures};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A text that means something to everything that it may end up in.
const TEXT: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;|`*_=1+1\u{0}\u{202e}</title></style>";

/// A sample as text, unpacked if need be.
fn text(name: &str) -> String {
    let bytes = sample(name);
    if !name.ends_with(".gz") {
        return String::from_utf8(bytes).expect("text");
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .read_to_string(&mut text)
        .expect("gzip");
    text
}

/// A sample's documents: one, or a line's each.
fn documents(name: &str) -> Vec<Value> {
    let text = text(name);
    match serde_json::from_str(&text) {
        Ok(document) => vec![document],
        Err(_) => text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect(),
    }
}

fn bytes(documents: &[Value]) -> Vec<u8> {
    let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
    lines.join("\n").into_bytes()
}

/// Texts that say which format a file has, which must stay for it to be read at all.
const FORMAT: [&str; 6] = [
    "schema",
    "event",
    "kind",
    "version",
    "throughput_unit",
    "RUNNER",
];

fn poison(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if !FORMAT.contains(&name) => *text = format!("{text}{TEXT}"),
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, name)),
        Value::Object(fields) => {
            fields
                .iter_mut()
                .for_each(|(name, field)| poison(field, name));
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Everything that is made of records.
fn everything(records: &[Record]) -> String {
    let mut all = page(records).expect("a page");
    all.push_str(&markdown(records));
    all.push_str(&csv(records));
    for picture in pictures(records, &Verdicts::default()) {
        all.push_str(&picture.svg());
    }
    for (chart, _) in figures(records).iter().flat_map(|figure| &figure.charts) {
        for size in [Size::wide(1), Size::narrow(1000)] {
            let scene = chart.drawn(size);
            assert!(scene.height.is_finite() && scene.width.is_finite());
        }
    }
    all
}

#[test]
fn no_text_of_a_file_becomes_markup() {
    for name in SAMPLES {
        let mut documents = documents(name);
        documents
            .iter_mut()
            .for_each(|document| poison(document, ""));
        let file = format!("{name}{TEXT}").replace('/', "-");
        let record = netperf_web::read(&file, &bytes(&documents)).unwrap();
        let records = [record.clone(), record];
        for records in [&records[..], &records[..1]] {
            let page = page(records).unwrap();
            let svg: String = pictures(records, &Verdicts::default())
                .iter()
                .map(netperf_web::Picture::svg)
                .collect();
            for text in [&page, &svg] {
                assert!(
                    !text.contains("<script>alert") && !text.contains("<img"),
                    "{name}"
                );
                assert!(!text.contains(['\u{0}', '\u{202e}']), "{name}");
                assert!(!text.contains("\"'>"), "{name}");
            }
            // One script, which is ours, and one style in the page.
            for (tag, wanted) in [
                ("<script", 1),
                ("</script", 1),
                ("<style", 1),
                ("</title>", 1),
            ] {
                let own = page.matches(tag).count();
                let titles = if tag == "</title>" {
                    page.matches("<title>").count()
                } else {
                    wanted
                };
                assert_eq!(own, titles, "{name}: {tag}");
            }
            let markdown = markdown(records);
            assert!(
                !markdown.contains("<script") && !markdown.contains("<img"),
                "{name}"
            );
        }
    }
}

#[test]
fn text_that_is_kept_is_shown_as_it_is() {
    let mut documents = documents("tcp_rr.json");
    documents[0]["command_line"] = json!("netperf -B '<b>&'");
    let record = netperf_web::read("x.json", &bytes(&documents)).unwrap();
    let page = page(&[record]).unwrap();
    assert!(page.contains("netperf -B &#39;&lt;b&gt;&amp;&#39;"));
}

/// A value that has no business where it is put.
fn absurd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("text")),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(u64::MAX)),
        Just(json!(i64::MIN)),
        prop_oneof![
            Just(1e308),
            Just(-1e308),
            Just(5e-324),
            Just(1e21),
            Just(-0.0)
        ]
        .prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
    ]
}

/// The places of a document, each as the way there.
fn places(value: &Value, way: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let mut within = |name: String, value: &Value| {
        way.push(name);
        found.push(way.clone());
        places(value, way, found);
        way.pop();
    };
    match value {
        Value::Array(items) => {
            // Of many like items the first and the last are enough.
            let last = items.len().saturating_sub(1);
            for index in [0, last] {
                if let Some(item) = items.get(index) {
                    within(index.to_string(), item);
                }
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                within(name.clone(), field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

proptest! {
    #[test]
    fn absurd_and_missing_values_are_shown_or_left_out_but_never_fatal(
        which in 0..SAMPLES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), absurd()), 1..12),
    ) {
        let mut documents = documents(SAMPLES[which]);
        let mut found = Vec::new();
        for (number, document) in documents.iter().enumerate() {
            places(document, &mut vec![number.to_string()], &mut found);
        }
        let mut whole = Value::Array(std::mem::take(&mut documents));
        for (index, value) in changes {
            let pointer = format!("/{}", index.get(&found).iter().map(|name| name.replace('~', "~0").replace('/', "~1")).collect::<Vec<_>>().join("/"));
            if let Some(place) = whole.pointer_mut(&pointer) {
                *place = value;
            }
        }
        let documents: Vec<Value> = whole.as_array().cloned().unwrap_or_default();
        if let Ok(record) = netperf_web::read("x.json", &bytes(&documents)) {
            let all = everything(&[record.clone(), record]);
            prop_assert!(!all.contains("NaN") && !all.contains("=\"inf"), "{}", all);
            prop_assert!(!all.contains(",inf,") && !all.contains(",-inf,"), "{}", all);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let read = netperf_web::read("x", &bytes);
        prop_assert!(read.is_err());
    }
}

/// A result of flent whose only series has these values.
fn of_flent(values: &str) -> Vec<u8> {
    let text = format!(
        "{{\"version\":4,\"metadata\":{{}},\"x_values\":[],\"raw_values\":{{}},\"results\":{{\"a\":[{values}]}}}}"
    );
    text.into_bytes()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, bytes).expect("memory");
    packed.finish().expect("memory")
}

#[test]
fn result_whose_values_take_too_much_memory_is_refused_before_it_is_parsed() {
    let refused = |bytes: &[u8]| netperf_web::read("x.flent.gz", bytes).unwrap_err().problem;
    let too_much = "its values take more than 512 MiB of memory";
    for value in ["[],", "{},", "0,", "\"\","] {
        let plain = of_flent(&format!("{}0", value.repeat(9_000_000)));
        let packed = packed(&plain);
        assert!(packed.len() < 300_000, "{} bytes of {value}", packed.len());
        assert_eq!(refused(&packed), too_much, "{value}");
        assert_eq!(refused(&plain), too_much, "{value}");
        assert!(netperf_web::document(&plain).is_none());
    }
    // Lines of an event log, of which all are kept.
    let lines = "{\"event\":\"x\"}\n".repeat(1_000_000);
    assert_eq!(refused(lines.as_bytes()), too_much);
    let plain = of_flent(&format!("\"{}\"", "x".repeat(17 << 20)));
    for bytes in [packed(&plain), plain] {
        assert_eq!(refused(&bytes), "a text in it has more than 16 MiB");
        assert!(netperf_web::document(&bytes).is_none());
    }
    // Hours of values are read.
    let plain = of_flent(&format!("{}0", "12.5,".repeat(500_000)));
    assert!(netperf_web::read("x.flent.gz", &packed(&plain)).is_ok());
}

#[test]
fn file_without_a_result_is_no_measurement() {
    let mut document: Value = serde_json::from_slice(&sample("tcp_rr.json")).expect("JSON");
    document
        .as_object_mut()
        .expect("an object")
        .remove("result");
    let record = netperf_web::read("x.json", document.to_string().as_bytes()).expect("a record");
    assert_eq!(record.error.as_deref(), Some("the file has no result"));
}
