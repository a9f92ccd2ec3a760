//! Transfers of iperf: the streams of iperf3, and the connections and flows of iperf 2.
//!
//! The endpoints are those of [`netperf_transport::open::transfer`], and the account of datagrams is
//! that of the model. What counts, paces and ends a transfer is here for both.

mod counts;
pub mod iperf2;
mod pace;
mod reads;
pub mod streams;

pub use counts::{DatagramCounters, DatagramTally, TransferCounts};
pub use reads::{READ_CLASSES, ReadSizes};
