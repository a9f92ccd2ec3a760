//! The samples: what netperf, iperf3 and flent wrote on a loopback interface.

use std::path::Path;

/// All that can be read.
pub(crate) const SAMPLES: [&str; 8] = [
    "tcp_rr.json",
    "tcp_stream.jsonl",
    "failed.json",
    "iperf3-tcp.json",
    "iperf3-udp.json",
    "iperf3-bidir.json",
    "iperf3-err.json",
    "two_up.flent.gz",
];

/// The bytes of a sample.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
