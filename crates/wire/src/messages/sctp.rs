//! The SCTP tests, and those of SDP, which have the same messages where TCP_MAERTS does
//! not lend it its own.
//!
//! Never captured: the tables say what the structure of the stock programs says.

use super::message;
use crate::values::WireFamily;

message! {
    /// The request of SCTP_STREAM, SCTP_STREAM_MANY and SDP_STREAM (control-protocol.md 2.7.6).
    pub struct SctpStreamRequest ends 72 {
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
        /// Port to bind on the server; 0 takes any. In whichever byte order it came: see
        /// [`Self::wanted_port`].
        60 => port: i32,
        /// Address family of the data socket.
        64 => ipfamily: WireFamily,
        /// Run the data socket non-blocking (1) or not (0).
        68 => non_blocking: i32,
    }
}

impl SctpStreamRequest {
    /// Port to bind on the server, in the right byte order; 0 takes any.
    ///
    /// A little-endian stock client of SCTP_STREAM converts the port twice, so that it
    /// arrives little-endian; that of SCTP_STREAM_MANY converts it once. A number that is
    /// no port, below 0 or over 65535, is one with its four bytes reversed; if it is none
    /// that way either, it is given as it came (control-protocol.md 2.7.6).
    #[must_use]
    pub fn wanted_port(&self) -> i32 {
        if u16::try_from(self.port).is_ok() {
            return self.port;
        }
        u16::try_from(self.port.swap_bytes()).map_or(self.port, i32::from)
    }
}

message! {
    /// The response of SCTP_STREAM, SCTP_STREAM_MANY and SDP_STREAM (control-protocol.md 2.7.6):
    /// that of TCP_STREAM with a word more.
    pub struct SctpStreamResponse ends 52 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// Bytes per receive call in use.
        12 => receive_size: i32,
        /// No-delay in effect (1) or not (0).
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
        /// Never set by a stock server.
        48 => non_blocking: i32,
    }
}

message! {
    /// The results record of SCTP_STREAM, SCTP_STREAM_MANY and SDP_STREAM
    /// (control-protocol.md 2.7.6): that of TCP_STREAM without its last two words.
    pub struct SctpStreamResults ends 40 {
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
    }
}

message! {
    /// The request of SCTP_RR, SCTP_RR_MANY and SDP_RR (control-protocol.md 2.7.6).
    ///
    /// SDP_CRR and SDP_CC have numbers but no layout: no 2.7 client sends them. This one is
    /// taken for theirs, as TCP_CRR and TCP_CC have that of TCP_RR.
    pub struct SctpRrRequest ends 76 {
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
        /// No-delay wanted (1) or not (0).
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
        /// Port to bind on the server; 0 takes any. Not set by a stock client of SCTP_RR.
        64 => port: i32,
        /// Address family of the data socket.
        68 => ipfamily: WireFamily,
        /// Run the data socket non-blocking (1) or not (0).
        72 => non_blocking: i32,
    }
}

message! {
    /// The response of SCTP_RR, SCTP_RR_MANY and SDP_RR (control-protocol.md 2.7.6): that of
    /// TCP_RR with a word more.
    ///
    /// Their results are those of TCP_RR.
    pub struct SctpRrResponse ends 48 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// No-delay in effect (1) or not (0).
        12 => no_delay: i32,
        /// CPU is being measured (1) or not (0).
        16 => measure_cpu: i32,
        /// Seconds, or minus the number of transactions. A stock server may leave residue.
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
        /// Data socket non-blocking (1) or not (0).
        44 => non_blocking: i32,
    }
}
