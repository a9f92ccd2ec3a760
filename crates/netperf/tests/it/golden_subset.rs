//! Captured command lines of the original, run again by our client.
//!
//! The transcripts are those of the report's own tests, which print them again
//! without a network. Here each command line runs for real, and what it prints must
//! be what the original printed, figures apart; see [`compare`].

pub(crate) mod compare;
#[expect(dead_code, reason = "the report's tests also take figures apart")]
#[path = "../../../report/tests/it/golden/scan.rs"]
mod scan;

use std::sync::Mutex;
use std::time::Duration;

use netperf_model::{Suite, TestId};
use netperf_testkit::{Finished, Invocation, Netserver, machine, note, require};
use serde_json::Value;

/// Tests run side by side: their figures are free, and they mostly wait.
const AT_ONCE: usize = 24;

const ALLOWED_CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Groups of transcripts that need a special peer, file, signal or length.
const NOT_HERE: [&str; 12] = [
    "N",
    "conf",
    "env",
    "err",
    "fill",
    "host",
    "len",
    "p",
    "passphrase",
    "sendfile",
    "sigalrm",
    "sigint",
];

/// Transcripts that cannot be run again here, or that we answer otherwise on purpose
/// (docs/differences.md).
const LEFT_OUT: [(&str, &str); 9] = [
    ("not-compiled", "we have what that build lacks"),
    ("cpu-local-omni", "it shows memory never written to"),
    ("ipv6-link-local", "the address of the capturing machine"),
    ("omni-wide-values", "it shows where the program lies"),
    ("demo-cc", "interim results of TCP_CC are transactions"),
    ("omni-output-end-stops", "OUTPUT_END ends no list"),
    (
        "omni-unknown-in-list-o",
        "an unknown name has an empty title",
    ),
    ("omni-t-dgram", "the socket type of datagrams"),
    ("verbosity-2-stream_rr", "a result in place of its layout"),
];

/// One run of the original.
pub(crate) struct Transcript {
    pub(crate) case: String,
    /// Without the program's name.
    pub(crate) argv: Vec<String>,
    pub(crate) stdout: String,
}

impl Transcript {
    /// True if its test belongs to this suite.
    pub(crate) fn is_of(&self, suite: Suite) -> bool {
        let test = self.argv.iter().skip_while(|word| *word != "-t").nth(1);
        test.and_then(|name| TestId::from_name(name))
            .is_some_and(|test| test.row().suite == suite)
    }

    fn read(line: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(line).expect("a transcript");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let words = json["argv"].as_array().expect("argv");
        let transcript = Self {
            case: text(&json["case"]),
            argv: words.iter().skip(1).map(text).collect(),
            stdout: text(&json["stdout"]),
        };
        let plain = json["exit"] == 0 && json.get("files").is_none();
        (plain && transcript.can_run()).then_some(transcript)
    }

    /// True if it needs nothing but a server and a second.
    fn can_run(&self) -> bool {
        let group = self.case.split('-').next().unwrap_or("");
        let global = self.argv.iter().take_while(|word| *word != "--");
        let own = self.argv.iter().skip_while(|word| *word != "--");
        let all = |word: &String| word.eq_ignore_ascii_case("all");
        let repeated = ["-i", "-I"];
        // Debian's build prints no histograms.
        let bare = self.case.starts_with("verbosity-2") && self.case.ends_with("--deb");
        !NOT_HERE.contains(&group)
            && !bare
            && !LEFT_OUT.iter().any(|(name, _)| self.case.contains(name))
            && self.after("-l") == Some("1")
            && self.after("-p").is_some()
            && !global.into_iter().any(|word| repeated.contains(&&**word))
            // A fixed port of the data connection may be taken.
            && !own.clone().any(|word| word.starts_with("-P"))
            // `-o all` and `-O all` show memory never written to, and facts of the host.
            && (!self.argv.iter().any(all) || own.clone().any(|word| word == "-k"))
    }

    /// The word behind a global option.
    fn after(&self, option: &str) -> Option<&str> {
        let at = self.argv.iter().position(|word| word == option)?;
        self.argv.get(at + 1).map(String::as_str)
    }

    /// The same command with another port, and an amount in place of its second: figures are free.
    fn words(&self, port: u16) -> Vec<String> {
        let at = |option: &str| {
            let at = self.argv.iter().position(|word| word == option);
            at.expect("every transcript here has one")
        };
        let mut words = self.argv.clone();
        let value = &mut words[at("-p") + 1];
        let rest = value.find(',').unwrap_or(value.len());
        value.replace_range(..rest, &port.to_string());
        words.splice(at("-l")..=at("-l") + 1, self.length().map(str::to_owned));
        words
    }

    /// So many transactions or bytes. Datagrams, CPU time and interim results need a time, in which
    /// something arrives on a busy machine, too. Over IPv6 a long option of UDP selects another size
    /// of datagrams.
    fn length(&self) -> [&'static str; 2] {
        let test = self.test();
        let has = |wanted: &str| {
            let mut words = self.argv.iter();
            words.any(|word| word.eq_ignore_ascii_case(wanted))
        };
        let requests = test.contains("_RR") || test.contains("_CC") || test.contains("_CRR");
        let both_ways = ["rr", "0x6", "send|recv"].iter().any(|word| has(word));
        let is = |option: &str| self.argv.iter().any(|word| word == option);
        // Sizes of requests mean them, unless a direction is named.
        let both_ways = both_ways || is("-r") && !is("-d");
        let requests = requests || self.connects() || test == "OMNI" && both_ways;
        let datagrams = ["UDP_STREAM", "DG_STREAM"].contains(&test.as_str())
            || test == "OMNI" && has("udp") && !requests;
        if datagrams && has("-6") {
            ["-l", "1"]
        } else if self.is_interim() || datagrams || test.ends_with("_CPU") {
            ["--time", "300ms"]
        } else if requests {
            ["-l", "-20"]
        } else {
            ["-l", "-256K"]
        }
    }

    /// True if it prints interim results.
    fn is_interim(&self) -> bool {
        let global = self.argv.iter().take_while(|word| *word != "--");
        global.into_iter().any(|word| word.starts_with("-D"))
    }

    /// Requirement that this host does not meet; `allowed` are the congestion controls that users may
    /// choose.
    fn lacks(&self, allowed: &str) -> Option<&'static str> {
        let mut own = self.argv.iter().skip_while(|word| *word != "--");
        let is_allowed = |word: &str| allowed.split_whitespace().any(|one| one == word);
        if own.clone().any(|word| word == "-g") && !require::is_root() {
            return Some("root: SO_DEBUG");
        }
        let chosen = own.by_ref().skip_while(|word| *word != "-K").nth(1)?;
        (!chosen.split(',').all(is_allowed)).then_some("net.ipv4.tcp_allowed_congestion_control")
    }

    /// True if its own options ask for a connection for each transaction.
    fn connects(&self) -> bool {
        let mut own = self.argv.iter().skip_while(|word| *word != "--");
        own.any(|word| word == "-c")
    }
}

/// The transcripts that can run anywhere.
pub(crate) fn transcripts() -> Vec<Transcript> {
    include_str!("../../../report/tests/it/golden/transcripts.jsonl")
        .lines()
        .filter_map(Transcript::read)
        .collect()
}

/// Runs these transcripts with this client against this server, many at once, and
/// collects what differs.
pub(crate) fn differences(
    netperf: &std::path::Path,
    server: &Netserver,
    transcripts: &[Transcript],
) -> Vec<String> {
    let _slot = machine::slot();
    let allowed = std::fs::read_to_string(ALLOWED_CONGESTION_CONTROL).unwrap_or_default();
    let can_run = |transcript: &&Transcript| {
        let lacks = transcript.lacks(&allowed);
        if let Some(lacks) = lacks {
            require::skip(&format!("{} needs {lacks}", transcript.case));
        }
        lacks.is_none()
    };
    let runnable: Vec<&Transcript> = transcripts.iter().filter(can_run).collect();
    let count = runnable.len();
    let queue = Mutex::new(runnable.into_iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || queue.lock().expect("no judge panics").next();
                while let Some(transcript) = next() {
                    let finished = run(netperf, server, transcript);
                    if let Some(why) = judge(transcript, &finished) {
                        let account = finished.account();
                        let why = format!("## {}: {why}\n{account}", transcript.case);
                        failures.lock().expect("no judge panics").push(why);
                    }
                }
            });
        }
    });
    note(&format!("{count} transcripts compared"));
    failures.into_inner().expect("no judge panics")
}

fn run(netperf: &std::path::Path, server: &Netserver, transcript: &Transcript) -> Finished {
    Invocation::new(netperf)
        .args(transcript.words(server.port()))
        .patience(Duration::from_secs(60))
        .run()
}

fn judge(transcript: &Transcript, finished: &Finished) -> Option<String> {
    if !finished.status.success() {
        return Some("it failed".to_owned());
    }
    compare::difference(transcript, &finished.stdout)
}
