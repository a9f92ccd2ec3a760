//! Command lines of captured runs of the C programs: what they made of them, and what we do.
//!
//! `fixtures/argv.json` has the command line, exit status and standard error of each
//! transcript, and standard output where the run failed.

use crate::common;
use netperf_cli::{Command, Notice, OutputStream, Parsed, ServerCommand, UnknownTest};
use serde_json::Value;

/// Mark at which a transcript's help text was cut.
const ELIDED: &str = "[usage text elided";

struct Case {
    name: String,
    argv: Vec<String>,
    exit: i64,
    stdout: String,
    stderr: String,
    file: Option<(String, String)>,
}

impl Case {
    fn text(&self, stream: OutputStream) -> &str {
        match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        }
    }

    fn words(&self) -> Vec<&str> {
        self.argv.iter().map(String::as_str).collect()
    }

    fn read(&self) -> Parsed<Command> {
        let file = self.file.as_ref().map(|(name, text)| (&**name, &**text));
        common::netperf_with_file(&self.words(), file)
    }

    fn is_about(&self, prefixes: &[&str]) -> bool {
        prefixes.iter().any(|prefix| self.name.starts_with(prefix))
    }
}

fn cases(program: &str) -> Vec<Case> {
    let all: Value = serde_json::from_str(include_str!("../fixtures/argv.json")).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cases = all
        .as_array()
        .expect("an array of cases")
        .iter()
        .map(|case| Case {
            name: text(&case["name"]),
            argv: case["argv"]
                .as_array()
                .expect("argv")
                .iter()
                .map(text)
                .collect(),
            exit: case["exit"].as_i64().expect("exit"),
            stdout: text(&case["stdout"]),
            stderr: text(&case["stderr"]),
            file: case["files"]
                .as_object()
                .and_then(|files| files.iter().next())
                .map(|(name, content)| (name.clone(), text(content))),
        });
    cases.filter(|case| case.argv[0] == program).collect()
}

/// Lines on standard error before the run.
fn said(notices: &[Notice]) -> String {
    notices
        .iter()
        .filter(|notice| notice.stream == OutputStream::Stderr && !notice.is_hint)
        .map(|notice| notice.text.as_str())
        .collect()
}

/// Intended differences; `docs/differences.md` has the reasons.
const DIFFERENT: &[&str] = &[
    "err-long-option",
    "err-number-garbage-l",
    "err-sctp-T",
    "host-comma-family",
];

#[test]
fn differences_on_purpose_are_in_the_list_of_differences() {
    let list = include_str!("../../../../docs/differences.md");
    for name in DIFFERENT {
        assert!(list.contains(&format!("| `{name}")), "{name}");
    }
}

#[test]
fn every_command_line_that_ran_still_runs() {
    let mut runs = 0;
    for case in cases("netperf") {
        let Parsed { notices, command } = case.read();
        // The packaged 2.7.0 does not know -q; we are the later program.
        let later_letter = case.name == "opt-q-unknown-in-2.7.0--deb";
        if case.exit != 0
            || case.is_about(&["version", "err-number-garbage-l--", "host-comma-family"])
        {
            continue;
        }
        match command {
            Ok(Command::Run(run)) => {
                runs += 1;
                // The passphrase is a secret of the user.
                let typed = case.argv.join(" ").replace("-Z sesame", "-Z ***");
                assert_eq!(run.report.command_line, typed);
                if !case.is_about(&["env-"]) && !later_letter {
                    assert_eq!(said(&notices), case.stderr, "{}", case.name);
                }
            }
            other => panic!("{}: {other:?}", case.name),
        }
    }
    assert!(runs > 450, "only {runs} runs");
}

#[test]
fn every_help_text_comes_on_its_stream_with_its_lines_and_its_status() {
    let mut texts = 0;
    for case in cases("netperf") {
        if case.is_about(DIFFERENT) {
            continue;
        }
        let Parsed { notices, command } = case.read();
        let Ok(Command::Usage(usage)) = command else {
            let shown = case.stdout.contains(ELIDED) || case.stderr.contains(ELIDED);
            assert!(!shown, "{}", case.name);
            continue;
        };
        texts += 1;
        let before = case.text(usage.stream).split(ELIDED).next().unwrap();
        let before = up_to_usage(before);
        assert!(!before.is_empty(), "{}", case.name);
        assert!(
            usage.text.starts_with(before),
            "{}: {}",
            case.name,
            usage.text
        );
        assert_eq!(i64::from(usage.exit), case.exit, "{}", case.name);
        if usage.stream == OutputStream::Stdout {
            assert_eq!(said(&notices), case.stderr, "{}", case.name);
        }
    }
    assert_eq!(texts, 15);
}

#[test]
fn every_refusal_has_its_stream_its_lines_and_its_status() {
    let refused = [
        "conf-I-width-only",
        "conf-bad-level",
        "N-cc-no-default-port",
        "N-mss-no-default-port",
        "N-sctp",
        "N-unix",
        "fill-F-remote-name-too-long",
        "omni-file-name-too-long",
        "omni-list-spaces-only-is-file",
        "omni-unknown-single-is-file",
    ];
    let mut seen = 0;
    for case in cases("netperf") {
        if !case.is_about(&refused) {
            continue;
        }
        seen += 1;
        let error = case.read().command.expect_err(&case.name);
        assert_eq!(
            format!("{error}\n"),
            case.text(error.stream()),
            "{}",
            case.name
        );
        assert_eq!(i64::from(error.exit()), case.exit, "{}", case.name);
    }
    assert_eq!(seen, 11);
}

/// The complaint about a letter, which only 2.7 follows by its usage text; else the whole text.
fn up_to_usage(text: &str) -> &str {
    match text.split_once("\n\nUsage:") {
        Some((complaint, _)) if !complaint.is_empty() => complaint,
        _ => text.trim_end(),
    }
}

/// Tests that those builds did not have and we do.
const LATER_TESTS: &[&str] = &[
    "test-not-compiled-dlcl_rr",
    "test-not-compiled-dlco_stream",
    "test-not-compiled-sctp_stream",
    "test-not-compiled-sdp_stream",
    "test-not-compiled-stream_stream",
    "test-not-compiled-xti_tcp_stream",
    "test-not-compiled-xti_udp_rr",
];

#[test]
fn an_unknown_test_is_named_after_the_control_connection_is_made() {
    let mut seen = 0;
    for case in cases("netperf") {
        if !case.stdout.starts_with("The test you requested") {
            continue;
        }
        if LATER_TESTS.iter().any(|name| case.is_about(&[name])) {
            assert!(matches!(case.read().command, Ok(Command::Run(_))));
            continue;
        }
        seen += 1;
        let Ok(Command::UnknownTest(unknown)) = case.read().command else {
            panic!("{}", case.name);
        };
        assert_eq!(unknown.text(), case.stdout, "{}", case.name);
        assert_eq!(i64::from(UnknownTest::EXIT), case.exit);
        let control = unknown.control.expect("there is no -N");
        assert_eq!(control.remote.host, "127.0.0.1");
    }
    assert_eq!(seen, 5);
}

#[test]
fn failures_of_the_run_itself_are_not_failures_of_the_command_line() {
    for case in cases("netperf") {
        let network = case.is_about(&["err-connection", "err-un", "host-L-unres", "passphrase"]);
        if network && case.exit == 255 {
            let command = case.read().command;
            assert!(
                matches!(command, Ok(Command::Run(_) | Command::UnknownTest(_))),
                "{}: {command:?}",
                case.name
            );
        }
    }
}

#[test]
fn a_question_mark_lists_the_selectors() {
    for case in cases("netperf") {
        if case.is_about(&["omni-O-help", "omni-o-help", "omni-k-help"]) {
            let one_per_line = case.is_about(&["omni-O"]);
            assert_eq!(
                case.read().command,
                Ok(Command::ListSelectors { one_per_line }),
                "{}",
                case.name
            );
        }
    }
}

#[test]
fn command_line_accepts_transports_that_the_kernel_lacks() {
    let mut seen = 0;
    for case in cases("netperf") {
        if case
            .stdout
            .contains("netperf: create_data_socket: socket: errno")
        {
            seen += 1;
            let Parsed { notices, command } = case.read();
            assert!(matches!(command, Ok(Command::Run(_))), "{}", case.name);
            assert_eq!(said(&notices), case.stderr, "{}", case.name);
        }
    }
    assert_eq!(seen, 5);
}

#[test]
fn every_netserver_command_line_is_served_or_explained() {
    for case in cases("netserver") {
        let Parsed { notices, command } =
            netperf_cli::netserver(&common::argv(&case.words()), &|_| Ok(String::new()));
        match command {
            Ok(ServerCommand::Usage(usage)) => {
                assert_eq!(usage.stream, OutputStream::Stderr);
                let before = up_to_usage(case.stderr.split(ELIDED).next().unwrap());
                assert!(usage.text.starts_with(before), "{}", case.name);
                assert_eq!(i64::from(usage.exit), case.exit, "{}", case.name);
            }
            Ok(ServerCommand::Version(text)) => {
                assert_eq!(text, "Netperf version 2.7.0\n");
                assert_eq!(case.exit, 0);
            }
            Ok(ServerCommand::Serve(args)) => {
                assert!(!case.stderr.contains(ELIDED), "{}", case.name);
                assert!(args.standalone, "{}", case.name);
                let warned = case.is_about(&["netserver-family-unknown"]);
                assert_eq!(!notices.is_empty(), warned, "{}", case.name);
            }
            Ok(ServerCommand::FullVersion) => panic!("{}: a long option", case.name),
            Err(error) => panic!("{}: {error}", case.name),
        }
    }
}
