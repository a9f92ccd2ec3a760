//! The netperf server.
fn main() {}
