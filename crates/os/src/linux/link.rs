//! The link level: interfaces, and the addresses of packet(7) and LLC sockets
//! (netdevice(7), linux/llc.h).

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use nix::net::if_::{if_indextoname, if_nametoindex};
use socket2::SockAddr;

use super::address;
use super::call::{checked, plain, zeroed};

/// A station's address (IEEE 802 MAC-48).
pub type Station = [u8; 6];

/// The family of LLC sockets, `AF_LLC`.
pub const LLC: i32 = libc::AF_LLC;
/// `ETH_P_802_2`: frames with a length where others have a type.
pub const LLC_FRAMES: u16 = 0x0004;
/// The hardware type of Ethernet, `ARPHRD_ETHER`.
pub const ETHERNET: u16 = libc::ARPHRD_ETHER;
/// The hardware type of the loopback interface, `ARPHRD_LOOPBACK`.
pub const LOOPBACK: u16 = libc::ARPHRD_LOOPBACK;

/// if_nametoindex(3): the index of an interface.
///
/// # Errors
/// `ENODEV` when there is none of that name.
pub fn index(name: &str) -> io::Result<u32> {
    Ok(if_nametoindex(name)?)
}

/// if_indextoname(3): the name of an interface.
///
/// # Errors
/// `ENXIO` when there is none of that index.
pub fn name(index: u32) -> io::Result<String> {
    let name = if_indextoname(index)?.to_string_lossy().into_owned();
    // nix 0.32 takes no null for an error.
    if name.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENXIO));
    }
    Ok(name)
}

/// `SIOCGIFMTU`: the most bytes of a frame's payload.
///
/// # Errors
/// `ENODEV` when there is no such interface.
pub fn mtu(name: &str) -> io::Result<u32> {
    let request = asked(name, libc::SIOCGIFMTU)?;
    // SAFETY: the request filled in the MTU.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(mtu).map_err(io::Error::other)
}

/// `SIOCGIFHWADDR`: the hardware type of an interface, and its station address.
///
/// # Errors
/// `ENODEV` when there is no such interface.
pub fn station(name: &str) -> io::Result<(u16, Station)> {
    let request = asked(name, libc::SIOCGIFHWADDR)?;
    // SAFETY: the request filled in the hardware address.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    let mut station = Station::default();
    for (to, from) in station.iter_mut().zip(address.sa_data) {
        [*to] = from.to_ne_bytes();
    }
    Ok((address.sa_family, station))
}

/// ioctl(2) that asks for something of an interface.
fn asked(name: &str, what: libc::Ioctl) -> io::Result<libc::ifreq> {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).or_else(|_| UdpSocket::bind(("::1", 0)))?;
    let mut request: libc::ifreq = zeroed();
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    // SAFETY: the request is an ifreq with a NUL-terminated name and outlives the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut request) })?;
    Ok(request)
}

/// Local address of a packet socket, or destination of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketAddress {
    /// The type of its frames.
    pub protocol: u16,
    /// The index of the interface.
    pub interface: u32,
    /// The station address.
    pub station: Station,
    /// A service access point. It goes with the address from one place of ours to the
    /// other; the kernel neither reads nor writes it.
    pub sap: u8,
}

/// The address of a packet socket.
#[must_use]
pub fn packet_address(address: &PacketAddress) -> SockAddr {
    let [a, b, c, d, e, f] = address.station;
    address::of(libc::sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).unwrap_or(0),
        sll_protocol: address.protocol.to_be(),
        sll_ifindex: i32::try_from(address.interface).unwrap_or(0),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [a, b, c, d, e, f, address.sap, 0],
    })
}

/// Decodes the address of a packet socket.
#[must_use]
pub fn as_packet(address: &SockAddr) -> Option<PacketAddress> {
    let raw: libc::sockaddr_ll = address::read(address, libc::AF_PACKET)?;
    let [a, b, c, d, e, f, sap, _] = raw.sll_addr;
    Some(PacketAddress {
        protocol: u16::from_be(raw.sll_protocol),
        interface: u32::try_from(raw.sll_ifindex).unwrap_or(0),
        station: [a, b, c, d, e, f],
        sap,
    })
}

/// struct sockaddr_llc (linux/llc.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct RawLlc {
    family: u16,
    hardware: u16,
    test: u8,
    xid: u8,
    ua: u8,
    sap: u8,
    station: Station,
    pad: [u8; 2],
}

plain!(RawLlc);

/// The address of an LLC socket; service access point 0 leaves the choice to the kernel.
#[must_use]
pub fn llc_address(station: Station, sap: u8) -> SockAddr {
    address::of(RawLlc {
        family: u16::try_from(LLC).unwrap_or(0),
        hardware: ETHERNET,
        test: 0,
        xid: 0,
        ua: 0,
        sap,
        station,
        pad: [0; 2],
    })
}

/// Station and service access point of an LLC socket's address.
#[must_use]
pub fn as_llc(address: &SockAddr) -> Option<(Station, u8)> {
    let raw: RawLlc = address::read(address, LLC)?;
    Some((raw.station, raw.sap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_by_name_and_by_index() {
        let index = index("lo").unwrap();
        assert_eq!(name(index).unwrap(), "lo");
        assert!(mtu("lo").unwrap() > 0);
        assert_eq!(station("lo").unwrap(), (LOOPBACK, Station::default()));
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        for name in ["no-such-cable", "an interface with a long name"] {
            assert!(index(name).is_err() && mtu(name).is_err() && station(name).is_err());
        }
        assert!(name(0).is_err());
    }

    #[test]
    fn addresses_are_read_back_as_they_were_made() {
        let station = [2, 0, 0, 0, 0, 10];
        let address = PacketAddress {
            protocol: LLC_FRAMES,
            interface: 7,
            station,
            sap: 84,
        };
        assert_eq!(as_packet(&packet_address(&address)), Some(address));
        assert_eq!(as_llc(&llc_address(station, 84)), Some((station, 84)));
        assert_eq!(as_llc(&packet_address(&address)), None);
        assert_eq!(llc_address(station, 84).len(), 16);
    }
}
