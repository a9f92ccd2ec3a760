//! Link-level frames by packet(7), one for each message, including the headers.
//!
//! [`Llc1`] sends IEEE 802.2 unnumbered information frames. [`Packet`] uses a separate
//! Ethertype, for interfaces whose frames carry more than 1500 bytes (docs/decisions). Header
//! and payload go to the kernel as two buffers, so no data is copied. A kernel filter drops
//! frames for other stations and service access points. An empty frame marks the end of data.

use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd;

use netperf_os::filter::{self, Match, Width};
use netperf_os::link::{self, PacketAddress, Station};
use netperf_os::{SockAddr, Socket, io as calls, parts};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};
use crate::meeting::{Addresses, Parted, Parts};
use crate::udp::mark_the_end;

/// Size of the largest header, bytes.
const SPACE: usize = 18;
/// Destination, source, and type or length (IEEE 802.3).
const ETHERNET: usize = 14;

/// Header buffer; a format uses its beginning.
type FrameHeader = [u8; SPACE];

/// Frame layout of a transport.
pub trait FrameFormat: Send + 'static {
    /// Header length, bytes.
    const HEADER: usize;
    /// Protocol number for packet(7).
    const PROTOCOL: u16;
    /// Offsets of the destination and source service access points.
    const SAPS: (usize, usize);
    /// Further fields that identify a frame of this format.
    const MARKS: &'static [Match];

    /// Largest payload for an MTU, bytes.
    fn largest(mtu: u32) -> u32;
    /// Writes the constant part of the header.
    fn begin(header: &mut FrameHeader);
    /// Writes the payload length.
    fn set_length(header: &mut FrameHeader, payload: u16);
    /// Payload length, bytes. Frames may be padded.
    fn length(header: &FrameHeader) -> usize;
}

/// Unnumbered information (IEEE 802.2 type 1): length, two service access points, control.
#[derive(Clone, Copy, Debug)]
pub struct Llc1;

/// Control field of unnumbered information.
const UNNUMBERED_INFORMATION: u8 = 0x03;
/// LLC header, part of a frame's 1500 bytes.
const LLC_HEADER: u16 = 3;
/// Largest value of the IEEE 802.3 length field; larger values are types.
const LARGEST_LENGTH: u32 = 1500;

impl FrameFormat for Llc1 {
    const HEADER: usize = ETHERNET + LLC_HEADER as usize;
    const PROTOCOL: u16 = link::LLC_FRAMES;
    const SAPS: (usize, usize) = (14, 15);
    const MARKS: &'static [Match] = &[Match {
        offset: 16,
        width: Width::Byte,
        value: UNNUMBERED_INFORMATION as u32,
    }];

    fn largest(mtu: u32) -> u32 {
        mtu.min(LARGEST_LENGTH)
            .saturating_sub(u32::from(LLC_HEADER))
    }

    fn begin(header: &mut FrameHeader) {
        header[16] = UNNUMBERED_INFORMATION;
    }

    #[inline]
    fn set_length(header: &mut FrameHeader, payload: u16) {
        let [high, low] = (payload + LLC_HEADER).to_be_bytes();
        (header[12], header[13]) = (high, low);
    }

    #[inline]
    fn length(header: &FrameHeader) -> usize {
        let length = u16::from_be_bytes([header[12], header[13]]);
        usize::from(length.saturating_sub(LLC_HEADER))
    }
}

/// Frames with a separate Ethertype: payload length, two service access points.
#[derive(Clone, Copy, Debug)]
pub struct Packet;

/// "Local Experimental Ethertype 1" (IEEE 802): free to use within a network.
const EXPERIMENTAL: u16 = 0x88b5;
/// Length field and two service access points.
const PACKET_HEADER: u32 = 4;

impl FrameFormat for Packet {
    const HEADER: usize = ETHERNET + PACKET_HEADER as usize;
    const PROTOCOL: u16 = EXPERIMENTAL;
    const SAPS: (usize, usize) = (16, 17);
    const MARKS: &'static [Match] = &[];

    fn largest(mtu: u32) -> u32 {
        mtu.min(u32::from(u16::MAX)).saturating_sub(PACKET_HEADER)
    }

    fn begin(header: &mut FrameHeader) {
        let [high, low] = EXPERIMENTAL.to_be_bytes();
        (header[12], header[13]) = (high, low);
    }

    #[inline]
    fn set_length(header: &mut FrameHeader, payload: u16) {
        let [high, low] = payload.to_be_bytes();
        (header[14], header[15]) = (high, low);
    }

    #[inline]
    fn length(header: &FrameHeader) -> usize {
        usize::from(u16::from_be_bytes([header[14], header[15]]))
    }
}

/// Attaches a filter for frames of this format, station and service access point to an unbound
/// socket, and binds the socket.
///
/// # Errors
/// Whatever setsockopt(2) and bind(2) report.
pub fn bind<F: FrameFormat>(
    socket: &Socket,
    interface: u32,
    station: Station,
    sap: u8,
) -> io::Result<()> {
    let [a, b, c, d, e, f] = station;
    let own = [
        Match {
            offset: 0,
            width: Width::Word,
            value: u32::from_be_bytes([a, b, c, d]),
        },
        Match {
            offset: 4,
            width: Width::Half,
            value: u32::from(u16::from_be_bytes([e, f])),
        },
        Match {
            offset: sap_at::<F>(),
            width: Width::Byte,
            value: u32::from(sap),
        },
    ];
    filter::attach(socket.as_fd(), &[&own, F::MARKS].concat())?;
    socket.bind(&link::packet_address(&PacketAddress {
        protocol: F::PROTOCOL,
        interface,
        ..PacketAddress::default()
    }))
}

/// Offset of the destination service access point in the filter's view of a frame.
fn sap_at<F: FrameFormat>() -> u32 {
    u32::try_from(F::SAPS.0).unwrap_or(0)
}

/// Largest message on the interface of a bound socket, bytes.
///
/// # Errors
/// When the socket is not bound, or its interface is gone.
pub fn largest<F: FrameFormat>(socket: &Socket) -> io::Result<u32> {
    let own = local(socket)?;
    Ok(F::largest(link::mtu(&link::name(own.interface)?)?))
}

/// Local address of a socket. Its service access point comes from the filter.
fn local(socket: &Socket) -> io::Result<PacketAddress> {
    link::as_packet(&socket.local_addr()?).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn own_sap<F: FrameFormat>(socket: &Socket) -> io::Result<u8> {
    let matches = filter::attached(socket.as_fd())?;
    matches
        .iter()
        .find(|one| one.offset == sap_at::<F>() && one.width == Width::Byte)
        .and_then(|one| u8::try_from(one.value).ok())
        .ok_or_else(|| io::Error::other("the socket has no service access point"))
}

/// A transport whose messages are frames.
#[derive(Clone, Copy, Debug)]
pub struct Frames<F>(PhantomData<F>);

impl<F> Frames<F> {
    /// The transport.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<F> Default for Frames<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: FrameFormat> Addresses for Frames<F> {
    type Asking = FrameEndpoint<F, false>;
    type Answering = FrameEndpoint<F, true>;

    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<Self::Asking> {
        let to = link::as_packet(&to).ok_or(io::ErrorKind::InvalidInput)?;
        let mut end = FrameEndpoint::new(socket)?;
        end.aim(to.station, to.sap);
        Ok(end)
    }

    fn answering(&self, socket: Socket) -> io::Result<Self::Answering> {
        FrameEndpoint::new(socket)
    }
}

/// One end. A responder sends to the source of the last frame.
#[derive(Debug)]
pub struct FrameEndpoint<F, const ANSWERS: bool> {
    socket: Socket,
    /// Header of outgoing frames.
    sends: FrameHeader,
    /// Header of the last received frame.
    received: FrameHeader,
    /// Largest message, bytes.
    largest: usize,
    /// True once the destination is known.
    aimed: bool,
    format: PhantomData<F>,
}

impl<F: FrameFormat, const ANSWERS: bool> FrameEndpoint<F, ANSWERS> {
    /// Creates an endpoint for a socket that [`bind`] bound.
    fn new(socket: Socket) -> io::Result<Self> {
        let own = local(&socket)?;
        let sap = own_sap::<F>(&socket)?;
        let largest = usize::try_from(largest::<F>(&socket)?).unwrap_or(0);
        let mut sends = [0; SPACE];
        F::begin(&mut sends);
        sends[6..12].copy_from_slice(&own.station);
        sends[F::SAPS.1] = sap;
        Ok(Self {
            socket,
            sends,
            received: [0; SPACE],
            largest,
            aimed: false,
            format: PhantomData,
        })
    }

    #[inline]
    fn aim(&mut self, station: Station, sap: u8) {
        self.sends[..6].copy_from_slice(&station);
        self.sends[F::SAPS.0] = sap;
        self.aimed = true;
    }

    /// Sets the destination to the source of the last frame.
    #[inline]
    fn aim_back(&mut self) {
        let [_, _, _, _, _, _, a, b, c, d, e, f, ..] = self.received;
        self.aim([a, b, c, d, e, f], self.received[F::SAPS.1]);
    }

    /// Number of payload bytes, at most `space`, in a frame of `count` bytes.
    #[inline]
    fn payload(&self, count: usize, space: usize) -> usize {
        let came = count.saturating_sub(F::HEADER).min(space);
        F::length(&self.received).min(came)
    }
}

impl<F: FrameFormat, const ANSWERS: bool> Endpoint for FrameEndpoint<F, ANSWERS> {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let payload = u16::try_from(buf.len()).ok();
        let Some(payload) = payload.filter(|_| buf.len() <= self.largest) else {
            return Err(io::Error::from_raw_os_error(calls::MESSAGE_TOO_LONG));
        };
        F::set_length(&mut self.sends, payload);
        let sent = parts::send(self.socket.as_fd(), &self.sends[..F::HEADER], buf);
        datagram_sent(sent.map(|count| count.saturating_sub(F::HEADER)))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let fd = self.socket.as_fd();
        match parts::recv(fd, &mut self.received[..F::HEADER], buf) {
            Ok(count) => {
                if ANSWERS {
                    self.aim_back();
                }
                received(Ok(self.payload(count, buf.len())))
            }
            Err(error) => received(Err(error)),
        }
    }
}

impl<F: FrameFormat, const ANSWERS: bool> Parts for FrameEndpoint<F, ANSWERS> {
    fn part(mut self) -> Parted {
        if !self.aimed {
            return Parted::Done;
        }
        // An error here means that the peer is gone and needs no mark.
        mark_the_end(move || drop(self.send(&[])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_of<F: FrameFormat>(payload: u16) -> FrameHeader {
        let mut header = [0xee; SPACE];
        F::begin(&mut header);
        F::set_length(&mut header, payload);
        header
    }

    #[test]
    fn a_length_is_read_back_and_does_not_count_the_header() {
        for payload in [0, 1, 1497] {
            assert_eq!(
                Llc1::length(&header_of::<Llc1>(payload)),
                usize::from(payload)
            );
            assert_eq!(
                Packet::length(&header_of::<Packet>(payload)),
                usize::from(payload)
            );
        }
    }

    #[test]
    fn unnumbered_information_looks_as_ieee_802_2_has_it() {
        let header = header_of::<Llc1>(100);
        assert_eq!(header[12..14], [0, 103]);
        assert_eq!(header[16], 0x03);
        assert_eq!(Llc1::HEADER, 17);
    }

    #[test]
    fn a_message_is_as_long_as_the_interface_lets_it_be() {
        assert_eq!(Llc1::largest(1500), 1497);
        assert_eq!(Llc1::largest(9000), 1497);
        assert_eq!(Llc1::largest(576), 573);
        assert_eq!(Packet::largest(9000), 8996);
        assert_eq!(Packet::largest(65_536), 65_531);
        assert_eq!(Packet::largest(2), 0);
    }
}
