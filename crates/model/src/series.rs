//! Samples of TCP connections over time.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use crate::fields::{AsSeconds, MicrosAsSeconds, PortOrNull};

/// Sampling of TCP connections, as requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "watch")]
pub struct SeriesPlan {
    /// The time from one sample of a connection to the next.
    #[serde(rename = "interval_seconds", with = "AsSeconds")]
    pub every: Duration,
    /// The most connections that are sampled.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub flows: u32,
}

impl SeriesPlan {
    /// Connections that are watched unless something else is asked for.
    pub const FLOWS: u32 = 8;
    /// The most connections that can be watched.
    pub const MOST_FLOWS: u32 = 1024;
    /// The shortest time from one sample to the next.
    pub const SHORTEST: Duration = Duration::from_millis(1);
    /// The longest.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// True if interval and number are within the limits.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let flows = (1..=Self::MOST_FLOWS).contains(&self.flows);
        flows && (Self::SHORTEST..=Self::LONGEST).contains(&self.every)
    }
}

/// State of a TCP connection at a point in time (tcp(7), `TCP_INFO`; linux/tcp.h). Null is
/// unknown to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TcpSample {
    /// Time since the beginning of the series of this program.
    #[serde(rename = "at_seconds", with = "MicrosAsSeconds")]
    pub at_micros: u64,
    /// Smoothed round trip, microseconds.
    #[serde(rename = "round_trip_microseconds")]
    pub round_trip_micros: Option<u32>,
    /// Its variation, microseconds.
    #[serde(rename = "round_trip_variation_microseconds")]
    pub round_trip_variation_micros: Option<u32>,
    /// The smallest recent round trip, microseconds.
    #[serde(rename = "min_round_trip_microseconds")]
    pub min_round_trip_micros: Option<u32>,
    /// The round trip as a receiver estimates it, microseconds.
    #[serde(rename = "recv_round_trip_microseconds")]
    pub recv_round_trip_micros: Option<u32>,
    /// Congestion window, segments.
    pub congestion_window_segments: Option<u32>,
    /// Send slow-start threshold, segments; null while there is none.
    #[serde(rename = "send_slow_start_threshold_segments")]
    pub send_threshold_segments: Option<u32>,
    /// Send segment size, bytes.
    pub send_segment_bytes: Option<u32>,
    /// Segments in flight: sent and neither acknowledged nor known to be lost.
    pub in_flight_segments: Option<u32>,
    /// Segments considered lost.
    pub lost_segments: Option<u32>,
    /// Segments sent again since the connection was made.
    pub retransmitted_segments: Option<u32>,
    /// Reordering seen, segments.
    pub reordering_segments: Option<u32>,
    /// Bytes not sent yet.
    pub not_sent_bytes: Option<u32>,
    /// The window that the peer offers, bytes.
    pub send_window_bytes: Option<u32>,
    /// The pacing rate, bytes per second.
    #[serde(rename = "pacing_bytes_per_second")]
    pub pacing_rate: Option<u64>,
    /// The latest delivery rate, bytes per second; null before any delivery.
    #[serde(rename = "delivery_bytes_per_second")]
    pub delivery_rate: Option<u64>,
    /// Time with data to send since the connection was made, microseconds.
    #[serde(rename = "busy_microseconds")]
    pub busy_micros: Option<u64>,
    /// Of that, time limited by the peer's window, microseconds.
    #[serde(rename = "peer_window_limited_microseconds")]
    pub window_limited_micros: Option<u64>,
    /// Of that, time limited by the send buffer, microseconds.
    #[serde(rename = "send_buffer_limited_microseconds")]
    pub buffer_limited_micros: Option<u64>,
}

impl TcpSample {
    /// Bytes in flight: the segments times their size.
    #[must_use]
    pub fn in_flight_bytes(&self) -> Option<u64> {
        let (segments, size) = (self.in_flight_segments?, self.send_segment_bytes?);
        Some(u64::from(segments) * u64::from(size))
    }

    /// The congestion window in bytes: its segments times their size.
    #[must_use]
    pub fn congestion_window_bytes(&self) -> Option<u64> {
        let (segments, size) = (self.congestion_window_segments?, self.send_segment_bytes?);
        Some(u64::from(segments) * u64::from(size))
    }
}

/// A sample as it is written: readers need not multiply.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "tcp_sample")]
struct SampleWithBytes {
    #[serde(flatten)]
    sample: TcpSample,
    /// The congestion window in bytes: its segments times their size.
    congestion_window_bytes: Option<u64>,
    /// Bytes in flight: the segments times their size.
    in_flight_bytes: Option<u64>,
}

fn with_bytes<S: Serializer>(samples: &[TcpSample], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(samples.iter().map(|sample| SampleWithBytes {
        sample: *sample,
        congestion_window_bytes: sample.congestion_window_bytes(),
        in_flight_bytes: sample.in_flight_bytes(),
    }))
}

/// Samples of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "flow_series")]
pub struct FlowSeries {
    /// Number of netperf's connection, from 1 in the order in which they were opened; null
    /// if this program does not know it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub flow: Option<u32>,
    /// netperf's port as this program sees it; null if there is none.
    #[serde(rename = "netperf_port", with = "PortOrNull")]
    pub port: u16,
    /// The samples in the order of time.
    #[serde(serialize_with = "with_bytes")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<SampleWithBytes>"))]
    pub samples: Vec<TcpSample>,
}

/// Samples of the TCP connections of one program over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "series")]
pub struct Series {
    /// The beginning by the clock of this host, since 1970: the connection was then
    /// open here, or the last of many connections.
    #[serde(rename = "started_unix_seconds", with = "AsSeconds")]
    pub started: Duration,
    /// The time from one sample to the next: longer than requested if there would have
    /// been too many samples.
    #[serde(rename = "interval_seconds", with = "AsSeconds")]
    pub every: Duration,
    /// The sampled connections.
    pub flows: Vec<FlowSeries>,
}

impl Series {
    /// All samples of all connections.
    pub fn samples(&self) -> impl Iterator<Item = &TcpSample> {
        self.flows.iter().flat_map(|flow| &flow.samples)
    }

    /// The largest value that `pick` finds in any sample.
    #[must_use]
    pub fn largest<T: Ord>(&self, pick: impl Fn(&TcpSample) -> Option<T>) -> Option<T> {
        self.samples().filter_map(pick).max()
    }

    /// The smallest value that `pick` finds in any sample.
    #[must_use]
    pub fn smallest<T: Ord>(&self, pick: impl Fn(&TcpSample) -> Option<T>) -> Option<T> {
        self.samples().filter_map(pick).min()
    }

    /// Gives connections the numbers that the same ones have in `other`, by their port.
    pub fn number_as_in(&mut self, other: &Self) {
        if let ([own], [known]) = (self.flows.as_mut_slice(), other.flows.as_slice()) {
            // A port that was translated on the way makes no other connection of it.
            own.flow = known.flow;
            return;
        }
        for flow in &mut self.flows {
            let same = other.flows.iter().find(|known| known.port == flow.port);
            flow.flow = same.and_then(|known| known.flow).or(flow.flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(flows: &[(Option<u32>, u16, &[u32])]) -> Series {
        let sample = |trip: &u32| TcpSample {
            round_trip_micros: Some(*trip),
            ..TcpSample::default()
        };
        let flow = |(flow, port, trips): &(Option<u32>, u16, &[u32])| FlowSeries {
            flow: *flow,
            port: *port,
            samples: trips.iter().map(sample).collect(),
        };
        Series {
            flows: flows.iter().map(flow).collect(),
            ..Series::default()
        }
    }

    #[test]
    fn extremes_are_those_of_all_connections_and_none_without_samples() {
        let both = series(&[(None, 1, &[5, 9]), (None, 2, &[7, 3])]);
        assert_eq!(both.largest(|sample| sample.round_trip_micros), Some(9));
        assert_eq!(both.smallest(|sample| sample.round_trip_micros), Some(3));
        assert_eq!(both.largest(|sample| sample.pacing_rate), None);
    }

    #[test]
    fn a_connection_has_the_number_that_the_other_end_knows_its_port_by() {
        let ours = series(&[(Some(1), 40_001, &[]), (Some(2), 40_002, &[])]);
        let mut theirs = series(&[(None, 40_002, &[]), (None, 50_000, &[])]);
        theirs.number_as_in(&ours);
        let numbers: Vec<_> = theirs.flows.iter().map(|flow| flow.flow).collect();
        assert_eq!(numbers, [Some(2), None]);
        let mut only = series(&[(None, 50_000, &[])]);
        only.number_as_in(&series(&[(Some(1), 40_001, &[])]));
        assert_eq!(only.flows[0].flow, Some(1));
    }
}
