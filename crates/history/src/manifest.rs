//! Manifests: the facts of a document that are no results.

use std::collections::BTreeMap;

use netperf_web::{Document, Record};
use serde::Serialize;
use serde_json::Value;

/// Facts by name. Unknown and disabled settings have no entry, so that an option of a later
/// version does not look like a change.
pub type ManifestFacts = BTreeMap<String, String>;

/// The requested settings, which identify a configuration: results with equal settings are
/// comparable.
const ASKED: &[&str] = &[
    "test",
    "local.requested",
    "remote.requested",
    "rate.kept_by",
    "rate.unit",
    "rate.asked_per_second",
    "rate.arrival",
];
/// Other facts that a result depends on.
const MET: &[&str] = &[
    "program.version",
    "command_line",
    "local.name",
    "local.address",
    "local.agreed",
    "local.host",
    "remote.name",
    "remote.address",
    "remote.agreed",
    "remote.host",
];
/// Facts about iterations.
const OF_ITERATION: &[&str] = &[
    "cipher",
    "segment_size_bytes",
    "local.congestion_control",
    "remote.congestion_control",
];
/// Configuration and manifest of netperf's own document.
pub(crate) fn of_document(document: &Document) -> (ManifestFacts, ManifestFacts) {
    // A document consists of texts, numbers, lists and objects with names: JSON has them all.
    let document = serde_json::to_value(document).unwrap_or_default();
    let pick = |from: &Value, names: &[&str]| {
        let mut facts = ManifestFacts::new();
        for name in names {
            let path = format!("/{}", name.replace('.', "/"));
            flatten(
                name,
                from.pointer(&path).unwrap_or(&Value::Null),
                &mut facts,
            );
        }
        facts
    };
    let asked = pick(&document, ASKED);
    let mut manifest = pick(&document, MET);
    manifest.extend(asked.clone());
    let iterations = document["iterations"].as_array();
    if let Some(last) = iterations.and_then(|iterations| iterations.last()) {
        manifest.extend(pick(last, OF_ITERATION));
    }
    (asked, manifest)
}

/// The same for the document of another program, as far as it has them.
pub(crate) fn of_record(record: &Record) -> (ManifestFacts, ManifestFacts) {
    let commands = record.commands.iter().enumerate();
    let commands = commands.map(|(at, (_, line))| (format!("command.{at}"), line.clone()));
    let mut asked: ManifestFacts = commands.collect();
    for (name, value) in [
        ("test", &record.test),
        ("protocol", &record.protocol),
        ("direction", &record.direction),
        ("limit", &record.limit),
    ] {
        asked.extend(value.clone().map(|value| (name.to_owned(), value)));
    }
    let mut manifest = asked.clone();
    if let Some(program) = &record.program {
        manifest.insert("program".to_owned(), program.clone());
    }
    let of_ends = [
        ("local", &record.local.facts),
        ("remote", &record.remote.facts),
    ];
    for (end, facts) in of_ends.into_iter().chain([("run", &record.facts)]) {
        for (name, value) in facts {
            manifest.insert(format!("{end}.{name}"), value.clone());
        }
    }
    (asked, manifest)
}

fn flatten(name: &str, value: &Value, facts: &mut ManifestFacts) {
    let text = match value {
        Value::Null | Value::Bool(false) => return,
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{name}.{key}"), value, facts);
            }
            return;
        }
        Value::String(text) => text.clone(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) => value.to_string(),
    };
    facts.insert(name.to_owned(), text);
}

/// As stored text.
pub(crate) fn written(facts: &ManifestFacts) -> String {
    serde_json::to_string(facts).unwrap_or_default()
}

/// From stored text; unreadable text has no facts.
pub(crate) fn read(text: &str) -> ManifestFacts {
    serde_json::from_str(text).unwrap_or_default()
}

/// A fact with two values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// The value before; `None` if it was absent.
    pub before: Option<String>,
    /// The value after.
    pub after: Option<String>,
}

/// Minimum share of results that agree on a fact. Facts that vary from run to run explain
/// no change.
const AGREED: f64 = 0.9;

/// Facts on which nine of ten results before agree, and nine of ten after agree on another
/// value. Each manifest comes with its number of results.
#[must_use]
pub fn differences(
    before: &[(ManifestFacts, usize)],
    after: &[(ManifestFacts, usize)],
) -> Vec<Difference> {
    let sides = [before, after].map(votes);
    let total =
        |side: &[(ManifestFacts, usize)]| side.iter().map(|(_, results)| results).sum::<usize>();
    let totals = (total(before), total(after));
    let mut names: Vec<&String> = sides.iter().flat_map(BTreeMap::keys).copied().collect();
    names.sort();
    names.dedup();
    let found = names.into_iter().filter_map(|name| {
        let one = winner(sides[0].get(name), totals.0)?;
        let other = winner(sides[1].get(name), totals.1)?;
        (one != other).then(|| Difference {
            name: name.clone(),
            before: one,
            after: other,
        })
    });
    found.collect()
}

/// The number of results for each value of each fact.
fn votes(side: &[(ManifestFacts, usize)]) -> BTreeMap<&String, BTreeMap<&String, usize>> {
    let mut votes: BTreeMap<&String, BTreeMap<&String, usize>> = BTreeMap::new();
    for (facts, results) in side {
        for (name, value) in facts {
            *votes.entry(name).or_default().entry(value).or_default() += results;
        }
    }
    votes
}

/// The value on which enough results agree; the absence of a fact is a value too.
fn winner(votes: Option<&BTreeMap<&String, usize>>, total: usize) -> Option<Option<String>> {
    let have: usize = votes.map_or(0, |votes| votes.values().sum());
    let enough = |count: usize| share(count, total) >= AGREED;
    if enough(total.saturating_sub(have)) {
        return Some(None);
    }
    let mut values = votes?.iter();
    let (value, _) = values.find(|(_, count)| enough(**count))?;
    Some(Some((*value).clone()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of results are far below 2^53"
)]
fn share(count: usize, total: usize) -> f64 {
    if total == 0 {
        return 0.0;
    }
    count as f64 / total as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> ManifestFacts {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn manifest_omits_features_that_are_off_or_unknown() {
        let document = json!({
            "test": {"name": "TCP_RR", "many": null, "connects": false, "burst_requests": 2},
            "local": {
                "requested": {"pace": {"burst": 5}, "fill_file": null},
                "host": {"release": "6.1"},
            },
            "iterations": [{"local": {"congestion_control": "bbr"}}],
            "rate": {"asked_per_second": 1000.0, "arrival": "poisson", "seed": 5},
        });
        let document: Document = serde_json::from_value(document).unwrap();
        let (asked, manifest) = of_document(&document);
        let fact = |name: &str| asked.get(name).map(String::as_str);
        assert_eq!(fact("test.name"), Some("TCP_RR"));
        assert_eq!(fact("test.burst_requests"), Some("2"));
        assert_eq!((fact("test.many"), fact("test.connects")), (None, None));
        assert_eq!(fact("local.requested.fill_file"), None);
        assert_eq!(fact("rate.asked_per_second"), Some("1000.0"));
        assert_eq!(
            (fact("rate.arrival"), fact("rate.seed")),
            (Some("poisson"), None)
        );
        assert_eq!(manifest["local.host.release"], "6.1");
        assert_eq!(manifest["local.congestion_control"], "bbr");
        assert_eq!(read(&written(&manifest)), manifest);
    }

    #[test]
    fn a_record_of_another_program_has_the_facts_of_its_file() {
        let text = |text: &str| Some(text.to_owned());
        let named = |name: &str, fact: &str| vec![(name.to_owned(), fact.to_owned())];
        let mut record = Record {
            program: text("iperf 3.18"),
            commands: named("client", "iperf3 -c db1"),
            test: text("TCP_STREAM"),
            protocol: text("TCP"),
            direction: text("to the server"),
            limit: text("10 s"),
            facts: named("streams", "4"),
            ..Record::default()
        };
        record.local.facts = named("congestion control", "bbr");
        record.remote.facts = named("congestion control", "cubic");
        let (asked, manifest) = of_record(&record);
        let expected = facts(&[
            ("command.0", "iperf3 -c db1"),
            ("test", "TCP_STREAM"),
            ("protocol", "TCP"),
            ("direction", "to the server"),
            ("limit", "10 s"),
        ]);
        assert_eq!(asked, expected);
        let others = facts(&[
            ("program", "iperf 3.18"),
            ("local.congestion control", "bbr"),
            ("remote.congestion control", "cubic"),
            ("run.streams", "4"),
        ]);
        assert_eq!(manifest, expected.into_iter().chain(others).collect());
        assert_eq!(of_record(&Record::default()), Default::default());
    }

    #[test]
    fn nine_of_ten_results_decide_about_a_fact() {
        let winner_of = |counts: &[(&str, usize)], total| {
            let owned: Vec<(String, usize)> = counts
                .iter()
                .map(|(value, n)| ((*value).to_owned(), *n))
                .collect();
            let votes: BTreeMap<&String, usize> = owned.iter().map(|(v, n)| (v, *n)).collect();
            winner(Some(&votes), total)
        };
        let said = |value: &str| Some(Some(value.to_owned()));
        assert_eq!(winner_of(&[("a", 9)], 10), said("a"));
        assert_eq!(winner_of(&[("a", 8), ("b", 1)], 10), None);
        assert_eq!(winner_of(&[("a", 1), ("b", 18)], 20), said("b"));
        // Nine of ten do not have the fact.
        assert_eq!(winner_of(&[("a", 1)], 10), Some(None));
        assert_eq!(winner_of(&[("a", 2)], 10), None);
        assert_eq!(winner(None, 10), Some(None));
        assert_eq!((share(3, 4), share(0, 0)), (0.75, 0.0));
    }

    #[test]
    fn manifest_values_other_than_text_are_json() {
        let mut found = ManifestFacts::new();
        flatten(
            "x",
            &json!({"on": true, "list": [1, "a"], "in": {"n": 0}}),
            &mut found,
        );
        let expected = facts(&[("x.on", "true"), ("x.list", "[1,\"a\"]"), ("x.in.n", "0")]);
        assert_eq!(found, expected);
        assert_eq!(read("no facts"), ManifestFacts::new());
    }

    #[test]
    fn a_difference_is_what_both_sides_agree_on_and_not_with_each_other() {
        let before = [
            (
                facts(&[("kernel", "6.1"), ("port", "1"), ("mtu", "1500")]),
                9,
            ),
            (
                facts(&[("kernel", "6.1"), ("port", "2"), ("mtu", "1500")]),
                9,
            ),
        ];
        let after = [
            (
                facts(&[
                    ("kernel", "6.12"),
                    ("port", "3"),
                    ("mtu", "1500"),
                    ("new", "x"),
                ]),
                19,
            ),
            (
                facts(&[
                    ("kernel", "6.1"),
                    ("port", "4"),
                    ("mtu", "1500"),
                    ("new", "x"),
                ]),
                1,
            ),
        ];
        let found = differences(&before, &after);
        let named = |name: &str| found.iter().find(|difference| difference.name == name);
        assert_eq!(named("kernel").unwrap().after.as_deref(), Some("6.12"));
        assert_eq!(named("new").unwrap().before, None);
        assert_eq!((named("port"), named("mtu")), (None, None), "{found:?}");
    }
}
