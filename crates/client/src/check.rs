//! `netperf check`: short runs to one host, and a summary.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::process::{ExitCode, Output};
use std::thread;

use netperf_campaign::check::{CheckRuns, CheckStep, Letters, datagram_rate};
use netperf_cli::CheckArgs;
use netperf_history::{Filter, HistoryEntry, HistoryError, Store};
use netperf_program::output::{self, FAILED, Failure, INVALID, UNSUPPORTED, err, out, system_text};
use netperf_program::threads::{join, spawn};
use netperf_web::Document;

use super::itself::OwnRuns;
use super::{history, itself};

/// Port of the discard protocol (RFC 863).
const DISCARD: u16 = 9;
/// Length of a measurement.
const TIME: &str = "3";

fn failure(exit: u8, problem: impl Display) -> Failure {
    Failure::stderr(exit, format_args!("netperf check: {problem}"))
}

/// Runs `netperf check`.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let own = OwnRuns::watch()
        .map_err(|error| failure(INVALID, format_args!("signals: {}", system_text(&error))))?;
    let mut check = PathCheck {
        args,
        own: &own,
        runs: CheckRuns::default(),
        kept: Vec::new(),
    };
    check.runs.host.clone_from(&args.host);
    let measured = check.measure();
    check.progress("");
    check.runs.source = check.runs.remote_address().and_then(source);
    if check.kept.is_empty() {
        measured.inspect_err(|failure| check.tell(failure))?;
    } else if let Err(failure) = &measured {
        check.tell(failure);
        err(&failure.stderr);
    }
    if !args.forget {
        if let Err(error) = check.remember() {
            err(&format!(
                "netperf check: the history is not used: {error}\n"
            ));
        }
    }
    Ok(check.shown())
}

/// A check as it goes on.
struct PathCheck<'a> {
    args: &'a CheckArgs,
    own: &'a OwnRuns,
    runs: CheckRuns,
    /// Documents as printed, for the history.
    kept: Vec<(CheckStep, Vec<u8>)>,
}

impl PathCheck<'_> {
    /// All measurements. The failure of the first one is that of the check; later ones are
    /// reported in the summary.
    fn measure(&mut self) -> Result<(), Failure> {
        self.progress("idle latency");
        self.step(CheckStep::Idle)?;
        for (name, load, probe) in [
            ("send", CheckStep::Send, CheckStep::SendLatency),
            ("receive", CheckStep::Receive, CheckStep::ReceiveLatency),
        ] {
            self.interrupted()?;
            self.progress(name);
            let words = [self.words(load, true), self.words(probe, true)];
            let [load_words, probe_words] = &words;
            let own = self.own;
            let (loaded, probed) = thread::scope(|scope| {
                let probe = spawn(scope, || own.run(probe_words));
                (own.run(load_words), probe.and_then(join))
            });
            self.interrupted()?;
            self.keep(load, loaded).ok();
            self.keep(probe, probed).ok();
        }
        self.interrupted()?;
        self.progress("datagrams");
        self.datagrams();
        self.interrupted()
    }

    /// Datagrams, without numbers if netserver cannot number them.
    fn datagrams(&mut self) {
        let numbered = self.own.run(self.words(CheckStep::Datagrams, true));
        let unsupported = |run: &Output| run.status.code() == Some(i32::from(UNSUPPORTED));
        let run = match numbered {
            Ok(run) if unsupported(&run) => self.own.run(self.words(CheckStep::Datagrams, false)),
            run => run,
        };
        if !self.own.interrupted() {
            self.keep(CheckStep::Datagrams, run).ok();
        }
    }

    fn step(&mut self, step: CheckStep) -> Result<(), Failure> {
        let run = self.own.run(self.words(step, true));
        self.interrupted()?;
        self.keep(step, run)
    }

    /// Keeps the result of a run, or its reason to fail.
    fn keep(&mut self, step: CheckStep, run: std::io::Result<Output>) -> Result<(), Failure> {
        let run = run.map_err(|error| failure(INVALID, system_text(&error)))?;
        let document = netperf_web::document(&run.stdout).filter(|document| document.complete);
        let (result, done) = match document {
            Some(document) if run.status.success() => {
                self.kept.push((step, run.stdout));
                (Ok(document), Ok(()))
            }
            _ => {
                let said = String::from_utf8_lossy(&run.stderr).trim_end().to_owned();
                let cut_short = itself::cut_short(&run.stdout).filter(|_| run.status.success());
                let reason = cut_short.map_or(said, str::to_owned);
                let exit = run.status.code().and_then(|code| u8::try_from(code).ok());
                (
                    Err(reason.clone()),
                    Err(Failure::stderr(exit.unwrap_or(FAILED), reason)),
                )
            }
        };
        self.runs.runs.push((step, result));
        done
    }

    /// netperf's command line of a run.
    fn words(&self, step: CheckStep, numbered: bool) -> Vec<String> {
        let args = self.args;
        let mut words = vec!["-H".to_owned(), args.host.clone()];
        words.extend(args.family.map(|family| format!("-{family}")));
        if let Some(port) = &args.port {
            words.extend(["-p".to_owned(), port.clone()]);
        }
        let time = args.time.as_deref().unwrap_or(TIME);
        words.extend(step.words(time, datagram_rate(self.runs.send()), numbered));
        // Of an option that is given twice, the last one counts.
        words.extend(args.words.iter().cloned());
        words
    }

    fn interrupted(&self) -> Result<(), Failure> {
        if self.own.interrupted() {
            return Err(failure(
                FAILED,
                "interrupted: what was measured before is kept",
            ));
        }
        Ok(())
    }

    /// The current measurement, if standard error is a terminal.
    fn progress(&self, name: &str) {
        if std::io::stderr().is_terminal() {
            let line = if name.is_empty() {
                String::new()
            } else {
                format!("measuring: {name} ...")
            };
            output::progress(&line);
        }
    }

    /// Finds the results of the last check of this host, and stores those of this one.
    fn remember(&mut self) -> Result<(), HistoryError> {
        let mut store = history::open(self.args.place.as_deref(), true)?;
        for (step, _) in &self.kept {
            self.runs
                .earlier
                .extend(last(&mut store, *step, &self.args.host)?);
        }
        let entry = |(step, document): &(CheckStep, Vec<u8>)| {
            HistoryEntry::read(step.label(), document.clone(), Some(step.label()))
        };
        let entries = self.kept.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        store.add(&entries, history::now())?;
        Ok(())
    }

    /// Tells the summary why the check is not complete; one of JSON that has no result says so.
    fn tell(&mut self, failure: &Failure) {
        let message = failure.stderr.trim_end();
        let message = message.strip_prefix("netperf: ").unwrap_or(message);
        self.runs.error = Some((message.to_owned(), failure.exit));
        if self.args.json && self.kept.is_empty() {
            self.shown();
        }
    }

    fn shown(&self) -> ExitCode {
        let summary = self.runs.summary();
        if self.args.json {
            let mut json = serde_json::to_string_pretty(&summary).unwrap_or_default();
            json.push('\n');
            out(&json);
        } else {
            let unicode = output::has_unicode();
            out(&summary.text(if unicode {
                Letters::Unicode
            } else {
                Letters::Ascii
            }));
        }
        let complete = self.runs.error.is_none();
        if complete && self.runs.runs.iter().all(|(_, run)| run.is_ok()) {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(FAILED)
        }
    }
}

/// The address of this host on the path to another; `None` without such a path.
fn source(remote: IpAddr) -> Option<IpAddr> {
    let any = match remote {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // Nothing is sent: the system chooses the path.
    socket.connect((remote, DISCARD)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The last stored result of a run.
fn last(
    store: &mut Store,
    step: CheckStep,
    host: &str,
) -> Result<Option<(CheckStep, Document)>, HistoryError> {
    let filter = Filter {
        host: Some(host.to_owned()),
        label: Some(step.label().to_owned()),
        ..Filter::default()
    };
    let Some(listed) = store.list(&filter, Some(1))?.pop() else {
        return Ok(None);
    };
    let document = netperf_web::document(&store.document(listed.id)?);
    Ok(document.map(|document| (step, document)))
}
