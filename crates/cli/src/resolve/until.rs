//! Going on until figures are known.

use netperf_model::{Duplex, EndPlan, Flow, Limit, Suite, TestId, TransportId, UntilPlan};

use crate::args::Args;
use crate::command::CliError;

/// The longest time of a run that ends by itself, where none was given.
pub(super) fn limit(args: &Args, limit: Limit) -> Limit {
    let chosen = args.global.length.is_some() || args.test.messages.is_some();
    if args.global.until.until.is_some() && !chosen {
        Limit::Time(UntilPlan::LONGEST)
    } else {
        limit
    }
}

/// Parameters of `--until`.
///
/// # Errors
/// When the test cannot end early, or other options set its length.
pub(super) fn asked(
    args: &Args,
    test: TestId,
    (flow, transport): (Flow, TransportId),
    controlled: bool,
    limit: Limit,
) -> Result<Option<UntilPlan>, CliError> {
    let typed = &args.global.until;
    let Some(until) = &typed.until else {
        return match typed.level {
            Some(_) => Err(CliError::NeedsUntil {
                program: args.program.clone(),
            }),
            None => Ok(None),
        };
    };
    let why = contradicted(args, limit)
        .or_else(|| out_of_place(test, flow, transport).filter(|_| controlled));
    if let Some(why) = why {
        return Err(CliError::OutOfPlace {
            option: "--until",
            why,
        });
    }
    if !test.moves_data() {
        return Ok(None);
    }
    Ok(Some(UntilPlan {
        precision: until.precision,
        level: typed
            .level
            .map_or(UntilPlan::LEVEL, |percent| f64::from(percent) / 100.0),
        percentiles: until.percentiles.clone(),
    }))
}

/// netserver's end with leave for netperf to end it early, where it alone sends.
pub(super) fn there(until: Option<&UntilPlan>, flow: Flow, end: EndPlan) -> EndPlan {
    EndPlan {
        until: until.is_some() && alone(flow),
        ..end
    }
}

/// Returns true if netserver alone sends.
const fn alone(flow: Flow) -> bool {
    flow.receives && !flow.sends && !flow.connects
}

/// Other options that say how long the test is, or what of it counts.
fn contradicted(args: &Args, limit: Limit) -> Option<&'static str> {
    if matches!(limit, Limit::Units(_) | Limit::Messages(_)) {
        return Some("it ends when the figure is known: give the longest time to -l, no amount");
    }
    let global = &args.global;
    if super::work::confidence(global).is_some() {
        return Some("one run goes on until its figure is known: leave out -i and -I");
    }
    let margins = global.flows.warmup.or(global.flows.cooldown).is_some();
    margins.then_some("it finds the warm-up by itself: leave out --warmup and --cooldown")
}

/// Tests whose end netserver would not notice before its own time is over.
fn out_of_place(test: TestId, flow: Flow, transport: TransportId) -> Option<&'static str> {
    if flow.connects {
        return Some(
            "nothing tells netserver of the end of tests that open a connection for every \
             operation: use -I, or TCP_RR",
        );
    }
    if flow.duplex == Some(Duplex::Separate) {
        return Some(
            "over a connection of its own netserver sends for a time that it is told beforehand: \
             give --bidirectional same",
        );
    }
    let link = matches!(test.row().suite, Suite::Dlpi | Suite::Fore | Suite::Hippi);
    let tells = if alone(flow) {
        transport.hears_of_an_end()
    } else {
        transport.is_connected() || transport.is_inet()
    };
    (link || !tells).then_some(
        "nothing tells netserver of the end of such a test before its time is over: use -I",
    )
}
