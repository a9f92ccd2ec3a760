//! Both ends of the control protocol, as state machines without sockets, clocks or threads.
//!
//! A step takes a state and an input and gives a state and effects. [`driver`]
//! carries the effects out over a [`driver::Link`]. [`offer`] translates between
//! netperf's plan and the OMNI messages, [`dialect`] between whatever a client
//! sends and what netserver's engine is to do.

pub mod access;
pub mod appendix;
mod arrivals;
pub mod client;
pub mod dialect;
pub mod driver;
pub mod error;
mod extension;
mod fields;
mod flows;
mod foreign;
mod numbers;
pub mod offer;
mod one_port;
mod paths;
mod quality;
mod rate;
mod series;
pub mod server;
mod settings;
mod stamps;

pub use error::SessionError;
pub use foreign::ForeignProgram;
