//! Classic request/response: TCP_RR, TCP_CRR, TCP_CC and UDP_RR share one layout.

use super::message;
use crate::values::WireFamily;

message! {
    /// The request of TCP_RR, TCP_CRR, TCP_CC and UDP_RR (control-protocol.md 2.7.3).
    pub struct RrRequest ends 72 {
        /// SO_RCVBUF wanted on the server, in bytes; -1 leaves the default.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF wanted on the server, in bytes; -1 leaves the default.
        12 => send_buf_size: i32,
        /// Alignment of the server's receive buffers, in bytes.
        16 => recv_alignment: i32,
        /// Offset after aligning receive buffers, in bytes.
        20 => recv_offset: i32,
        /// Alignment of the server's send buffers, in bytes.
        24 => send_alignment: i32,
        /// Offset after aligning send buffers, in bytes.
        28 => send_offset: i32,
        /// Bytes in a request.
        32 => request_size: i32,
        /// Bytes in a response.
        36 => response_size: i32,
        /// TCP_NODELAY wanted (1) or not (0). Not used for UDP.
        40 => no_delay: i32,
        /// Number of `-C` options; not 0: measure CPU.
        44 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        48 => cpu_rate: f32,
        /// Seconds if positive, minus the number of transactions if negative.
        52 => test_length: i32,
        /// Copy avoidance wanted on receive.
        56 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        60 => so_sndavoid: i32,
        /// Port to bind on the server; 0 takes any.
        64 => port: i32,
        /// Address family of the data socket.
        68 => ipfamily: WireFamily,
    }
}

message! {
    /// The response of TCP_RR, TCP_CRR, TCP_CC and UDP_RR (control-protocol.md 2.7.3), and
    /// of XTI request/response (2.7.7).
    pub struct RrResponse ends 44 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// TCP_NODELAY in effect (1) or not (0). Never set for UDP_RR.
        12 => no_delay: i32,
        /// CPU is being measured (1) or not (0, or residue in TCP_CRR and TCP_CC).
        16 => measure_cpu: i32,
        /// Echoed by TCP_RR; never set for the other tests.
        20 => test_length: i32,
        /// SO_SNDBUF in effect, in bytes.
        24 => send_buf_size: i32,
        /// Port the client must use.
        28 => data_port_number: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        32 => cpu_rate: f32,
        /// Copy avoidance on receive.
        36 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        40 => so_sndavoid: i32,
    }
}

message! {
    /// The results record of TCP_RR, TCP_CRR, TCP_CC and UDP_RR (control-protocol.md 2.7.3),
    /// and of request/response over SCTP, SDP and XTI (2.7.6, 2.7.7, 2.7.9).
    pub struct RrResults ends 40 {
        /// Transactions times request plus response size; 32 bits, wraps.
        8 => bytes_received: u32,
        /// Never set by a stock server.
        12 => recv_calls: u32,
        /// Transactions, or connections in a connect test.
        16 => trans_received: u32,
        /// Elapsed time on the server, in seconds.
        20 => elapsed_time: f32,
        /// CPU utilisation in percent; residue unless measured.
        24 => cpu_util: f32,
        /// Service demand. Never set by a stock server.
        28 => serv_dem: f32,
        /// Code of the CPU method. Never set for TCP_CRR and TCP_CC.
        32 => cpu_method: i32,
        /// Number of CPUs of the server. Never set for TCP_CRR.
        36 => num_cpus: i32,
    }
}
