//! The one place that picks a loop: every `match` on what was asked for stands here.

/// Has `$go` done with an endpoint that waits as its plan says.
macro_rules! by_method {
    ($io:expr, $patience:expr, $endpoint:expr, |$ready:ident| $go:expr) => {
        by_method!($io, $patience, false, $endpoint, |$ready| $go)
    };
    // A receive follows every send at once, where the third is true.
    ($io:expr, $patience:expr, $pairs:expr, $endpoint:expr, |$ready:ident| $go:expr) => {{
        use netperf_transport::io::{Again, ByRing};
        let failed = $crate::error::Operation::Create.failed();
        match $io.method {
            netperf_model::IoMethod::Blocking => {
                let $ready = $endpoint;
                $go
            }
            netperf_model::IoMethod::Poll => {
                let $ready = Again::spinning($endpoint, $patience).map_err(failed)?;
                $go
            }
            netperf_model::IoMethod::Epoll => {
                let $ready = Again::sleeping($endpoint, $patience).map_err(failed)?;
                $go
            }
            netperf_model::IoMethod::Uring => {
                let ridden = ByRing::new($endpoint, $patience, $pairs);
                let $ready = ridden.map_err(
                    $crate::error::Operation::Extra(netperf_model::Feature::Uring).failed(),
                )?;
                $go
            }
        }
    }};
}

/// The same for an endpoint that no ring rides.
macro_rules! by_polling {
    ($io:expr, $endpoint:expr, |$ready:ident| $go:expr) => {{
        use netperf_transport::io::Again;
        let failed = $crate::error::Operation::Create.failed();
        match $io.method {
            netperf_model::IoMethod::Blocking | netperf_model::IoMethod::Uring => {
                let $ready = $endpoint;
                $go
            }
            netperf_model::IoMethod::Poll => {
                let $ready = Again::spinning($endpoint, None).map_err(failed)?;
                $go
            }
            netperf_model::IoMethod::Epoll => {
                let $ready = Again::sleeping($endpoint, None).map_err(failed)?;
                $go
            }
        }
    }};
}

mod client;
mod loops;
mod server;

pub(crate) use client::{Dialler, Keeping, client, port_is_taken};
pub(crate) use server::server;

use std::io;

use netperf_model::Flow;

use crate::error::{EngineError, Operation};
use crate::ring::Ring;

/// The ring of a direction that is used; preparing made it.
pub(crate) fn needed(ring: &mut Option<Ring>) -> Result<&mut Ring, EngineError> {
    ring.as_mut().ok_or_else(|| EngineError {
        operation: Operation::Buffers,
        error: io::Error::other("the direction has no buffers"),
    })
}

/// Says which half of an exchange an error belongs to.
fn blame(flow: Flow) -> impl FnOnce(io::Error) -> EngineError {
    move |error| {
        let too_long = error.raw_os_error() == Some(netperf_os::io::MESSAGE_TOO_LONG);
        let broken = error.kind() == io::ErrorKind::BrokenPipe;
        let sends_only = flow.sends && !flow.receives;
        let operation = if sends_only || too_long || broken {
            Operation::Send
        } else {
            Operation::Receive
        };
        EngineError { operation, error }
    }
}
