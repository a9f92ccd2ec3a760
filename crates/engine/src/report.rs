//! The report of one end.

use std::time::Duration;

use netperf_model::{EndResult, Flows, Latency};
use netperf_os::tcp::TcpInfo;
use netperf_transport::meeting::EndMark;

use crate::error::EngineError;
use crate::stop::Lost;

/// Measurements of one end.
#[derive(Debug)]
pub struct EndReport {
    /// Counts, and what was read around the loop.
    pub result: EndResult,
    /// Time spent waiting for a turn, seconds.
    pub paused: f64,
    /// Distribution of operation times, where it was asked for.
    pub latency: Option<Latency>,
    /// Segment size of the data connection, bytes.
    pub segment_size: Option<u32>,
    /// Version and cipher suite of encrypted data.
    pub cipher: Option<String>,
    /// A signal from outside ended the run.
    pub stopped_by_user: bool,
    /// netserver must have noticed the end of the run by now.
    pub ended_cleanly: bool,
    /// Data that was on its way to netperf at the end of the time is discarded and not counted.
    pub discarded: bool,
    /// Data was still moving when the grace period ended, so that netserver's results wait in
    /// the queues of the path.
    pub queued: bool,
    /// Time for which the other end had read nothing at the end of the run, if it is long.
    pub held_back: Option<Duration>,
    /// Bytes of responses that no request asked for.
    pub unasked: u64,
    /// The peer was lost during the run.
    pub lost: Option<Lost>,
    /// The error that broke the data connection after something had moved. Everything else
    /// is of the time before.
    pub broke: Option<EngineError>,
    /// `TCP_INFO` when the data connection ended.
    pub tcp_info: Option<TcpInfo>,
    /// Longest round trip of both directions when the data connection ended.
    pub round_trip: Option<Duration>,
    /// Multipath TCP fell back to TCP; `None` for every other transport.
    pub fallback: Option<bool>,
    /// A datagram socket that is still open, to repeat the end mark with.
    pub end_mark: Option<EndMark>,
    /// Counts of each of many flows.
    pub many: Option<Flows>,
}
