//! The loops over one connection or socket, for what an end asks of them.
//!
//! Over the endpoints that most tests use ([`Endpoint::OWN_LOOPS`]) a loop exists once
//! without anything around its calls and once with their times alone. Whatever else is
//! asked for, and over every other endpoint, there is one loop, which looks at what it has:
//! a copy for each combination made two thirds of the program (decision 0027).

use std::io;

use netperf_measure::recorder::{LatencyRecorder, NoRecorder};
use netperf_model::Tally;
use netperf_transport::Endpoint;

use crate::alarm_stop::AlarmStop;
use crate::due::hooks::{Hooks, NoHooks, PlannedHooks};
use crate::limit::RunLimit;
use crate::ring::Ring;
use crate::stop::Ended;
use crate::workload::{LoopContext, rr, stream};

/// Parts of a loop that do not depend on the endpoint.
pub(super) type FlowContext<'r, 's> =
    LoopContext<'r, AlarmStop<'s>, Option<LatencyRecorder>, PlannedHooks>;

/// A run with something around its calls, or nothing.
fn with<'r, S, R, P>(
    (limit, stop, tally): (RunLimit, &'r mut S, &'r mut Tally),
    recorder: &'r mut R,
    hooks: &'r mut P,
) -> LoopContext<'r, S, R, P> {
    LoopContext {
        limit,
        stop,
        tally,
        recorder,
        hooks,
    }
}

/// Does `$looped` with the run that is made for what is wanted over `E`.
macro_rules! made_for {
    ($run:ident, $looped:expr) => {{
        let moving = ($run.limit, $run.stop, $run.tally);
        let (off, nothing) = (&mut NoRecorder, &mut NoHooks);
        match ($run.recorder, $run.hooks) {
            (None, hooks) if E::OWN_LOOPS && !hooks.takes_time() => {
                let $run = with(moving, off, nothing);
                $looped
            }
            (Some(recorder), hooks) if E::OWN_LOOPS && !hooks.takes_time() => {
                let $run = with(moving, recorder, nothing);
                $looped
            }
            (recorder, hooks) => {
                let $run = with(moving, recorder, hooks);
                $looped
            }
        }
    }};
}

/// Sends.
pub(super) fn send<E: Endpoint>(
    endpoint: &mut E,
    ring: &mut Ring,
    run: FlowContext<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, stream::send(endpoint, ring, run))
}

/// Receives.
pub(super) fn receive<E: Endpoint>(
    endpoint: &mut E,
    ring: &mut Ring,
    run: FlowContext<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, stream::receive(endpoint, ring, run))
}

/// Sends requests, and keeps this many more than one in flight.
pub(super) fn ask<E: Endpoint>(
    endpoint: &mut E,
    rings: (&mut Ring, &mut Ring),
    burst: u32,
    run: FlowContext<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, rr::client(endpoint, rings, burst, run))
}

/// Answers requests.
pub(super) fn answer<E: Endpoint>(
    endpoint: &mut E,
    rings: (&mut Ring, &mut Ring),
    run: FlowContext<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, rr::server(endpoint, rings, run))
}
