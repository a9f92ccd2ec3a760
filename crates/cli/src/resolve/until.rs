//! Going on until figures are known.

use netperf_arguments::args::Args;
use netperf_arguments::command::CliError;
use netperf_model::{Duplex, Flow, Limit, TestId, UntilPlan};

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
/// When other options set the length of the test.
pub(super) fn asked(
    args: &Args,
    test: TestId,
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
    if let Some(why) = contradicted(args, limit) {
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

/// Returns true if netperf may end netserver's end early: where netserver sends over a
/// connection.
pub(super) fn ends_netserver(until: Option<&UntilPlan>, flow: Flow) -> bool {
    let sends_alone = flow.receives && !flow.sends && !flow.connects;
    until.is_some() && (sends_alone || flow.duplex == Some(Duplex::Separate))
}

/// Other options that say how long the test is, or what of it counts.
fn contradicted(args: &Args, limit: Limit) -> Option<&'static str> {
    if matches!(limit, Limit::Units(_) | Limit::Messages(_)) {
        return Some("it ends when the result is known: give the longest time to -l, no amount");
    }
    let global = &args.global;
    if super::work::confidence(global).is_some() {
        return Some("one run goes on until its result is known: leave out -i and -I");
    }
    let margins = global.flows.warmup.or(global.flows.cooldown).is_some();
    margins.then_some("it finds the warm-up by itself: leave out --warmup and --cooldown")
}
