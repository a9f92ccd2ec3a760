//! The generated files in the repository are those that the tables give, and the
//! programs that read them have nothing to say against them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{DocPage, pages};
use netperf_testkit::require::require;

fn kept(page: &DocPage) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(&page.path)
}

fn page(end: &str) -> DocPage {
    let mut found = pages().into_iter().filter(|page| page.path.ends_with(end));
    found.next().expect(end)
}

#[test]
fn generated_files_are_up_to_date() {
    for page in pages() {
        let kept = std::fs::read_to_string(kept(&page)).unwrap_or_default();
        assert!(
            kept == page.text,
            "{} is stale: cargo run -p xtask -- gen",
            page.path
        );
    }
}

#[test]
fn generated_files_name_every_option() {
    let man = page("netperf.1").text;
    for name in [
        "time",
        "no-delay",
        "async-recv",
        "count",
        "list",
        "socket-directory",
        "associations",
        "circuit",
    ] {
        let escaped = format!("\\-\\-{}", name.replace('-', "\\-"));
        assert!(man.contains(&escaped), "{name}");
        for end in [".bash", "_netperf", ".fish", "options.md"] {
            let text = page(end).text;
            assert!(text.contains(name), "{name} in {end}");
        }
    }
}

/// True if `program` can be run; continuous integration must have it.
fn have(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    require(found.is_ok(), program, &format!("install {program}"))
}

/// Messages of `program` when it checks a page.
fn checked(program: &str, arguments: &[&str], page: &DocPage) -> Option<String> {
    if !have(program) {
        return None;
    }
    let output = Command::new(program)
        .args(arguments)
        .arg(kept(page))
        .stdin(Stdio::null())
        .output()
        .expect(program);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program}: {said}");
    Some(said)
}

#[test]
fn shells_find_no_fault_in_their_completions() {
    for (shell, end) in [("bash", ".bash"), ("zsh", "_netperf"), ("fish", ".fish")] {
        if let Some(said) = checked(shell, &["-n"], &page(end)) {
            assert_eq!(said, "", "{shell}");
        }
    }
}

#[test]
fn groff_finds_no_fault_in_the_man_pages() {
    for end in [
        "netperf.1",
        "netperf-report.1",
        "netperf-history.1",
        "netserver.1",
    ] {
        let arguments = ["-man", "-ww", "-z", "-rLL=80n"];
        if let Some(said) = checked("groff", &arguments, &page(end)) {
            assert_eq!(said, "", "{end}");
        }
    }
}

/// Completions that bash offers after `line`.
fn offered(line: &str) -> Vec<String> {
    let mut words: Vec<&str> = line.split(' ').collect();
    let last = words.len() - 1;
    let program = words[0].to_owned();
    // bash makes separate words of the equals signs.
    let split: Vec<String> = words
        .drain(..)
        .flat_map(|word| match word.split_once('=') {
            Some((name, "")) => vec![name.to_owned(), "=".to_owned()],
            Some((name, value)) => vec![name.to_owned(), "=".to_owned(), value.to_owned()],
            None => vec![word.to_owned()],
        })
        .collect();
    let last = last.max(split.len() - 1);
    let script = format!(
        "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD={last}; _{program}; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &script])
        .arg(kept(&page(".bash")))
        .args(&split)
        .output()
        .expect("bash");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn bash_offers_names_and_values_on_both_sides_of_the_dashes() {
    if !have("bash") {
        return;
    }
    for (line, wanted) in [
        ("netperf --ti", "--time --timestamps"),
        ("netperf --tes", "--test"),
        ("netperf -t TCP_S", "TCP_STREAM TCP_SENDFILE"),
        ("netperf --test tcp_c", "tcp_crr tcp_cc"),
        ("netperf --test=tcp_c", "tcp_crr tcp_cc"),
        ("netperf -- -t d", "dgram"),
        ("netperf -- --test udp_s", "udp_stream"),
        ("netperf -- -d re", "recv receive"),
        ("netperf --request", "--request-size"),
        ("netperf --time 5", ""),
        ("netserver --fo", "--foreground"),
        ("netserver --test", ""),
    ] {
        assert_eq!(offered(line).join(" "), wanted, "{line}");
    }
}

/// Lines of commands, and what they may go on with.
const COMMANDS: &[(&str, &str)] = &[
    ("netperf hi", "history"),
    ("netperf r", "report run"),
    ("netperf report --sv", "--svg"),
    ("netperf compare --pai", "--paired"),
    ("netperf compare --repe", ""),
    ("netperf sweep --repe", "--repeat"),
    ("netperf run --ke", "--keep"),
    ("netperf history tr", "trend"),
    ("netperf history add --lim", ""),
    ("netperf history list --lim", "--limit"),
    ("netperf history --db x change --false", "--false-alarms"),
    ("netperf --paire", ""),
    (
        "netperf sweep -o d --over m=1,2 -- --test tcp_c",
        "tcp_crr tcp_cc",
    ),
    ("netperf sweep -- -H h -- -d rec", "recv receive"),
    (
        "netperf run -- -- -d x --vs -t sctp_r",
        "sctp_rr sctp_rr_many",
    ),
    ("netperf run -- -l 1 --vs -- -t d", "dgram"),
    ("netperf run -- -l 1 --vs", "--vs"),
];

#[test]
fn bash_offers_commands_and_what_belongs_to_them() {
    if !have("bash") {
        return;
    }
    for (line, wanted) in COMMANDS {
        assert_eq!(offered(line).join(" "), *wanted, "{line}");
    }
    let files = offered("netperf report src/docs/tests.r");
    assert_eq!(files, ["src/docs/tests.rs"]);
    let files = offered("netperf history list src/docs/tests.r");
    assert_eq!(files, [""; 0], "it takes no files");
}

#[test]
fn fish_offers_commands_and_what_belongs_to_them() {
    if !have("fish") {
        return;
    }
    for (line, wanted) in COMMANDS {
        let offered = offered_by_fish(line).to_lowercase();
        let mut offered: Vec<&str> = offered.split_whitespace().collect();
        let mut wanted: Vec<&str> = wanted.split(' ').filter(|word| !word.is_empty()).collect();
        offered.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(offered, wanted, "{line}");
    }
    let files = offered_by_fish("netperf report src/docs/tests.r");
    assert_eq!(files, "src/docs/tests.rs");
}

/// Lines that end in selectors, and what they may go on with.
const SELECTIONS: &[(&str, &str)] = &[
    ("netperf -- -k THROUGHPUT_U", "THROUGHPUT_UNITS"),
    (
        "netperf -- -o ELAPSED_TIME,P99_",
        "ELAPSED_TIME,P99_LATENCY",
    ),
    ("netperf -t omni -- -O DIRE", "DIRECTION"),
    ("netperf --keyval TRANSPORT_M", "TRANSPORT_MSS"),
    ("netperf -- --csv UUID,RT_L", "UUID,RT_LATENCY"),
];

#[test]
fn bash_offers_selectors_in_lists() {
    if !have("bash") {
        return;
    }
    for (line, wanted) in SELECTIONS {
        assert_eq!(offered(line).join(" "), *wanted, "{line}");
    }
    let both_cases = offered("netperf -- -k UUID,throughput_u").join(" ");
    assert_eq!(both_cases, "UUID,throughput_units");
    // In front of the dashes the letter means something else.
    assert_eq!(offered("netperf -k THROUGHPUT_U").join(" "), "");
}

/// Completions that fish offers after `line`.
fn offered_by_fish(line: &str) -> String {
    let output = Command::new("fish")
        .args(["--no-config", "-c", "source $argv[1]; complete -C $argv[2]"])
        .arg(kept(&page(".fish")))
        .arg(line)
        .output()
        .expect("fish");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    let text = String::from_utf8_lossy(&output.stdout);
    let words = text.lines().filter_map(|line| line.split('\t').next());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn fish_offers_selectors_in_lists() {
    if !have("fish") {
        return;
    }
    for (line, wanted) in SELECTIONS {
        assert_eq!(offered_by_fish(line), *wanted, "{line}");
    }
}
