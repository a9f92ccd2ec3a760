//! `netperf check`: phases of runs to one host, and a summary.

mod live;
mod runs;

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::{ExitCode, Output};
use std::thread;
use std::time::Duration;

use netperf_cli::CheckArgs;
use netperf_client::store;
use netperf_history::{Filter, HistoryEntry, HistoryError, Store};
use netperf_program::file;
use netperf_program::output::{self, FAILED, Failure, INVALID, UNSUPPORTED, err, out, system_text};
use netperf_program::threads::{join, spawn};
use netperf_quality::{
    CheckPhase, CheckRole, CheckRuns, CheckSummary, GradeTable, LastCheck, PhaseRuns, flent,
};
use netperf_report::document::RunError;
use netperf_web::Document;
use std::sync::Arc;

use super::itself::OwnRuns;
use super::{files, itself, versus};
use live::LiveCheck;
use runs::{CheckParameters, Planned};

/// Port of the discard protocol (RFC 863).
const DISCARD: u16 = 9;
/// Time from the beginning of the probes of a phase to that of its load.
const LEAD: Duration = Duration::from_millis(300);
/// Time within which netserver has to answer. Behind 5 s of silence netperf looks which program is
/// there, and names it.
const ANSWERS: Duration = Duration::from_secs(9);
/// Options that a stock or an older netserver refuses.
const STAMPS: &str = "--timestamps";
const RATE: &str = "--rate";
/// Exit status where there is no netserver, as that of netperf.
const NO_NETSERVER: u8 = 255;

fn failure(exit: u8, problem: impl Display) -> Failure {
    Failure::stderr(exit, format_args!("netperf check: {problem}"))
}

/// Runs `netperf check`.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let settings = CheckParameters::of(args).map_err(|problem| failure(INVALID, problem))?;
    let own = OwnRuns::watch()
        .map_err(|error| failure(INVALID, format_args!("signals: {}", system_text(&error))))?;
    let mut check = PathCheck {
        args,
        settings,
        own: &own,
        runs: CheckRuns::default(),
        kept: Vec::new(),
        live: None,
    };
    check.runs.host.clone_from(&args.host);
    check.runs.settings = check.settings.asked.clone();
    let possible = check.is_possible().and_then(|()| check.display());
    let measured = possible.and_then(|()| check.measure());
    check.clear();
    check.runs.source = check.runs.remote_address().and_then(source);
    if let Err(failure) = &measured {
        check.tell(failure);
    }
    if check.runs.is_empty() {
        if args.json {
            print_json(&check.runs.summary(None));
        }
        measured?;
    } else if let Err(failure) = &measured {
        err(&failure.stderr);
    }
    let last = check.remember().unwrap_or_else(|error| {
        err(&format!(
            "netperf check: the history is not used: {error}\n"
        ));
        None
    });
    let summary = check.runs.summary(last.as_ref());
    show(args, &summary);
    write_files(args, &summary)?;
    Ok(ended(args, &summary))
}

/// Prints the summary.
fn show(args: &CheckArgs, summary: &CheckSummary) {
    if args.json {
        print_json(summary);
        return;
    }
    out(&summary.text(output::look()));
}

fn print_json(summary: &CheckSummary) {
    let mut json = serde_json::to_string_pretty(summary).unwrap_or_default();
    json.push('\n');
    out(&json);
}

/// Writes the page and the export, if they are wanted.
fn write_files(args: &CheckArgs, summary: &CheckSummary) -> Result<(), Failure> {
    let write = |path: &Path, bytes: &[u8]| {
        file::write(path, bytes).map_err(|error| {
            let problem = system_text(&error);
            failure(FAILED, format_args!("{}: {problem}", path.display()))
        })
    };
    if let Some(path) = &args.page {
        let page = summary.page().map_err(|error| failure(FAILED, error))?;
        write(path, page.as_bytes())?;
    }
    if let Some((_, path)) = &args.export {
        write(path, &flent::file(summary))?;
    }
    Ok(())
}

/// The exit status: everything was measured, and the grade is as good as expected.
fn ended(args: &CheckArgs, summary: &CheckSummary) -> ExitCode {
    let grade = summary.verdict.grade.as_ref().map(|grade| &*grade.letter);
    if let Some(expected) = &args.expect {
        if !grade.is_some_and(|grade| GradeTable::is_as_good(grade, expected)) {
            let found = grade.map_or_else(|| "unknown".to_owned(), str::to_owned);
            err(&format!(
                "netperf check: the grade is {found}, and {expected} or better is expected\n"
            ));
            return ExitCode::from(FAILED);
        }
    }
    if summary.complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    }
}

/// A document as it was printed, for the history.
struct KeptRun {
    phase: CheckPhase,
    role: CheckRole,
    document: Vec<u8>,
}

impl KeptRun {
    fn label(&self) -> String {
        format!("check: {}", self.role.words(self.phase))
    }
}

/// A check as it goes on.
struct PathCheck<'a> {
    args: &'a CheckArgs,
    settings: CheckParameters,
    own: &'a OwnRuns,
    runs: CheckRuns,
    kept: Vec<KeptRun>,
    /// The display of the check on a terminal, while it goes on.
    live: Option<Arc<LiveCheck>>,
}

impl PathCheck<'_> {
    /// Refuses what would fail after the measurement, or in each part of it.
    fn is_possible(&self) -> Result<(), Failure> {
        let args = self.args;
        let wrong = |why: String| failure(INVALID, why);
        let export = args.export.as_ref().map(|(_, path)| path.as_path());
        let outputs = [args.page.as_deref(), export];
        files::apart::<&Path>(&outputs, &[]).map_err(wrong)?;
        let mut outputs = outputs.into_iter().flatten();
        outputs.try_for_each(files::expect_place).map_err(wrong)?;
        // Only a history that the user names must open: without --db a check runs without one.
        if let (Some(place), false) = (&args.place, args.forget) {
            store::open(Some(place), true).map_err(|error| failure(INVALID, error))?;
        }
        for (phase, length) in self.settings.phases() {
            for run in self.settings.runs(phase, length, &CheckRuns::default()) {
                let planned = versus::planned(&self.words(&run)).map_err(|error| {
                    let why = error.to_string();
                    let why = why.lines().next().unwrap_or_default();
                    let why = why.strip_prefix("netperf: ").unwrap_or(why);
                    let given = netperf_cli::masked_words(&args.words).join(" ");
                    let given = netperf_web::escape::line(&given);
                    failure(INVALID, format_args!("-- {given}: {why}"))
                })?;
                if let Some(run) = planned {
                    netperf_client::refused_by_kernel(&run)?;
                }
            }
        }
        Ok(())
    }

    /// All phases. Failures of their runs are reported in the summary.
    fn measure(&mut self) -> Result<(), Failure> {
        self.settings.stamps = self.ask()?;
        if !self.settings.stamps {
            self.runs.missing = runs::missing();
        }
        for (phase, length) in self.settings.phases() {
            self.interrupted()?;
            self.phase(phase, length);
        }
        self.interrupted()
    }

    /// Asks netserver for a few probes: whether it stamps them.
    fn ask(&self) -> Result<bool, Failure> {
        let run = self
            .own
            .run_within(ANSWERS, self.words(&Planned::of_first()));
        self.interrupted()?;
        let run = run.map_err(|error| {
            if error.kind() != std::io::ErrorKind::TimedOut {
                return failure(INVALID, system_text(&error));
            }
            failure(
                NO_NETSERVER,
                format_args!(
                    "{} did not answer as a netserver within {} s; is another program there, or a \
                     firewall between? (-p names the port)",
                    self.args.host,
                    ANSWERS.as_secs()
                ),
            )
            .without_netserver()
        })?;
        let exit = run.status.code().and_then(|code| u8::try_from(code).ok());
        let said = String::from_utf8_lossy(&run.stderr).trim_end().to_owned();
        match exit {
            Some(0) => Ok(true),
            Some(UNSUPPORTED) if said.contains(STAMPS) || said.contains(RATE) => Ok(false),
            exit => {
                let failure = Failure::stderr(exit.unwrap_or(FAILED), said);
                Err(Failure {
                    unreached: itself::unreached(&run.stdout),
                    ..failure
                })
            }
        }
    }

    /// A phase: its probes first, and its load a while after them.
    fn phase(&mut self, phase: CheckPhase, length: f64) {
        let mut runs = Vec::new();
        for (role, output) in self.all_at_once(phase, length) {
            runs.push((role, self.read(phase, role, output)));
        }
        // A run that never began because of a signal is no failure of it.
        if self.own.interrupted() {
            runs.retain(|(_, run)| run.is_ok());
        }
        self.runs.phases.push(PhaseRuns { phase, runs });
    }

    fn all_at_once(
        &self,
        phase: CheckPhase,
        length: f64,
    ) -> Vec<(CheckRole, std::io::Result<Output>)> {
        let planned = self.settings.runs(phase, length, &self.runs);
        let own = self.own;
        if let Some(live) = &self.live {
            live.begin();
        }
        let run = |planned: &Planned| {
            if planned.is_load {
                thread::sleep(LEAD);
            }
            let words = self.words(planned);
            match &self.live {
                Some(live) => {
                    let (live, role) = (Arc::clone(live), planned.role);
                    let words = planned.shown().into_iter().chain(words);
                    own.run_shown(words, move |event| live.show(role, event))
                }
                None => own.run(words),
            }
        };
        thread::scope(|scope| {
            let threads: Vec<_> = planned
                .iter()
                .map(|planned| (planned.role, spawn(scope, move || run(planned))))
                .collect();
            let joined = threads
                .into_iter()
                .map(|(role, thread)| (role, thread.and_then(join)));
            joined.collect()
        })
    }

    /// Reads the result of a run, or its reason to fail.
    fn read(
        &mut self,
        phase: CheckPhase,
        role: CheckRole,
        run: std::io::Result<Output>,
    ) -> Result<Document, String> {
        let run = run.map_err(|error| system_text(&error))?;
        let ended_early = self.own.interrupted();
        let document = netperf_web::document(&run.stdout);
        let usable = |document: &Document| {
            document.complete || (ended_early && !document.iterations.is_empty())
        };
        if let Some(document) = document.filter(usable).filter(|_| run.status.success()) {
            if document.complete {
                self.kept.push(KeptRun {
                    phase,
                    role,
                    document: run.stdout,
                });
            }
            return Ok(document);
        }
        let said = String::from_utf8_lossy(&run.stderr).trim_end().to_owned();
        let cut_short = itself::cut_short(&run.stdout).filter(|_| run.status.success());
        Err(itself::reason(&cut_short.map_or(said, str::to_owned)))
    }

    /// netperf's command line of a run.
    fn words(&self, planned: &Planned) -> Vec<String> {
        let args = self.args;
        let mut words = vec!["-H".to_owned(), args.host.clone()];
        words.extend(args.family.map(|family| format!("-{family}")));
        if let Some(port) = &args.port {
            words.extend(["-p".to_owned(), port.clone()]);
        }
        words.extend(planned.words.iter().cloned());
        // Of an option that is given twice, the last one counts.
        words.extend(args.words.iter().cloned());
        words
    }

    fn interrupted(&self) -> Result<(), Failure> {
        if self.own.interrupted() {
            return Err(failure(FAILED, self.interruption()));
        }
        Ok(())
    }

    /// What a signal has left of the check.
    fn interruption(&self) -> &'static str {
        let has_result = |phase: &PhaseRuns| phase.runs.iter().any(|(_, run)| run.is_ok());
        if !self.runs.phases.iter().any(has_result) {
            "interrupted before anything was measured"
        } else if self.args.forget || self.kept.is_empty() {
            "interrupted: what was measured before is shown"
        } else {
            "interrupted: what was measured before is kept in the history"
        }
    }

    /// Begins the display of the check.
    fn display(&mut self) -> Result<(), Failure> {
        let host = &self.args.host;
        let opened = LiveCheck::open(self.args.live, host, self.settings.phases());
        self.live = opened.map_err(|problem| failure(UNSUPPORTED, problem))?;
        Ok(())
    }

    /// Ends it.
    fn clear(&mut self) {
        if let Some(live) = self.live.take() {
            live.clear();
        }
    }

    /// Finds the results of the last check of this host, and stores those of this one.
    fn remember(&mut self) -> Result<Option<LastCheck>, HistoryError> {
        if self.args.forget {
            return Ok(None);
        }
        let mut store = store::open(self.args.place.as_deref(), true)?;
        let mut earlier = CheckRuns::default();
        for kept in &self.kept {
            if let Some(document) = last(&mut store, &kept.label(), &self.args.host)? {
                let run = (kept.role, Ok(document));
                match earlier
                    .phases
                    .iter_mut()
                    .find(|one| one.phase == kept.phase)
                {
                    Some(known) => known.runs.push(run),
                    None => earlier.phases.push(PhaseRuns {
                        phase: kept.phase,
                        runs: vec![run],
                    }),
                }
            }
        }
        let entry = |kept: &KeptRun| {
            let label = kept.label();
            HistoryEntry::read(&label, kept.document.clone(), Some(&label))
        };
        let entries = self.kept.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        store.add(&entries, store::now())?;
        Ok((!earlier.is_empty()).then(|| earlier.summary(None).as_last()))
    }

    /// Tells the summary why the check is not complete.
    fn tell(&mut self, failure: &Failure) {
        let message = failure.stderr.trim_end();
        let message = message.strip_prefix("netperf: ").unwrap_or(message);
        self.runs.error = Some(RunError {
            message: message.to_owned(),
            exit_status: failure.exit,
            unreached: failure.unreached,
        });
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
fn last(store: &mut Store, label: &str, host: &str) -> Result<Option<Document>, HistoryError> {
    let filter = Filter {
        host: Some(host.to_owned()),
        label: Some(label.to_owned()),
        ..Filter::default()
    };
    let Some(listed) = store.list(&filter, Some(1))?.pop() else {
        return Ok(None);
    };
    Ok(netperf_web::document(&store.document(listed.id)?))
}
