//! The loops over one connection or socket, for what an end asks of them.
//!
//! Over the endpoints that most tests use ([`Endpoint::OWN_LOOPS`]) a loop exists once
//! without anything around its calls and once with their times alone. Whatever else is
//! asked for, and over every other endpoint, there is one loop, which looks at what it has:
//! a copy for each combination made two thirds of the program (decision 0027).

use std::io;

use netperf_transport::Endpoint;

use crate::prelude::{Chores, Nothing};
use crate::record::{Kept, Off};
use crate::ring::Ring;
use crate::stop::{ByBell, Ended};
use crate::workload::{Run, rr, stream};

/// What a loop has, as far as it is known before the endpoint is.
pub(super) type Wanted<'r, 's> = Run<'r, ByBell<'s>, Option<Kept>, Option<Chores>>;

/// Does `$looped` with the run that is made for what is wanted over `E`.
macro_rules! made_for {
    ($run:ident, $looped:expr) => {{
        let Run {
            limit,
            stop,
            tally,
            recorder,
            prelude,
        } = $run;
        match (recorder, prelude) {
            (None, None) if E::OWN_LOOPS => {
                let (recorder, prelude) = (&mut Off, &mut Nothing);
                let $run = Run {
                    limit,
                    stop,
                    tally,
                    recorder,
                    prelude,
                };
                $looped
            }
            (Some(recorder), None) if E::OWN_LOOPS => {
                let prelude = &mut Nothing;
                let $run = Run {
                    limit,
                    stop,
                    tally,
                    recorder,
                    prelude,
                };
                $looped
            }
            (recorder, prelude) => {
                let $run = Run {
                    limit,
                    stop,
                    tally,
                    recorder,
                    prelude,
                };
                $looped
            }
        }
    }};
}

/// Sends.
pub(super) fn send<E: Endpoint>(
    endpoint: &mut E,
    ring: &mut Ring,
    run: Wanted<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, stream::send(endpoint, ring, run))
}

/// Receives.
pub(super) fn receive<E: Endpoint>(
    endpoint: &mut E,
    ring: &mut Ring,
    run: Wanted<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, stream::receive(endpoint, ring, run))
}

/// Sends requests, and keeps this many more than one in flight.
pub(super) fn ask<E: Endpoint>(
    endpoint: &mut E,
    rings: (&mut Ring, &mut Ring),
    burst: u32,
    run: Wanted<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, rr::client(endpoint, rings, burst, run))
}

/// Answers requests.
pub(super) fn answer<E: Endpoint>(
    endpoint: &mut E,
    rings: (&mut Ring, &mut Ring),
    run: Wanted<'_, '_>,
) -> io::Result<Ended> {
    made_for!(run, rr::server(endpoint, rings, run))
}
