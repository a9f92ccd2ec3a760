//! Many flows at once.

use netperf_model::{Many, Workers};

use crate::args::FlowsArgs;

/// Many flows, where any option about them was given.
pub(super) fn many(typed: &FlowsArgs) -> Option<Many> {
    if *typed == FlowsArgs::default() {
        return None;
    }
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
    Some(Many {
        flows: typed.flows.unwrap_or(1),
        warmup: typed.warmup.unwrap_or_default(),
        cooldown: typed.cooldown.unwrap_or_default(),
        local: workers(typed.threads.local, typed.cpus.local.as_ref()),
        remote: workers(typed.threads.remote, typed.cpus.remote.as_ref()),
    })
}
