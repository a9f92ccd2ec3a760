//! Captured runs that end without a report: help, refusals, failed connections,
//! what netserver says, and debug text. Each runs again, and standard output,
//! standard error and exit status must be what the original's were.
//!
//! Ports are the replay's. Of a usage text the lines in front of the mark count.

#[path = "../../../report/tests/it/golden/elsewhere.rs"]
mod elsewhere;

use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use netperf_testkit::server::free_port;
use netperf_testkit::{
    Finished, Invocation, LoopbackOnly, Netserver, Place, Programs, Scratch, eventually, ours,
    process, require,
};
use serde_json::Value;

use crate::golden_subset::compare::{full_build, masked};
use elsewhere::ELSEWHERE;

/// Mark at which a usage text was cut.
const ELIDED: &str = "[usage text elided";

/// Message about a length without a number.
const NO_LENGTH: &str = "netperf: option -l: 'abc' is not a number of seconds such as 10, or minus an \
    amount such as -1M; times such as 500ms or 1m30s are for --time\n";

/// Message about a family without a host.
const NO_HOST: &str =
    "netperf: option -H: ',4' is not a host, or a host and a family such as db1,6\n";

/// Wrong letters, which are one line here; 2.7 prints its usage text, too.
const WRONG_LETTERS: [(&str, &str); 8] = [
    (
        "cpu-rate-argument-attached--git",
        "netperf: invalid option -- '1'; netserver ends at a signal, not after a test; netperf runs \
         one test\n",
    ),
    (
        "err-missing-argument--git",
        "netperf: option requires an argument -- 't'; `netperf --help` shows the options\n",
    ),
    (
        "err-unknown-option--deb",
        "netperf: invalid option -- 'Q'; `netperf --help` shows the options\n",
    ),
    (
        "err-unknown-option--git",
        "netperf: invalid option -- 'Q'; `netperf --help` shows the options\n",
    ),
    (
        "missing-double-dash-m--git",
        "netperf: invalid option -- 'm'; -m is an option of the test: give it after --, as in -- -m 64, or \
         --send-size 64\n",
    ),
    (
        "netserver-bad-option--git",
        "netserver: invalid option -- 'Q'; `netserver --help` shows the options\n",
    ),
    (
        "netserver-missing-argument--git",
        "netserver: option requires an argument -- 'p'; `netserver --help` shows the options\n",
    ),
    (
        "unix-bad-option--git",
        "netperf: invalid option -- 'Q'; `netperf --help STREAM_RR` shows the options\n",
    ),
];

/// Intended differences; `docs/differences.md` has the reasons.
const DIFFERENT: [&str; 24] = [
    "cpu-rate-argument-attached",
    "debug-",
    "err-long-option",
    "err-missing-argument",
    "err-number-garbage-l",
    "err-sctp-T",
    "err-unknown-option",
    "fill-F-missing",
    "host-comma-family",
    "intervals-remote-receiver-defect",
    "missing-double-dash-m",
    "netserver-bad-option",
    "netserver-d--",
    "netserver-missing-argument",
    "netserver-n-too-many",
    "netserver-version--git",
    "passphrase-",
    "test-not-compiled-dlc",
    "test-not-compiled-sctp",
    "test-not-compiled-sdp",
    "test-not-compiled-stream",
    "test-not-compiled-xti",
    "unix-bad-option",
    "version--git",
];

/// One run of the original.
struct Transcript {
    case: String,
    /// The program's name in front.
    argv: Vec<String>,
    /// Options of the server that was there, if one was.
    server: Option<Vec<String>>,
    /// Captured in a network with nothing else in it.
    alone: bool,
    /// A server of another kind has the port.
    taken: bool,
    file: Option<(String, String)>,
    stdout: String,
    stderr: String,
    /// Below 0 the signal that ended it.
    exit: i32,
}

fn transcript(line: &str) -> Transcript {
    let json: Value = serde_json::from_str(line).expect("a transcript");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let words = |value: &Value| Some(value.as_array()?.iter().map(text).collect::<Vec<_>>());
    let exit = json["exit"].as_i64().expect("a number");
    let file = json["files"].as_object().and_then(|all| all.iter().next());
    Transcript {
        case: text(&json["case"]),
        argv: words(&json["argv"]).expect("words"),
        server: words(&json["server"]),
        alone: json.get("alone").is_some(),
        taken: json.get("taken").is_some(),
        file: file.map(|(name, content)| (name.clone(), text(content))),
        stdout: text(&json["stdout"]),
        stderr: text(&json["stderr"]),
        exit: i32::try_from(exit).expect("a status"),
    }
}

fn transcripts() -> Vec<Transcript> {
    let all = include_str!("golden_said/transcripts.jsonl")
        .lines()
        .map(transcript);
    all.map(on_purpose).collect()
}

/// As the list of differences has it.
fn on_purpose(mut transcript: Transcript) -> Transcript {
    let case = &*transcript.case;
    let started = "Starting netserver with host '127.0.0.1' port '14001' and family AF_UNSPEC\n";
    let (stdout, stderr, exit) = match case {
        "version--git" | "netserver-version--git" => (Some("Netperf version 2.7.0\n"), None, 0),
        "host-comma-family--git" => (Some(""), Some(NO_HOST), 2),
        "netserver-n-too-many--git" => (Some(started), Some(""), -15),
        "fill-F-missing--git" => (None, None, 1),
        "err-number-garbage-l--git" => (Some(""), Some(NO_LENGTH), 2),
        _ => match WRONG_LETTERS.iter().find(|(name, _)| *name == case) {
            Some((_, line)) => (Some(""), Some(*line), 1),
            None => (None, None, transcript.exit),
        },
    };
    if let Some(stdout) = stdout {
        stdout.clone_into(&mut transcript.stdout);
    }
    if let Some(stderr) = stderr {
        stderr.clone_into(&mut transcript.stderr);
    }
    transcript.exit = exit;
    transcript.stdout = full_build(&transcript.stdout);
    transcript
}

impl Transcript {
    /// The port it was captured with, as text.
    fn port(&self) -> Option<&str> {
        let at = self.argv.iter().position(|word| word == "-p")?;
        let word = self.argv.get(at + 1)?;
        word.parse::<u16>().is_ok().then_some(word)
    }

    /// The text with the port of the replay.
    fn with(&self, port: u16, text: &str) -> String {
        match self.port() {
            Some(captured) => text.replace(captured, &port.to_string()),
            None => text.to_owned(),
        }
    }

    /// Runs it again; says on which port, too.
    fn again(&self, place: &Place) -> (u16, Finished) {
        let ours = ours!();
        let (server, mut taken) = (self.serve(&ours), None);
        let port = server.as_ref().map_or_else(free_port, Netserver::port);
        if self.taken {
            taken = Some(TcpListener::bind(("127.0.0.1", port)).expect("a free port"));
        }
        let folder = Scratch::new();
        if let Some((name, content)) = &self.file {
            std::fs::write(folder.path().join(name), content).expect("a file");
        }
        let program = match self.argv[0].as_str() {
            "netperf" => &ours.netperf,
            "netserver" => &ours.netserver,
            other => panic!("{other}"),
        };
        let words = self.argv.iter().skip(1).map(|word| self.with(port, word));
        let mut words: Vec<String> = words.collect();
        if self.is_about(&["debug-"]) {
            // Its figures are free.
            let at = words.windows(2).position(|pair| pair == ["-l", "1"]);
            let at = at.expect("a time");
            words.splice(at..=at + 1, ["--time", "300ms"].map(str::to_owned));
        }
        let mut running = Invocation::new(program)
            .args(words)
            .within(place)
            .folder(folder.path())
            .spawn();
        if self.exit == -15 {
            let all = self.with(port, &self.stdout);
            let shown = running.prints(all.lines().last().unwrap_or(""), Duration::from_secs(10));
            assert!(shown, "{}: {}", self.case, running.stdout());
            running.signal("TERM");
        }
        let mut finished = running.finish();
        drop((server, taken));
        // Programs call themselves as they were called.
        let path = program.to_string_lossy();
        for text in [&mut finished.stdout, &mut finished.stderr] {
            *text = text.replace(&*path, &self.argv[0]);
            // So a machine without a name server answers, which knows as little.
            *text = text.replace(
                "-3 Temporary failure in name resolution",
                "-2 Name or service not known",
            );
        }
        (port, finished)
    }

    fn serve(&self, ours: &Programs) -> Option<Netserver> {
        let options = self.server.as_ref()?;
        let options = ["-D", "-L", "127.0.0.1"]
            .into_iter()
            .chain(options.iter().map(String::as_str));
        let options: Vec<&str> = options.collect();
        Some(Netserver::start_with(ours, &Place::Here, &options, &[]))
    }

    /// Differences from the original.
    fn difference(&self, port: u16, finished: &Finished) -> Option<String> {
        let status = finished.status;
        let exit = status.code().or(status.signal().map(|signal| -signal));
        if exit != Some(self.exit) {
            return Some(format!("exit {exit:?}, not {}", self.exit));
        }
        let stderr = self.without_reasons(port, &finished.stderr);
        let pairs = [(&self.stdout, &finished.stdout), (&self.stderr, &stderr)];
        pairs.into_iter().find_map(|(golden, ours)| {
            let golden = self.with(port, golden);
            let same = match golden.split_once(ELIDED) {
                Some((before, _)) => ours.starts_with(before) && ours.len() > before.len() + 100,
                None => *ours == golden,
            };
            (!same).then(|| format!("not\n{golden}"))
        })
    }

    /// Standard error of a failure without our lines behind those of the original, which have cause
    /// and remedy.
    fn without_reasons(&self, port: u16, stderr: &str) -> String {
        let golden = self.with(port, &self.stderr);
        let golden = golden.split(ELIDED).next().unwrap_or_default();
        let Some(ours) = stderr.strip_prefix(golden).filter(|_| self.exit > 0) else {
            return stderr.to_owned();
        };
        let program = format!("{}: ", self.argv[0]);
        let kept = ours.lines().filter(|line| !line.starts_with(&program));
        let kept: String = kept.map(|line| format!("{line}\n")).collect();
        format!("{golden}{kept}")
    }

    fn is_about(&self, beginnings: &[&str]) -> bool {
        beginnings.iter().any(|begin| self.case.starts_with(begin))
    }
}

/// Compared by separate tests.
const OTHERWISE: [&str; 12] = [
    "debug-",
    "err-long-option",
    "err-sctp-T",
    "intervals-remote-receiver-defect",
    "netserver-d--",
    "netserver-version",
    "passphrase-",
    "test-not-compiled-dlc",
    "test-not-compiled-sctp",
    "test-not-compiled-sdp",
    "test-not-compiled-stream",
    "test-not-compiled-xti",
];

fn compare(transcripts: &[Transcript], place: &Place) {
    let mut failures = Vec::new();
    for transcript in transcripts {
        let (port, finished) = transcript.again(place);
        if let Some(why) = transcript.difference(port, &finished) {
            let account = finished.account();
            failures.push(format!("## {}: {why}\n{account}", transcript.case));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn every_transcript_without_a_report_is_here() {
    let here = transcripts();
    for case in ELSEWHERE.iter().flat_map(|(_, cases)| *cases) {
        assert!(here.iter().any(|one| one.case == *case), "{case}");
    }
}

#[test]
fn messages_without_a_report_are_those_of_the_original() {
    let mut here = transcripts();
    here.retain(|transcript| !transcript.alone && !transcript.is_about(&OTHERWISE));
    assert_eq!(here.len(), 70);
    compare(&here, &Place::Here);
}

#[test]
fn messages_in_a_private_network_are_those_of_the_original() {
    if !require::root() {
        return;
    }
    let mut alone = transcripts();
    alone.retain(|transcript| transcript.alone);
    assert_eq!(alone.len(), 8);
    for transcript in alone {
        let machine = LoopbackOnly::new();
        compare(std::slice::from_ref(&transcript), &machine.place());
        for daemon in machine.processes() {
            process::signal(daemon, "KILL");
        }
        let gone = || machine.processes().is_empty();
        assert!(eventually(Duration::from_secs(5), gone));
    }
}

/// The lines of `ours` that are not among those of `golden`, in their order.
fn beyond<'o>(ours: &'o str, golden: &str) -> Vec<&'o str> {
    // The original goes on about the lookup, we about what came of it.
    let about = |line: &str| match line.split_once(" family AF_") {
        Some((lookup, _)) if line.starts_with("complete_addrinfo ") => lookup.to_owned(),
        _ => masked(line),
    };
    let mut golden = golden.lines().map(about);
    let added = |line: &&str| {
        let here = golden.clone().position(|theirs| theirs == about(line));
        match here {
            Some(at) => golden.nth(at).is_none(),
            None => true,
        }
    };
    ours.lines().filter(added).collect()
}

#[test]
fn debug_text_has_no_line_that_the_original_has_not() {
    let mut seen = 0;
    for transcript in transcripts() {
        if !transcript.is_about(&["debug-"]) {
            continue;
        }
        seen += 1;
        let (_, finished) = transcript.again(&Place::Here);
        let account = finished.account();
        finished.clean().expect("a clean run");
        let golden = &transcript.stdout;
        let mut beyond = beyond(&finished.stdout, golden);
        if transcript.case.starts_with("debug-d-sendfile") {
            // Every test has debug text about the address of its data.
            beyond.retain(|line| !line.starts_with("remote port is "));
        }
        assert_eq!(beyond, [""; 0], "{account}");
        // The result is there, and nothing is behind it.
        let noise = |line: &&str| !line.is_empty() && !line.starts_with("shutdown_control");
        let last = |text: &str| text.lines().rfind(noise).map(masked);
        assert_eq!(last(&finished.stdout), last(golden), "{account}");
        let at_least = if transcript.case.contains("-k") {
            9
        } else {
            12
        };
        assert!(finished.stdout.lines().count() >= at_least, "{account}");
    }
    assert_eq!(seen, 5);
}

#[test]
fn debug_text_of_the_server_has_no_line_that_the_original_has_not() {
    let all = transcripts();
    let case = |transcript: &&Transcript| transcript.is_about(&["netserver-d--"]);
    let transcript = all.iter().find(case).expect("it");
    let port = free_port();
    let words = transcript.argv.iter().skip(1);
    let mut running = Invocation::new(&ours!().netserver)
        .args(words.map(|word| transcript.with(port, word)))
        .spawn();
    assert!(running.prints("Starting netserver", Duration::from_secs(10)));
    let pid = running.pid();
    running.signal("TERM");
    let finished = running.finish();
    assert_eq!(finished.status.signal(), Some(15));
    let account = finished.account();
    let golden = transcript.with(port, &transcript.stdout);
    assert_eq!(beyond(&finished.stdout, &golden), [""; 0], "{account}");
    let golden = transcript.with(port, &transcript.stderr);
    assert_eq!(beyond(&finished.stderr, &golden), [""; 0], "{account}");
    assert!(finished.stdout.starts_with("check_if_inetd: enter\n"));
    // The folder is root's.
    let output = format!("/var/log/netserver.debug_{pid}");
    let _absent = std::fs::remove_file(output);
}

#[test]
fn a_refused_passphrase_is_a_closed_connection() {
    let mut seen = 0;
    for mut transcript in transcripts() {
        if !transcript.is_about(&["passphrase-"]) {
            continue;
        }
        seen += 1;
        let (port, finished) = transcript.again(&Place::Here);
        // The connection ends or is reset, depending on the data read from it.
        if !finished.stderr.starts_with(&transcript.stderr) {
            let how = "Connection reset by peer\n";
            transcript.stderr = format!("netperf: the control connection broke: {how}");
        }
        let difference = transcript.difference(port, &finished);
        assert_eq!(difference, None, "{}", finished.account());
    }
    assert_eq!(seen, 2);
}

#[test]
fn commands_that_the_original_cannot_do_succeed() {
    for transcript in transcripts() {
        if transcript.is_about(&["err-long-option"]) {
            let (_, finished) = transcript.again(&Place::Here);
            let finished = finished.expect_clean();
            assert!(finished.stdout.contains("--time"), "{}", finished.account());
        }
        if transcript.is_about(&["intervals-remote-receiver-defect"]) {
            let (_, finished) = transcript.again(&Place::Here);
            let finished = finished.expect_clean();
            for line in [
                "LOCAL_INTERVAL_USECS=20000\n",
                "LOCAL_INTERVAL_BURST=5\n",
                "REMOTE_INTERVAL_USECS=30000\n",
                "REMOTE_INTERVAL_BURST=6\n",
            ] {
                assert!(finished.stdout.contains(line), "{}", finished.account());
            }
        }
    }
}

#[test]
fn messages_that_differ_are_in_the_list_of_differences() {
    let list = include_str!("../../../../docs/differences.md");
    let all = transcripts();
    for different in DIFFERENT {
        let mut cases = all.iter().filter(|one| one.is_about(&[different]));
        let first = cases.next().expect(different);
        for one in cases.chain([first]) {
            let (name, _) = one.case.split_once("--").expect("a build");
            assert!(list.contains(&format!("`{name}`")), "{name}");
        }
    }
}
