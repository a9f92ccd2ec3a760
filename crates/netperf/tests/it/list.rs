//! `--list` of real programs: what it says of this host is what a run finds.

use netperf_testkit::schema::Schema;
use netperf_testkit::{Finished, Invocation, Netserver, Place, ours};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../docs/schema/netperf-1.schema.json");

fn listed(words: &[&str]) -> Finished {
    Invocation::new(&ours!().netperf)
        .args(words)
        .run()
        .expect_clean()
}

fn row<'t>(table: &'t str, name: &str) -> Vec<&'t str> {
    let line = table
        .lines()
        .find(|line| line.split_whitespace().next() == Some(name));
    line.unwrap_or_else(|| panic!("no {name} in\n{table}"))
        .split_whitespace()
        .collect()
}

#[test]
fn this_host_can_run_what_every_linux_has() {
    let table = listed(&["--list"]).stdout;
    for name in [
        "TCP_STREAM",
        "UDP_RR",
        "STREAM_RR",
        "DG_STREAM",
        "LOC_CPU",
        "OMNI",
    ] {
        assert_eq!(row(&table, name)[2], "yes", "{name}");
    }
    assert_eq!(row(&table, "SCTP_RR")[1], "sctp");
    assert_eq!(row(&table, "test")[..3], ["test", "transport", "here"]);
}

#[test]
fn a_netserver_that_is_named_is_asked() {
    let options = ["-D", "--transports", "all"];
    let server = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
    let port = server.port().to_string();
    let table = listed(&["-H", "127.0.0.1", "-p", &port, "--list"]).stdout;
    assert_eq!(row(&table, "test")[3], "127.0.0.1");
    for name in ["TCP_STREAM", "STREAM_RR", "REM_CPU"] {
        assert_eq!(row(&table, name)[3], "yes", "{name}");
    }
    // Both ends are on this host.
    for line in table.lines().filter(|line| line.starts_with("  ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0].ends_with("_RR") {
            assert_eq!(words[2], words[3], "{line}");
        }
    }
}

#[test]
fn as_json_it_follows_the_schema() {
    let server = ours!().serve();
    let port = server.port().to_string();
    for words in [
        vec!["--list", "--json"],
        vec!["--list", "--json", "-p", &port],
    ] {
        let finished = listed(&words);
        let list: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        let faults = Schema::parse(SCHEMA).faults_of("list", &list);
        assert_eq!(faults, [""; 0], "{}", finished.account());
        assert_eq!(list["host"].is_null(), words.len() == 2);
    }
}

#[test]
fn a_netserver_that_is_not_there_is_an_error() {
    let finished = Invocation::new(&ours!().netperf)
        .args(["--list", "-H", "127.0.0.1", "-p", "1"])
        .run()
        .expect_exit(255);
    assert!(
        finished.stdout.contains("are you sure"),
        "{}",
        finished.account()
    );
}
