//! Loads of an agent: processes of this program.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};

use netperf_campaign::agent::StartedLoad;
use netperf_campaign::plan::CampaignPlan;
use netperf_campaign::protocol::{CampaignLoad, CampaignMessage as _, LoadResult, Reply};
use netperf_measure::clock;
use netperf_model::TransportGroup;
use netperf_os::{process, without};
use netperf_program::key;
use netperf_program::output::system_text;
use serde_json::Value;

use crate::versus;

/// Options of a test that a campaign may use, in front of `--`.
const GLOBAL: [&str; 16] = [
    "-t",
    "-c",
    "-C",
    "-4",
    "-6",
    "-T",
    "--flows",
    "--threads",
    "--rate",
    "--batch",
    "--io",
    "--zerocopy",
    "--bidirectional",
    "--cpus",
    "--remote-cpus",
    "-j",
];
/// Behind `--`.
const OF_TEST: [&str; 16] = [
    "-m", "-M", "-s", "-S", "-r", "-b", "-w", "-D", "-C", "-K", "-R", "-e", "-G", "-y", "-Y", "-n",
];
/// A begin that lies ahead, nanoseconds.
const LEAD: u64 = 60_000_000_000;
/// Variables that a load inherits.
const INHERITED: [&str; 4] = ["LD_PRELOAD", "LD_LIBRARY_PATH", "TMPDIR", "PATH"];

/// Refuses a word that could reach files, other hosts, or the agent itself. Letters stand alone,
/// with their value in the next word: combined ones could hide others.
fn refuse_words(words: &[String]) -> Result<(), String> {
    let mut behind = false;
    for word in words {
        if word == "--" && !behind {
            behind = true;
            continue;
        }
        if !word.starts_with('-') {
            continue;
        }
        let permitted: &[&str] = if behind { &OF_TEST } else { &GLOBAL };
        let long = word.split('=').next().unwrap_or(word);
        let option = if word.starts_with("--") { long } else { word };
        if !permitted.contains(&option) {
            return Err(format!(
                "{} is not for campaigns, where letters stand alone and a value is the next word",
                netperf_web::escape::line(option)
            ));
        }
    }
    Ok(())
}

/// Hosts that stand for those of the roster in a check.
const CONTROL: &str = "192.0.2.1";
const DATA: &str = "192.0.2.2";

/// Checks the test of a plan and its options, as agents do.
///
/// # Errors
/// One line.
pub(super) fn check_plan(plan: &CampaignPlan) -> Result<(), String> {
    for (test, words) in plan.loads() {
        let load = CampaignLoad {
            id: 0,
            to: 0,
            words,
            parts: plan.parts(),
        };
        check(&load).map_err(|bad| format!("test = \"{test}\" and its options: {bad}"))?;
    }
    Ok(())
}

/// Checks the words of a load, and what they mean: the test must be between this host and the one
/// of the roster, over IP.
pub(super) fn check(load: &CampaignLoad) -> Result<(), String> {
    refuse_words(&load.words)?;
    let ahead = clock::monotonic().saturating_add(LEAD);
    let words = words(load, (CONTROL, "12865", Some(DATA)), ahead);
    let run = match versus::planned(&words) {
        Ok(Some(run)) => run,
        Ok(None) => return Err("there is no such test".to_owned()),
        Err(error) => {
            let why = error.to_string();
            let first = why.lines().next().unwrap_or_default();
            return Err(netperf_web::escape::line(first));
        }
    };
    let plan = &run.plan;
    let control = plan.control.as_ref();
    let control = control.map(|control| control.remote.host.as_str());
    let begins = plan.many.as_ref().and_then(|many| many.begin_at);
    if control != Some(CONTROL) || begins != Some(ahead) {
        return Err("its options change the host or the start time".to_owned());
    }
    if TransportGroup::of(plan.transport.row()) != TransportGroup::Ip {
        return Err("its transport is not over IP".to_owned());
    }
    Ok(())
}

/// The command line of a load, without the program.
fn words(
    load: &CampaignLoad,
    (host, port, data): (&str, &str, Option<&str>),
    at: u64,
) -> Vec<String> {
    let millis = |nanos: u64| format!("{}ms", nanos / 1_000_000);
    let mut words: Vec<String> = ["-H", host, "-p", port, "--time"]
        .map(str::to_owned)
        .to_vec();
    words.extend([
        millis(load.parts.window),
        "--warmup".to_owned(),
        millis(load.parts.warmup),
        "--cooldown".to_owned(),
        millis(load.parts.cooldown),
        "--begin-at".to_owned(),
        at.to_string(),
    ]);
    let split = load.words.iter().position(|word| word == "--");
    let (own, of_test) = load.words.split_at(split.unwrap_or(load.words.len()));
    words.extend_from_slice(own);
    words.push("--".to_owned());
    words.extend(
        data.into_iter()
            .flat_map(|data| ["-H".to_owned(), data.to_owned()]),
    );
    words.extend_from_slice(of_test.get(1..).unwrap_or_default());
    words
}

/// A process that measures.
#[derive(Debug)]
pub(super) struct RunningLoad {
    id: u32,
    child: Child,
    output: File,
    errors: File,
    killed: bool,
}

impl RunningLoad {
    /// Starts the process.
    ///
    /// # Errors
    /// When there are too many processes or open files.
    pub(super) fn start(started: &StartedLoad) -> io::Result<Self> {
        let StartedLoad { load, token, .. } = started;
        let target = (
            started.host.as_str(),
            started.port.as_str(),
            started.data.as_deref(),
        );
        let key = token.as_ref().map(|token| key_file(&token.0)).transpose()?;
        let output = File::from(without::file_in_memory(c"result")?);
        let errors = File::from(without::file_in_memory(c"errors")?);
        let inherited =
            std::env::vars_os().filter(|(name, _)| INHERITED.iter().any(|one| name == one));
        let inherited: Vec<(OsString, OsString)> = inherited.collect();
        let mut command = Command::new(process::own_file());
        command
            .arg("--json")
            .args(words(load, target, started.at))
            .env_clear()
            .envs(inherited)
            .envs(key.as_ref().map(|_| (key::FILE, key::STDIN)))
            .stdin(key.map_or_else(Stdio::null, Stdio::from))
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?);
        let child = process::start_itself(c"netperf", &mut command)?;
        Ok(Self {
            id: load.id,
            child,
            output,
            errors,
            killed: false,
        })
    }

    /// Ends it at once: nothing of it counts any more. The other end sees that its connections are
    /// closed.
    pub(super) fn kill(&mut self) {
        self.killed = true;
        let _gone = self.child.kill();
    }

    /// Its result once it has ended.
    pub(super) fn look(&mut self) -> Option<LoadResult> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(self.result(status)),
            Err(error) => Some(self.failed(system_text(&error))),
        }
    }

    fn failed(&self, why: String) -> LoadResult {
        LoadResult {
            id: self.id,
            document: None,
            error: Some(why),
        }
    }

    fn result(&mut self, status: ExitStatus) -> LoadResult {
        let text = text(&mut self.output);
        if text.len() > Reply::LONGEST {
            let length = text.len();
            return self.failed(format!("its result has {length} bytes, which is too long"));
        }
        let document: Option<Value> = serde_json::from_str(&text).ok();
        let errors = text_of_lines(&mut self.errors);
        let error = if self.killed {
            Some("it was stopped".to_owned())
        } else if status.success() && document.is_some() {
            None
        } else {
            Some(errors.unwrap_or_else(|| format!("netperf ended with {status}")))
        };
        LoadResult {
            id: self.id,
            document,
            error,
        }
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A file in memory with a key, which the next process reads as its standard input.
fn key_file(key: &str) -> io::Result<File> {
    let mut file = File::from(without::file_in_memory(c"key")?);
    file.write_all(key.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn text(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    read.map_or_else(|_| String::new(), |_| text)
}

/// The reason in the messages of netperf; `None` without any.
fn text_of_lines(file: &mut File) -> Option<String> {
    reason(&text(file)).map(netperf_web::escape::line)
}

/// The last line before the one that tells what was measured until a failure.
fn reason(text: &str) -> Option<&str> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_reason = |line: &&str| !line.starts_with(netperf_report::INCOMPLETE);
    lines().rfind(is_reason).or_else(|| lines().next_back())
}

#[cfg(test)]
mod tests {
    use netperf_campaign::protocol::LoadParts;

    use super::*;

    fn load(words: &str) -> CampaignLoad {
        CampaignLoad {
            id: 1,
            to: 0,
            words: words.split_whitespace().map(str::to_owned).collect(),
            parts: LoadParts {
                warmup: 500_000_000,
                window: 2_000_000_000,
                cooldown: 250_000_000,
            },
        }
    }

    #[test]
    fn the_reason_of_a_failure_is_not_what_was_measured_before_it() {
        let text = "netperf: a doubt\nnetperf: lost netserver\nnetperf: incomplete: 6 bytes\n\n";
        assert_eq!(reason(text), Some("netperf: lost netserver"));
        let only = "netperf: incomplete: 6 bytes";
        assert_eq!((reason(only), reason(" \n")), (Some(only), None));
    }

    #[test]
    fn a_load_has_its_times_and_hosts_from_the_campaign() {
        let load = load("-t UDP_STREAM --flows 2 -- -m 1472");
        let words = words(&load, ("h", "1", Some("192.0.2.1")), 7).join(" ");
        assert_eq!(
            words,
            "-H h -p 1 --time 2000ms --warmup 500ms --cooldown 250ms --begin-at 7 -t UDP_STREAM \
             --flows 2 -- -H 192.0.2.1 -m 1472"
        );
    }

    #[test]
    fn words_that_reach_other_hosts_files_or_keys_are_refused() {
        for words in [
            "-t TCP_STREAM",
            "-t UDP_RR --flows 4 --rate 100 -- -r 1,1",
            "-t tcp_rr -- -D",
        ] {
            assert_eq!(check(&load(words)), Ok(()), "{words}");
        }
        for (words, said) in [
            ("-t TCP_STREAM -H evil", "-H"),
            ("-t TCP_STREAM -Hevil", "-H"),
            ("-t TCP_STREAM -- -H evil", "-H"),
            ("-t TCP_STREAM -F /etc/shadow", "-F"),
            ("-t TCP_STREAM --history=/x", "--history"),
            ("-t TCP_STREAM --key-file /x", "--key-file"),
            ("-t TCP_STREAM --begin-at 9", "--begin-at"),
            ("-t TCP_STREAM -l 9", "-l"),
            ("-t TCP_STREAM -- -o /tmp/x", "-o"),
            ("-t TCP_STREAM -- -p 22", "-p"),
            ("-t NOTHING", "no such test"),
            ("-t TCP_STREAM -4Hevil", "-4Hevil"),
            ("-t UDP_STREAM -4NHevil", "-4NHevil"),
            ("-t TCP_STREAM -4F/etc/passwd", "-4F/etc/passwd"),
            ("-t TCP_STREAM -- -nHevil", "-nHevil"),
            ("-t TCP_STREAM -- -4Hevil", "-4Hevil"),
            ("-t TCP_STREAM -- -4 -Hevil", "-4"),
            ("-t TCP_STREAM -- -m16K", "-m16K"),
            ("-t TCP_STREAM --rate=1 -N", "-N"),
            ("-tTCP_STREAM", "-tTCP_STREAM"),
            ("-t STREAM_STREAM", "no such test"),
            ("sweep -t TCP_STREAM -o x", "-o"),
        ] {
            let line = check(&load(words)).unwrap_err();
            assert!(line.contains(said), "{words}: {line}");
        }
    }
}
