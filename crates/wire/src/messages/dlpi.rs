//! The DLPI tests. Device names and station addresses lie inside the converted part of
//! the record, so each group of four bytes is reversed on the wire
//! (control-protocol.md 1.2).
//!
//! The wire document shows the first word of a station address, which is the last field
//! of its record, and says that a stock server has space for 14 bytes: four words here.
//!
//! Never captured: the tables say what the structure of the stock programs says.

use super::message;
use crate::text::{SwappedBytes, SwappedStr};

message! {
    /// The request of DLPI_CO_STREAM (control-protocol.md 2.7.8).
    pub struct DlpiCoStreamRequest ends 100 {
        /// Receive window wanted on the server, in frames.
        8 => recv_win_size: i32,
        /// Send window wanted on the server, in frames.
        12 => send_win_size: i32,
        /// Bytes per receive call; 0 lets the server derive it.
        16 => receive_size: i32,
        /// Alignment of the server's receive buffers, in bytes.
        20 => recv_alignment: i32,
        /// Offset after aligning receive buffers, in bytes.
        24 => recv_offset: i32,
        /// Number of `-C` options; not 0: measure CPU.
        28 => measure_cpu: i32,
        /// CPU calibration rate the user supplied; 0.0 lets the server calibrate.
        32 => cpu_rate: f32,
        /// Seconds; or, in a byte-count run, the positive byte count.
        36 => test_length: i32,
        /// Copy avoidance wanted on receive.
        40 => so_rcvavoid: i32,
        /// Copy avoidance wanted on send.
        44 => so_sndavoid: i32,
        /// Integers to dirty per buffer.
        48 => dirty_count: i32,
        /// Integers to read per buffer.
        52 => clean_count: i32,
        /// Service access point.
        56 => sap: i32,
        /// Physical point of attachment: the number of the unit.
        60 => ppa: i32,
        /// Length of the device name, in bytes.
        64 => dev_name_len: i32,
        /// Path of the device to open; `/dev/dlpi` unless the user says otherwise.
        68 => dlpi_device: SwappedStr<32>,
    }
}

message! {
    /// The response of DLPI_CO_STREAM (control-protocol.md 2.7.8).
    pub struct DlpiCoStreamResponse ends 64 {
        /// Receive window in effect, in frames.
        8 => recv_win_size: i32,
        /// Send window in effect, in frames.
        12 => send_win_size: i32,
        /// Bytes per receive call in use.
        16 => receive_size: i32,
        /// CPU is being measured (1) or not (0).
        20 => measure_cpu: i32,
        /// Seconds, or minus the number of transactions. A stock server may leave residue.
        24 => test_length: i32,
        /// Port the client must use.
        28 => data_port_number: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        32 => cpu_rate: f32,
        /// Copy avoidance on receive.
        36 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        40 => so_sndavoid: i32,
        /// Length of `station_addr` in bytes.
        44 => station_addr_len: i32,
        /// Address of the server's station, as the link has it.
        48 => station_addr: SwappedBytes<16>,
    }
}

message! {
    /// The results record of DLPI_CO_STREAM (control-protocol.md 2.7.8).
    pub struct DlpiCoStreamResults ends 36 {
        /// Bytes received; 32 bits, signed, wraps.
        8 => bytes_received: i32,
        /// Receive calls.
        12 => recv_calls: i32,
        /// Elapsed time on the server, in seconds.
        16 => elapsed_time: f32,
        /// CPU utilisation in percent; residue unless measured.
        20 => cpu_util: f32,
        /// Service demand. Never set by a stock server.
        24 => serv_dem: f32,
        /// Code of the CPU method; 0 when not measured.
        28 => cpu_method: i32,
        /// Number of CPUs of the server.
        32 => num_cpus: i32,
    }
}

message! {
    /// The request of DLPI_CO_RR (control-protocol.md 2.7.8).
    pub struct DlpiCoRrRequest ends 104 {
        /// Receive window wanted on the server, in frames.
        8 => recv_win_size: i32,
        /// Send window wanted on the server, in frames.
        12 => send_win_size: i32,
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
        /// Physical point of attachment: the number of the unit.
        60 => ppa: i32,
        /// Service access point.
        64 => sap: i32,
        /// Length of the device name, in bytes.
        68 => dev_name_len: i32,
        /// Path of the device to open; `/dev/dlpi` unless the user says otherwise.
        72 => dlpi_device: SwappedStr<32>,
    }
}

message! {
    /// The response of DLPI_CO_RR and DLPI_CL_STREAM (control-protocol.md 2.7.8).
    pub struct DlpiCoRrResponse ends 60 {
        /// Receive window in effect, in frames.
        8 => recv_win_size: i32,
        /// Send window in effect, in frames.
        12 => send_win_size: i32,
        /// CPU is being measured (1) or not (0).
        16 => measure_cpu: i32,
        /// Seconds, or minus the number of transactions. A stock server may leave residue.
        20 => test_length: i32,
        /// Port the client must use.
        24 => data_port_number: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        28 => cpu_rate: f32,
        /// Copy avoidance on receive.
        32 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        36 => so_sndavoid: i32,
        /// Length of `station_addr` in bytes.
        40 => station_addr_len: i32,
        /// Address of the server's station, as the link has it.
        44 => station_addr: SwappedBytes<16>,
    }
}

message! {
    /// The results record of DLPI_CO_RR and DLPI_CL_RR (control-protocol.md 2.7.8).
    pub struct DlpiRrResults ends 40 {
        /// Bytes received; 32 bits, signed, wraps.
        8 => bytes_received: i32,
        /// Receive calls.
        12 => recv_calls: i32,
        /// Transactions.
        16 => trans_received: i32,
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
    /// The request of DLPI_CL_STREAM (control-protocol.md 2.7.8).
    pub struct DlpiClStreamRequest ends 92 {
        /// Receive window wanted on the server, in frames.
        8 => recv_win_size: i32,
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
        /// Physical point of attachment: the number of the unit.
        48 => ppa: i32,
        /// Service access point.
        52 => sap: i32,
        /// Length of the device name, in bytes.
        56 => dev_name_len: i32,
        /// Path of the device to open; `/dev/dlpi` unless the user says otherwise.
        60 => dlpi_device: SwappedStr<32>,
    }
}

message! {
    /// The results record of DLPI_CL_STREAM (control-protocol.md 2.7.8).
    pub struct DlpiClStreamResults ends 28 {
        /// Full-size datagrams received.
        8 => messages_recvd: i32,
        /// Bytes received; 32 bits, signed, wraps.
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
    /// The request of DLPI_CL_RR (control-protocol.md 2.7.8).
    pub struct DlpiClRrRequest ends 108 {
        /// Receive window wanted on the server, in frames.
        8 => recv_win_size: i32,
        /// Send window wanted on the server, in frames.
        12 => send_win_size: i32,
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
        /// Physical point of attachment: the number of the unit.
        64 => ppa: i32,
        /// Service access point.
        68 => sap: i32,
        /// Length of the device name, in bytes.
        72 => dev_name_len: i32,
        /// Path of the device to open; `/dev/dlpi` unless the user says otherwise.
        76 => dlpi_device: SwappedStr<32>,
    }
}

message! {
    /// The response of DLPI_CL_RR (control-protocol.md 2.7.8).
    pub struct DlpiClRrResponse ends 64 {
        /// Receive window in effect, in frames.
        8 => recv_win_size: i32,
        /// Send window in effect, in frames.
        12 => send_win_size: i32,
        /// No-delay in effect (1) or not (0).
        16 => no_delay: i32,
        /// CPU is being measured (1) or not (0).
        20 => measure_cpu: i32,
        /// Seconds, or minus the number of transactions. A stock server may leave residue.
        24 => test_length: i32,
        /// Port the client must use.
        28 => data_port_number: i32,
        /// CPU calibration rate; 0.0 when CPU is not measured.
        32 => cpu_rate: f32,
        /// Copy avoidance on receive.
        36 => so_rcvavoid: i32,
        /// Copy avoidance on send.
        40 => so_sndavoid: i32,
        /// Length of `station_addr` in bytes.
        44 => station_addr_len: i32,
        /// Address of the server's station, as the link has it.
        48 => station_addr: SwappedBytes<16>,
    }
}
