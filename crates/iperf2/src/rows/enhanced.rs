//! Further columns of rows (`-e`), in the format of iperf 2.1.8. A value that was not measured is
//! `-`.

use std::time::Duration;

use netperf_model::figures::{count, whole};
use netperf_model::iperf2::{DelayMoments, MovedCounts};

use super::{Iperf2Figures, per_second};

/// Titles of a connection over which data is sent.
pub const SENT_TITLES: &str = "[ ID] Interval            Transfer    Bandwidth       \
     Write/Err  Rtry     Cwnd/RTT(var)        NetPwr\n";
/// Titles of datagrams that are sent, and of the sum of datagrams that arrive.
pub const SENT_DATAGRAM_TITLES: &str =
    "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n";
/// Titles of the sum of connections over which data is sent, with `--sum-only`.
pub const SUM_SENT_TITLES: &str =
    "[SUM-cnt] Interval            Transfer    Bandwidth       Write/Err  Rtry\n";
/// Titles of the sum of datagrams that are sent, with `--sum-only`.
pub const SUM_SENT_DATAGRAM_TITLES: &str =
    "[SUM-cnt] Interval            Transfer     Bandwidth      Write/Err  PPS\n";
/// Titles of a connection from which data is read.
pub const READ_TITLES: &str = "[ ID] Interval            Transfer    Bandwidth       Reads=Dist\n";
/// The same with `--sum-only`.
pub const SUM_READ_TITLES: &str =
    "[SUM-cnt] Interval            Transfer    Bandwidth       Reads=Dist\n";
/// Titles of a connection from which blocks with times are read.
pub const BURST_TITLES: &str = "[ ID] Interval            Transfer    Bandwidth    \
     Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist\n";
/// Titles of datagrams that arrive.
pub const DELAY_TITLES: &str = "[ ID] Interval            Transfer     Bandwidth        \
     Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr\n";

/// State of a connection over which data is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// Congestion window, KiB.
    pub window: u64,
    /// Round trip, microseconds.
    pub trip: u32,
    /// Its variation, microseconds.
    pub variation: u32,
}

/// Columns of a connection over which data is sent. A failed call ends a stream, so there is none
/// in a row.
#[must_use]
pub fn sent(counts: &MovedCounts, time: Duration, state: Option<SenderState>) -> String {
    let (calls, retransmits) = (counts.calls, counts.retransmits);
    let Some(state) = state else {
        return format!("  {calls}/0");
    };
    let SenderState {
        window,
        trip,
        variation,
    } = state;
    let power = power(counts.bytes, time, f64::from(trip.max(1)));
    format!("  {calls}/0 {retransmits:10} {window:8}K/{trip}({variation}) us  {power}")
}

/// Columns of the sum of connections over which data is sent.
#[must_use]
pub fn sent_by_all(counts: &MovedCounts) -> String {
    format!("  {}/0 {:9}", counts.calls, counts.retransmits)
}

/// Columns of so many datagrams that are sent. In a sum of both directions there are more datagrams
/// than calls.
#[must_use]
pub fn sent_datagrams(counts: &MovedCounts, datagrams: u64, time: Duration) -> String {
    format!(
        "  {}/0 {:8.0} pps",
        counts.calls,
        per_second(datagrams, time)
    )
}

/// Reads, and how many of them have which size.
#[must_use]
pub fn reads(counts: &MovedCounts) -> String {
    let sizes = &counts.reads;
    let reads: u64 = sizes.iter().sum();
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("  {reads}={}", sizes.join(":"))
}

/// The line of the times that connections took to open.
#[must_use]
pub fn connect_times(times: &DelayMoments) -> String {
    let [min, mean, max] = [times.min, times.mean, times.max].map(|time| time / 1e3);
    let (deviation, opened) = (times.deviation().unwrap_or_default() / 1e3, times.count);
    format!(
        "[ CT] final connect times (min/avg/max/stdev) = \
         {min:.3}/{mean:.3}/{max:.3}/{deviation:.3} ms (tot/err) = {opened}/0\n"
    )
}

/// Columns of datagrams that arrive, behind their loss. `is_known` is false if the clocks of both
/// ends may differ: then only the deviation is that of the delays.
#[must_use]
pub fn delays(
    delays: &DelayMoments,
    is_known: bool,
    arrived: u64,
    (bytes, time): (u64, Duration),
) -> String {
    let rate = per_second(arrived, time);
    let times = spread(delays, is_known);
    if delays.count == 0 {
        return format!(" {times} ms {rate:.0} pps");
    }
    let (mut queued, mut power_of) = ("-(-)".to_owned(), "-".to_owned());
    if is_measured(delays, is_known) {
        // Little's law: datagrams on the way are those per second times their delay.
        let seconds = delays.mean / 1e6;
        let deviation = delays.deviation().map(|micros| rate * micros / 1e6);
        let deviation = deviation.map_or_else(|| "-".to_owned(), |queued| format!("{queued:.0}"));
        queued = format!("{:.0}({deviation})", rate * seconds);
        power_of = power(bytes, time, delays.mean);
    }
    format!(" {times} ms {rate:.0} pps {arrived}/{queued} pkts {power_of}")
}

/// Columns of blocks with times, in front of the reads.
#[must_use]
pub fn bursts(delays: &DelayMoments, is_known: bool, (bytes, time): (u64, Duration)) -> String {
    let (times, blocks) = (spread(delays, is_known), delays.count);
    let Some(size) = bytes.checked_div(blocks) else {
        return format!("  {times} ms (0/-) - -");
    };
    if !is_measured(delays, is_known) {
        return format!("  {times} ms ({blocks}/{size}) - -");
    }
    let figures = Iperf2Figures {
        bytes: true,
        power: None,
    };
    let queued = whole(per_second(bytes, time) * delays.mean / 1e6);
    let queued = figures.transfer(queued, "Byte");
    let power = power(bytes, time, delays.mean);
    format!("  {times} ms ({blocks}/{size}) {queued} {power}")
}

/// Delays are those of one clock. Negative ones show that there are two.
fn is_measured(delays: &DelayMoments, is_known: bool) -> bool {
    is_known && delays.count > 0 && delays.min >= 0.0
}

/// Mean, smallest and largest delay and the deviation, milliseconds.
fn spread(delays: &DelayMoments, is_known: bool) -> String {
    let times = if is_measured(delays, is_known) {
        let [mean, min, max] = [delays.mean, delays.min, delays.max].map(|time| time / 1e3);
        format!("{mean:.3}/{min:.3}/{max:.3}")
    } else {
        "-/-/-".to_owned()
    };
    match delays.deviation() {
        Some(deviation) => format!("{times}/{:.3}", deviation / 1e3),
        None => format!("{times}/-"),
    }
}

/// Throughput over delay, as bytes per second and seconds, in millions. `delay` is in microseconds.
fn power(bytes: u64, time: Duration, delay: f64) -> String {
    if delay <= 0.0 {
        return "-".to_owned();
    }
    let power = count(bytes) / time.as_secs_f64().max(1e-9) / delay;
    if power < 10.0 {
        format!("{power:.6}")
    } else if power < 100.0 {
        format!("{power:.2}")
    } else {
        format!("{power:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(times: &[f64]) -> DelayMoments {
        let mut moments = DelayMoments::default();
        times.iter().for_each(|time| moments.add(*time));
        moments
    }

    #[test]
    fn columns_are_those_of_the_original() {
        let second = Duration::from_secs(1);
        let state = SenderState {
            window: 1151,
            trip: 82,
            variation: 31,
        };
        let moved = |calls, bytes| MovedCounts {
            calls,
            bytes,
            ..MovedCounts::default()
        };
        assert_eq!(
            sent(&moved(48, 6_291_456), second, Some(state)),
            "  48/0          0     1151K/82(31) us  76725"
        );
        assert_eq!(sent_by_all(&moved(20, 0)), "  20/0         0");
        assert_eq!(
            sent_datagrams(&moved(851, 0), 851, second),
            "  851/0      851 pps"
        );
        let sizes = MovedCounts {
            reads: [2, 0, 0, 0, 0, 0, 0, 48],
            ..MovedCounts::default()
        };
        assert_eq!(reads(&sizes), "  50=2:0:0:0:0:0:0:48");
        let late = moments(&[100_072.0, 100_082.0, 100_092.0]);
        assert_eq!(
            delays(&late, true, 180, (264_600, second)),
            " 100.082/100.072/100.092/0.010 ms 180 pps 180/18(0) pkts 2.643832"
        );
        assert_eq!(
            connect_times(&moments(&[65.0, 227.0])),
            "[ CT] final connect times (min/avg/max/stdev) = 0.065/0.146/0.227/0.115 ms \
             (tot/err) = 2/0\n"
        );
        let blocks = moments(&[400.0, 470.0]);
        assert_eq!(
            bursts(&blocks, true, (262_224, Duration::from_millis(100))),
            "  0.435/0.400/0.470/0.049 ms (2/131112) 1.11 KByte 6028"
        );
    }

    #[test]
    fn one_way_delays_of_unsynchronised_clocks_are_not_printed() {
        let second = Duration::from_secs(1);
        let (some, none) = (moments(&[5.0, 15.0]), moments(&[]));
        assert_eq!(
            delays(&some, false, 2, (2940, second)),
            " -/-/-/0.007 ms 2 pps 2/-(-) pkts -"
        );
        let ahead = moments(&[-5.0]);
        assert_eq!(
            delays(&ahead, true, 1, (1470, second)),
            " -/-/-/- ms 1 pps 1/-(-) pkts -"
        );
        assert_eq!(delays(&none, true, 0, (0, second)), " -/-/-/- ms 0 pps");
        assert_eq!(bursts(&none, true, (80, second)), "  -/-/-/- ms (0/-) - -");
    }
}
