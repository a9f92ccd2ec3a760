//! The rows of the classic layouts, as printf templates.
//!
//! The names are those of the layout document and of the tests that read
//! figures back out of captured output.

/// One row of a classic layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its short name.
    pub id: &'static str,
    /// Its printf template, without the newline.
    pub template: &'static str,
}

const fn row(id: &'static str, template: &'static str) -> Row {
    Row { id, template }
}

/// One-way TCP.
pub const S1: Row = row("S1", "%6d %6d %6d    %-6.2f   %7.2f   %s");
/// One-way TCP with CPU.
pub const S1C: Row = row(
    "S1c",
    "%6d %6d %6d    %-6.2f     %7.2f   %-6.2f   %-6.2f   %-6.3f  %-6.3f %s",
);
/// Buffers and calls of one-way TCP.
pub const S2: Row = row("S2", "%5d   %5d  %5d   %5d %6d  %6.2f    %6d   %6.2f %6d");
/// The same for TCP_SENDFILE, bytes in short form.
pub const S2G: Row = row(
    "S2g",
    "%5d   %5d  %5d   %5d %6.4g  %6.2f    %6d   %6.2f %6d",
);
/// Segment size below S2.
pub const MSS: Row = row("MSS", "%6d");
/// Segment size of TCP_MSS.
pub const MSSB: Row = row("MSSb", "%d %s");
/// First row of request/response, netperf's sockets.
pub const R1: Row = row("R1", "%-6d %-6d %-6d   %-6d  %-6.2f   %7.2f   %s");
/// Second row of request/response, netserver's sockets.
pub const R2: Row = row("R2", "%-6d %-6d");
/// First row of TCP_RR with CPU.
pub const R1C: Row = row(
    "R1c",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f  %-6.2f %-6.2f %-6.3f  %-6.3f %s",
);
/// First row of UDP_RR with CPU: a third blank behind the rate.
pub const R1CU: Row = row(
    "R1cu",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f   %-6.2f %-6.2f %-6.3f  %-6.3f %s",
);
/// First row of connection tests with CPU: no brand, no closing blank.
pub const C1C: Row = row(
    "C1c",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f   %-6.2f %-6.2f %-6.3f  %-6.3f",
);
/// Alignment, latency and directional rates of TCP_RR.
pub const R3: Row = row(
    "R3",
    "%5d  %5d   %5d  %5d   %-6.3f   %-6.3f %-6.3f    %-6.3f",
);
/// Alignment and offset of connection tests.
pub const C3: Row = row("C3", "%5d  %5d   %5d  %5d");
/// UDP_STREAM, netperf's side.
pub const U1: Row = row("U1", "%6d  %6d   %-7.2f   %7d %6d    %7.2f");
/// UDP_STREAM, netserver's side.
pub const U2: Row = row("U2", "%6d           %-7.2f   %7d           %7.2f");
/// UDP_STREAM with CPU, netperf's side.
pub const U1C: Row = row(
    "U1c",
    "%6d  %6d   %-7.2f   %7d %6d    %7.1f     %-6.2f   %-6.3f",
);
/// UDP_STREAM with CPU, netserver's side.
pub const U2C: Row = row(
    "U2c",
    "%6d           %-7.2f   %7d           %7.1f     %-6.2f   %-6.3f",
);
/// The figure alone.
pub const V0: Row = row("V0", "%7.2f");
/// The figure alone, brand behind it.
pub const V0B: Row = row("V0b", "%7.2f %s");
/// Service demand alone.
pub const V0C: Row = row("V0c", "%6.3f");
/// Service demand alone, with method and brand.
pub const V0CB: Row = row("V0cb", "%6.3f %c %s");
/// Service demand of UDP_STREAM alone.
pub const V0U: Row = row("V0u", "%6.2f %c");
/// Width reached for the result.
pub const W1: Row = row("W1", "!!! Confidence intervals: Throughput      : %4.3f%%");
/// Width reached for local CPU.
pub const W2: Row = row("W2", "!!!                       Local CPU util  : %4.3f%%");
/// Width reached for remote CPU.
pub const W3: Row = row("W3", "!!!                       Remote CPU util : %4.3f%%");

/// One-way SCTP with CPU: no brand, no closing blank.
pub const S1CN: Row = row(
    "S1cn",
    "%6d %6d %6d    %-6.2f     %7.2f   %-6.2f   %-6.2f   %-6.3f  %-6.3f",
);
/// First row of SCTP request/response with CPU: no brand, no closing blank.
pub const R1CN: Row = row(
    "R1cn",
    "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f  %-6.2f %-6.2f %-6.3f  %-6.3f",
);
/// Service demand alone, with method.
pub const V0CL: Row = row("V0cl", "%6.3f %c");
/// One-way Unix-domain streams.
pub const X1: Row = row("X1", "%5d  %5d  %6d    %-6.2f   %7.2f   ");
/// One-way Unix-domain streams with CPU.
pub const X1C: Row = row(
    "X1c",
    "%5d  %5d  %6d    %-6.2f     %7.2f   %-6.2f %-6.2f  %-6.3f  %-6.3f",
);
/// Buffers and calls of one-way Unix-domain streams.
pub const X2: Row = row(
    "X2",
    "%5d   %5d  %5d   %5d %6.4g  %6.2f     %6d %6.2f   %6d",
);
/// DG_STREAM, netperf's side.
pub const D1: Row = row("D1", "%5d   %5d    %-7.2f   %7d %6d    %7.2f");
/// DG_STREAM, netserver's side.
pub const D2: Row = row("D2", "%5d            %-7.2f   %7d           %7.2f");
/// DG_STREAM with CPU, netperf's side.
pub const D1C: Row = row(
    "D1c",
    "%5d   %5d    %-7.2f   %7d %6d    %7.1f      %-6.2f  %-6.3f",
);
/// DG_STREAM with CPU, netserver's side.
pub const D2C: Row = row(
    "D2c",
    "%5d            %-7.2f   %7d           %7.1f      %-6.2f  %-6.3f",
);
/// Mean time of a transaction of DG_RR.
pub const UA: Row = row("UA", "Average response time %d usecs");
/// Service demand of DG_STREAM alone.
pub const V0X: Row = row("V0x", "%6.2f");

/// One decade of a histogram, behind its label.
pub const H: Row = row("H", ": %4d: %4d: %4d: %4d: %4d: %4d: %4d: %4d: %4d: %4d");
/// Times beyond the last decade.
pub const H9: Row = row("H9", ">100_SECS: %d");
/// All times of a histogram.
pub const HT: Row = row("HT", "HIST_TOTAL:      %d");

/// Every row.
pub static ROWS: &[Row] = &[
    S1, S1C, S2, S2G, MSS, MSSB, R1, R2, R1C, R1CU, C1C, R3, C3, U1, U2, U1C, U2C, V0, V0B, V0C,
    V0CB, V0U, W1, W2, W3, H, H9, HT, S1CN, R1CN, V0CL, X1, X1C, X2, D1, D2, D1C, D2C, UA, V0X,
];
