//! Settings that are not in force as they were asked for. An option that was given by its name
//! fails then; a letter warns, because netperf 2.7 passes over it in silence.

use std::io::{self, ErrorKind};

use netperf_cli::RunCommand;
use netperf_model::in_force::{self, Substitution};
use netperf_model::{Agreed, Format, Iteration, SocketKind, TransportId, Warning};
use netperf_program::output::{Failure, err, system_text};
use netperf_report::document::WarningText;
use netperf_report::selection::Selection;
use netperf_transport::socket;

/// Checks what this host can tell before a control connection: values of letters that are not
/// used, the unit, files, the CPU, the congestion control and the segment size. Prints the
/// warnings; the banner does not name a CPU to which this host does not bind.
pub(super) fn before(run: &mut RunCommand) -> Result<Vec<Warning>, Failure> {
    let is_bound = run.plan.local.bind.map(netperf_os::process::bind_to_cpu);
    run.report.cpu_bind_shown &= !matches!(is_bound, Some(Err(_)));
    let run = &*run;
    let plan = &run.plan;
    let mut unmet: Vec<Warning> = run
        .garbled
        .iter()
        .cloned()
        .map(Warning::NotAsAsked)
        .collect();
    unmet.extend(left_out(&run.report.format).map(Warning::NotAsAsked));
    unmet.extend(judged(run, in_force::unit(plan, run.report.unit))?);
    // Only the document has these: scripts read standard error, and give the letter -G to tests of
    // every transport and -e to the default test (I18 and I22 in docs/consumers.md). They also give
    // sizes of sends to TCP_CRR, the number of CPUs to every test, and a confidence to tests of
    // Unix-domain sockets (I38).
    let accepted = |lacking: &Substitution| {
        let sizes = [["send-size"], ["recv-size"]];
        let is_of_requests = plan.flow.connects || plan.flow.counts_transactions();
        let ignored = [
            &["segment-size"][..],
            &["cpu-count"],
            &["iterations", "confidence"],
        ];
        let is_script = ignored.contains(&lacking.options)
            || (lacking.options == ["recv-timeout"] && !plan.flow.counts_transactions())
            || (is_of_requests && sizes.iter().any(|size| lacking.options == size));
        is_script && !lacking.options.iter().any(|option| run.is_named(option))
    };
    let unserved = run.unserved.iter().cloned();
    let (silent, lacking): (Vec<_>, Vec<_>) = unserved
        .chain(in_force::without_effect(plan))
        .partition(accepted);
    unmet.extend(judged(run, lacking)?);
    unmet.extend(judged(run, in_force::unread_files(plan))?);
    if let Some((cpu, Err(error))) = plan.local.bind.zip(is_bound) {
        let unbound = Substitution {
            options: &["bind-cpu"],
            known: true,
            text: unbound_text(cpu, &error),
        };
        unmet.extend(judged(run, [unbound])?);
    }
    unmet.extend(refused_by_kernel(run)?);
    for warning in &unmet {
        err(&format!("netperf: {}\n", WarningText::of(warning).message));
    }
    unmet.extend(judged(run, silent)?);
    Ok(unmet)
}

/// Checks the congestion control and the segment size, which this host's kernel may refuse.
///
/// # Errors
/// An option that was given by its name and would not be in force.
pub fn refused_by_kernel(run: &RunCommand) -> Result<Vec<Warning>, Failure> {
    let plan = &run.plan;
    let mut lacking = Vec::new();
    if let Some(asked) = plan.local.socket.congestion.as_deref() {
        let (got, refused) = congestion(plan.transport, asked);
        if got.as_deref() != Some(asked) {
            let mut other = in_force::congestion(0, asked, got.as_deref());
            other.text.push_str(refused.map_or("", why_no_congestion));
            lacking.push(other);
        }
    }
    if let Some(bytes) = plan.local.socket.segment_size {
        lacking.extend(refused_segment_size(plan.transport, bytes));
    }
    judged(run, lacking)
}

/// A line about selectors that a format does not print.
fn left_out(format: &Format) -> Option<String> {
    match format {
        Format::Columns(source) | Format::Csv(source) | Format::Keyval(source) => {
            Selection::left_out(source)
        }
        Format::Classic | Format::Json | Format::JsonStream | Format::Human | Format::Iperf(_) => {
            None
        }
    }
}

/// Why netperf is not bound to a CPU. sched_setaffinity(2) has `EINVAL` for a CPU that is not there
/// or not permitted.
fn unbound_text(cpu: u32, error: &io::Error) -> String {
    if error.kind() == ErrorKind::InvalidInput {
        return format!("this host has no CPU {cpu} to run on");
    }
    let why = system_text(error);
    format!("this host cannot bind to CPU {cpu}: {why}")
}

/// The congestion control that a socket has after this one was asked for, `None` of a transport
/// without one, and the error of asking for it.
fn congestion(transport: TransportId, asked: &str) -> (Option<String>, Option<ErrorKind>) {
    let Ok(socket) = socket::any(transport) else {
        return (None, None);
    };
    let refused = socket.set_tcp_congestion(asked.as_bytes()).err();
    let kind = refused.map(|error| error.kind());
    (socket::congestion(&socket), kind)
}

/// The end of a message about congestion control that the kernel refused (tcp(7)).
fn why_no_congestion(refused: ErrorKind) -> &'static str {
    if refused == ErrorKind::NotFound {
        ": the kernel has no such algorithm; /proc/sys/net/ipv4/tcp_available_congestion_control \
         lists those that it has"
    } else if refused == ErrorKind::PermissionDenied {
        ": it needs root, or has to be in /proc/sys/net/ipv4/tcp_allowed_congestion_control"
    } else {
        ""
    }
}

/// A segment size that the kernel refuses; `None` of a transport without one.
fn refused_segment_size(transport: TransportId, bytes: u32) -> Option<Substitution> {
    let is_stream = transport.is_inet() && transport.row().kind == SocketKind::Stream;
    let has_segments = is_stream && transport != TransportId::Sctp;
    let socket = socket::any(transport).ok().filter(|_| has_segments)?;
    let error = socket::takes_segment_size(&socket, bytes).err()?;
    let why = system_text(&error);
    Some(Substitution {
        options: &["segment-size"],
        known: true,
        text: format!("segment size (-G) at netperf: {bytes} is not in force: {why}"),
    })
}

/// Checks what both ends told before a run, and of one.
pub(super) fn after(
    run: &RunCommand,
    agreed: &Agreed,
    iteration: Option<&Iteration>,
) -> Result<Vec<Warning>, Failure> {
    let plan = &run.plan;
    let found = in_force::at_setup(plan, agreed).into_iter();
    let used = iteration.into_iter();
    let used = used.flat_map(|iteration| in_force::at_end(plan, iteration));
    judged(run, found.chain(used))
}

/// Warnings about what only letters asked for.
///
/// # Errors
/// The first that an option asked for by its name.
fn judged(
    run: &RunCommand,
    found: impl IntoIterator<Item = Substitution>,
) -> Result<Vec<Warning>, Failure> {
    let mut warnings = Vec::new();
    for Substitution {
        options,
        known,
        text,
    } in found
    {
        if known && (options.is_empty() || options.iter().any(|option| run.is_named(option))) {
            return Err(Failure::unsupported(text));
        }
        warnings.push(Warning::NotAsAsked(text));
    }
    Ok(warnings)
}
