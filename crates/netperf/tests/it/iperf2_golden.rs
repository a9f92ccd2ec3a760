//! Output of our client and server called as iperf against transcripts of iperf 2.1.8
//! (`golden_iperf/iperf2.json`), line by line, with figures masked.

use std::path::Path;

use netperf_testkit::{Invocation, Scratch, congestion, eventually, server::on_free_port};
use serde_json::Value;

use super::iperf2_served::{PATIENCE, Served, distinct, link, with_part_of};

/// Ends of transcripts that are not compared, and why.
const DIFFERENT: [(&str, &str, &str); 1] = [(
    "tcp-hide-ips",
    "server",
    "there is no transcript of this server",
)];

/// The distinct lines: how many rows there are depends on the load of the host. Sizes of buffers
/// belong to the host.
fn comparable(text: &str) -> Vec<String> {
    distinct(text, &["window size:", "buffer size:"])
}

fn words(case: &Value, key: &str, ports: [&str; 2]) -> Vec<String> {
    let list = case[key].as_array().expect("words");
    let words = list.iter().filter_map(Value::as_str);
    let [port, back] = ports;
    words
        .map(congestion::instead_of_cubic)
        .map(|word| word.replace("PORT", port).replace("BACK", back))
        .collect()
}

/// Words with half the times and intervals of a transcript, whose figures are masked.
fn in_half_the_time(words: Vec<String>) -> Vec<String> {
    with_part_of(words, &["-t", "-i"], 2.0)
}

/// Runs both ends, and returns what differs.
fn difference(program: &Path, case: &Value) -> Option<String> {
    // Another process may take the port for connections of the server first: that alone is a
    // reason for another port.
    let ran = on_free_port(|back| difference_with_port(program, case, back).ok());
    ran.expect("a free port")
}

/// Fails if the port for connections of the server is not free.
fn difference_with_port(program: &Path, case: &Value, back: u16) -> Result<Option<String>, ()> {
    let name = case["name"].as_str().expect("a name");
    let back = back.to_string();
    let of_server = in_half_the_time(words(case, "server", ["", &back]));
    // The options of the transcript without `-s -p PORT`.
    let options: Vec<&str> = of_server.iter().skip(3).map(String::as_str).collect();
    let mut server = Served::start(program, &options);
    let port = server.port.to_string();
    let client = Invocation::new(program)
        .args(in_half_the_time(words(case, "client", [&port, &back])))
        .patience(PATIENCE)
        .run();
    if client.stderr.contains("listener bind failed") {
        server.interrupt();
        return Err(());
    }
    let server = if case["stopped"] == true {
        // Its rows are printed when the connections have ended.
        let last = if options.contains(&"-y") {
            ",0.0-1."
        } else {
            "0.0000-"
        };
        let is_printed = server.running.prints(last, PATIENCE);
        assert!(is_printed, "{name}: {}", client.account());
        std::thread::sleep(std::time::Duration::from_millis(300));
        server.interrupt()
    } else {
        let ended = eventually(PATIENCE, || server.running.ended());
        assert!(ended, "{name}: {}", client.account());
        server.running.finish()
    };
    let mut wrong = String::new();
    for (end, printed) in [("client", &client.stdout), ("server", &server.stdout)] {
        if DIFFERENT.iter().any(|row| (row.0, row.1) == (name, end)) {
            continue;
        }
        let expected = case[format!("{end}_text")].as_str().expect("a text");
        let expected = congestion::instead_of_cubic(expected);
        let expected = expected.replace("PORT", &port).replace("BACK", &back);
        let [ours, theirs] = [printed.as_str(), &expected].map(comparable);
        if ours != theirs {
            wrong.push_str(&format!(
                "{name}, {end}: {ours:#?}\nexpected {theirs:#?}\n{printed}\n"
            ));
        }
    }
    Ok((!wrong.is_empty()).then_some(wrong))
}

#[test]
fn lines_are_those_of_the_transcripts() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let text = include_str!("golden_iperf/iperf2.json");
    expect_no_difference(text, |case| difference(&own, case));
}

/// Compares transcripts, twelve at a time.
#[track_caller]
pub(crate) fn expect_no_difference(
    transcripts: &str,
    difference: impl Fn(&Value) -> Option<String> + Sync,
) {
    let cases: Vec<Value> = serde_json::from_str(transcripts).expect("transcripts");
    let mut wrong = Vec::new();
    for some in cases.chunks(12) {
        std::thread::scope(|scope| {
            let threads: Vec<_> = some
                .iter()
                .map(|case| scope.spawn(|| difference(case)))
                .collect();
            for thread in threads {
                wrong.extend(thread.join().expect("a thread"));
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
