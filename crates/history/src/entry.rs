//! A stored result.

use base16ct::lower::encode_string;
use netperf_comparison::RunFigure;
use netperf_web::{Document, Record};
use ring::digest::{SHA256, digest};

use crate::error::HistoryError;
use crate::manifest::{self, ManifestFacts};
use crate::time;

/// Maximum size of a document, in bytes.
const LARGEST: usize = 256 << 20;
/// Letters of a configuration's key, four bits each.
const KEY: usize = 12;

/// A result, its figures, and the facts it was measured under.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// SHA-256 of the document in hexadecimal digits: equal documents are one result.
    pub digest: String,
    /// Its start, in microseconds since 1970.
    pub started: i64,
    /// The name of the test, or of the program that made it.
    pub test: String,
    /// The host at the other end, as given on the command line.
    pub host: String,
    /// The label; empty if there is none.
    pub label: String,
    /// The command line.
    pub command: String,
    /// The kind of its file.
    pub origin: &'static str,
    /// The facts that comparable results have in common.
    pub configuration: String,
    /// False if a signal ended the run before its time: trends and changes leave it out.
    pub complete: bool,
    /// Its figures, the result itself first; of requests at a rate, the median latency.
    pub figures: Vec<RunFigure>,
    /// The facts it was measured under.
    pub manifest: ManifestFacts,
    /// The document.
    pub document: Vec<u8>,
}

impl HistoryEntry {
    /// Reads the bytes of the file `name`. `label` replaces the label of the result.
    ///
    /// # Errors If it is no result, or lacks a fact that a history needs.
    pub fn read(name: &str, bytes: Vec<u8>, label: Option<&str>) -> Result<Self, HistoryError> {
        let shown = netperf_web::escape::line(name);
        if bytes.len() > LARGEST {
            return Err(HistoryError::Document(format!(
                "{shown} is longer than 256 MiB"
            )));
        }
        let record = netperf_web::read(name, &bytes)
            .map_err(|error| HistoryError::Document(error.to_string()))?;
        let lacks = |what: &str| HistoryError::Document(format!("{shown} {what}"));
        if let (Some(reason), None) = (&record.error, &record.headline) {
            let reason = reason.lines().next().unwrap_or_default();
            let reason = netperf_web::escape::line(reason);
            return Err(lacks(&format!("has no result: {reason}")));
        }
        let started = record
            .started
            .and_then(time::micros)
            .ok_or_else(|| lacks("does not say when it was measured"))?;
        let mut figures = netperf_comparison::figures(&record);
        if figures.is_empty() {
            return Err(lacks("has no metric to keep"));
        }
        let document = netperf_web::document(&bytes);
        let complete = !document.as_ref().is_some_and(is_cut_short);
        let (asked, manifest) = match document {
            Some(document) => {
                if document.rate.is_some() {
                    put_latency_first(&mut figures);
                }
                manifest::of_document(&document)
            }
            None => manifest::of_record(&record),
        };
        let plain = |text: &str| netperf_web::escape::line(text);
        let test = record.test.as_deref().unwrap_or(record.origin);
        let label = label.or(record.title.as_deref()).unwrap_or_default();
        let (test, host, label) = (plain(test), plain(&host(&record)), plain(label));
        Ok(Self {
            digest: digest_of(&bytes),
            started,
            configuration: key(&[&test, &host, &label, &manifest::written(&asked)]),
            test,
            host,
            label,
            command: command(&record),
            origin: record.origin,
            complete,
            figures,
            manifest,
            document: bytes,
        })
    }

    /// The key of its manifest: equal facts have equal keys.
    pub(crate) fn manifest_key(&self) -> String {
        key(&[&manifest::written(&self.manifest)])
    }
}

/// Returns true for a run that a signal ended before its time.
fn is_cut_short(document: &Document) -> bool {
    let mut warnings = document.warnings.iter();
    !document.complete && warnings.any(|warning| warning.code == "ended_early")
}

/// Of requests at a rate, the latency is the result; the rate was asked for.
fn put_latency_first(figures: &mut [RunFigure]) {
    let is_latency =
        |figure: &RunFigure| figure.name.starts_with("latency") && figure.name.ends_with(" p50");
    if let Some(at) = figures.iter().position(is_latency) {
        figures[..=at].rotate_right(1);
    }
}

fn host(record: &Record) -> String {
    let name = record
        .remote
        .name
        .as_ref()
        .or(record.remote.address.as_ref());
    name.cloned().unwrap_or_default()
}

fn command(record: &Record) -> String {
    let lines = record.commands.iter().map(|(_, line)| line.as_str());
    netperf_web::escape::line(&lines.collect::<Vec<_>>().join("; "))
}

/// The digest of a document.
pub(crate) fn digest_of(document: &[u8]) -> String {
    encode_string(digest(&SHA256, document).as_ref())
}

/// A short digest of several texts.
fn key(parts: &[&str]) -> String {
    let mut whole = String::new();
    for part in parts {
        whole.push_str(&format!("{}:{part}", part.len()));
    }
    let mut key = encode_string(digest(&SHA256, whole.as_bytes()).as_ref());
    key.truncate(KEY);
    key
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn document(change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut document = json!({
            "schema": "netperf-1",
            "command_line": "netperf -t TCP_RR --json",
            "started_unix_seconds": 1_700_000_000.5,
            "test": {"name": "TCP_RR", "many": null},
            "local": {"requested": {"io": {"method": "blocking"}}},
            "remote": {"name": "db1", "host": {"release": "6.1"}},
            "result": {"transactions_per_second": 1234.5},
        });
        change(&mut document);
        document.to_string().into_bytes()
    }

    fn read(bytes: &[u8]) -> HistoryEntry {
        HistoryEntry::read("a.json", bytes.to_vec(), None).unwrap()
    }

    #[test]
    fn configuration_holds_the_options_and_not_the_conditions() {
        let plain = read(&document(|_| ()));
        assert_eq!(plain.started, 1_700_000_000_500_000);
        assert_eq!(
            (plain.test.as_str(), plain.host.as_str()),
            ("TCP_RR", "db1")
        );
        assert_eq!(plain.figures[0].quantity.value, 1234.5);
        let later = read(&document(|d| {
            d["remote"]["host"]["release"] = json!("6.12");
            d["started_unix_seconds"] = json!(1_700_000_001.0);
            d["test"]["new_option"] = json!(null);
        }));
        assert_eq!(later.configuration, plain.configuration);
        assert_ne!(later.manifest_key(), plain.manifest_key());
        assert_ne!(later.digest, plain.digest);
        for change in [
            |d: &mut Value| d["test"]["name"] = json!("UDP_RR"),
            |d: &mut Value| d["remote"]["name"] = json!("db2"),
            |d: &mut Value| d["local"]["requested"]["io"]["method"] = json!("poll"),
            |d: &mut Value| d["brand"] = json!("nightly"),
        ] {
            let other = read(&document(change));
            assert_ne!(other.configuration, plain.configuration);
        }
    }

    #[test]
    fn the_result_of_requests_at_a_rate_is_their_latency() {
        let latency = json!({"percentiles": [{"percent": 50.0, "nanoseconds": 50_000.0}]});
        let bytes = document(|d| d["latency"] = latency.clone());
        assert_eq!(read(&bytes).figures[0].name, "transaction rate");
        let bytes = document(|d| {
            d["latency"] = latency;
            d["rate"] = json!({"asked_per_second": 1234.5});
        });
        let figures = read(&bytes).figures;
        let names: Vec<&str> = figures.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["latency p50", "transaction rate"]);
        assert_eq!(figures[0].quantity.value, 50_000.0 * 1e-9);
    }

    #[test]
    fn a_log_of_events_has_the_facts_of_its_document() {
        let document: Value = serde_json::from_slice(&document(|_| ())).unwrap();
        let start = json!({"event": "start", "schema": "netperf-1", "test": {"name": "TCP_RR"}});
        let end = json!({"event": "result", "document": document});
        let log = read(format!("{start}\n{end}\n").as_bytes());
        assert_eq!(log.manifest["remote.host.release"], "6.1");
    }

    #[test]
    fn a_document_that_is_too_long_is_refused_unread() {
        let error = HistoryEntry::read("a.json", vec![0; LARGEST + 1], None).unwrap_err();
        assert_eq!(error.to_string(), "a.json is longer than 256 MiB");
    }

    #[test]
    fn a_label_that_is_given_replaces_that_of_the_result() {
        let bytes = document(|d| d["brand"] = json!("nightly"));
        let label = |given| {
            HistoryEntry::read("a.json", bytes.clone(), given)
                .unwrap()
                .label
        };
        assert_eq!(label(None), "nightly");
        assert_eq!(label(Some("mine")), "mine");
        assert_eq!(read(&document(|_| ())).label, "");
    }

    #[test]
    fn a_digest_is_that_of_sha_256() {
        assert!(digest_of(b"abc").starts_with("ba7816bf8f01cfea414140de5dae2223"));
        assert_eq!(digest_of(b"abc").len(), 64);
        assert_eq!(key(&["abc"]).len(), KEY);
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }

    #[test]
    fn equal_facts_have_equal_keys() {
        let plain = read(&document(|_| ()));
        let later = read(&document(|d| {
            d["started_unix_seconds"] = json!(1_700_000_009.0)
        }));
        assert_eq!(later.manifest_key(), plain.manifest_key());
        assert_eq!(plain.manifest_key().len(), KEY);
    }

    #[test]
    fn a_host_is_named_or_else_has_its_address() {
        let mut record = Record::default();
        assert_eq!(host(&record), "");
        record.remote.address = Some("192.0.2.1".to_owned());
        assert_eq!(host(&record), "192.0.2.1");
        record.remote.name = Some("db1".to_owned());
        assert_eq!(host(&record), "db1");
    }

    #[test]
    fn several_commands_are_one_line() {
        let command_of = |lines: &[&str]| {
            let commands = lines.iter().map(|line| (String::new(), (*line).to_owned()));
            command(&Record {
                commands: commands.collect(),
                ..Record::default()
            })
        };
        assert_eq!(
            command_of(&["iperf3 -s", "iperf3 -c\nx"]),
            "iperf3 -s; iperf3 -c\u{fffd}x"
        );
        assert_eq!(command_of(&[]), "");
    }

    #[test]
    fn the_median_latency_comes_first_and_the_rest_keeps_its_order() {
        let names = |names: &[&str]| {
            let figure = read(&document(|_| ())).figures.remove(0);
            let named = |name: &&str| RunFigure {
                name: (*name).to_owned(),
                ..figure.clone()
            };
            let mut figures: Vec<RunFigure> = names.iter().map(named).collect();
            put_latency_first(&mut figures);
            figures
                .into_iter()
                .map(|figure| figure.name)
                .collect::<Vec<_>>()
        };
        let found = names(&[
            "rate",
            "cpu p50",
            "latency p99",
            "latency p50",
            "latency p90",
        ]);
        let expected = [
            "latency p50",
            "rate",
            "cpu p50",
            "latency p99",
            "latency p90",
        ];
        assert_eq!(found, expected);
        assert_eq!(names(&["rate", "cpu p50"]), ["rate", "cpu p50"]);
    }

    #[test]
    fn entries_without_time_or_result_are_refused() {
        let refused =
            |bytes: &[u8]| HistoryEntry::read("x\n.json", bytes.to_vec(), None).unwrap_err();
        let undated = document(|d| d["started_unix_seconds"] = json!(null));
        assert!(
            refused(&undated)
                .to_string()
                .contains("when it was measured")
        );
        let failed = document(|d| {
            d["result"] = json!(null);
            d["error"] = json!({"message": "no such \u{1b}[1mhost\nat all\n", "exit_status": 1});
        });
        let line = refused(&failed).to_string();
        assert!(
            line.ends_with("has no result: no such \u{fffd}[1mhost"),
            "{line}"
        );
        assert!(!line.contains('\n'), "{line}");
        assert!(refused(b"{}").to_string().contains("no result"));
    }
}
