//! Options without a column in the classic tables show their effect below them, and doubts
//! about the hosts are in JSON.

use netperf_testkit::{Finished, Terminal, ours};
use serde_json::Value;

fn run(words: &str) -> Finished {
    let server = ours!().serve();
    let words = words.split(' ');
    ours!()
        .client_of(&server)
        .args(["--time", "200ms"])
        .args(words)
        .run()
        .expect_clean()
}

/// Text after the empty line below the table; empty without it.
fn below(finished: &Finished) -> String {
    let said = &finished.stdout;
    let (_, below) = said.rsplit_once("\n\n").unwrap_or_default();
    below.to_owned()
}

#[test]
fn each_option_without_a_column_has_a_line_below_the_table() {
    for (words, begin, parts) in [
        (
            "-t UDP_STREAM -- -m 500 --sequence",
            "Datagrams to netserver: ",
            ["received", " lost (", "jitter"],
        ),
        (
            "-t TCP_STREAM --flows 2",
            "Flows: 2, ",
            ["slowest", "fastest", "fairness"],
        ),
        (
            "-t TCP_STREAM --series 0.1",
            "TCP at netperf: ",
            ["samples", "round trip", "window"],
        ),
        (
            "-f k -t TCP_STREAM --flows 2",
            "Flows: 2, ",
            ["slowest", " 10^3bits/s", "fairness"],
        ),
        (
            "-f b -t TCP_STREAM --flows 2",
            "Flows: 2, ",
            ["slowest", " Bytes/s", "fairness"],
        ),
        (
            "-t TCP_RR --flows 2",
            "Flows: 2, ",
            ["slowest", " trans/s", "fairness"],
        ),
        (
            "-t TCP_RR --timestamps software",
            "Median times, usec: ",
            ["netperf", "netserver", "; "],
        ),
        ("-t OMNI -- -T tls", "Encrypted: ", ["TLS", "1.3", "_"]),
    ] {
        let finished = run(words);
        let below = below(&finished);
        assert!(below.starts_with(begin), "{words}: {}", finished.account());
        for part in parts {
            assert!(below.contains(part), "{words}: {part}: {below}");
        }
        // Programs that read tables without headers find nothing else.
        let bare = run(&format!("--time 100ms -P 0 {words}"));
        assert!(!bare.stdout.contains(begin), "{}", bare.account());
    }
}

#[test]
fn classic_run_on_a_terminal_ends_with_its_answer_in_one_line() {
    let server = ours!().serve();
    let program = ours!().netperf.display().to_string();
    let port = server.port();
    let command = format!("'{program}' -H 127.0.0.1 -p {port} -l 0.3 -t TCP_RR -j");
    let Some(terminal) = Terminal::start((200, 50), &[("LC_ALL", "C.UTF-8")], &command) else {
        return;
    };
    let answers = |screen: &str| -> Vec<String> {
        let answers = screen
            .lines()
            .filter(|line| line.contains(" transactions/s, "));
        answers.map(str::to_owned).collect()
    };
    let screen = terminal.until("the answer", |screen| !answers(screen).is_empty());
    assert!(
        screen.contains("netperf: client and server are on one host"),
        "{screen}"
    );
    let [answer] = &answers(&screen)[..] else {
        panic!("one line: {screen}")
    };
    assert!(answer.contains("latency P50 "), "{screen}");
    assert!(answer.contains("(TCP_RR to 127.0.0.1, "), "{screen}");
}

#[test]
fn bare_output_has_nothing_added_on_a_terminal() {
    let server = ours!().serve();
    let program = ours!().netperf.display().to_string();
    let port = server.port();
    for (options, lines) in [
        ("-P 0 -v 0 -t TCP_RR -j", 1),
        ("-v 0 -t TCP_STREAM foo", 2),
        ("-t TCP_RR -- -k THROUGHPUT", 2),
        ("-P 0 -t TCP_RR -- -o THROUGHPUT", 1),
        ("-P 0 -t TCP_RR -- -O THROUGHPUT", 1),
    ] {
        let command = format!("'{program}' -H 127.0.0.1 -p {port} -l 0.3 {options}; echo END");
        let Some(terminal) = Terminal::start((200, 50), &[("LC_ALL", "C.UTF-8")], &command) else {
            return;
        };
        let screen = terminal.until("the end", |screen| screen.contains("END"));
        let shown: Vec<&str> = screen.lines().take_while(|line| *line != "END").collect();
        let shown: Vec<&&str> = shown.iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(shown.len(), lines, "{options}: {screen}");
        assert!(!screen.contains("netperf:"), "{options}: {screen}");
    }
}

#[test]
fn a_line_about_one_of_several_runs_says_so() {
    let finished = run("-i 3,3 -I 95,99 -t TCP_STREAM --flows 2");
    let told = below(&finished);
    assert!(
        told.starts_with("In the last of 3 runs:\nFlows: 2, "),
        "{}",
        finished.account()
    );
}

#[test]
fn a_test_with_classic_options_ends_with_its_table() {
    let finished = run("-t TCP_RR");
    let said = &finished.stdout;
    assert_eq!(said.lines().count(), 8, "{}", finished.account());
}

#[test]
fn a_single_host_is_a_doubt_in_json_and_nothing_on_standard_error_of_a_script() {
    // The runs are clean: standard error has not a byte.
    let document: Value = run("-t TCP_RR -c -C --json").document();
    let all = document["warnings"].as_array().expect("warnings");
    let codes: Vec<&str> = all.iter().filter_map(|one| one["code"].as_str()).collect();
    assert!(codes.contains(&"one_host"), "{document}");
}

/// Standard error of a run of a second.
fn stderr_of(words: &str) -> String {
    let server = ours!().serve();
    let client = ours!().client_of(&server).args(["-l", "1"]);
    client.args(words.split(' ')).run().expect_exit(0).stderr
}

#[test]
fn a_single_host_is_a_line_on_standard_error_unless_netperf_2_7_could_run_the_test() {
    let line = "netperf: client and server are on one host";
    for options in ["-t TCP_RR --flows 2", "-t TCP_RR --keyval THROUGHPUT"] {
        let stderr = stderr_of(options);
        assert!(stderr.contains(line), "{options}: {stderr}");
    }
    // The document of --json has it.
    for options in [
        "-t TCP_RR",
        "-t TCP_RR -- -k THROUGHPUT",
        "-t TCP_RR --json",
    ] {
        let stderr = stderr_of(options);
        assert!(!stderr.contains(line), "{options}: {stderr}");
    }
}

#[test]
fn a_hint_is_a_line_on_standard_error_unless_netperf_2_7_could_run_the_test() {
    let words = "-t TCP_RR -- -k THROUGHPUT,THROUGHPU";
    assert_eq!(stderr_of(words), "");
    let stderr = stderr_of(&format!("--flows 2 {words}"));
    assert!(stderr.contains("THROUGHPU is unknown"), "{stderr}");
}

#[test]
fn a_terminal_lists_every_selector_with_its_meaning() {
    let program = ours!().netperf.display().to_string();
    let command = format!("'{program}' -- -k '?'");
    let Some(terminal) = Terminal::start((200, 400), &[("LC_ALL", "C.UTF-8")], &command) else {
        return;
    };
    let screen = terminal.until("the last selector", |screen| {
        screen.contains("P<number>_LATENCY")
    });
    for part in ["THROUGHPUT ", "headline result", "UDP_LOST "] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}
