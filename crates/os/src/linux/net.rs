//! Network interfaces: their addresses and drivers (getifaddrs(3), netdevice(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{Domain, SockAddr, SockRef, Socket};

use super::call::checked;
use super::sockopt::{self, IntOption};
use super::without;

/// The Linux request that asks for [`DriverInfo`] (linux/ethtool.h).
const ETHTOOL_GDRVINFO: u32 = 3;
/// ioctl(2) of SIOCETHTOOL (linux/sockios.h).
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Declares [`Offload`], so that an offload stands in one place: its short name in ethtool(8),
/// and the request that asks for it (linux/ethtool.h).
macro_rules! offloads {
    ($($(#[$doc:meta])* $offload:ident = $label:literal, $command:literal;)*) => {
        /// Work that a driver takes off the CPU, or does for many packets at once (ethtool(8),
        /// "--features").
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Offload {
            $($(#[$doc])* $offload,)*
        }

        impl Offload {
            /// Every offload.
            pub const ALL: [Self; [$($label,)*].len()] = [$(Self::$offload,)*];

            /// The short name in ethtool(8).
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$offload => $label,)*
                }
            }

            const fn command(self) -> u32 {
                match self {
                    $(Self::$offload => $command,)*
                }
            }
        }
    };
}

offloads! {
    /// Checksums of received data.
    RxChecksum = "rx", 0x14;
    /// Checksums of sent data.
    TxChecksum = "tx", 0x16;
    /// Packets from several places in memory.
    ScatterGather = "sg", 0x18;
    /// TCP segmentation.
    Tso = "tso", 0x1e;
    /// Segmentation right in front of the driver.
    Gso = "gso", 0x23;
    /// Joining of received packets.
    Gro = "gro", 0x2b;
}

/// One address of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The interface's name.
    pub name: String,
    /// The address.
    pub address: IpAddr,
}

/// Driver information of a device; missing texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverInfo {
    /// Its name.
    pub driver: String,
    /// Its version.
    pub version: String,
    /// The firmware's version.
    pub firmware: String,
    /// Bus address of the device.
    pub bus: String,
}

/// getifaddrs(3): every IP address of every interface.
///
/// # Errors
/// Whatever the call reports.
pub fn interface_addresses() -> io::Result<Vec<InterfaceAddress>> {
    let with_ip = |entry: nix::ifaddrs::InterfaceAddress| {
        let address = entry.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
        let v6 = || address.as_sockaddr_in6().map(|v6| IpAddr::from(v6.ip()));
        Some(InterfaceAddress {
            name: entry.interface_name,
            address: v4.or_else(v6)?,
        })
    };
    Ok(nix::ifaddrs::getifaddrs()?.filter_map(with_ip).collect())
}

/// The address that data to `remote` leaves from. Nothing is sent.
///
/// # Errors
/// `ENETUNREACH` when no route leads there.
pub fn source_address(remote: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match remote {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    routed(any, remote)?
        .local_addr()
        .map(|address| address.ip())
}

/// The MTU of the path from `local`, which may be the wildcard, to `remote`, bytes: of the route,
/// or what the kernel has learnt of the path. Nothing is sent.
///
/// # Errors
/// As [`source_address`], or that `local` is no address of this host.
pub fn path_mtu(local: IpAddr, remote: SocketAddr) -> io::Result<u32> {
    path_mtu_of(routed(local, remote)?.as_fd())
}

/// The MTU of the path of a connected socket, bytes.
///
/// # Errors
/// `ENOTCONN` of a socket that has no peer.
pub fn path_mtu_of(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let option = match without::domain(&SockRef::from(&socket)) {
        Ok(Domain::IPV6) => IntOption::PathMtuV6,
        Ok(_) | Err(_) => IntOption::PathMtuV4,
    };
    let mtu = sockopt::fetch(socket, option)?;
    u32::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A datagram socket with a route to `remote`.
fn routed(local: IpAddr, remote: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((local, 0))?;
    // A connected datagram socket has a route, and with it an address, before it sends.
    let port = if remote.port() == 0 { 9 } else { remote.port() };
    let mut remote = remote;
    remote.set_port(port);
    socket.connect(remote)?;
    Ok(socket)
}

/// Addresses of a connected socket: its own and the peer's.
#[must_use]
pub fn addresses(socket: &Socket) -> (Option<SocketAddr>, Option<SocketAddr>) {
    let plain = |address: io::Result<SockAddr>| {
        let address = address.ok()?.as_socket()?;
        // A connection to an IPv6 listener by IPv4.
        Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
    };
    (plain(socket.local_addr()), plain(socket.peer_addr()))
}

/// struct ethtool_drvinfo (linux/ethtool.h).
#[repr(C)]
struct RawDriverInfo {
    cmd: u32,
    driver: [u8; 32],
    version: [u8; 32],
    fw_version: [u8; 32],
    bus_info: [u8; 32],
    /// Unused fields: erom_version, reserved2 and five counts.
    rest: [u8; 32 + 12 + 20],
}

/// The part of struct ifreq that is used: its union is never larger than this.
#[repr(C)]
pub(super) struct RawRequest {
    pub(super) name: [u8; libc::IFNAMSIZ],
    pub(super) data: *mut libc::c_void,
    pub(super) rest: [u8; 24 - size_of::<usize>()],
}

/// `ETHTOOL_GDRVINFO`: what the driver of an interface says of itself.
///
/// # Errors
/// `ENODEV` when there is no such interface, `EOPNOTSUPP` when its driver says nothing.
pub fn driver_info(interface: &str) -> io::Result<DriverInfo> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut info = RawDriverInfo {
        cmd: ETHTOOL_GDRVINFO,
        driver: [0; 32],
        version: [0; 32],
        fw_version: [0; 32],
        bus_info: [0; 32],
        rest: [0; 64],
    };
    // SAFETY: the struct is the one that the command in it says.
    unsafe { ethtool(&socket, interface, (&raw mut info).cast()) }?;
    Ok(DriverInfo {
        driver: text(&info.driver),
        version: text(&info.version),
        firmware: text(&info.fw_version),
        bus: text(&info.bus_info),
    })
}

/// `ETHTOOL_GTSO` and its like: whether an interface has some work done elsewhere.
///
/// # Errors
/// `ENODEV` when there is no such interface, `EOPNOTSUPP` when its driver cannot tell.
pub fn offload(interface: &str, which: Offload) -> io::Result<bool> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // struct ethtool_value: the command, and where its answer goes.
    let mut value = [which.command(), 0_u32];
    // SAFETY: the struct is the one that the command in it says.
    unsafe { ethtool(&socket, interface, value.as_mut_ptr().cast()) }?;
    Ok(value[1] != 0)
}

/// `SIOCETHTOOL` (netdevice(7)).
///
/// # Safety
/// `data` must point to the struct that the command at its beginning says.
pub(super) unsafe fn ethtool(
    socket: &UdpSocket,
    interface: &str,
    data: *mut libc::c_void,
) -> io::Result<()> {
    let mut request = RawRequest {
        name: interface_name(interface)?,
        data,
        rest: [0; 24 - size_of::<usize>()],
    };
    // SAFETY: the request is laid out as an ifreq whose data points to what the caller
    // promises; both outlive the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) })
}

/// Interface name of an ifreq: at most 15 bytes and the NUL.
pub(super) fn interface_name(name: &str) -> io::Result<[u8; libc::IFNAMSIZ]> {
    let mut array = [0; libc::IFNAMSIZ];
    if name.len() >= array.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (slot, byte) in array.iter_mut().zip(name.bytes()) {
        *slot = byte;
    }
    Ok(array)
}

fn text(bytes: &[u8]) -> String {
    let used = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(used).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_address_belongs_to_an_interface_without_a_driver() {
        let all = interface_addresses().unwrap();
        let loopback = all
            .iter()
            .find(|entry| entry.address == IpAddr::from(Ipv4Addr::LOCALHOST))
            .unwrap();
        let error = driver_info(&loopback.name).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
    }

    #[test]
    fn the_loopback_interface_tells_its_offloads() {
        let all = interface_addresses().unwrap();
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        let loopback = all.iter().find(|entry| entry.address == here).unwrap();
        for which in Offload::ALL {
            let _told: bool = offload(&loopback.name, which).unwrap();
        }
        let error = offload("no-such", Offload::Tso).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn data_to_the_loopback_address_leaves_from_it() {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        assert_eq!(source_address(here).unwrap(), here.ip());
    }

    #[test]
    fn a_name_that_no_interface_can_have_is_refused() {
        let error = driver_info("an interface with a long name").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn the_request_has_the_size_of_an_ifreq() {
        assert!(size_of::<RawRequest>() >= size_of::<libc::ifreq>());
        assert_eq!(size_of::<RawDriverInfo>(), 196);
    }
}
