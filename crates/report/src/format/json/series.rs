//! What TCP knew of connections over time.

use netperf_model::{FlowSeries, Series as Seen, SeriesPlan, TcpSample};

/// A series, as asked for.
#[derive(Debug)]
pub(super) struct Watch {
    interval_seconds: f64,
    flows: u32,
}

object!(Watch {
    interval_seconds,
    flows,
});

impl Watch {
    pub(super) fn of(plan: &SeriesPlan) -> Self {
        Self {
            interval_seconds: plan.every.as_secs_f64(),
            flows: plan.flows,
        }
    }
}

/// The series of one end.
#[derive(Debug)]
pub(super) struct Series {
    started_unix_seconds: f64,
    interval_seconds: f64,
    flows: Vec<Flow>,
}

object!(Series {
    started_unix_seconds,
    interval_seconds,
    flows,
});

/// The samples of one connection.
#[derive(Debug)]
struct Flow {
    flow: Option<u32>,
    netperf_port: Option<u16>,
    samples: Vec<Sample>,
}

object!(Flow {
    flow,
    netperf_port,
    samples,
});

/// A connection at one moment.
#[derive(Debug)]
struct Sample {
    at_seconds: f64,
    round_trip_microseconds: Option<u32>,
    round_trip_variation_microseconds: Option<u32>,
    min_round_trip_microseconds: Option<u32>,
    recv_round_trip_microseconds: Option<u32>,
    congestion_window_segments: Option<u32>,
    congestion_window_bytes: Option<u64>,
    send_slow_start_threshold_segments: Option<u32>,
    send_segment_bytes: Option<u32>,
    in_flight_segments: Option<u32>,
    in_flight_bytes: Option<u64>,
    lost_segments: Option<u32>,
    retransmitted_segments: Option<u32>,
    reordering_segments: Option<u32>,
    not_sent_bytes: Option<u32>,
    send_window_bytes: Option<u32>,
    pacing_bytes_per_second: Option<u64>,
    delivery_bytes_per_second: Option<u64>,
    busy_microseconds: Option<u64>,
    peer_window_limited_microseconds: Option<u64>,
    send_buffer_limited_microseconds: Option<u64>,
}

object!(Sample {
    at_seconds,
    round_trip_microseconds,
    round_trip_variation_microseconds,
    min_round_trip_microseconds,
    recv_round_trip_microseconds,
    congestion_window_segments,
    congestion_window_bytes,
    send_slow_start_threshold_segments,
    send_segment_bytes,
    in_flight_segments,
    in_flight_bytes,
    lost_segments,
    retransmitted_segments,
    reordering_segments,
    not_sent_bytes,
    send_window_bytes,
    pacing_bytes_per_second,
    delivery_bytes_per_second,
    busy_microseconds,
    peer_window_limited_microseconds,
    send_buffer_limited_microseconds,
});

impl Series {
    pub(super) fn of(seen: &Seen) -> Self {
        Self {
            started_unix_seconds: seen.started.as_secs_f64(),
            interval_seconds: seen.every.as_secs_f64(),
            flows: seen.flows.iter().map(Flow::of).collect(),
        }
    }
}

impl Flow {
    fn of(seen: &FlowSeries) -> Self {
        Self {
            flow: seen.flow,
            netperf_port: Some(seen.port).filter(|port| *port > 0),
            samples: seen.samples.iter().map(Sample::of).collect(),
        }
    }
}

impl Sample {
    fn of(seen: &TcpSample) -> Self {
        Self {
            at_seconds: std::time::Duration::from_micros(seen.at_micros).as_secs_f64(),
            round_trip_microseconds: seen.round_trip_micros,
            round_trip_variation_microseconds: seen.round_trip_variation_micros,
            min_round_trip_microseconds: seen.min_round_trip_micros,
            recv_round_trip_microseconds: seen.recv_round_trip_micros,
            congestion_window_segments: seen.congestion_window_segments,
            congestion_window_bytes: seen.congestion_window_bytes(),
            send_slow_start_threshold_segments: seen.send_threshold_segments,
            send_segment_bytes: seen.send_segment_bytes,
            in_flight_segments: seen.in_flight_segments,
            in_flight_bytes: seen.in_flight_bytes(),
            lost_segments: seen.lost_segments,
            retransmitted_segments: seen.retransmitted_segments,
            reordering_segments: seen.reordering_segments,
            not_sent_bytes: seen.not_sent_bytes,
            send_window_bytes: seen.send_window_bytes,
            pacing_bytes_per_second: seen.pacing_rate,
            delivery_bytes_per_second: seen.delivery_rate,
            busy_microseconds: seen.busy_micros,
            peer_window_limited_microseconds: seen.window_limited_micros,
            send_buffer_limited_microseconds: seen.buffer_limited_micros,
        }
    }
}
