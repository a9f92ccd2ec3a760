//! Linux.

pub mod address;
pub mod atm;
pub mod batch;
pub mod bell;
pub mod epoll;
pub mod events;
pub mod filter;
pub mod flow_label;
pub mod io;
pub mod ktls;
pub mod link;
pub mod net;
pub mod parts;
pub mod process;
pub mod qdisc;
pub mod resolve;
pub mod sctp;
pub mod signals;
pub mod sockopt;
pub mod system;
pub mod tcp;
pub mod uring;
pub mod wait;
pub mod zerocopy;
