//! Transfers of iperf.

pub mod iperf2;
pub mod streams;
