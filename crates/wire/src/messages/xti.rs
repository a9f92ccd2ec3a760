//! The XTI tests. Their device names lie inside the converted part of the record, so
//! each group of four bytes is reversed on the wire (control-protocol.md 1.2).
//!
//! Never captured: the tables say what the structure of the stock programs says.
//! Responses and the other results are those of TCP_STREAM, TCP_RR, UDP_RR and
//! UDP_STREAM.

use super::message;
use crate::double::LowWordFirst;
use crate::text::SwappedStr;

message! {
    /// The request of XTI_TCP_STREAM (control-protocol.md 2.7.7).
    pub struct XtiTcpStreamRequest ends 96 {
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
        /// No-delay wanted (1) or not (0).
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
        /// Not filled in by a stock client.
        60 => dev_name_len: i32,
        /// Path of the device to open; `/dev/tcp` unless the user says otherwise.
        64 => xti_device: SwappedStr<32>,
    }
}

message! {
    /// The results record of XTI_TCP_STREAM (control-protocol.md 2.7.7): that of TCP_STREAM
    /// without its last two words, and with the words of the byte count the wrong way round.
    pub struct XtiTcpStreamResults ends 40 {
        /// Bytes received by the server.
        8 => bytes_received: LowWordFirst,
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
    }
}

message! {
    /// The request of XTI_TCP_RR and XTI_UDP_RR (control-protocol.md 2.7.7).
    ///
    /// XTI_TCP_CRR has numbers but no layout: no 2.7 client sends it. This one is taken for
    /// its own, as TCP_CRR has that of TCP_RR.
    pub struct XtiRrRequest ends 100 {
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
        /// No-delay wanted (1) or not (0). Not used for UDP.
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
        /// Not filled in by a stock client.
        64 => dev_name_len: i32,
        /// Path of the device to open; `/dev/tcp` unless the user says otherwise.
        68 => xti_device: SwappedStr<32>,
    }
}

message! {
    /// The request of XTI_UDP_STREAM (control-protocol.md 2.7.7).
    pub struct XtiUdpStreamRequest ends 84 {
        /// SO_RCVBUF wanted on the server, in bytes; -1 leaves the default.
        8 => recv_buf_size: i32,
        /// Bytes per datagram.
        12 => message_size: i32,
        /// Alignment of the server's receive buffers, in bytes.
        16 => recv_alignment: i32,
        /// Offset after aligning receive buffers, in bytes.
        20 => recv_offset: i32,
        /// Not used.
        24 => checksum_off: i32,
        /// Number of `-C` options; not 0: measure CPU.
        28 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        32 => cpu_rate: f32,
        /// Seconds.
        36 => test_length: i32,
        /// Copy avoidance wanted on receive.
        40 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        44 => so_sndavoid: i32,
        /// Not filled in by a stock client.
        48 => dev_name_len: i32,
        /// Path of the device to open; `/dev/tcp` unless the user says otherwise.
        52 => xti_device: SwappedStr<32>,
    }
}
