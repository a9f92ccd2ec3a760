//! Interface and service access point of link-level sockets.

use std::io;

use netperf_model::{Address, PlacePlan, SocketKind, TransportId};
use netperf_os::link::{self, Station};
use netperf_os::{SockAddr, Socket, rights};

use crate::frames::{self, Llc1, Packet};
use crate::llc2;
use crate::place::PlaceRequest;

/// Default device; the device number is then an interface index.
const DEFAULT_DEVICE: &str = "dlpi";
/// Default service access point, as in the original netperf.
const DEFAULT_SAP: u8 = 84;
/// Lets the kernel choose the service access point.
const ANY_SAP: u8 = 0;

/// Binds a socket to the requested interface and service access point.
pub(crate) fn bind(socket: &Socket, wanted: &PlaceRequest<'_>) -> io::Result<Address> {
    let interface = LinkInterface::of(wanted.place)?;
    let asked = wanted.place.sap.unwrap_or(DEFAULT_SAP);
    if wanted.transport.row().kind == SocketKind::Stream {
        return interface.bind_llc(socket, wanted, asked);
    }
    let sap = if wanted.asking { next(asked) } else { asked };
    let (index, station) = (interface.index, interface.station);
    if wanted.transport == TransportId::Packet {
        frames::bind::<Packet>(socket, index, station, sap)?;
    } else {
        frames::bind::<Llc1>(socket, index, station, sap)?;
    }
    Ok(Address::Link { station, sap })
}

/// Socket address of a station's service access point for a transport.
pub(crate) fn sock_addr(transport: TransportId, station: Station, sap: u8) -> SockAddr {
    if transport == TransportId::Llc2 {
        link::llc_address(station, sap)
    } else {
        link::packet_address(&link::PacketAddress {
            station,
            sap,
            ..link::PacketAddress::default()
        })
    }
}

/// Service access point of the requesting end, so that both ends can share one interface: the
/// next one that no standard assigns. Odd values are group addresses.
fn next(sap: u8) -> u8 {
    /// Null, spanning tree, SNAP, OSI.
    const TAKEN: [u8; 4] = [0x00, 0x42, 0xaa, 0xfe];
    let mut next = sap & !1;
    loop {
        next = next.wrapping_add(2);
        if !TAKEN.contains(&next) {
            return next;
        }
    }
}

/// A network interface.
#[derive(Debug)]
struct LinkInterface {
    name: String,
    index: u32,
    hardware: u16,
    station: Station,
}

impl LinkInterface {
    /// Finds the interface for a device and unit: the interface with that name; or with device
    /// and unit joined, such as `eth` and 0; or, for the default device, the interface whose
    /// index is the unit.
    fn of(place: &PlacePlan) -> io::Result<Self> {
        let device = place.device.as_deref().unwrap_or(DEFAULT_DEVICE);
        let device = device.strip_prefix("/dev/").unwrap_or(device);
        let unit = place.unit.unwrap_or(0);
        let numbered = format!("{device}{unit}");
        let found = [device, &numbered]
            .into_iter()
            .find_map(|name| Some((name.to_owned(), link::index(name).ok()?)));
        let by_index = || {
            let index = u32::try_from(unit)
                .ok()
                .filter(|_| device == DEFAULT_DEVICE)?;
            Some((link::name(index).ok()?, index))
        };
        let (name, index) = found
            .or_else(by_index)
            .ok_or_else(|| missing(device, &numbered, unit))?;
        let (hardware, station) = link::station(&name)?;
        Ok(Self {
            name,
            index,
            hardware,
            station,
        })
    }

    /// Binds an LLC socket. The requesting end lets the kernel choose the service access point,
    /// because each connection of a station needs a different one.
    fn bind_llc(&self, socket: &Socket, wanted: &PlaceRequest<'_>, sap: u8) -> io::Result<Address> {
        if self.hardware != link::ETHERNET {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("LLC type 2 needs Ethernet, which '{}' is not", self.name),
            ));
        }
        rights::bind_device(socket, self.name.as_bytes())?;
        llc2::set_windows(socket, wanted.place.window, wanted.place.recv_window)?;
        let sap = if wanted.asking { ANY_SAP } else { sap };
        socket.bind(&link::llc_address(self.station, sap))?;
        let (station, sap) = link::as_llc(&socket.local_addr()?)
            .ok_or_else(|| io::Error::other("the socket's address is of another family"))?;
        Ok(Address::Link { station, sap })
    }
}

fn missing(device: &str, numbered: &str, unit: i32) -> io::Error {
    let text = if device == DEFAULT_DEVICE {
        format!("no interface of index {unit}: name one (-D after --, or --device)")
    } else {
        format!("no interface '{device}' or '{numbered}'")
    };
    io::Error::new(io::ErrorKind::NotFound, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(device: Option<&str>, unit: Option<i32>) -> PlacePlan {
        PlacePlan {
            device: device.map(str::to_owned),
            unit,
            ..PlacePlan::default()
        }
    }

    #[test]
    fn an_interface_is_meant_by_its_name_its_parts_or_its_number() {
        let index = i32::try_from(link::index("lo").unwrap()).unwrap();
        for place in [
            place(Some("lo"), None),
            place(Some("/dev/lo"), Some(7)),
            place(Some("/dev/dlpi"), Some(index)),
            place(None, Some(index)),
        ] {
            assert_eq!(LinkInterface::of(&place).unwrap().name, "lo", "{place:?}");
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        for (place, words) in [
            (place(Some("/dev/cable"), Some(9)), "'cable' or 'cable9'"),
            (place(Some("/dev/dlpi"), None), "index 0"),
            (place(Some("lo9"), Some(-1)), "'lo9' or 'lo9-1'"),
        ] {
            let error = LinkInterface::of(&place).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn the_end_that_asks_takes_the_next_service_access_point_that_is_nobodys() {
        for (asked, own) in [
            (84, 86),
            (85, 86),
            (0x40, 0x44),
            (0xa8, 0xac),
            (0xfc, 2),
            (0xff, 2),
            (0, 2),
        ] {
            assert_eq!(next(asked), own, "{asked}");
        }
    }

    #[test]
    fn an_address_holds_the_service_access_point_for_either_kind_of_socket() {
        let station = [2, 0, 0, 0, 0, 1];
        let frames = sock_addr(TransportId::Llc1, station, 84);
        assert_eq!(link::as_packet(&frames).unwrap().sap, 84);
        let connection = sock_addr(TransportId::Llc2, station, 84);
        assert_eq!(link::as_llc(&connection), Some((station, 84)));
    }
}
