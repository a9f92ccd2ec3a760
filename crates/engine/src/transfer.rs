//! Transfers of iperf: the streams of iperf3, and the connections and flows of iperf 2.
//!
//! The endpoints are those of [`netperf_transport::open::transfer`], and the account of datagrams is
//! that of the model. What counts, paces and ends a transfer is here for both.

mod file_blocks;
pub mod iperf2;
mod pace;
pub mod streams;

pub use file_blocks::FileBlocks;
pub use netperf_measure::counters::{DatagramCounters, DatagramTally, TransferCounts};
pub use netperf_measure::reads::{READ_CLASSES, ReadSizes};
