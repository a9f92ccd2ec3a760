//! The parameters of a test, as a client sends them to its server.

use super::Iperf3Client;
use crate::defaults::{BLOCK, VERSION};
use crate::messages::{PACING_TIMER, Parameters, Protocol, StreamDirection};

/// Default length of a test, seconds.
const TIME: f64 = 10.0;

/// Default rate of UDP, bits per second.
const UDP_RATE: u64 = 1 << 20;

/// The parameters of a test, apart from the length of datagrams, which the path determines.
#[must_use]
pub fn parameters(args: &Iperf3Client) -> Parameters {
    let set = &args.parameters;
    let by_amount = args.bytes.is_some() || args.blocks.is_some();
    let (rate, burst) = args
        .rate
        .unwrap_or(if args.udp { (UDP_RATE, 0) } else { (0, 0) });
    Parameters {
        protocol: if args.udp {
            Protocol::Udp
        } else {
            Protocol::Tcp
        },
        server_affinity: args.common.affinity.1,
        time: if by_amount {
            0.0
        } else {
            args.time.unwrap_or(TIME)
        },
        num: args.bytes.unwrap_or(0),
        blockcount: args.blocks.unwrap_or(0),
        parallel: set.parallel.max(1),
        direction: match (args.reverse, args.bidirectional) {
            (true, _) => StreamDirection::Reverse,
            (false, true) => StreamDirection::Both,
            (false, false) => StreamDirection::Forward,
        },
        len: args.length.unwrap_or(if args.udp { 0 } else { BLOCK }),
        bandwidth: rate,
        pacing_timer: args.pacing_timer.unwrap_or(PACING_TIMER),
        burst,
        dont_fragment: set.dont_fragment && args.udp,
        client_version: VERSION.to_owned(),
        ..set.clone()
    }
}
