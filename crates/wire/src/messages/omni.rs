//! OMNI, the request that nearly every test of a 2.7 client travels in.

use super::message;
use crate::text::FixedStr;
use crate::values::{Direction, OmniFlags, WireFamily, WireProtocol, WireSocketType};

message! {
    /// The request of OMNI (control-protocol.md 2.5).
    ///
    /// The strings are raw bytes: they lie after the cut-off of the word conversion
    /// (control-protocol.md 1.2).
    pub struct OmniRequest ends 208 {
        /// Socket send buffer (SO_SNDBUF) the server must request on its data socket. -1 =
        /// leave the system default. Client option: test option `-S`, first value.
        8 => send_buf_size: i32,
        /// Bytes per send call when the server transmits. -1 = server derives it (section
        /// 3.3). Test `-m`, second value.
        12 => send_size: i32,
        /// Alignment of the server send buffers. Default 8. Global `-A`, first value.
        16 => send_alignment: i32,
        /// Offset added after alignment. Default 0. Global `-O`, first value.
        20 => send_offset: i32,
        /// Number of server send buffers; 0 = server derives it. The stock client sends its
        /// OWN local send width here.
        24 => send_width: u32,
        /// Bytes in a request. -1 on tests that are not request/response; > 0 makes the
        /// receive side a request/response receiver.
        28 => request_size: i32,
        /// SO_RCVBUF for the server data socket, -1 = default. Test `-S`, second value.
        32 => recv_buf_size: i32,
        /// Bytes per receive call when the server receives. -1 = derive. Test `-M`, first
        /// value. 0 is accepted but useless.
        36 => receive_size: i32,
        /// Alignment of the server receive buffers. Default 8. Global `-A`, second value.
        40 => recv_alignment: i32,
        /// Offset after alignment. Global `-O`, second value.
        44 => recv_offset: i32,
        /// Number of server receive buffers; 0 = derive. The stock client sends its OWN
        /// local receive width.
        48 => recv_width: u32,
        /// Bytes in a response, -1 when not request/response.
        52 => response_size: i32,
        /// Switches.
        56 => flags: OmniFlags,
        /// CPU calibration rate the user supplied with `-C rate`; 0.0 = server should
        /// calibrate.
        60 => cpu_rate: f32,
        /// Positive: seconds. 0: run until stopped by a signal. Negative: minus the number
        /// of transactions (request/response and connect tests) or of bytes (one-way tests).
        64 => test_length: i32,
        /// Copy avoidance on receive wanted (test option `-V`). On Linux the value 1 makes
        /// the server splice received TCP data to the null device.
        68 => so_rcvavoid: i32,
        /// Copy avoidance on send wanted. No effect on Linux.
        72 => so_sndavoid: i32,
        /// Global `-K`, first value; -1 when the client was built without dirty-buffer
        /// support. Carried but not acted on by omni.
        76 => send_dirty_count: i32,
        /// Same value as send_dirty_count.
        80 => recv_dirty_count: i32,
        /// Global `-K`, second value; carried, not acted on.
        84 => recv_clean_count: i32,
        /// Port the server should bind its data socket to; 0 = any. From the second
        /// iteration on a stock client sends the port the server had chosen in the previous
        /// one.
        88 => data_port: u32,
        /// Address family; netperf's code, not the operating system's.
        92 => ipfamily: WireFamily,
        /// Socket type; netperf's code, not the operating system's.
        96 => socket_type: WireSocketType,
        /// Transport protocol; IANA number, 0 is the default.
        100 => protocol: WireProtocol,
        /// Direction, as seen from the server.
        104 => direction: Direction,
        /// Local port of the client data socket at request time (used by the server as UDP
        /// peer).
        108 => netperf_port: u32,
        /// Operations per pacing interval on the server, 0 = no pacing. Global `-b`, second
        /// value.
        112 => interval_burst: u32,
        /// Pacing interval in microseconds. Global `-w`, second value.
        116 => interval_usecs: u32,
        /// Local address of the client data socket, see [`crate::words_to_ip`]. All zero
        /// unless the user bound it.
        120 => netperf_ip: [u32; 4],
        /// Address the server should bind to, see [`crate::words_to_ip`]. All zero =
        /// wildcard.
        136 => netserver_ip: [u32; 4],
        /// `SO_PRIORITY` for the server socket, -1 = do not set. Global `-y`, second value.
        152 => socket_prio: i32,
        /// IP_TOS / IPV6_TCLASS for the server socket, -1 = do not set. Global `-Y`, second
        /// value.
        156 => socket_tos: i32,
        /// Name of the TCP congestion control the server should select, NUL padded, empty =
        /// default. Raw bytes. Test `-K`, second value.
        160 => cong_control: FixedStr<16>,
        /// Path of a file on the server used to fill its buffers, NUL padded, empty =
        /// default pattern. Raw bytes. Global `-F`, second value.
        176 => fill_file: FixedStr<32>,
    }
}

message! {
    /// The response of OMNI (control-protocol.md 2.5).
    ///
    /// Strings are raw bytes, and never filled in.
    pub struct OmniResponse ends 209 {
        /// Receive buffer size in effect, as read back from the socket (Linux reports twice
        /// what was requested). -1 = could not be read.
        8 => recv_buf_size: i32,
        /// Bytes per receive call the server will use; for a direction that is not active
        /// the request value is echoed.
        12 => receive_size: i32,
        /// Receive ring width in use (or echoed request value).
        16 => recv_width: i32,
        /// Send buffer size in effect, as recv_buf_size.
        20 => send_buf_size: i32,
        /// Bytes per send call in use, or echoed.
        24 => send_size: i32,
        /// Send ring width in use, or echoed.
        28 => send_width: i32,
        /// Only [`OmniFlags::defined_in_response`] has a meaning; other bits are residue.
        32 => flags: OmniFlags,
        /// Calibration rate (100.0 on Linux, or the echoed user value); 0.0 when CPU is not
        /// measured.
        36 => cpu_rate: f32,
        /// Never set: residue.
        40 => test_length: u32,
        /// Copy avoidance state, echoed.
        44 => so_rcvavoid: u32,
        /// Copy avoidance state, echoed.
        48 => so_sndavoid: u32,
        /// Port of the data socket: the client connects or sends to it.
        52 => data_port: u32,
        /// Pacing accepted: echoed when the server can pace, 0 when it cannot.
        56 => interval_burst: u32,
        /// As interval_burst.
        60 => interval_usecs: u32,
        /// Never set.
        64 => cpu_frequency: u32,
        /// Never set.
        68 => security_info: u32,
        /// Priority in effect; -1 not asked, -2 failed, -3 unsupported.
        72 => socket_prio: i32,
        /// TOS in effect; -1 not asked, -2 failed.
        76 => socket_tos: i32,
        /// Never set.
        80 => system_model: FixedStr<33>,
        /// Never set.
        113 => cpu_model: FixedStr<80>,
        /// Never set.
        193 => security_string: FixedStr<16>,
    }
}

message! {
    /// The results record of OMNI (control-protocol.md 2.5).
    ///
    /// CPU figures that were not measured hold residue of an earlier record, often huge
    /// or NaN (control-protocol.md 1.6). Strings are raw bytes.
    pub struct OmniResults ends 292 {
        /// Bytes received by the server; two words, high word first.
        8 => bytes_received: u64,
        /// Receive calls that returned data (32-bit, wraps).
        16 => recv_calls: u32,
        /// SO_RCVBUF at the end.
        20 => recv_buf_size: i32,
        /// Bytes sent by the server; two words, high word first.
        24 => bytes_sent: u64,
        /// Successful send calls (32-bit).
        32 => send_calls: u32,
        /// SO_SNDBUF at the end.
        36 => send_buf_size: i32,
        /// Never set: residue.
        40 => failed_sends: u32,
        /// Transactions or connections handled; 0 on one-way tests. Not read by the client.
        44 => trans_received: u32,
        /// Server elapsed seconds, pad removed if its timer ended the test. Not read by the
        /// omni client.
        48 => elapsed_time: f32,
        /// Overall CPU utilisation %, only valid when measured.
        52 => cpu_util: f32,
        /// User %. Only when measured.
        56 => cpu_percent_user: f32,
        /// System %.
        60 => cpu_percent_system: f32,
        /// I/O wait %.
        64 => cpu_percent_iowait: f32,
        /// Hard interrupt %.
        68 => cpu_percent_irq: f32,
        /// Soft interrupt %.
        72 => cpu_percent_swintr: f32,
        /// Never set.
        76 => serv_dem: f32,
        /// Numeric CPU method code (8 = /proc/stat, 0 = not measured).
        80 => cpu_method: u32,
        /// Number of CPUs on the server; 0 when CPU was never measured in this session.
        /// Used for service demand.
        84 => num_cpus: u32,
        /// Busiest CPU. Only when measured.
        88 => peak_cpu_id: i32,
        /// Its utilisation %. Only when measured.
        92 => peak_cpu_util: f32,
        /// Never set.
        96 => vendor: i32,
        /// Never set.
        100 => device: i32,
        /// Never set.
        104 => subvendor: i32,
        /// Never set.
        108 => subdevice: i32,
        /// Total TCP retransmissions on the data connection; -1 when not TCP or no
        /// connection is open at the end (connection tests).
        112 => transport_retrans: i32,
        /// Never set.
        116 => ifname: FixedStr<16>,
        /// Never set.
        132 => driver: FixedStr<32>,
        /// Never set.
        164 => version: FixedStr<32>,
        /// Never set.
        196 => firmware: FixedStr<32>,
        /// Never set.
        228 => bus: FixedStr<32>,
        /// Never set.
        260 => ifslot: FixedStr<16>,
        /// Congestion control in effect on the data connection. Set when request flag 0x20
        /// was on and a connection was open at the end; cleared to empty when that flag was
        /// off; otherwise residue. Raw bytes. Used when asked for.
        276 => cong_control: FixedStr<16>,
    }
}
