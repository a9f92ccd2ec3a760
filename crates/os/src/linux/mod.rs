//! Linux.

pub mod address;
pub mod bell;
pub mod io;
pub mod net;
pub mod process;
pub mod resolve;
pub mod sctp;
pub mod sockopt;
pub mod system;
pub mod tcp;
pub mod wait;
