//! Counts of an end, and what the kernel knows of its connection.

use serde::{Deserialize, Serialize};

/// Counts kept by the loop of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes handed to the kernel.
    pub bytes_sent: u64,
    /// Bytes got from the kernel.
    pub bytes_received: u64,
    /// Sends that moved data.
    pub send_calls: u64,
    /// Receives that returned data.
    pub recv_calls: u64,
    /// Sends dropped because a local queue was full.
    pub failed_sends: u64,
    /// Transactions or connections completed.
    pub transactions: u64,
    /// Requests without a response: given up, or in flight at the end.
    pub unanswered: u64,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent.wrapping_add(other.bytes_sent),
            bytes_received: self.bytes_received.wrapping_add(other.bytes_received),
            send_calls: self.send_calls.wrapping_add(other.send_calls),
            recv_calls: self.recv_calls.wrapping_add(other.recv_calls),
            failed_sends: self.failed_sends.wrapping_add(other.failed_sends),
            transactions: self.transactions.wrapping_add(other.transactions),
            unanswered: self.unanswered.wrapping_add(other.unanswered),
        }
    }

    /// The counts since `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent.saturating_sub(before.bytes_sent),
            bytes_received: self.bytes_received.saturating_sub(before.bytes_received),
            send_calls: self.send_calls.saturating_sub(before.send_calls),
            recv_calls: self.recv_calls.saturating_sub(before.recv_calls),
            failed_sends: self.failed_sends.saturating_sub(before.failed_sends),
            transactions: self.transactions.saturating_sub(before.transactions),
            unanswered: self.unanswered.saturating_sub(before.unanswered),
        }
    }
}

/// State of a TCP connection at a point in time (tcp(7), `TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "tcp")]
pub struct TcpFacts {
    /// Smoothed round trip, microseconds.
    #[serde(rename = "round_trip_microseconds")]
    pub round_trip_micros: u32,
    /// Its variation, microseconds.
    #[serde(rename = "round_trip_variation_microseconds")]
    pub round_trip_variation_micros: u32,
    /// Retransmission time-out, microseconds.
    #[serde(rename = "retransmission_timeout_microseconds")]
    pub retransmission_timeout_micros: u32,
    /// Delayed acknowledgement time-out, microseconds.
    #[serde(rename = "ack_timeout_microseconds")]
    pub ack_timeout_micros: u32,
    /// Path MTU, bytes.
    pub path_mtu_bytes: u32,
    /// Send segment size, bytes.
    pub send_segment_bytes: u32,
    /// Congestion window, segments.
    pub congestion_window_segments: u32,
    /// Send slow-start threshold, segments.
    #[serde(rename = "send_slow_start_threshold_segments")]
    pub send_threshold_segments: u32,
    /// Receive slow-start threshold, bytes.
    #[serde(rename = "recv_slow_start_threshold_bytes")]
    pub recv_threshold_bytes: u32,
    /// Reordering seen, segments.
    pub reordering_segments: u32,
    /// Retransmitted since the connection was made, segments.
    pub retransmitted_segments: u32,
}
