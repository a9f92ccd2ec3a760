//! The rows of the classic layouts, as printf templates.
//!
//! The names are those of the layout document and of the tests that read
//! figures back out of captured output.

/// One row of a classic layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassicRow {
    /// Its short name.
    pub id: &'static str,
    /// Its printf template, without the newline.
    pub template: &'static str,
}

const fn row(id: &'static str, template: &'static str) -> ClassicRow {
    ClassicRow { id, template }
}

/// One-way TCP.
pub const S1: ClassicRow = row("S1", "%6d %6d %6d    %-6.2f   %7.2f   %s");
/// One-way TCP with CPU.
pub const S1C: ClassicRow = row(
    "S1c",
    "%6d %6d %6d    %-6.2f     %7.2f   %-6.2f   %-6.2f   %-6.3f  %-6.3f %s",
);
/// Buffers and calls of one-way TCP.
pub const S2: ClassicRow = row("S2", "%5d   %5d  %5d   %5d %6d  %6.2f    %6d   %6.2f %6d");
/// The same for TCP_SENDFILE, bytes in short form.
pub const S2G: ClassicRow = row(
    "S2g",
    "%5d   %5d  %5d   %5d %6.4g  %6.2f    %6d   %6.2f %6d",
);
/// Segment size below S2.
pub const MSS: ClassicRow = row("MSS", "%6d");
/// Segment size of TCP_MSS.
pub const MSSB: ClassicRow = row("MSSb", "%d %s");
/// First row of request/response, netperf's sockets.
pub const R1: ClassicRow = row("R1", "%-6d %-6d %-6d   %-6d  %-6.2f   %7.2f   %s");
/// Second row of request/response, netserver's sockets.
pub const R2: ClassicRow = row("R2", "%-6d %-6d");
/// First row of TCP_RR with CPU.
pub const R1C: ClassicRow = row(
    "R1c",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f  %-6.2f %-6.2f %-6.3f  %-6.3f %s",
);
/// First row of UDP_RR with CPU: a third blank behind the rate.
pub const R1CU: ClassicRow = row(
    "R1cu",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f   %-6.2f %-6.2f %-6.3f  %-6.3f %s",
);
/// First row of connection tests with CPU: no brand, no closing blank.
pub const C1C: ClassicRow = row(
    "C1c",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f   %-6.2f %-6.2f %-6.3f  %-6.3f",
);
/// Alignment, latency and directional rates of TCP_RR.
pub const R3: ClassicRow = row(
    "R3",
    "%5d  %5d   %5d  %5d   %-6.3f   %-6.3f %-6.3f    %-6.3f",
);
/// Alignment and offset of connection tests.
pub const C3: ClassicRow = row("C3", "%5d  %5d   %5d  %5d");
/// UDP_STREAM, netperf's side.
pub const U1: ClassicRow = row("U1", "%6d  %6d   %-7.2f   %7d %6d    %7.2f");
/// UDP_STREAM, netserver's side.
pub const U2: ClassicRow = row("U2", "%6d           %-7.2f   %7d           %7.2f");
/// UDP_STREAM with CPU, netperf's side.
pub const U1C: ClassicRow = row(
    "U1c",
    "%6d  %6d   %-7.2f   %7d %6d    %7.1f     %-6.2f   %-6.3f",
);
/// UDP_STREAM with CPU, netserver's side.
pub const U2C: ClassicRow = row(
    "U2c",
    "%6d           %-7.2f   %7d           %7.1f     %-6.2f   %-6.3f",
);
/// The figure alone.
pub const V0: ClassicRow = row("V0", "%7.2f");
/// The figure alone, brand behind it.
pub const V0B: ClassicRow = row("V0b", "%7.2f %s");
/// Service demand alone.
pub const V0C: ClassicRow = row("V0c", "%6.3f");
/// Service demand alone, with method and brand.
pub const V0CB: ClassicRow = row("V0cb", "%6.3f %c %s");
/// Service demand of UDP_STREAM alone.
pub const V0U: ClassicRow = row("V0u", "%6.2f %c");
/// Width reached for the result.
pub const W1: ClassicRow = row("W1", "!!! Confidence intervals: Throughput      : %4.3f%%");
/// Width reached for local CPU.
pub const W2: ClassicRow = row("W2", "!!!                       Local CPU util  : %4.3f%%");
/// Width reached for remote CPU.
pub const W3: ClassicRow = row("W3", "!!!                       Remote CPU util : %4.3f%%");

/// One-way SCTP with CPU: no brand, no closing blank.
pub const S1CN: ClassicRow = row(
    "S1cn",
    "%6d %6d %6d    %-6.2f     %7.2f   %-6.2f   %-6.2f   %-6.3f  %-6.3f",
);
/// First row of SCTP request/response with CPU: no brand, no closing blank.
pub const R1CN: ClassicRow = row(
    "R1cn",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f  %-6.2f %-6.2f %-6.3f  %-6.3f",
);
/// Service demand alone, with method.
pub const V0CL: ClassicRow = row("V0cl", "%6.3f %c");
/// One-way Unix-domain streams.
pub const X1: ClassicRow = row("X1", "%5d  %5d  %6d    %-6.2f   %7.2f   ");
/// One-way Unix-domain streams with CPU.
pub const X1C: ClassicRow = row(
    "X1c",
    "%5d  %5d  %6d    %-6.2f     %7.2f   %-6.2f %-6.2f  %-6.3f  %-6.3f",
);
/// Buffers and calls of one-way Unix-domain streams.
pub const X2: ClassicRow = row(
    "X2",
    "%5d   %5d  %5d   %5d %6.4g  %6.2f     %6d %6.2f   %6d",
);
/// DG_STREAM, netperf's side.
pub const D1: ClassicRow = row("D1", "%5d   %5d    %-7.2f   %7d %6d    %7.2f");
/// DG_STREAM, netserver's side.
pub const D2: ClassicRow = row("D2", "%5d            %-7.2f   %7d           %7.2f");
/// DG_STREAM with CPU, netperf's side.
pub const D1C: ClassicRow = row(
    "D1c",
    "%5d   %5d    %-7.2f   %7d %6d    %7.1f      %-6.2f  %-6.3f",
);
/// DG_STREAM with CPU, netserver's side.
pub const D2C: ClassicRow = row(
    "D2c",
    "%5d            %-7.2f   %7d           %7.1f      %-6.2f  %-6.3f",
);
/// Mean time of a transaction of DG_RR.
pub const UA: ClassicRow = row("UA", "Average response time %d usecs");
/// Service demand of DG_STREAM alone.
pub const V0X: ClassicRow = row("V0x", "%6.2f");

/// One decade of a histogram, behind its label.
pub const H: ClassicRow = row("H", ": %4d: %4d: %4d: %4d: %4d: %4d: %4d: %4d: %4d: %4d");
/// Times beyond the last decade.
pub const H9: ClassicRow = row("H9", ">100_SECS: %d");
/// All times of a histogram.
pub const HT: ClassicRow = row("HT", "HIST_TOTAL:      %d");

/// Every row.
pub static ROWS: &[ClassicRow] = &[
    S1, S1C, S2, S2G, MSS, MSSB, R1, R2, R1C, R1CU, C1C, R3, C3, U1, U2, U1C, U2C, V0, V0B, V0C,
    V0CB, V0U, W1, W2, W3, H, H9, HT, S1CN, R1CN, V0CL, X1, X1C, X2, D1, D2, D1C, D2C, UA, V0X,
];
