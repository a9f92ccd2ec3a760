//! Behaviours of every store: written once, and run over each of them.

use std::ops::Deref as _;
use std::slice::from_ref;

use netperf_campaign::outcome::CampaignDocument;
use netperf_history::change::{self, Changes};
use netperf_history::export::{ExportCells, ExportTable};
use netperf_history::text::{self, Trend};
use netperf_history::{Filter, Forget, Forgotten, HistoryEntry, Location, Store};
use serde_json::json;

/// The time of storing; results have their own time.
pub(crate) const NOW: i64 = 1_800_000_000_000_000;
/// The start of the first result, in seconds since 1970.
const BEGIN: f64 = 1_700_000_000.0;
const DAY: f64 = 86_400.0;
const MICROS: i64 = 1_000_000;

/// The result of a day with this rate and kernel.
pub(crate) fn result(host: &str, day: u32, rate: f64, kernel: &str) -> HistoryEntry {
    let document = json!({
        "schema": "netperf-1",
        "command_line": format!("netperf -H {host} -t TCP_RR, \"quoted\""),
        "started_unix_seconds": BEGIN + DAY * f64::from(day),
        "test": {"name": "TCP_RR"},
        "local": {"host": {"release": kernel}},
        "remote": {"name": host},
        "result": {"transactions_per_second": rate},
        "iterations": [{"local": {"cpu": {"busy_percent": 12.5}}}],
    });
    HistoryEntry::read("x.json", document.to_string().into_bytes(), None).expect("a result")
}

/// Creates a store.
fn open(place: &Location) -> Store {
    Store::open(place, true).expect("a store")
}

/// A run that was cut short is listed as such, and no trend has it.
fn cut_short(place: &Location) {
    let whole = result("h1", 1, 100.0, "6.1");
    let document = String::from_utf8(whole.document.clone()).expect("text");
    let document = document.replacen(
        '{',
        r#"{"complete": false, "warnings": [{"code": "ended_early", "message": "m"}], "uuid": "2","#,
        1,
    );
    let cut = HistoryEntry::read("x.json", document.into_bytes(), None).expect("a result");
    assert!(whole.complete && !cut.complete);
    let mut store = open(place);
    store.add(&[whole, cut], 0).expect("both");
    let listed = store.list(&Filter::default(), None).expect("a list");
    let complete: Vec<bool> = listed.iter().map(|one| one.complete).collect();
    assert_eq!(complete.iter().filter(|complete| **complete).count(), 1);
    assert_eq!(complete.len(), 2);
    let figures = store.figures(&Filter::default()).expect("figures");
    let cut = listed
        .iter()
        .find(|one| !one.complete)
        .expect("the other one");
    assert!(!figures.is_empty());
    assert!(figures.iter().all(|figure| figure.result != cut.id));
}

/// A property of a store.
type Behaviour = fn(&Location);

/// Every behaviour, over a store made by `fresh`.
pub(crate) fn behaves(mut fresh: impl FnMut() -> Location) {
    let behaviours: [(&str, Behaviour); 9] = [
        (
            "a run that a signal cut short is marked and in no trend",
            cut_short,
        ),
        (
            "documents come back byte for byte, also another time",
            documents,
        ),
        ("a result that is there already is not kept again", twice),
        ("lists are filtered and the newest stands first", lists),
        ("a change is found with what differed", changes),
        ("what is forgotten is gone with all that it needed", forgets),
        ("an export has every figure", exports),
        ("two writers take turns", writers),
        ("a campaign comes back with its cells", campaigns),
    ];
    for (name, behaviour) in behaviours {
        netperf_testkit::note(name);
        behaviour(&fresh());
    }
}

fn documents(fresh: &Location) {
    let entry = result("db1", 1, 1000.5, "6.1");
    let added = open(fresh).add(from_ref(&entry), NOW).expect("added");
    assert!(!added[0].known);
    let mut store = Store::open(fresh, false).expect("the same store");
    assert_eq!(store.find(&added[0].id.to_string()), Ok(added[0].id));
    assert_eq!(
        store.find(&entry.digest[..8].to_uppercase()),
        Ok(added[0].id)
    );
    assert_eq!(store.document(added[0].id), Ok(entry.document));
    for name in ["999", "ffffffffff", "abc", "x", "1 OR 1=1", "'", ""] {
        let error = store.find(name).expect_err(name).to_string();
        assert!(error.contains("no result"), "{error}");
    }
    assert_eq!(store.check(), Ok(Vec::new()));
}

/// A campaign of three members, whose last path is missing.
fn campaign(identifier: &str, started: f64) -> CampaignDocument {
    let member = |name: &str| {
        json!({"name": name, "control": name, "data": [], "labels": {},
        "source": {"engine": "lines", "id": name}, "version": null, "cpus": 2, "clock": null})
    };
    let cell = |from: usize, to: usize, round: usize, rate: Option<f64>| {
        json!({"from": from, "to": to, "round": round, "window": null,
            "metrics": {"bits_per_second": rate, "transactions_per_second": null,
                "latency_p50_seconds": null, "latency_p99_seconds": rate.map(|_| 2e-3),
                "lost_share": null, "retransmitted_segments": null},
            "missing": rate.is_none().then_some("h'2 is lost")})
    };
    let document = json!({
        "format": "netperf-campaign-1",
        "campaign": identifier,
        "started_unix_seconds": started,
        "plan": {"pattern": "pairs", "test": "TCP_STREAM"},
        "complete": false,
        "members": [member("h0"), member("h1"), member("h'2")],
        "cut_error_seconds": null,
        "cells": [
            cell(0, 1, 0, Some(9.0)),
            cell(0, 1, 1, Some(7.0)),
            cell(1, 0, 0, Some(5.5)),
            cell(2, 0, 0, None),
        ],
    });
    CampaignDocument::read(&document.to_string()).expect("a document")
}

fn campaigns(fresh: &Location) {
    let mut store = open(fresh);
    let [first, second] = [("abcdef01", BEGIN), ("abcdef02", BEGIN + DAY)]
        .map(|(identifier, started)| campaign(identifier, started));
    for document in [&first, &second] {
        let mut cells = document.cells.iter().map(|cell| Ok(cell.record(false)));
        let added = store
            .add_campaign(document, &mut cells, NOW)
            .expect("added");
        assert!(!added.known);
    }
    let again = store.add_campaign(&first, &mut std::iter::empty(), NOW);
    assert!(again.expect("the same").known);
    let listed = store.campaigns().expect("a list");
    let names: Vec<&str> = listed.iter().map(|one| one.campaign.as_str()).collect();
    assert_eq!(names, ["abcdef02", "abcdef01"]);
    assert_eq!(listed[0].title, "pairs of 3 members, TCP_STREAM");
    assert!(!listed[0].complete);
    let (document, matrices) = store.campaign("ABCDEF01").expect("a campaign");
    assert_eq!((document.members.len(), document.cells.len()), (3, 0));
    // Each value, its median over rounds, and the reason of a missing one are those of the
    // document.
    assert_eq!(matrices, first.matrices());
    for (name, said) in [
        ("abcdef", "several"),
        ("abcde", "no result"),
        ("bbbbbb", "no result"),
    ] {
        let error = store.campaign(name).expect_err(name).to_string();
        assert!(error.contains(said), "{error}");
    }
    // Nothing of a campaign whose cells cannot be read is stored.
    let broken = campaign("ffffff00", BEGIN);
    let cells = [
        Ok(broken.cells[0].record(false)),
        Err("line 3: no cell".to_owned()),
    ];
    let failed = store.add_campaign(&broken, &mut cells.into_iter(), NOW);
    assert!(failed.is_err_and(|error| error.to_string().contains("line 3")));
    assert_eq!(store.campaigns().map(|all| all.len()), Ok(2));
    forgets_campaigns(&mut store);
}

/// Two campaigns of one title, a day apart, are there.
fn forgets_campaigns(store: &mut Store) {
    let all = Filter::default();
    let of_results = Filter {
        test: Some("TCP_STREAM".into()),
        ..Filter::default()
    };
    let mut forget = |what: &Forget, filter: &Filter, only_tell: bool| {
        let forgotten = store.forget(what, filter, only_tell).expect("forgotten");
        assert!(forgotten.results.is_empty());
        (
            forgotten.campaigns,
            store.campaigns().expect("a list").len(),
        )
    };
    let first = || vec!["abcdef01".to_owned()];
    assert_eq!(forget(&Forget::AllBut(2), &all, false), (Vec::new(), 2));
    assert_eq!(forget(&Forget::AllBut(1), &all, true), (first(), 2));
    let early = Forget::Before(i64::MAX);
    assert_eq!(forget(&early, &of_results, false), (Vec::new(), 2));
    assert_eq!(forget(&Forget::AllBut(1), &all, false), (first(), 1));
    let second = store.find_campaign("ABCDEF").expect("one of this name");
    let named = Forget::Named(Vec::new(), vec![second.clone()]);
    let forgotten = store.forget(&named, &all, false).expect("forgotten");
    assert_eq!(forgotten.campaigns, [second]);
    assert_eq!(store.campaigns(), Ok(Vec::new()));
    // Nothing of it is left: the same campaign can be stored again, with all of its cells.
    let again = campaign("abcdef01", BEGIN);
    let mut cells = again.cells.iter().map(|cell| Ok(cell.record(false)));
    let added = store.add_campaign(&again, &mut cells, NOW).expect("added");
    assert!(!added.known);
    let (_, matrices) = store.campaign("abcdef01").expect("a campaign");
    assert_eq!(matrices, again.matrices());
}

fn twice(fresh: &Location) {
    let (one, other) = (result("db1", 1, 1.5, "6.1"), result("db1", 2, 1.5, "6.1"));
    let mut store = open(fresh);
    let first = store.add(from_ref(&one), NOW).expect("added");
    let again = store.add(&[other.clone(), one, other], NOW).expect("added");
    assert_eq!((again[1].id, again[1].known), (first[0].id, true));
    assert_eq!((again[2].id, again[2].known), (again[0].id, true));
    assert_eq!(
        store.list(&Filter::default(), None).expect("a list").len(),
        2
    );
}

fn lists(fresh: &Location) {
    let mut store = open(fresh);
    let mut entries: Vec<HistoryEntry> =
        (0..10).map(|day| result("db1", day, 10.0, "6.1")).collect();
    entries.push(result("d'b \u{2603}", 3, 20.0, "6.1"));
    store.add(&entries, NOW).expect("added");
    let mut list = |filter: Filter, limit| {
        let found = store.list(&filter, limit).expect("a list");
        found.iter().map(|listed| listed.value).collect::<Vec<_>>()
    };
    let only = |change: fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        filter
    };
    assert_eq!(list(Filter::default(), None).len(), 11);
    assert_eq!(list(Filter::default(), Some(3)).len(), 3);
    assert_eq!(
        list(only(|f| f.host = Some("d'b \u{2603}".into())), None),
        [20.0]
    );
    assert_eq!(
        list(only(|f| f.test = Some("tcp_rr".into())), None).len(),
        11
    );
    assert_eq!(
        list(only(|f| f.test = Some("UDP_RR".into())), None).len(),
        0
    );
    assert_eq!(list(only(|f| f.label = Some("x".into())), None).len(), 0);
    let from_the_eighth = only(|f| f.since = Some((1_700_000_000 + 8 * 86_400) * MICROS));
    assert_eq!(list(from_the_eighth, None).len(), 2);
    let before_the_first = only(|f| f.before = Some((1_700_000_000 + 86_400) * MICROS));
    assert_eq!(list(before_the_first, None).len(), 1);
    let all = store.list(&Filter::default(), None).expect("a list");
    assert!(all.is_sorted_by(|a, b| a.started >= b.started));
    let shown = text::list(&all, None);
    assert!(shown.contains("2023-11-14 22:13:20"), "{shown}");
    let key = Some(all[0].configuration[..6].to_owned());
    let of_one = Filter {
        configuration: key,
        ..Filter::default()
    };
    assert_eq!(store.list(&of_one, None).expect("a list").len(), 10);
}

/// The changes of the only configuration there is.
fn only_changes(store: &mut Store) -> Changes {
    let all = Filter::default();
    let configurations = store.configurations(&all).expect("configurations");
    assert_eq!(configurations.len(), 1);
    let kinds = store.kinds(&configurations[0]).expect("figures");
    let of = (&configurations[0], &kinds[0]);
    change::find(store, of, &all, change::LAST, change::CHANCE).expect("changes")
}

fn changes(fresh: &Location) {
    let mut store = open(fresh);
    let noise = |day: u32| f64::from(day * 7 % 11);
    let before = (0..20).map(|day| result("db1", day, 1000.0 + noise(day), "6.1"));
    let after = (20..40).map(|day| result("db1", day, 900.0 + noise(day), "6.12"));
    let entries: Vec<HistoryEntry> = before.chain(after).collect();
    store.add(&entries[..20], NOW).expect("added");
    assert_eq!(only_changes(&mut store).changes, []);
    store.add(&entries[20..], NOW).expect("added");
    let found = only_changes(&mut store);
    let [change] = found.changes.deref() else {
        panic!("one change: {:?}", found.changes);
    };
    assert_eq!(found.points[20], change.first);
    assert_eq!((change.before.results, change.after.results), (20, 20));
    assert!(change.probability <= 0.001, "{change:?}");
    let said = text::changes(&found);
    assert!(said.contains("local.host.release: 6.1 -> 6.12"), "{said}");
    assert!(said.contains("worse"), "{said}");
    let document = text::changes_json(&found);
    assert_eq!(document["changes"][0]["differences"][0]["after"], "6.12");
    let trend = Trend {
        configuration: found.configuration,
        kind: found.kind,
        points: found.points,
    };
    let said = trend.text(5);
    assert!(said.contains("35 earlier ones"), "{said}");
    assert_eq!(trend.json()["points"].as_array().map(Vec::len), Some(40));
}

fn forgets(fresh: &Location) {
    let mut store = open(fresh);
    let mut entries: Vec<HistoryEntry> =
        (0..10).map(|day| result("db1", day, 10.0, "6.1")).collect();
    entries.extend((0..3).map(|day| result("db2", day, 20.0, &format!("6.{day}"))));
    let ids: Vec<i64> = store
        .add(&entries, NOW)
        .expect("added")
        .iter()
        .map(|a| a.id)
        .collect();
    let all = Filter::default();
    let kept = Forget::AllBut(4);
    let told = store.forget(&kept, &all, true).expect("told");
    assert_eq!(told.results.len(), 6);
    assert_eq!(store.list(&all, None).expect("a list").len(), 13);
    assert_eq!(store.forget(&kept, &all, false), Ok(told));
    assert_eq!(store.list(&all, None).expect("a list").len(), 7);
    let early = Forget::Before((1_700_000_000 + 7 * 86_400) * MICROS);
    let of_db1 = Filter {
        host: Some("db1".into()),
        ..Filter::default()
    };
    let forgotten = store.forget(&early, &of_db1, false).expect("forgotten");
    assert_eq!(forgotten.results, [ids[6]]);
    let some = Forget::Named(vec![ids[10], ids[11], ids[12]], Vec::new());
    let forgotten = store.forget(&some, &all, false).expect("forgotten");
    assert_eq!(forgotten.results.len(), 3);
    assert_eq!(store.forget(&some, &all, false), Ok(Forgotten::default()));
    assert_eq!(store.configurations(&all).expect("configurations").len(), 1);
    assert_eq!(store.check(), Ok(Vec::new()));
    // A deleted result can be stored again, under a new number.
    let again = store.add(&entries[10..11], NOW).expect("added");
    assert!(!again[0].known && again[0].id > ids[12], "{again:?}");
}

fn exports(fresh: &Location) {
    let mut store = open(fresh);
    let entries = [result("db1", 0, 10.5, "6.1"), result("db2", 1, 20.0, "6.1")];
    store.add(&entries, NOW).expect("added");
    let table = ExportTable::of(&mut store, &Filter::default()).expect("a table");
    assert_eq!(table.rows, 2);
    let rates = table
        .columns
        .iter()
        .find(|column| column.name == "transaction rate (transactions/s)");
    let rates = rates.map(|column| column.cells.clone());
    assert_eq!(
        rates,
        Some(ExportCells::Figures(vec![Some(20.0), Some(10.5)]))
    );
    let csv = table.csv();
    let lines: Vec<&str> = csv.split('\n').collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(lines[2].contains("2023-11-14T22:13:20.000000Z"), "{csv}");
    assert!(lines[2].contains("-t TCP_RR, \"\"quoted\"\"\""), "{csv}");
}

fn writers(fresh: &Location) {
    // Both create the tables too.
    let saved: Vec<(i64, HistoryEntry)> = std::thread::scope(|scope| {
        let writer = |name: &'static str| {
            let write = move || {
                let mut store = open(fresh);
                let mut saved = Vec::new();
                for day in 0..15 {
                    let shared = result("both", day, 1.0, "6.1");
                    let own = result(name, day, 2.0, "6.1");
                    let added = store
                        .add(&[shared.clone(), own.clone()], NOW)
                        .expect("added");
                    saved.extend([(added[0].id, shared), (added[1].id, own)]);
                }
                saved
            };
            scope.spawn(write)
        };
        let both = [writer("one"), writer("other")];
        both.into_iter()
            .flat_map(|writer| writer.join().expect("a writer"))
            .collect()
    });
    let mut store = open(fresh);
    assert_eq!(
        store.list(&Filter::default(), None).expect("a list").len(),
        45
    );
    for (id, entry) in saved {
        assert_eq!(store.document(id), Ok(entry.document));
    }
    assert_eq!(store.check(), Ok(Vec::new()));
}
