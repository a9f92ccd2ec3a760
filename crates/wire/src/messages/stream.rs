//! Classic TCP_STREAM, which TCP_SENDFILE and TCP_MSS still use.

use super::message;
use crate::values::WireFamily;

message! {
    /// The request of classic TCP_STREAM (control-protocol.md 2.7.1).
    pub struct StreamRequest ends 72 {
        /// SO_SNDBUF wanted on the server, in bytes; -1 leaves the default.
        8 => send_buf_size: i32,
        /// SO_RCVBUF wanted on the server, in bytes; -1 leaves the default.
        12 => recv_buf_size: i32,
        /// Bytes per receive call; 0 lets the server derive it.
        16 => receive_size: i32,
        /// Alignment of the server's receive buffers, in bytes.
        20 => recv_alignment: i32,
        /// Offset after aligning receive buffers, in bytes.
        24 => recv_offset: i32,
        /// TCP_NODELAY wanted (1) or not (0).
        28 => no_delay: i32,
        /// Number of `-C` options; not 0: measure CPU.
        32 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        36 => cpu_rate: f32,
        /// Seconds; or, in a byte-count run, the positive byte count.
        40 => test_length: i32,
        /// Copy avoidance wanted on receive.
        44 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        48 => so_sndavoid: i32,
        /// Integers to dirty per buffer.
        52 => dirty_count: i32,
        /// Integers to read per buffer.
        56 => clean_count: i32,
        /// Port to bind on the server; 0 takes any.
        60 => port: i32,
        /// Address family of the data socket.
        64 => ipfamily: WireFamily,
        /// Asynchronous reads wanted. A 2.7.0 record ends before this word: 0 there.
        68 => recv_aio: i32,
    }
}

message! {
    /// The response of classic TCP_STREAM (control-protocol.md 2.7.1), and of
    /// XTI_TCP_STREAM (2.7.7).
    pub struct StreamResponse ends 48 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// Bytes per receive call in use.
        12 => receive_size: i32,
        /// TCP_NODELAY in effect (1) or not (0).
        16 => no_delay: i32,
        /// CPU is being measured (1) or not (0).
        20 => measure_cpu: i32,
        /// Never set by a stock server.
        24 => test_length: i32,
        /// SO_SNDBUF in effect, in bytes.
        28 => send_buf_size: i32,
        /// Port the client must use.
        32 => data_port_number: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        36 => cpu_rate: f32,
        /// Copy avoidance on receive.
        40 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        44 => so_sndavoid: i32,
    }
}

message! {
    /// The results record of classic TCP_STREAM (control-protocol.md 2.7.1).
    pub struct StreamResults ends 48 {
        /// Bytes received by the server.
        8 => bytes_received: f64,
        /// Receive calls that returned data.
        16 => recv_calls: u32,
        /// Elapsed time on the server, in seconds.
        20 => elapsed_time: f32,
        /// CPU utilisation in percent; residue unless measured.
        24 => cpu_util: f32,
        /// Service demand. Never set by a stock server.
        28 => serv_dem: f32,
        /// Code of the CPU method; 0 when not measured.
        32 => cpu_method: i32,
        /// Number of CPUs of the server.
        36 => num_cpus: i32,
        /// SO_RCVBUF, in bytes. Never set by a stock server.
        40 => recv_buf_size: i32,
        /// SO_SNDBUF, in bytes. Never set by a stock server.
        44 => send_buf_size: i32,
    }
}
