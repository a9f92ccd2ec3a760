//! Results of campaigns: matrices, outliers measured again, files of cells, history, comparison.

use netperf_testkit::{Finished, Invocation, Scratch, ours};
use serde_json::{Value, json};

use crate::campaign::{Agents, plan};
use crate::campaign_hosts::document;
use crate::scripted::ScriptedCampaign;

const PAIRS: &str = "pattern = \"pairs\"\ntest = \"TCP_STREAM\"\nwindow = 1\n";

/// Rates with a little noise that is the same each time.
fn even(from: usize, to: usize) -> f64 {
    let noise = f64::from(u32::try_from((from * 31 + to * 17 + from * to) % 23).expect("small"));
    1e9 * (1.0 + 1e-4 * noise)
}

fn read(campaign: &ScriptedCampaign, name: &str) -> Value {
    let text = std::fs::read_to_string(campaign.path(name)).expect("a document");
    serde_json::from_str(&text).expect("JSON")
}

/// Indices of members by their names.
fn index(document: &Value, name: &str) -> usize {
    let members = document["members"].as_array().expect("members");
    let found = members.iter().position(|member| member["name"] == name);
    found.unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn outliers_are_measured_again_and_reported_only_if_confirmed() {
    let campaign = ScriptedCampaign::new(8, PAIRS);
    // A sender that is slow each time, and a path that was slow once.
    let rate = |from: usize, to: usize, time: usize| match (from, to, time) {
        (3, _, _) => even(from, to) / 2.0,
        (1, 2, 1) => even(from, to) / 10.0,
        _ => even(from, to),
    };
    let options = ["-o", "r.json", "--page", "page.html"];
    let finished = campaign.run(&options, &rate, |running, _| running.finish());
    let finished = finished.expect_exit(0);
    let text = &finished.stdout;
    assert!(text.contains("Outlier   sender h3: "), "{text}");
    assert!(text.contains("again 50"), "{text}");
    assert!(!text.contains("h1 to h2: "), "{text}");
    assert!(text.contains("Not shown: 1 outlier that"), "{text}");
    let said = &finished.stderr;
    assert!(
        said.contains("measuring 6 cells again that look wrong"),
        "{said}"
    );
    let document = read(&campaign, "r.json");
    assert_eq!(document["complete"], true, "{document:#}");
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(56));
    let again = document["cells_again"].as_array().expect("cells");
    assert_eq!(again.len(), 18, "each of them three times");
    let outliers = document["outliers"].as_array().expect("outliers");
    assert_eq!(outliers.len(), 2, "{outliers:?}");
    let [sender, path] = outliers.as_slice() else {
        panic!("{outliers:?}");
    };
    assert_eq!(
        (&sender["kind"], &sender["confirmed"]),
        (&"sender".into(), &true.into())
    );
    assert_eq!(sender["from"], index(&document, "h3"));
    let rate = |value: &Value| value.as_f64().expect("a rate").round();
    assert!((rate(&sender["again"]) / 5e8 - 1.0).abs() < 0.01);
    assert_eq!(
        (&path["kind"], &path["confirmed"]),
        (&"path".into(), &false.into())
    );
    assert!((rate(&path["first"]) / 1e8 - 1.0).abs() < 0.01, "{path}");
    assert!((rate(&path["again"]) / 1e9 - 1.0).abs() < 0.01, "{path}");
    let page = std::fs::read_to_string(campaign.path("page.html")).expect("a page");
    assert!(page.contains("sender h3: ") && page.contains(", 50"));
    assert!(!page.contains("path h1 to h2"), "not repeated");
    // Without the key of the plan nothing is measured again.
    let campaign = ScriptedCampaign::new(8, &format!("{PAIRS}recheck = false\n"));
    let rate = |from: usize, to: usize, _| even(from, to) / if from == 3 { 2.0 } else { 1.0 };
    let finished = campaign.run(&["-o", "r.json"], &rate, |running, _| running.finish());
    let text = finished.expect_exit(0).stdout;
    assert!(
        text.contains("sender h3") && text.contains("not measured again"),
        "{text}"
    );
    let document = read(&campaign, "r.json");
    assert_eq!(document["cells_again"].as_array().map(Vec::len), Some(0));
    assert!(document["outliers"][0]["confirmed"].is_null());
}

fn netperf(campaign: &ScriptedCampaign, words: &[&str]) -> Finished {
    Invocation::new(&ours!().netperf)
        .folder(campaign.folder.path())
        .args(words)
        .run()
}

/// Runs a campaign in which one path may be slow.
fn run(campaign: &ScriptedCampaign, options: &[&str], slow: bool) -> Finished {
    let rate = move |from: usize, to: usize, _| {
        let is_slow = slow && (from, to) == (4, 2);
        even(from, to) / if is_slow { 3.0 } else { 1.0 }
    };
    let finished = campaign.run(options, &rate, |running, _| running.finish());
    finished.expect_exit(0)
}

#[test]
fn cells_are_streamed_to_a_file_and_kept_in_a_history() {
    let campaign = ScriptedCampaign::new(6, PAIRS);
    let options = [
        "-o",
        "a.json",
        "--cells",
        "a.jsonl",
        "--history",
        "h.sqlite",
    ];
    let said = run(&campaign, &options, false).stderr;
    let document = read(&campaign, "a.json");
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(0));
    assert_eq!(document["cells_file"], "a.jsonl");
    assert_eq!(
        (&document["cells_measured"], &document["complete"]),
        (&30.into(), &true.into())
    );
    assert!(document["cut_error_seconds"].is_number());
    let identifier = document["campaign"].as_str().expect("an identifier");
    assert!(
        said.contains(&format!("kept as campaign {identifier}")),
        "{said}"
    );
    let lines = std::fs::read_to_string(campaign.path("a.jsonl")).expect("cells");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let [head, cells @ .., end] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert_eq!(head["schema"], "netperf-cells-1");
    assert_eq!(head["plan"]["pattern"], "pairs");
    assert_eq!(cells.len(), 30);
    assert!(
        cells.iter().all(|cell| cell["values"][0].is_number()),
        "{cells:?}"
    );
    assert!(cells.iter().all(|cell| cell["window"]["seconds"] == 1.0));
    assert_eq!(
        (&end["cells"], &end["complete"]),
        (&30.into(), &true.into())
    );
    // The document, its file of cells and the history have the same values.
    let shown = netperf(&campaign, &["campaign", "show", "a.json"])
        .expect_exit(0)
        .stdout;
    assert!(
        shown.contains("throughput") && shown.contains("Cells: 30 of 30"),
        "{shown}"
    );
    let of_history = ["campaign", "show", identifier, "--db", "h.sqlite"];
    assert_eq!(netperf(&campaign, &of_history).expect_exit(0).stdout, shown);
    let listed = netperf(&campaign, &["campaign", "list", "--db", "h.sqlite"]).expect_exit(0);
    assert!(listed.stdout.contains(identifier), "{}", listed.stdout);
    assert!(listed.stdout.contains("pairs of 6 members, TCP_STREAM"));
    let same = [
        "campaign",
        "compare",
        "a.jsonl",
        &identifier[..8],
        "--db",
        "h.sqlite",
    ];
    let same = netperf(&campaign, &same).expect_exit(0).stdout;
    assert!(same.contains("30 cells, 0 worse, 0 better"), "{same}");
}

#[test]
fn a_path_that_got_slower_is_named() {
    let campaign = ScriptedCampaign::new(6, PAIRS);
    run(&campaign, &["-o", "a.json"], false);
    run(&campaign, &["-o", "b.json"], true);
    let worse = netperf(&campaign, &["campaign", "compare", "a.json", "b.json"]).expect_exit(4);
    assert!(
        worse.stdout.contains("worse  h4 to h2: "),
        "{}",
        worse.stdout
    );
    let short = netperf(&campaign, &["compare", "a.json", "b.json", "--json"]).expect_exit(4);
    let json: Value = serde_json::from_str(&short.stdout).expect("JSON");
    assert_eq!(json["outcome"], "worse");
    let back = netperf(&campaign, &["compare", "b.json", "a.json"]).expect_exit(0);
    assert!(back.stdout.contains("better h4 to h2: "), "{}", back.stdout);
}

#[test]
fn campaigns_of_other_meanings_are_not_compared() {
    let campaign = ScriptedCampaign::new(4, PAIRS);
    let rate = |from: usize, to: usize, _| even(from, to);
    let finished = campaign.run(&["-o", "a.json"], &rate, |running, _| running.finish());
    finished.expect_exit(0);
    let mut document = read(&campaign, "a.json");
    document["plan"]["test"] = "UDP_STREAM".into();
    std::fs::write(campaign.path("b.json"), document.to_string()).expect("a file");
    std::fs::write(campaign.path("c.json"), "{}").expect("a file");
    let refused = |words: &[&str]| {
        let finished = netperf(&campaign, words).expect_exit(2);
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
        finished.stderr
    };
    let line = refused(&["campaign", "compare", "a.json", "b.json"]);
    assert!(
        line.contains("test is \"TCP_STREAM\" and \"UDP_STREAM\""),
        "{line}"
    );
    let line = refused(&["compare", "a.json", "c.json"]);
    assert!(
        line.contains("a.json is a campaign and c.json is not"),
        "{line}"
    );
    let line = refused(&["compare", "--paired", "a.json", "b.json"]);
    assert!(line.contains("--paired is not for campaigns"), "{line}");
    let line = refused(&["campaign", "compare", "a.json", "c.json"]);
    assert!(line.contains("c.json: "), "{line}");
    let line = refused(&["campaign", "compare", "a.json", "abcdef", "--db", "none"]);
    assert!(line.contains("abcdef is not a file"), "{line}");
    let line = refused(&["campaign", "show", "nothing.json"]);
    assert!(line.contains("nothing.json: "), "{line}");
}

#[test]
fn probes_measure_latency_before_and_beside_the_loads_of_a_mesh() {
    let agents = Agents::new(3);
    let text = plan("mesh", 1.0, "probe = true\nrecheck = false\n");
    let finished = agents.campaign(&text).run();
    let said = finished.stderr.clone();
    let document = document(finished, 0);
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 6);
    for cell in cells {
        for name in ["unloaded", "loaded"] {
            let percentile = |of: &str| {
                let value = &cell["metrics"][format!("{name}_latency_{of}_seconds")];
                value.as_f64().unwrap_or_else(|| panic!("{cell:#}"))
            };
            assert!(percentile("p50") > 0.0 && percentile("p99") >= percentile("p50"));
        }
    }
    // States have a line each where there is no terminal, and nothing else has.
    let is_state = |line: &&str| !line.contains(": warning: ");
    let said: Vec<&str> = said.lines().filter(is_state).collect();
    let [connecting, clocks, measuring] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(connecting.ends_with("connecting to 3 agents"), "{said:?}");
    assert!(
        clocks.ends_with("reading the clocks of the agents"),
        "{said:?}"
    );
    assert!(
        measuring.contains("measuring: 2 rounds, about "),
        "{said:?}"
    );
    agents.assert_no_process_left();
}

/// The line with which `campaign show` refuses a file.
fn refused_file(folder: &Scratch, name: &str, text: &str) -> String {
    std::fs::write(folder.path().join(name), text).expect("a file");
    let shown = Invocation::new(&ours!().netperf)
        .folder(folder.path())
        .args(["campaign", "show", name])
        .run()
        .expect_exit(2);
    shown.stderr
}

#[test]
fn threat_model_a_small_result_of_a_campaign_takes_no_large_memory() {
    let folder = Scratch::new();
    let member = |number: usize| json!({"name": format!("h{number}")});
    let figure =
        |number: usize| json!({"name": format!("f{number}"), "unit": "s", "better_when": "lower"});
    let head = |members: usize, figures: usize| {
        json!({
            "schema": "netperf-cells-1", "campaign": "c", "title": "t", "started_unix_seconds": 1.0,
            "members": (0..members).map(member).collect::<Vec<_>>(),
            "metrics": (0..figures).map(figure).collect::<Vec<_>>(),
        })
    };
    for (members, figures) in [(5000, 1), (4000, 200)] {
        let text = head(members, figures).to_string();
        let start = "{\"schema\":\"netperf-cells-1\",";
        let rest = text.replace("\"schema\":\"netperf-cells-1\"", "\"x\":0");
        let line = format!("{start}{}\n", rest.trim_start_matches('{'));
        let said = refused_file(&folder, "cells.jsonl", &line);
        assert!(said.contains("are too many"), "{said}");
    }
    let values = "[],".repeat(20_000_000);
    let said = refused_file(&folder, "c.json", &format!("{{\"cells\":[{values}[]]}}"));
    assert!(said.contains("more than 1 GiB of memory"), "{said}");
}
