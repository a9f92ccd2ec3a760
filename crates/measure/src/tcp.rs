//! State of a TCP connection in the kernel, as reports show it.

use netperf_model::TcpFacts;
use netperf_os::tcp::TcpInfo;

/// TCP information for reports.
#[must_use]
pub const fn tcp_facts(info: TcpInfo) -> TcpFacts {
    TcpFacts {
        round_trip_micros: info.rtt,
        round_trip_variation_micros: info.rttvar,
        retransmission_timeout_micros: info.rto,
        ack_timeout_micros: info.ato,
        path_mtu_bytes: info.pmtu,
        send_segment_bytes: info.snd_mss,
        congestion_window_segments: info.snd_cwnd,
        send_threshold_segments: info.snd_ssthresh,
        recv_threshold_bytes: info.rcv_ssthresh,
        reordering_segments: info.reordering,
        retransmitted_segments: info.total_retrans,
    }
}
