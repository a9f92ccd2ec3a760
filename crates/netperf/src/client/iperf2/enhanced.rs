//! Further columns of a client (`-e`), as far as their values are known.

use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::figures::count;
use netperf_os::tcp;

use crate::iperf2::Iperf2Stream;

/// Titles of a connection.
pub(super) const STREAM_TITLES: &str = "[ ID] Interval            Transfer    Bandwidth       \
     Write/Err  Rtry     Cwnd/RTT(var)        NetPwr\n";
/// Titles of datagrams that are sent.
pub(super) const DATAGRAM_TITLES: &str =
    "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n";

/// Counts at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentCounts {
    pub(super) bytes: u64,
    pub(super) calls: u64,
    pub(super) retransmits: u32,
}

impl SentCounts {
    /// The counts of what a stream sends.
    pub(super) fn of(stream: &Iperf2Stream) -> Self {
        let info = tcp::info(stream.socket.as_fd()).ok();
        Self {
            bytes: stream.sent.bytes.load(Ordering::Relaxed),
            calls: stream.sent.calls.load(Ordering::Relaxed),
            retransmits: info.map_or(0, |info| info.total_retrans),
        }
    }

    /// Counts since others.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            calls: self.calls.saturating_sub(before.calls),
            retransmits: self.retransmits.saturating_sub(before.retransmits),
        }
    }

    /// The columns behind the rate. A failed call ends a stream, so there is none in a row.
    pub(super) fn columns(self, stream: &Iperf2Stream, time: Duration, udp: bool) -> String {
        let seconds = time.as_secs_f64().max(1e-9);
        let calls = self.calls;
        if udp {
            let rate = count(calls) / seconds;
            return format!("  {calls}/0 {rate:8.0} pps");
        }
        let Ok(info) = tcp::info(stream.socket.as_fd()) else {
            return format!("  {calls}/0");
        };
        let window = u64::from(info.snd_cwnd) * u64::from(info.snd_mss) / 1024;
        let (trip, variation) = (info.rtt, info.rttvar);
        // Throughput over delay, as bytes per second and seconds, in millions.
        let power = count(self.bytes) / seconds / (f64::from(trip.max(1)) / 1e6) / 1e6;
        format!(
            "  {calls}/0 {:10} {window:8}K/{trip}({variation}) us  {power:.0}",
            self.retransmits
        )
    }
}

/// Time of day in the line of a connection.
pub(super) fn day_and_time() -> String {
    let date = netperf_model::date::date(clock::since_epoch().as_secs_f64());
    let date = date.unwrap_or_default();
    date.get(..19).unwrap_or(&date).to_owned()
}
