//! The files in `dist/kubernetes`: their command lines are those of the programs, and their
//! versions that of the workspace. `just lab-k8s` checks them with an API server.

use std::path::{Path, PathBuf};

use netperf_testkit::server::free_port;
use netperf_testkit::{Netserver, Place, ours};

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
