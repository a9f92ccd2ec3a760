//! Settings that are not in force as they were asked for. An option that was given by its name
//! fails then; a letter warns, because netperf 2.7 passes over it in silence.

use netperf_cli::RunCommand;
use netperf_model::in_force::{self, Substitution};
use netperf_model::{Agreed, Iteration, TransportId, Warning};
use netperf_report::document::WarningText;
use netperf_transport::socket;

use crate::output::{Failure, err, system_text};

/// Checks what this host can tell before a control connection: values of letters that are not
/// used, the unit, the CPU, and the congestion control. Prints the warnings.
pub(super) fn before(run: &RunCommand) -> Result<Vec<Warning>, Failure> {
    let plan = &run.plan;
    let mut unmet: Vec<Warning> = run
        .garbled
        .iter()
        .cloned()
        .map(Warning::NotAsAsked)
        .collect();
    unmet.extend(judged(run, in_force::unit(plan, run.report.unit))?);
    unmet.extend(judged(run, run.unserved.iter().cloned())?);
    // Scripts give the letter -G to tests of every transport (I22 in docs/consumers.md).
    let accepted = |lacking: &Substitution| {
        lacking.options == ["segment-size"] && !run.named.iter().any(|name| name == "segment-size")
    };
    let lacking = in_force::without_effect(plan).into_iter();
    let lacking = lacking.filter(|lacking| !accepted(lacking));
    unmet.extend(judged(run, lacking)?);
    if let Some(cpu) = plan.local.bind {
        if let Err(error) = netperf_os::process::bind_to_cpu(cpu) {
            let why = system_text(&error);
            unmet.extend(judged(
                run,
                [Substitution {
                    options: &["bind-cpu"],
                    known: true,
                    text: format!("this host cannot bind to CPU {cpu}: {why}"),
                }],
            )?);
        }
    }
    if let Some(asked) = plan.local.socket.congestion.as_deref() {
        let got = congestion(plan.transport, asked);
        if got.as_deref() != Some(asked) {
            let lacking = in_force::congestion(0, asked, got.as_deref());
            unmet.extend(judged(run, [lacking])?);
        }
    }
    for warning in &unmet {
        err(&format!("netperf: {}\n", WarningText::of(warning).message));
    }
    Ok(unmet)
}

/// The congestion control that a socket has after this one was asked for; `None` of a transport
/// without one.
fn congestion(transport: TransportId, asked: &str) -> Option<String> {
    let socket = socket::any(transport).ok()?;
    let _refused = socket.set_tcp_congestion(asked.as_bytes());
    socket::congestion(&socket)
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
        let named = |option: &&str| run.named.iter().any(|name| name == option);
        if known && (options.is_empty() || options.iter().any(named)) {
            return Err(Failure::unsupported(text));
        }
        warnings.push(Warning::NotAsAsked(text));
    }
    Ok(warnings)
}
