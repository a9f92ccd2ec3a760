//! The netperf client.
fn main() {}
