//! Both ends of an iperf3 test as state machines (docs/spec/iperf3.md). A step takes an input
//! and gives effects, which a driver carries out; there is no socket, clock or thread here.

#![deny(clippy::indexing_slicing, clippy::host_endian_bytes)]

pub mod client;
pub mod server;

use crate::messages::State;

/// One state byte as it goes over the wire.
fn state(state: State) -> Vec<u8> {
    vec![state.byte()]
}

/// Removes the first byte of the input.
fn take_byte(input: &mut Vec<u8>) -> Option<u8> {
    (!input.is_empty()).then(|| input.remove(0))
}
