//! Clients of iperf 2 and iperf3: one test of each over sockets, and what the programs `iperf` and
//! `iperf3` print.

pub mod iperf2;
pub mod iperf3;
