//! The engine: it carries out one end of a test.
//!
//! [`TestEnd`] prepares and runs an [`netperf_model::EndJob`], whichever end it is, and returns
//! an [`EndReport`]. `path` chooses how bytes are moved, `meet` opens and ends one flow,
//! [`flows`] runs many of them on threads. A loop ([`workload`]) is generic over the endpoint
//! that moves the bytes and the [`stop::Stop`] that interrupts it; nothing is chosen, allocated
//! or formatted inside it.

#![cfg_attr(
    not(all(feature = "flows", feature = "paths")),
    allow(
        dead_code,
        reason = "the queue of due requests, the time series and the stop serve every build"
    )
)]

pub mod alarm_stop;
mod arrivals;
mod data_ports;
#[cfg(any(feature = "flows", feature = "paths"))]
mod direction;
pub mod due;
#[cfg(feature = "paths")]
mod duplex;
mod early;
mod end;
pub mod error;
mod feedback;
mod finish;
#[cfg(feature = "flows")]
pub mod flows;
#[cfg(not(feature = "flows"))]
#[path = "flows/absent.rs"]
pub mod flows;
pub mod limit;
pub mod live;
mod meet;
mod moved;
mod path;
mod prepared_server;
mod program;
mod report;
pub mod ring;
mod run;
mod sequence;
pub mod stop;
mod timing;
pub mod transfer;
pub mod workload;

pub use error::{EngineError, Operation};
pub use finish::PATIENCE;
pub use netperf_transport::meeting::EndMark;
pub use prepared_server::{PrepareServer, PreparedServer, prepare_server};
pub use program::{NetperfProgram, NetserverProgram, Program};
pub use report::EndReport;
pub use run::TestEnd;
pub use stop::Lost;
pub use timing::PAD;
pub use transfer::{iperf2, streams};
