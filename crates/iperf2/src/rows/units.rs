//! Units of rows, and whether the clocks of both ends are one.

use std::net::{IpAddr, SocketAddr};

use crate::options::Iperf2Unit;
use crate::rows::Iperf2Figures;

/// True if both ends are this host, which has one clock.
pub fn is_one_host(own: SocketAddr, peer: SocketAddr) -> bool {
    let [own, peer]: [IpAddr; 2] = [own, peer].map(|end| end.ip().to_canonical());
    own == peer || peer.is_loopback()
}

/// Units of rows by `-f`.
pub const fn figures_of(unit: Iperf2Unit) -> Iperf2Figures {
    let (bytes, power) = match unit {
        Iperf2Unit::Bits => (false, None),
        Iperf2Unit::Bytes => (true, None),
        Iperf2Unit::BitsOf(power) => (false, Some(power)),
        Iperf2Unit::BytesOf(power) => (true, Some(power)),
    };
    Iperf2Figures { bytes, power }
}
