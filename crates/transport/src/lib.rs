//! Transports: sockets that move the bytes of a test.
//!
//! An [`Endpoint`] is one open connection or datagram socket. Each method of moving bytes is a
//! separate endpoint type, so that the loops contain no branches on the method. [`socket`]
//! opens and configures the sockets.

pub mod atm;
pub mod built;
pub mod dccp;
pub mod duplex;
pub mod endpoint;
pub mod frames;
pub mod io;
pub mod largest;
mod link;
pub mod llc2;
pub mod meeting;
pub mod non_blocking;
pub mod null;
pub mod one_port;
pub mod open;
pub mod payload;
pub mod place;
pub mod registry;
pub mod scripted;
pub mod sctp;
pub mod secure;
mod settings;
pub mod socket;
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;
pub mod udp;
pub mod xti;

pub use endpoint::{Endpoint, Received, Sent};
