//! The engine: workloads, and the two ends that run them.
//!
//! A workload is a loop that is generic over the endpoint that moves the bytes,
//! the limit that ends it and the [`stop::Stop`] that interrupts it. [`client`]
//! and [`server`] prepare one end, [`dispatch`] picks the loop, and nothing is
//! chosen, allocated or formatted inside it.

pub mod client;
mod dispatch;
pub mod due;
mod duplex;
mod early;
mod end;
pub mod error;
mod finish;
pub mod flows;
pub mod limit;
pub mod live;
mod paths;
mod quiet;
pub mod record;
pub mod ring;
mod sendfile;
mod sequence;
mod series;
pub mod server;
pub mod sizes;
pub mod stop;
pub mod workload;

pub use error::{EngineError, Operation};
pub use stop::Lost;
