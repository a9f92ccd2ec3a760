//! `netperf campaign`: measurements between many hosts.

mod agent;
mod links;
#[cfg(feature = "live")]
mod live;
mod loads;
mod meet;
mod offline;
mod peer;
mod progress;
mod results;
mod run;
mod sink;

use std::fmt::Display;
use std::io::{self, IsTerminal as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use netperf_campaign::coordinator::CoordinatorInput;
use netperf_campaign::inventory::{self, InventoryMember};
use netperf_campaign::matrix::{Matrix, MatrixView};
use netperf_campaign::outcome::CampaignDocument;
use netperf_campaign::plan::CampaignPlan;
use netperf_cli::{CampaignArgs, CampaignVerb, OutputStream};
use netperf_comparison::Letters;
use netperf_model::{KeyRing, KeyRole, Secret};
use netperf_os::signals::{self, Signal};
use netperf_program::file;
use netperf_program::key;
use netperf_program::output::{self, FAILED, Failure, INVALID, out, system_text};
use netperf_text::unit::{Unit, quantity};

pub(super) use results::{compared, is_campaign};
use run::CampaignRun;
use sink::CellFile;

use super::files;
#[cfg(not(feature = "live"))]
use super::unbuilt::campaign_live as live;

/// Exit status of a campaign that is not complete.
const INCOMPLETE: u8 = 1;
/// Silence of a member that ends a check, seconds: nothing waits for it.
const CHECKED_SILENCE: f64 = 10.0;
/// Time for agents to join.
const JOINING: Duration = Duration::from_secs(120);

fn failure(problem: impl Display) -> Failure {
    let problem = netperf_web::escape::line(&problem.to_string());
    Failure::stderr(INVALID, format_args!("netperf campaign: {problem}"))
}

/// Runs `netperf campaign`.
pub(super) fn run(verb: CampaignVerb, args: &CampaignArgs) -> Result<ExitCode, Failure> {
    match verb {
        CampaignVerb::Agent => agent::run(),
        CampaignVerb::Key => offline::make_key(args).map(|()| ExitCode::SUCCESS),
        CampaignVerb::Manifest => offline::manifest(args).map(|()| ExitCode::SUCCESS),
        CampaignVerb::Inventory => offline::inventory(args).map(|()| ExitCode::SUCCESS),
        CampaignVerb::Show => results::show(args),
        CampaignVerb::Compare => results::compare(args),
        CampaignVerb::List => results::list(args),
        CampaignVerb::Check => check(args),
        CampaignVerb::Run => measure(args),
    }
}

/// Text of a file, or of standard input for `-`. The error is one line.
fn text(path: &str) -> Result<String, String> {
    let no_text = |_| io::Error::other("stream did not contain valid UTF-8");
    let text = file::read(path).and_then(|bytes| String::from_utf8(bytes).map_err(no_text));
    text.map_err(|error| format!("{path}: {}", system_text(&error)))
}

fn file(args: &CampaignArgs) -> &str {
    args.file.as_deref().unwrap_or("-")
}

/// Form of matrices on standard output.
fn view() -> MatrixView {
    MatrixView {
        letters: if output::has_unicode() {
            Letters::Unicode
        } else {
            Letters::Ascii
        },
        colour: std::io::stdout().is_terminal() && key::variable("NO_COLOR").is_none(),
        ..MatrixView::default()
    }
}

fn write_page(
    document: &CampaignDocument,
    matrices: &[Matrix],
    args: &CampaignArgs,
) -> Result<(), Failure> {
    match &args.page {
        Some(path) => write(path, &document.page(matrices).map_err(failure)?),
        None => Ok(()),
    }
}

/// The keys of the campaign.
fn keys(args: &CampaignArgs) -> Result<(KeyRing, Secret), Failure> {
    let keys = key::load(args.key_file.as_deref()).map_err(failure)?;
    let none = "a key is required: netperf campaign key --output FILE, and --key-file FILE here \
                and at the agents";
    let keys = keys.ok_or_else(|| failure(none))?;
    let agent = keys.keys().iter().find(|key| key.role == KeyRole::Agent);
    let missing = "the key file has no key with the role agent: netperf campaign key makes one";
    let secret = agent.ok_or_else(|| failure(missing))?.secret.clone();
    Ok((keys, secret))
}

/// A plan for the commands that measure nothing.
fn no_plan() -> Result<CampaignPlan, Failure> {
    let silence = CHECKED_SILENCE;
    let text = format!("pattern = \"mesh\"\ntest = \"TCP_RR\"\nsilence = {silence:.1}\n");
    CampaignPlan::read(&text).map_err(failure)
}

/// Connects to the agents of the inventory, or waits for them, and reads their clocks.
fn connect(run: &mut CampaignRun<'_>, args: &CampaignArgs) -> Result<(), Failure> {
    let (keys, secret) = keys(args)?;
    if let Some(at) = &args.join_listen {
        let count = args.expect.unwrap_or_default() as usize;
        let (host, port) = inventory::host_and_port(at);
        let port = port.parse::<u16>().ok().filter(|_| at.contains(':'));
        let port = port.ok_or_else(|| {
            failure(format_args!(
                "--join-listen {at}: expected a host and a port, or :port for all addresses"
            ))
        })?;
        let host = if host.is_empty() {
            "::".to_owned()
        } else {
            host
        };
        let listener = TcpListener::bind((host.as_str(), port));
        let listener = listener.map_err(|error| {
            failure(format_args!("--join-listen {at}: {}", system_text(&error)))
        })?;
        let joined = run.wait_for((&listener, count), &keys, JOINING);
        joined.map_err(failure)?;
    }
    run.meet(secret).map_err(failure)
}

fn entries(args: &CampaignArgs, verb: &str) -> Result<Vec<InventoryMember>, Failure> {
    match &args.inventory {
        Some(path) => offline::members(args, verb, path),
        None => Ok(Vec::new()),
    }
}

fn check(args: &CampaignArgs) -> Result<ExitCode, Failure> {
    let signals = signals::watch(&[Signal::Interrupt, Signal::Terminate])
        .map_err(|error| failure(system_text(&error)))?;
    let plan = no_plan()?;
    let run = CampaignRun::new(&plan, entries(args, "check")?, (&signals, None));
    let mut run = run.map_err(failure)?;
    connect(&mut run, args)?;
    // The agents are free again at once, also after a failure.
    run.finish();
    if let Some(why) = run.coordinator().unmet() {
        return Err(failure(why));
    }
    let members = run.coordinator().members();
    if args.json {
        let json = serde_json::to_string_pretty(&members).map_err(failure)?;
        out(&format!("{json}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["name", "control", "version", "CPUs", "clock bound"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for member in members {
        let bound = member.clock.map_or_else(
            || "not an agent".to_owned(),
            |clock| quantity(clock.bound_seconds, Unit::Seconds),
        );
        let cpus = member
            .cpus
            .map_or_else(|| "-".to_owned(), |count| count.to_string());
        let text = |text: &str| netperf_web::escape::line(text);
        let version = text(member.version.as_deref().unwrap_or("-"));
        let (name, control) = (text(&member.member.name), text(&member.member.control));
        rows.push(vec![name, control, version, cpus, bound]);
    }
    out(&netperf_text::columns::aligned(&rows, &[]));
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &CampaignArgs) -> Result<ExitCode, Failure> {
    let path = file(args);
    let plan = CampaignPlan::read(&text(path).map_err(failure)?)
        .map_err(|bad| failure(format_args!("{path}: {bad}")))?;
    let of_plan = |bad: &dyn Display| failure(format_args!("{path}: {bad}"));
    loads::check_plan(&plan).map_err(|bad| of_plan(&bad))?;
    let signals = signals::watch(&[Signal::Interrupt, Signal::Terminate])
        .map_err(|error| failure(system_text(&error)))?;
    let outputs = [&args.output, &args.page, &args.cells].map(|path| path.as_deref());
    let inputs = [Some(path), args.inventory.as_deref()];
    let inputs: Vec<&str> = inputs
        .into_iter()
        .flatten()
        .filter(|name| *name != "-")
        .collect();
    files::apart(&outputs, &inputs).map_err(failure)?;
    let mut wanted = outputs.into_iter().flatten();
    wanted.try_for_each(files::expect_place).map_err(failure)?;
    let mut history = results::history(args)?;
    let members = entries(args, "run")?;
    if !members.is_empty() {
        plan.rounds(&members).map_err(|bad| of_plan(&bad))?;
    }
    let live = args.live.then(live::LiveScreen::open).transpose();
    let live = live.map_err(failure)?;
    let sink = args.cells.as_deref().map(CellFile::new).transpose();
    let sink = sink.map_err(failure)?;
    let mut run = CampaignRun::new(&plan, members, (&signals, sink)).map_err(failure)?;
    run.progress.tells_states = true;
    run.progress.live = live;
    connect(&mut run, args)?;
    let members: Vec<InventoryMember> = run.coordinator().entries().cloned().collect();
    let rounds = plan.rounds(&members).map_err(|bad| of_plan(&bad))?;
    run.run(CoordinatorInput::Measure(rounds.rounds));
    run.finish();
    // Results go to the terminal as it was.
    run.progress.live = None;
    run.refused().map_err(failure)?;
    let mut document = run.coordinator().document();
    let lost = document.lost_members();
    let written = run.finish_cells(document.complete, lost);
    written.map_err(|why| Failure::stderr(FAILED, format_args!("netperf campaign: {why}")))?;
    let matrices = run.matrices().map_err(failure)?;
    document.outliers = document.judged(&matrices, run.coordinator().suspects());
    for doubt in document.clock_doubts() {
        output::err(&format!("netperf campaign: warning: {doubt}\n"));
    }
    let json = serde_json::to_string_pretty(&document).map_err(failure)?;
    // Results are printed even if they cannot be written.
    let written = args
        .output
        .as_deref()
        .map_or(Ok(()), |path| write(path, &json));
    let kept = history
        .as_mut()
        .map_or(Ok(()), |history| results::keep(history, &document));
    let paged = write_page(&document, &matrices, args);
    if args.json {
        out(&format!("{json}\n"));
    } else {
        output::say_styled(OutputStream::Stdout, &document.text(&matrices, view()));
    }
    written.and(kept).and(paged)?;
    Ok(if document.complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

fn write(path: &Path, json: &str) -> Result<(), Failure> {
    let written = file::write(path, format!("{json}\n").as_bytes());
    written.map_err(|error| {
        let line = files::unwritten(path, &error);
        Failure::stderr(FAILED, format_args!("netperf campaign: {line}"))
    })
}
