//! The unix-domain tests. Their paths lie inside the converted part of the record,
//! so each group of four bytes is reversed on the wire (control-protocol.md 1.2).

use super::message;
use crate::text::SwappedStr;

message! {
    /// The request of STREAM_STREAM (control-protocol.md 2.7.5).
    pub struct StreamStreamRequest ends 92 {
        /// SO_RCVBUF wanted on the server, in bytes; 0 is a real request to a stock server.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF wanted on the server, in bytes; 0 is a real request to a stock server.
        12 => send_buf_size: i32,
        /// Bytes per receive call; 0 lets the server derive it.
        16 => receive_size: i32,
        /// Alignment of the server's receive buffers, in bytes.
        20 => recv_alignment: i32,
        /// Offset after aligning receive buffers, in bytes.
        24 => recv_offset: i32,
        /// Copy avoidance on receive. Not set by a stock client.
        28 => so_rcvavoid: i32,
        /// Copy avoidance on send. Not set by a stock client.
        32 => so_sndavoid: i32,
        /// Number of `-C` options; not 0: measure CPU.
        36 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        40 => cpu_rate: f32,
        /// Seconds; or, in a byte-count run, the positive byte count.
        44 => test_length: i32,
        /// Integers to dirty per buffer.
        48 => dirty_count: i32,
        /// Integers to read per buffer.
        52 => clean_count: i32,
        /// Never set by stock programs.
        56 => path_name_len: i32,
        /// Not used in a request: the server invents the path.
        60 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The response of STREAM_STREAM (control-protocol.md 2.7.5).
    pub struct StreamStreamResponse ends 80 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF in effect, in bytes.
        12 => send_buf_size: i32,
        /// Bytes per receive call in use.
        16 => receive_size: i32,
        /// Copy avoidance on receive.
        20 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        24 => so_sndavoid: i32,
        /// CPU is being measured (1) or not (0).
        28 => measure_cpu: i32,
        /// Never set by a stock server.
        32 => test_length: i32,
        /// Never set: there is no port.
        36 => data_port_number: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        40 => cpu_rate: f32,
        /// Never set by stock programs.
        44 => path_name_len: i32,
        /// Path the client must use.
        48 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The results record of STREAM_STREAM (control-protocol.md 2.7.5).
    pub struct StreamStreamResults ends 32 {
        /// Bytes received; 32 bits, signed, wraps.
        8 => bytes_received: i32,
        /// Receive calls; a stock server reports one too few.
        12 => recv_calls: i32,
        /// Elapsed time on the server, in seconds.
        16 => elapsed_time: f32,
        /// CPU utilisation in percent; residue unless measured.
        20 => cpu_util: f32,
        /// Service demand. Never set by a stock server.
        24 => serv_dem: f32,
        /// Number of CPUs. Never set by a stock server.
        28 => num_cpus: i32,
    }
}

message! {
    /// The request of STREAM_RR (control-protocol.md 2.7.5).
    pub struct StreamRrRequest ends 96 {
        /// SO_RCVBUF wanted on the server, in bytes; 0 is a real request to a stock server.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF wanted on the server, in bytes; 0 is a real request to a stock server.
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
        /// Copy avoidance wanted on receive.
        40 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        44 => so_sndavoid: i32,
        /// Number of `-C` options; not 0: measure CPU.
        48 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        52 => cpu_rate: f32,
        /// Seconds if positive, minus the number of transactions if negative.
        56 => test_length: i32,
        /// Never set by stock programs.
        60 => path_name_len: i32,
        /// Not used in a request: the server invents the path.
        64 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The response of STREAM_RR (control-protocol.md 2.7.5).
    pub struct StreamRrResponse ends 72 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF in effect, in bytes.
        12 => send_buf_size: i32,
        /// Copy avoidance on receive.
        16 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        20 => so_sndavoid: i32,
        /// CPU is being measured (1) or not (0).
        24 => measure_cpu: i32,
        /// Never set by a stock server.
        28 => test_length: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        32 => cpu_rate: f32,
        /// Never set by stock programs.
        36 => path_name_len: i32,
        /// Path the client must use.
        40 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The results record of STREAM_RR (control-protocol.md 2.7.5).
    pub struct StreamRrResults ends 36 {
        /// Bytes received; 32 bits, signed, wraps.
        8 => bytes_received: i32,
        /// Never set by a stock server.
        12 => recv_calls: i32,
        /// Transactions.
        16 => trans_received: i32,
        /// Elapsed time on the server, in seconds.
        20 => elapsed_time: f32,
        /// CPU utilisation in percent; residue unless measured.
        24 => cpu_util: f32,
        /// Service demand. Never set by a stock server.
        28 => serv_dem: f32,
        /// Number of CPUs. Never set by a stock server.
        32 => num_cpus: i32,
    }
}

message! {
    /// The request of DG_STREAM (control-protocol.md 2.7.5).
    pub struct DgStreamRequest ends 80 {
        /// SO_RCVBUF wanted; ignored by a stock server, which asks for 0.
        8 => recv_buf_size: i32,
        /// Bytes per datagram.
        12 => message_size: i32,
        /// Alignment of the server's receive buffers, in bytes.
        16 => recv_alignment: i32,
        /// Offset after aligning receive buffers, in bytes.
        20 => recv_offset: i32,
        /// Number of `-C` options; not 0: measure CPU.
        24 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        28 => cpu_rate: f32,
        /// Seconds; never a count.
        32 => test_length: i32,
        /// Copy avoidance wanted on receive.
        36 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        40 => so_sndavoid: i32,
        /// Never set by stock programs.
        44 => path_name_len: i32,
        /// Not used in a request: the server invents the path.
        48 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The response of DG_STREAM (control-protocol.md 2.7.5).
    pub struct DgStreamResponse ends 72 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF in effect, in bytes.
        12 => send_buf_size: i32,
        /// CPU is being measured (1) or not (0).
        16 => measure_cpu: i32,
        /// Echoed.
        20 => test_length: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        24 => cpu_rate: f32,
        /// Copy avoidance on receive.
        28 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        32 => so_sndavoid: i32,
        /// Never set by stock programs.
        36 => path_name_len: i32,
        /// Path the client must use.
        40 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The results record of DG_STREAM (control-protocol.md 2.7.5).
    ///
    /// Word 0 is the real results number, 45.
    pub struct DgStreamResults ends 28 {
        /// Full-size datagrams received.
        8 => messages_recvd: i32,
        /// Bytes received; 32 bits, signed; one too small when the timer ended the test.
        12 => bytes_received: i32,
        /// Elapsed time on the server, in seconds.
        16 => elapsed_time: f32,
        /// CPU utilisation in percent; residue unless measured.
        20 => cpu_util: f32,
        /// Number of CPUs of the server.
        24 => num_cpus: i32,
    }
}

message! {
    /// The request of DG_RR (control-protocol.md 2.7.5).
    pub struct DgRrRequest ends 96 {
        /// SO_RCVBUF wanted on the server, in bytes; 0 is a real request to a stock server.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF wanted on the server, in bytes; 0 is a real request to a stock server.
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
        /// Number of `-C` options; not 0: measure CPU.
        40 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        44 => cpu_rate: f32,
        /// Seconds if positive, minus the number of transactions if negative.
        48 => test_length: i32,
        /// Copy avoidance wanted on receive.
        52 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        56 => so_sndavoid: i32,
        /// Never set by stock programs.
        60 => path_name_len: i32,
        /// Not used in a request: the server invents the path.
        64 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The response of DG_RR (control-protocol.md 2.7.5).
    pub struct DgRrResponse ends 76 {
        /// SO_RCVBUF in effect, in bytes.
        8 => recv_buf_size: i32,
        /// SO_SNDBUF in effect, in bytes.
        12 => send_buf_size: i32,
        /// Never set: there is no TCP.
        16 => no_delay: i32,
        /// CPU is being measured (1) or not (0).
        20 => measure_cpu: i32,
        /// Never set by a stock server.
        24 => test_length: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        28 => cpu_rate: f32,
        /// Copy avoidance on receive.
        32 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        36 => so_sndavoid: i32,
        /// Never set by stock programs.
        40 => path_name_len: i32,
        /// Path the client must use.
        44 => unix_path: SwappedStr<32>,
    }
}

message! {
    /// The results record of DG_RR (control-protocol.md 2.7.5).
    pub struct DgRrResults ends 36 {
        /// Bytes received; 32 bits, signed, wraps.
        8 => bytes_received: i32,
        /// Never set by a stock server.
        12 => recv_calls: i32,
        /// Transactions.
        16 => trans_received: i32,
        /// Elapsed time on the server, in seconds; in count mode a stock server takes 4
        /// off, and the figure can be negative.
        20 => elapsed_time: f32,
        /// CPU utilisation in percent; residue unless measured.
        24 => cpu_util: f32,
        /// Service demand. Never set by a stock server.
        28 => serv_dem: f32,
        /// Number of CPUs. Never set by a stock server.
        32 => num_cpus: i32,
    }
}
