//! Classic UDP_STREAM.

use super::message;
use crate::values::WireFamily;

message! {
    /// The request of classic UDP_STREAM (control-protocol.md 2.7.4).
    pub struct UdpStreamRequest ends 60 {
        /// SO_RCVBUF wanted on the server, in bytes; -1 leaves the default.
        8 => recv_buf_size: i32,
        /// Bytes per datagram.
        12 => message_size: i32,
        /// Not 0: connect the socket after the first datagram.
        16 => recv_connected: i32,
        /// Alignment of the server's receive buffers, in bytes.
        20 => recv_alignment: i32,
        /// Offset after aligning receive buffers, in bytes.
        24 => recv_offset: i32,
        /// Not used.
        28 => checksum_off: i32,
        /// Number of `-C` options; not 0: measure CPU.
        32 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        36 => cpu_rate: f32,
        /// Seconds.
        40 => test_length: i32,
        /// Copy avoidance wanted on receive.
        44 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        48 => so_sndavoid: i32,
        /// Port to bind on the server; 0 takes any.
        52 => port: i32,
        /// Address family of the data socket.
        56 => ipfamily: WireFamily,
    }
}

message! {
    /// The response of classic UDP_STREAM (control-protocol.md 2.7.4), and of
    /// XTI_UDP_STREAM (2.7.7).
    pub struct UdpStreamResponse ends 40 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF in effect, in bytes.
        12 => send_buf_size: i32,
        /// CPU is being measured (1) or not (0).
        16 => measure_cpu: i32,
        /// Echoed.
        20 => test_length: i32,
        /// Port the client must use.
        24 => data_port_number: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        28 => cpu_rate: f32,
        /// Copy avoidance on receive.
        32 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        36 => so_sndavoid: i32,
    }
}

message! {
    /// The results record of classic UDP_STREAM (control-protocol.md 2.7.4), and of
    /// XTI_UDP_STREAM (2.7.7).
    ///
    /// Word 0 is the real results number, 18, for UDP_STREAM.
    pub struct UdpStreamResults ends 32 {
        /// Full-size datagrams received.
        8 => messages_recvd: u32,
        /// Bytes received; one too small when the timer ended the test.
        12 => bytes_received: u32,
        /// Elapsed time on the server, in seconds.
        16 => elapsed_time: f32,
        /// CPU utilisation in percent; -1.0 when not measured.
        20 => cpu_util: f32,
        /// Code of the CPU method; 0 when not measured.
        24 => cpu_method: i32,
        /// Number of CPUs of the server.
        28 => num_cpus: i32,
    }
}
