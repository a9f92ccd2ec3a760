//! The files in `dist/kubernetes`: their command lines are those of the programs, and their
//! versions that of the workspace. They and the printed manifests follow the schema of the API;
//! `just lab-k8s` checks them with an API server.

use std::path::{Path, PathBuf};

use netperf_testkit::schema::Schema;
use netperf_testkit::server::free_port;
use netperf_testkit::{Invocation, Netserver, Place, Scratch, ours, require};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/kubernetes")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).expect("a file")
}

/// The words of the line `command: [...]`.
fn command(name: &str) -> Vec<String> {
    let text = text(name);
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("command: ["));
    let words = line.expect("a command").trim_end_matches(']').split(", ");
    words
        .map(|word| word.trim_matches('"').to_owned())
        .collect()
}

#[test]
fn netserver_accepts_the_options_of_its_pods() {
    for file in ["server.yaml", "daemonset.yaml"] {
        let command = command(file);
        assert_eq!(command[0], "netserver", "{file}");
        let metrics = format!("127.0.0.1:{}", free_port());
        let here = |word: &str| word.replace("0.0.0.0:9465", &metrics);
        let options: Vec<String> = command[1..].iter().map(|word| here(word)).collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let server = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
        ours!()
            .client_of(&server)
            .args(["-t", "TCP_RR", "-l", "-1"])
            .run()
            .expect_clean();
    }
}

#[test]
fn the_job_asks_for_a_check_over_one_port() {
    let command = command("check-job.yaml");
    let expected = [
        "netperf",
        "check",
        "netserver.netperf",
        "--json",
        "--no-history",
        "--",
        "--one-port",
    ];
    assert_eq!(command, expected);
}

#[test]
fn images_and_chart_have_the_version_of_the_programs() {
    let version = env!("CARGO_PKG_VERSION");
    for file in ["server.yaml", "daemonset.yaml", "check-job.yaml"] {
        let image = format!("image: netperf:{version}\n");
        assert!(text(file).contains(&image), "{file} has no {image}");
    }
    let chart = text("chart/Chart.yaml");
    assert!(
        chart.contains(&format!("appVersion: {version}\n")),
        "{chart}"
    );
    assert_eq!(
        text("chart/dashboards/netserver.json"),
        text("../grafana/netserver.json")
    );
}

/// Reads YAML, and prints JSON. The interpreter of Debian has the module.
const PYTHON: &str = "/usr/bin/python3";
const TO_JSON: &str =
    "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";

/// The objects of a text in YAML; `None`, after saying so, where the reader is missing.
fn objects(yaml: &str) -> Option<Vec<Value>> {
    let folder = Scratch::new();
    let file = folder.path().join("objects.yaml");
    std::fs::write(&file, yaml).expect("a file");
    let python = |code: &str| Invocation::new(Path::new(PYTHON)).args(["-c", code]);
    let present = Path::new(PYTHON).exists() && python("import yaml").run().status.success();
    if !require::require(present, "yaml for Python", "install python3-yaml") {
        return None;
    }
    let read = python(TO_JSON).arg(&file).run().expect_exit(0);
    let objects: Vec<Value> = serde_json::from_str(&read.stdout).expect("JSON");
    Some(objects.into_iter().filter(|one| !one.is_null()).collect())
}

/// Faults of the objects of a text.
fn faults(objects: &[Value]) -> Vec<String> {
    let schema = include_str!("kubernetes_schema/v1.34.4.schema.json");
    let schema = Schema::parse(schema);
    let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
    let each = objects.iter();
    each.flat_map(|object| schema.faults_of(&kind(object), object))
        .collect()
}

#[test]
fn printed_manifests_and_files_follow_the_schema_of_the_api() {
    let folder = Scratch::new();
    let plan = folder.path().join("plan.toml");
    std::fs::write(&plan, "pattern = \"pairs\"\n").expect("a plan");
    let plan = plan.to_str().expect("a path in UTF-8");
    let manifest = |options: &[&str]| {
        let manifest = Invocation::new(&ours!().netperf)
            .args(["campaign", "manifest", "k8s", "--agents", "3"])
            .args(options);
        manifest.run().expect_clean().stdout
    };
    let mut texts: Vec<(String, usize)> = vec![
        (manifest(&[]), 6),
        (manifest(&["--plan", plan]), 7),
        (manifest(&["--daemonset", "--plan", plan]), 7),
    ];
    for entry in std::fs::read_dir(self::folder()).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        if let Some(name) = name.to_str().filter(|name| name.ends_with(".yaml")) {
            texts.push((text(name), 1));
        }
    }
    assert!(texts.len() >= 8, "{texts:?}");
    for (text, least) in &texts {
        let Some(objects) = objects(text) else { return };
        assert!(objects.len() >= *least, "{text}");
        assert_eq!(faults(&objects), [""; 0], "{text}");
        // A field that the API does not have is noticed, and a wrong type.
        let mut wrong = objects.clone();
        wrong[0]["metadata"]["nmae"] = Value::Null;
        wrong[0]["metadata"]["labels"] = Value::from(1);
        assert_eq!(faults(&wrong).len(), 2, "{:?}", faults(&wrong));
    }
}
