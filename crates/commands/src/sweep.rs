//! `netperf sweep`: one command line with many values, and the curve.

use std::fmt::Display;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use netperf_cli::{SweepArgs, SweepWords};
use netperf_comparison::curve::{self, SweepRun, curve};
use netperf_comparison::sweep::Plan;
use netperf_measure::clock::{self, Moment};
use netperf_os::lock;
use netperf_program::file;
use netperf_program::output::{Failure, INVALID, columns, err, out, progress, system_text};

use super::itself::{OwnRuns, RunRemarks, cut_short, reason};
use super::{files, itself, versus};

/// The exit status when a run failed, or not all were made.
const INCOMPLETE: u8 = 1;
/// The file with the plan.
const PLAN: &str = "sweep.json";
/// Lock file of the process that works in the folder.
const LOCK: &str = "sweep.lock";
/// The folder with a result for each run.
const RUNS: &str = "runs";
/// Letters of the bar that shows how far it is.
const BAR: usize = 20;

fn failure(problem: impl Display) -> Failure {
    let problem = netperf_web::escape::line(&problem.to_string());
    Failure::stderr(INVALID, format_args!("netperf sweep: {problem}"))
}

fn io_failure(path: &Path, error: &std::io::Error) -> Failure {
    failure(format_args!("{}: {}", path.display(), system_text(error)))
}

/// Runs `netperf sweep`.
pub(super) fn run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let folder = args.folder.clone().unwrap_or_default();
    let sweep = Sweep::open(args, folder)?;
    let runs = OwnRuns::watch()
        .map_err(|error| failure(format_args!("signals: {}", system_text(&error))))?;
    let ended = sweep.run(&runs)?;
    let complete = sweep.report()?;
    if let Some(why) = ended {
        let folder = netperf_web::escape::line(&sweep.folder.to_string_lossy());
        err(&format!(
            "netperf sweep: {why}: continue with netperf sweep -o {folder}\n"
        ));
    }
    Ok(if complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

/// A sweep and where it is kept.
struct Sweep {
    folder: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
    plan: Plan,
    points: Vec<Vec<String>>,
}

/// The requested plan; `None` to continue an existing one.
fn asked(args: &SweepArgs) -> Result<Option<Plan>, Failure> {
    let read;
    let words: &SweepWords = match &args.file {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| io_failure(file, &error))?;
            read = netperf_cli::sweep_file(&text)
                .map_err(|fault| failure(format_args!("{}: {fault}", file.display())))?;
            &read
        }
        None if args.plan.command.is_empty() => return Ok(None),
        None => &args.plan,
    };
    Plan::new(
        words.command.clone(),
        &words.over,
        words.repeat.unwrap_or(1),
    )
    .map(Some)
    .map_err(failure)
}

/// Refuses a point whose options or values are wrong, before the first run.
fn valid(plan: &Plan, points: &[Vec<String>]) -> Result<(), Failure> {
    for values in points {
        versus::planned(&plan.command_of(values)).map_err(|error| {
            let why = error.to_string();
            let first = why.lines().next().unwrap_or_default();
            failure(format_args!("{}: {first}", plan.name_of(values)))
        })?;
    }
    Ok(())
}

/// The plan that a folder holds, if it holds one.
fn kept(path: &Path) -> Result<Option<Plan>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Plan::of_text(&text)
            .map(Some)
            .map_err(|fault| failure(format_args!("{}: {fault}", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_failure(path, &error)),
    }
}

/// Writes a file that is either there as a whole or not at all, whatever happens.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_for(path, bytes, 0o666)
}

/// Writes such a file for the users of a mode.
fn write_for(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    file::write_for(path, bytes, mode).map_err(|error| failure(files::unwritten(path, &error)))
}

/// Locks the folder for this process. The lock ends with the process, however that ends.
fn locked(folder: &Path) -> Result<File, Failure> {
    let path = folder.join(LOCK);
    let open = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    let mut file = open.map_err(|error| io_failure(&path, &error))?;
    if !lock::try_alone(file.as_fd()).map_err(|error| io_failure(&path, &error))? {
        let mut who = String::new();
        let read = file.take(20).read_to_string(&mut who);
        let known = read.is_ok_and(|length| length > 0);
        let who = known.then(|| format!(" (process {})", who.trim_end()));
        return Err(failure(format_args!(
            "{} is in use by another netperf sweep{}; wait for it, or give another folder to -o",
            folder.display(),
            who.unwrap_or_default()
        )));
    }
    // Process id for the message of a second process. An error is harmless.
    let me = format!("{}\n", std::process::id());
    let _told = file.set_len(0).and_then(|()| file.write_all(me.as_bytes()));
    Ok(file)
}

impl Sweep {
    /// Begins a sweep, or finds the one that is to go on.
    fn open(args: &SweepArgs, folder: PathBuf) -> Result<Self, Failure> {
        let path = folder.join(PLAN);
        let asked = asked(args)?;
        if asked.is_none() && !path.exists() {
            return Err(failure(format_args!(
                "{} contains no sweep: give --over and a command to start one",
                folder.display()
            )));
        }
        let runs = folder.join(RUNS);
        std::fs::create_dir_all(&runs).map_err(|error| io_failure(&runs, &error))?;
        let lock = locked(&folder)?;
        let kept = kept(&path)?;
        if let (Some(kept), Some(asked)) = (&kept, &asked) {
            if let Some(difference) = kept.differs(asked, netperf_cli::masked_words) {
                return Err(failure(format_args!(
                    "{} contains another sweep: {difference}; give another folder to -o",
                    folder.display()
                )));
            }
        }
        let is_new = asked.is_some() && asked != kept;
        let Some(plan) = asked.or(kept) else {
            return Err(failure(format_args!("{} is gone", path.display())));
        };
        let points = plan.points();
        if is_new {
            valid(&plan, &points)?;
            // The passphrase is needed to continue.
            let has_secret = netperf_cli::masked_words(&plan.command) != plan.command;
            let mode = if has_secret { 0o600 } else { 0o666 };
            write_for(&path, plan.text().as_bytes(), mode)?;
        }
        Ok(Self {
            folder,
            _lock: lock,
            plan,
            points,
        })
    }

    /// Every run: all points once, then all once more.
    fn all(&self) -> impl Iterator<Item = (u32, usize)> + use<> {
        let points = self.points.len();
        (1..=self.plan.repeat).flat_map(move |time| (0..points).map(move |point| (time, point)))
    }

    /// The file of a run, with one ending or another.
    fn file(&self, (time, point): (u32, usize), ending: &str) -> PathBuf {
        let name = format!("{:05}-{time:04}.{ending}", point + 1);
        self.folder.join(RUNS).join(name)
    }

    /// Returns true if a run has a valid result.
    fn has(&self, run: (u32, usize)) -> bool {
        let path = self.file(run, "json");
        match std::fs::read(&path) {
            Ok(bytes) => netperf_web::read(&path.to_string_lossy(), &bytes).is_ok(),
            // An unreadable file is reported with the results.
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// Makes the runs that are missing; the reason if it ended before the last of them.
    fn run(&self, runs: &OwnRuns) -> Result<Option<String>, Failure> {
        let missing: Vec<_> = self.all().filter(|run| !self.has(*run)).collect();
        let mut progress = SweepProgress::new(self.all().count(), missing.len());
        let mut remarks = RunRemarks::default();
        // Once the first run, or two in a row, find no netserver, the others are not tried.
        let (mut lost, mut end) = (true, false);
        for (time, point) in missing {
            let values = self.points.get(point).map_or(&[][..], Vec::as_slice);
            let name = self.plan.name_of(values);
            progress.show(&name);
            let name = netperf_web::escape::line(&name);
            let lines = match self.one((time, point), values, runs)? {
                RunState::Interrupted => {
                    progress.end();
                    return Ok(Some("interrupted".to_owned()));
                }
                RunState::Failed { why, unreached } => {
                    end = unreached && lost;
                    lost = unreached;
                    let why = netperf_web::escape::line(&why);
                    vec![format!("{name}, run {time} failed: {why}")]
                }
                RunState::Result(stderr) => {
                    lost = false;
                    let lines = remarks.new_of(&stderr).into_iter();
                    lines
                        .map(|line| format!("{name}, run {time}: {line}"))
                        .collect()
                }
            };
            for line in lines {
                progress.wipe();
                err(&format!("netperf sweep: {line}\n"));
            }
            progress.done += 1;
            let left = progress.not_begun();
            if end && left > 0 {
                progress.end();
                let runs = if left == 1 { "run was" } else { "runs were" };
                return Ok(Some(format!(
                    "no netserver was found, and {left} {runs} not begun"
                )));
            }
        }
        progress.end();
        Ok(None)
    }

    /// Makes one run of this very program and keeps its result.
    fn one(
        &self,
        run: (u32, usize),
        values: &[String],
        runs: &OwnRuns,
    ) -> Result<RunState, Failure> {
        let finished = runs.run(self.plan.command_of(values));
        // A run interrupted by a signal is repeated.
        if runs.interrupted() {
            return Ok(RunState::Interrupted);
        }
        let finished =
            finished.map_err(|error| failure(format_args!("netperf: {}", system_text(&error))))?;
        let (good, bad) = (self.file(run, "json"), self.file(run, "failed"));
        let success = finished.status.success();
        let cut_short = cut_short(&finished.stdout).filter(|_| success);
        if success && cut_short.is_none() {
            write(&good, &finished.stdout)?;
            return match std::fs::remove_file(&bad) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(io_failure(&bad, &error)),
                _ => Ok(RunState::Result(finished.stderr)),
            };
        }
        let said = String::from_utf8_lossy(&finished.stderr);
        let why = cut_short.map_or_else(|| reason(&said), str::to_owned);
        write(
            &bad,
            &[finished.stderr.as_slice(), &finished.stdout].concat(),
        )?;
        let unreached = itself::unreached(&finished.stdout);
        Ok(RunState::Failed { why, unreached })
    }

    /// The runs there are, with their results.
    fn results(&self) -> Result<Vec<SweepRun>, Failure> {
        let mut runs = Vec::new();
        for (time, point) in self.all() {
            let path = self.file((time, point), "json");
            let mut warnings = Vec::new();
            let record = match std::fs::read(&path) {
                Ok(bytes) => {
                    warnings = itself::warnings(&bytes);
                    netperf_web::read(&path.to_string_lossy(), &bytes)
                        .map_err(|error| error.to_string())
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match std::fs::read_to_string(self.file((time, point), "failed")) {
                        Ok(said) => Err(reason(&said)),
                        Err(_) => continue,
                    }
                }
                Err(error) => return Err(io_failure(&path, &error)),
            };
            runs.push(SweepRun {
                point,
                repetition: time,
                record,
                warnings,
            });
        }
        Ok(runs)
    }

    /// The warnings of all runs in Markdown, each once for each point.
    fn warnings(&self, runs: &[SweepRun]) -> String {
        let mut lines: Vec<String> = Vec::new();
        for run in runs {
            let values = self.points.get(run.point).map_or(&[][..], Vec::as_slice);
            let name = netperf_web::escape::markdown(&self.plan.name_of(values));
            for warning in &run.warnings {
                let warning = netperf_web::escape::markdown(warning);
                let line = format!("\n**Warning:** {name}: {warning}\n");
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        lines.concat()
    }

    /// Writes the page and the tables of what there is; whether that is everything.
    fn report(&self) -> Result<bool, Failure> {
        let runs = self.results()?;
        let curve = curve(&self.plan, &runs);
        let first = runs.iter().find_map(|run| run.record.as_ref().ok());
        let mut tests = runs
            .iter()
            .filter_map(|run| Some(run.record.as_ref().ok()?.test.as_deref()));
        let test = tests.next().flatten().unwrap_or("netperf");
        let test = if tests.all(|other| other == Some(test)) {
            test
        } else {
            "netperf"
        };
        let names: Vec<&str> = self.plan.over.iter().map(|one| one.name.as_str()).collect();
        let title = format!("{test} over {}", names.join(", "));
        let page = curve.page(&title, first).map_err(failure)?;
        write(&self.folder.join("report.html"), page.as_bytes())?;
        let warnings = self.warnings(&runs);
        let points = curve.markdown() + &warnings;
        write(&self.folder.join("points.md"), points.as_bytes())?;
        write(
            &self.folder.join("runs.csv"),
            curve::runs(&self.plan, &runs).as_bytes(),
        )?;
        let summary = &curve.summary;
        let table = match columns() {
            Some(_) => summary.markdown_aligned(),
            None => summary.markdown(),
        };
        out(&(table + &warnings));
        let good = runs.iter().filter(|run| run.record.is_ok()).count();
        Ok(good == self.all().count())
    }
}

/// State of a run.
enum RunState {
    /// It has a result, and printed this on standard error.
    Result(Vec<u8>),
    Failed {
        why: String,
        /// True if it found no netserver.
        unreached: bool,
    },
    Interrupted,
}

/// Progress bar, if standard error is a terminal.
struct SweepProgress {
    shown: bool,
    all: usize,
    /// Runs that were there already, and those made since.
    before: usize,
    done: usize,
    begun: Moment,
}

impl SweepProgress {
    fn new(all: usize, missing: usize) -> Self {
        Self {
            shown: std::io::stderr().is_terminal() && missing > 0,
            all,
            before: all.saturating_sub(missing),
            done: 0,
            begun: clock::now(),
        }
    }

    /// The bar, and what is run now.
    fn show(&self, name: &str) {
        if self.shown {
            let line = line(self.before + self.done, self.all, self.left());
            progress(&format!("{line}, now {name}"));
        }
    }

    /// About how much longer, once that can be told.
    fn left(&self) -> Option<Duration> {
        let done = u32::try_from(self.done).ok().filter(|done| *done > 0)?;
        let missing = u32::try_from(self.all - self.before - self.done).ok()?;
        Some(self.begun.elapsed() / done * missing)
    }

    /// Number of runs that have not begun.
    fn not_begun(&self) -> usize {
        self.all - self.before - self.done
    }

    fn wipe(&self) {
        if self.shown {
            progress("");
        }
    }

    fn end(&self) {
        if self.shown {
            let line = line(self.before + self.done, self.all, None);
            progress(&format!("{line}\n"));
        }
    }
}

fn line(done: usize, all: usize, left: Option<Duration>) -> String {
    let filled = BAR * done / all.max(1);
    let (full, rest) = ("#".repeat(filled), ".".repeat(BAR - filled.min(BAR)));
    let left = left.map_or_else(String::new, |left| {
        let seconds = left.as_secs();
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, seconds) => format!(", about {seconds} s left"),
            (0, minutes, seconds) => format!(", about {minutes} min {seconds} s left"),
            (hours, minutes, _) => format!(", about {hours} h {minutes} min left"),
        }
    });
    format!("[{full}{rest}] {done} of {all} runs{left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_and_the_time_is_told_in_words() {
        assert_eq!(line(0, 40, None), "[....................] 0 of 40 runs");
        let left = Some(Duration::from_secs(200));
        assert_eq!(
            line(20, 40, left),
            "[##########..........] 20 of 40 runs, about 3 min 20 s left"
        );
        assert_eq!(line(40, 40, None), "[####################] 40 of 40 runs");
        let left = Some(Duration::from_secs(7300));
        assert!(line(1, 40, left).ends_with("about 2 h 1 min left"));
    }
}
