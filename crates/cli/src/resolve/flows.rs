//! Many flows at once.

use std::time::Duration;

use netperf_arguments::args::{FlowsArgs, PerEnd};
use netperf_arguments::command::CliError;
use netperf_model::{IoMethod, Many, Workers};

/// Many flows, where any option about them was given.
///
/// # Errors
/// When each flow is to have a thread, and there are to be fewer, or when flows are to wait in
/// their calls although they go `both_ways`.
pub(super) fn many(
    typed: &FlowsArgs,
    io: &PerEnd<Option<IoMethod>>,
    both_ways: bool,
) -> Result<Option<Many>, CliError> {
    if *typed == FlowsArgs::default() {
        return Ok(None);
    }
    let blocks = [io.local, io.remote].contains(&Some(Some(IoMethod::Blocking)));
    if blocks && both_ways {
        return Err(CliError::BlockingBothWays);
    }
    let flows = typed.flows.unwrap_or(1);
    let threads = |wanted: Option<u32>, io: Option<Option<IoMethod>>| match wanted {
        // Calls that wait are of one flow.
        _ if io != Some(Some(IoMethod::Blocking)) || flows == 1 => Ok(wanted),
        Some(threads) if threads < flows => Err(CliError::ThreadForEach(flows)),
        Some(_) => Ok(wanted),
        None => Ok(Some(flows)),
    };
    let workers = |threads: Option<u32>, cpus: Option<&Vec<u32>>| {
        let cpus = cpus.cloned().unwrap_or_default();
        // A CPU for each thread unless their number was given.
        let each = u32::try_from(cpus.len()).ok().filter(|number| *number > 0);
        Workers {
            threads: threads.or(each),
            place: typed.place.filter(|_| cpus.is_empty()),
            cpus,
        }
    };
    Ok(Some(Many {
        flows,
        warmup: typed.warmup.unwrap_or_default(),
        cooldown: typed.cooldown.unwrap_or_default(),
        begin_at: typed.begin_at,
        lead: Duration::ZERO,
        local: workers(
            threads(typed.threads.local, io.local)?,
            typed.cpus.local.as_ref(),
        ),
        remote: workers(
            threads(typed.threads.remote, io.remote)?,
            typed.cpus.remote.as_ref(),
        ),
    }))
}
