//! Data ports that a firewall blocks: the reason of a failure, and `--one-port auto`.

use std::io;
use std::time::Duration;

use netperf_cli::RunCommand;
use netperf_engine::{EngineError, Operation};
use netperf_model::figures::whole_or_tenths;
use netperf_model::{Address, Feature, Hosts, Refusal, TestPlan, Warning};
use netperf_os::alarm;
use netperf_program::output::{Failure, err};

use super::session::{LEAVE, open};
use super::trial;
use super::{check, control};
use crate::elsewhere;
use crate::run_so_far::RunStart;

/// Remedy for a blocked data port.
const OPEN: &str = "open that port";
/// The same where the test can use one port.
const OPEN_OR_ONE_PORT: &str = "open that port, or use --one-port";

/// Time for an answer after which netserver may wait for the data no more.
const LATE_ANSWER: Duration = Duration::from_secs(5);

/// Remedy for a blocked data port.
pub(super) fn advice(plan: &TestPlan) -> &'static str {
    if has_one_port(plan) == Ok(Some(true)) {
        OPEN_OR_ONE_PORT
    } else {
        OPEN
    }
}

/// The plan with `--one-port`.
fn with_one_port(plan: &TestPlan) -> TestPlan {
    let mut plan = plan.clone();
    plan.local.one_port = true;
    plan.remote.one_port = true;
    plan
}

/// Returns true if `--one-port` is not in use yet, and the test and netserver support it; `None`
/// if netserver cannot be asked.
///
/// # Errors
/// The reason why this control connection cannot carry the data.
fn has_one_port(plan: &TestPlan) -> Result<Option<bool>, Refusal> {
    let with = with_one_port(plan);
    if plan.remote.one_port || netperf_model::refusal::check(&with).is_err() {
        return Ok(Some(false));
    }
    let control = plan.control.as_ref().map(control::establish);
    let Some(Ok(control)) = control else {
        return Ok(None);
    };
    check::one_port(&with, control.peer)?;
    let Ok(mut talk) = open(plan, control) else {
        return Ok(None);
    };
    let abilities = talk.greet();
    talk.finish(LEAVE);
    let abilities = abilities.ok();
    Ok(abilities.map(|abilities| {
        abilities.is_some_and(|abilities| abilities.features.contains(&Feature::OnePort))
    }))
}

/// Reason why a data port is closed, if netserver's answer took long: netserver waits only seconds
/// for the data.
pub(super) fn closed_meanwhile(answered: Duration, port: u32, name: &str) -> Option<String> {
    (answered >= LATE_ANSWER).then(|| {
        format!(
            "netserver's answer took {}, and port {port} of {name} was probably closed by then: run \
             the test again",
            whole_or_tenths(answered)
        )
    })
}

/// Adds address, time and the way out to the failure of a data connection, given the time for which
/// netserver's answer was waited for, and then the connection.
pub(super) fn explained(
    failure: Failure,
    error: &EngineError,
    plan: &TestPlan,
    hosts: &Hosts,
    remotes: &[Address],
    (answered, after): (Duration, Duration),
) -> Failure {
    let kind = error.error.kind();
    let is_connecting = error.operation == Operation::Connect;
    let is_refused = kind == io::ErrorKind::ConnectionRefused;
    // Without a netserver, a closed port is no sign of a firewall.
    let told = plan.control.is_some() && (is_connecting || is_refused);
    let Some(Address::Inet(to)) = remotes.first().filter(|_| told) else {
        return failure;
    };
    let (transport, name, port) = (plan.transport.row().label, &hosts.remote.name, to.port());
    if let Some(why) = closed_meanwhile(answered, port.into(), name).filter(|_| is_refused) {
        return failure.and(&format!("netperf: {why}\n"));
    }
    if !is_connecting {
        return failure;
    }
    let rejected = [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::HostUnreachable,
        io::ErrorKind::NetworkUnreachable,
        io::ErrorKind::PermissionDenied,
    ];
    let why = if kind == io::ErrorKind::TimedOut {
        format!(
            "port {port} of {name} gave no answer within {}: a firewall probably blocks \
             {transport} to it",
            whole_or_tenths(after)
        )
    } else if rejected.contains(&kind) {
        format!("a firewall probably rejects {transport} to port {port} of {name}")
    } else {
        return failure;
    };
    let way_out = elsewhere::explanation(plan).unwrap_or_else(|| advice(plan));
    failure.and(&format!("netperf: {why}: {way_out}\n"))
}

/// Carries out `--one-port auto`: if no data arrives over a separate port in a short trial, the
/// test uses the port of the control connection. Returns a warning if the test cannot do so.
pub(crate) fn settle(run: &mut RunCommand, begun: RunStart) -> Result<Option<Warning>, Failure> {
    if !run.auto_one_port || !run.plan.test.moves_data() {
        return Ok(None);
    }
    let refused = netperf_model::refusal::check(&with_one_port(&run.plan));
    let why = match refused.and_then(|()| has_one_port(&run.plan)) {
        Ok(Some(true)) => None,
        // The test fails for the same reason, and names it.
        Ok(None) => return Ok(None),
        Ok(Some(false)) => Some("netserver does not support --one-port".to_owned()),
        Err(refusal) => Some(refusal.to_string()),
    };
    if let Some(why) = why {
        let text = format!("--one-port auto: not in force: {why}");
        err(&format!("netperf: {text}\n"));
        return Ok(Some(Warning::NotAsAsked(text)));
    }
    let why = match trial::of_data_port(run, begun) {
        Ok(None) => return Ok(None),
        Ok(Some(why)) => why,
        Err(failure) if alarm::stopped_by_user() => return Err(failure),
        Err(failure) => {
            // The cause is below the original's line.
            let lines = failure.on_stderr().stderr;
            let cause = lines.lines().last().unwrap_or_default();
            let cause = cause.trim_start_matches("netperf: ");
            let cause = cause.strip_suffix(OPEN_OR_ONE_PORT).unwrap_or(cause);
            cause.trim_end_matches(": ").to_owned()
        }
    };
    run.plan = with_one_port(&run.plan);
    err(&format!(
        "netperf: --one-port auto: {why}: the test uses one port\n"
    ));
    Ok(None)
}
