//! Stage 2: from [`Args`] to plans, every default filled in.

mod ends;
mod flows;
mod hosts;
mod idle;
mod io;
mod left_over;
mod output;
mod rate;
mod unserved;
mod until;
mod work;

use netperf_arguments::args::{Args, HumanArg, OnePortArg};
use netperf_arguments::command::{CliError, Command, ListCommand, Notice, RunCommand, UnknownTest};
use netperf_model::{EndPlan, Flow, Suite, TestId, TestPlan, UntilPlan, refusal};

use self::ends::PlannedEnd;
use crate::CliEnvironment;
use crate::parse::asked_test::test_of;

/// The command for `args`.
pub(crate) fn command(
    args: &Args,
    environment: &CliEnvironment<'_>,
    notices: &mut Vec<Notice>,
) -> Result<Command, CliError> {
    if args.global.list || asks_for_tests(args) {
        let plan = plan(args, TestId::Uuid, environment)?;
        return Ok(Command::List(Box::new(ListCommand {
            plan: TestPlan {
                control: plan.control.filter(|control| control.explicit),
                ..plan
            },
            json: args.global.json.is_some(),
        })));
    }
    let mut args = args.clone();
    left_over::settle(&mut args, environment.is_host, notices)?;
    work::check_length(&args)?;
    let Some(test) = test_of(&args.global) else {
        return Ok(Command::UnknownTest(Box::new(UnknownTest {
            name: args.global.test.clone().unwrap_or_default(),
            control: hosts::control(&args.global),
            in_short: output::is_not_the_original(&args),
        })));
    };
    output::for_a_person(&mut args, test)?;
    let args = &args;
    let plan = plan(args, test, environment)?;
    let report = output::report(args, test, environment, notices)?;
    remarks(args, test, notices);
    let mut unserved = idle::ignored(args, &plan);
    if plan.control.is_none() {
        unserved.extend(unserved::requests(args, plan.flow));
    }
    Ok(Command::Run(Box::new(RunCommand {
        report,
        auto_one_port: args.global.io.one_port == Some(OnePortArg::Auto),
        debug_level: args.global.debug,
        show: args.global.show,
        history: args.global.history.clone(),
        garbled: garbled(args, &plan),
        unserved,
        named: args.named.clone(),
        plan,
    })))
}

/// Lines about values that are not used as they were typed. `-b` is no rate, as it is in other
/// programs: so many operations per interval are no limit.
fn garbled(args: &Args, plan: &TestPlan) -> Vec<String> {
    /// Operations per interval beyond any host.
    const BEYOND: u32 = 1_000_000;
    let mut lines = args.garbled.clone();
    let paced = plan.local.pace.filter(|pace| pace.burst >= BEYOND);
    lines.extend(paced.map(|pace| {
        format!(
            "-b: {} operations in each interval of {} ms are no limit; for bits per second use \
             --rate",
            pace.burst,
            pace.interval.as_millis()
        )
    }));
    lines
}

/// Returns true for `-t help` and `-t list`.
fn asks_for_tests(args: &Args) -> bool {
    let asks = |name: &String| ["HELP", "LIST", "?"].contains(&name.to_ascii_uppercase().as_str());
    args.global.test.as_ref().is_some_and(asks)
}

/// The plan for `args`.
fn plan(args: &Args, test: TestId, environment: &CliEnvironment<'_>) -> Result<TestPlan, CliError> {
    let (global, typed) = (&args.global, &args.test);
    let flow = work::both_ways(work::flow(test, typed), global);
    let control = hosts::control(global);
    if control.is_none() {
        can_do_without_control(test)?;
    }
    let (local_data, mut remote_data) = hosts::data(args);
    let (request, mut response) = work::request_response(test, flow, typed);
    if let Some(peer) = global.peer {
        let port = global.port.remote.as_deref();
        port.unwrap_or(peer.port())
            .clone_into(&mut remote_data.port);
    } else if control.is_none() && typed.port.remote.is_none() && needs_peer(test) {
        remote_data.port = hosts::default_service(test, flow)?.to_owned();
        response = response.and(request);
    }
    let transport = work::transport(args, test)?;
    let rate = rate::asked(args, flow, transport)?;
    idle::refuse(args, test, transport)?;
    let limit = until::limit(args, work::limit(args, test, flow));
    let until = until::asked(args, test, limit)?;
    let delays = transport.is_inet() && transport.is_connected();
    let end = |which| {
        let end = end(args, which, flow, control.is_some(), until.as_ref());
        rate::at_rate(rate, flow, delays, which, end)
    };
    let mut plan = TestPlan {
        test,
        transport,
        flow,
        limit,
        request,
        response,
        burst: typed.burst.unsigned_abs(),
        burst_negative: typed.burst < 0,
        associations: typed.associations.unwrap_or(1),
        peer: global.peer,
        local_data,
        remote_data,
        local: end(PlannedEnd::Local),
        remote: end(PlannedEnd::Remote),
        control,
        port_range: work::port_range(typed),
        retry_connects: typed.retry_connects,
        use_write: typed.use_write,
        recv_timeout: typed.recv_timeout,
        wait: work::positive_seconds(args.global.wait).unwrap_or_default(),
        latency: global.latency
            || until
                .as_ref()
                .is_some_and(|until| !until.percentiles.is_empty()),
        retransmissions: prints_more_than_a_table(args),
        numbers_datagrams: false,
        interim: work::interim(global)
            .filter(|_| output::measures_what_is_cheap(global) || has_interims(test)),
        confidence: work::confidence(global).filter(|_| repeats(test)),
        uuid: typed.uuid.clone(),
        dump_tcp_info: environment.dump_tcp_info,
        many: flows::many(
            &global.flows,
            &global.io.method,
            global.bidirectional.is_some(),
        )?,
        until,
    };
    plan.numbers_datagrams =
        output::measures_what_is_cheap(&args.global) && can_number_datagrams(&plan);
    Ok(plan)
}

/// Returns true for bulk data in datagrams at a rate that the test could number with `--sequence`. At
/// full speed the numbers would cost a part of it.
fn can_number_datagrams(plan: &TestPlan) -> bool {
    let has_rate =
        |end: &EndPlan| end.rate.is_some() || end.pace.is_some_and(|pace| pace.burst > 0);
    let at_a_rate = has_rate(&plan.local) || has_rate(&plan.remote);
    if !plan.sends_datagrams_in_bulk() || !at_a_rate || plan.control.is_none() {
        return false;
    }
    let mut numbered = plan.clone();
    (numbered.local.sequence, numbered.remote.sequence) = (true, true);
    refusal::check(&numbered).is_ok()
}

/// An end, without a rate. A netserver that is not `controlled` gets no requests.
fn end(
    args: &Args,
    which: PlannedEnd,
    flow: Flow,
    controlled: bool,
    until: Option<&UntilPlan>,
) -> EndPlan {
    let global = &args.global;
    let end = ends::end(args, which);
    if which == PlannedEnd::Remote && !controlled {
        return ends::unreachable(end);
    }
    EndPlan {
        series: io::series(&global.series, which),
        stamps: global.series.stamps,
        until: which == PlannedEnd::Remote && until::ends_netserver(until, flow),
        ..io::with_paths(&global.io, flow, which, end)
    }
}

/// Returns true unless the classic table of the test, which has no retransmissions, is all that is
/// made of a result.
fn prints_more_than_a_table(args: &Args) -> bool {
    let global = &args.global;
    global.json.is_some()
        || global.human != HumanArg::No
        || global.show.live
        || global.history.is_some()
        || args.test.output.is_some()
}

/// Returns true if a test is ever repeated for confidence.
pub(crate) fn repeats(test: TestId) -> bool {
    let once = matches!(test, TestId::TcpCc | TestId::TcpMss);
    !once
        && !matches!(
            test.row().suite,
            Suite::Unix | Suite::Dlpi | Suite::Fore | Suite::Hippi
        )
}

/// Returns true if a test prints interim results; JSON has them all the same.
fn has_interims(test: TestId) -> bool {
    matches!(
        test.row().suite,
        Suite::Omni | Suite::Sockets | Suite::Sdp | Suite::Control
    )
}

/// Checks that a test supports `-N`. Each suite that does not has its own message.
fn can_do_without_control(test: TestId) -> Result<(), CliError> {
    const RUN: &str = "run with no control connection";
    const DEAL: &str = "deal with no control tests";
    let (suite, lacks) = match test.row().suite {
        Suite::Omni | Suite::Sockets | Suite::Control => return Ok(()),
        Suite::Unix => ("UNIX", RUN),
        Suite::Sctp => ("SCTP", DEAL),
        Suite::Sdp => ("SDP", DEAL),
        Suite::Xti => ("XTI", RUN),
        Suite::Dlpi => ("DLPI", RUN),
        Suite::Fore => ("FORE", RUN),
        Suite::Hippi => ("HIPPI", RUN),
    };
    Err(CliError::NeedsControl { suite, lacks })
}

/// Returns true if a test talks to a peer's data socket at all.
fn needs_peer(test: TestId) -> bool {
    test.row().suite != Suite::Control && test != TestId::Uuid
}

/// Remarks about options that the original prints before the banner.
fn remarks(args: &Args, test: TestId, notices: &mut Vec<Notice>) {
    let typed = &args.test;
    let verbose = args.global.verbosity.unwrap_or(1) >= 2;
    if typed.removed_interval {
        notices.push(Notice::stderr(
            "The support for check_interval has been removed because the contributing \
             editor no longer knew what it was for",
        ));
    }
    // The OMNI suite says nothing of what the system cannot do; the others do where they
    // have the option.
    let suite = test.row().suite;
    if suite != Suite::Omni && typed.copy_avoidance {
        notices.push(Notice::stdout(
            "Local send copy avoidance not available.\nLocal recv copy avoidance not available.",
        ));
    }
    if suite != Suite::Omni && verbose && typed.burst > 0 {
        notices.push(Notice::stderr(
            "WARNING! Histograms and first bursts are incompatible!",
        ));
    }
}
