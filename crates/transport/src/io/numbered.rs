//! Datagrams that carry the numbers of requests, with timestamps of the kernel: when each left and
//! arrived at this end, whatever became of the others.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::{Stamp, Stamps};
use netperf_os::io::Source;
use netperf_os::stamps::{self, Peer, RxStamp, StampSource, TxStamp, now};
use netperf_os::{SockAddr, Socket, sockopt};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};
use crate::meeting::{OnSocket, Parted, Parts};
use crate::udp::mark_the_end;

/// Bytes of a number.
const BYTES: usize = Stamps::NUMBER_BYTES as usize;

/// Source of the time at which a datagram left.
const KERNEL: Option<StampSource> = Some(StampSource::Kernel);

/// Destination of datagrams.
#[derive(Debug)]
enum NumberedDestination {
    /// netperf's end: the connected peer, or this address.
    Fixed(Option<SockAddr>),
    /// netserver's end: the source of the last request, with a response that repeats its number.
    Back(Source, Vec<u8>),
}

/// A datagram socket that stamps each numbered datagram.
#[derive(Debug)]
pub struct Numbered {
    socket: Socket,
    way: NumberedDestination,
    stamps: Stamps,
    /// The last request of netserver's has a stamp.
    open: bool,
    departures: Departures,
}

/// The stamps of datagrams by the ids that the kernel gives to sends, from 0. One that a full queue
/// drops has an id, too.
#[derive(Debug)]
struct Departures {
    /// Place of the stamp, or none.
    places: Vec<u32>,
    /// The id of the next send is known.
    known: bool,
}

impl Departures {
    const NONE: u32 = u32::MAX;

    fn new() -> Self {
        Self {
            places: Vec::with_capacity(Stamps::MOST_NUMBERED),
            known: true,
        }
    }

    /// A send has taken the next id; the datagram has the stamp at this place, if any.
    #[inline]
    fn sent(&mut self, place: Option<usize>) {
        if self.known && self.places.len() < self.places.capacity() {
            let place = place.and_then(|place| u32::try_from(place).ok());
            self.places.push(place.unwrap_or(Self::NONE));
        }
    }

    /// Kernels differ in whether a send without space takes an id.
    #[cold]
    fn waited(&mut self) {
        self.known = false;
    }

    /// The place of the stamp of the datagram with this id.
    #[inline]
    fn place(&self, id: u32) -> Option<usize> {
        let place = self.places.get(usize::try_from(id).ok()?)?;
        usize::try_from(*place).ok()
    }
}

impl Numbered {
    /// Creates netperf's end, for an address or the connected peer.
    ///
    /// # Errors
    /// When the kernel does not support timestamps.
    pub fn asking(socket: Socket, to: Option<SockAddr>) -> io::Result<Self> {
        Self::new(socket, NumberedDestination::Fixed(to))
    }

    /// Creates netserver's end, whose responses have this size.
    ///
    /// # Errors
    /// When the kernel does not support timestamps.
    pub fn answering(socket: Socket, size: Option<u32>) -> io::Result<Self> {
        let size = size.and_then(|size| usize::try_from(size).ok());
        let response = vec![0; size.unwrap_or(0)];
        Self::new(
            socket,
            NumberedDestination::Back(Source::unknown(), response),
        )
    }

    fn new(socket: Socket, way: NumberedDestination) -> io::Result<Self> {
        stamps::enable(socket.as_fd(), StampSource::Kernel)?;
        // Without it the type of service of arrivals is unknown.
        drop(stamps::tell_tos(socket.as_fd()));
        Ok(Self {
            socket,
            way,
            stamps: Stamps {
                every: 1,
                numbered: true,
                each: Vec::with_capacity(Stamps::MOST_NUMBERED),
                ..Stamps::default()
            },
            open: false,
            departures: Departures::new(),
        })
    }

    /// Notes a datagram, unless too many are noted.
    #[inline]
    fn note(&mut self, stamp: Stamp) -> bool {
        let has_room = self.stamps.each.len() < Stamps::MOST_NUMBERED;
        if has_room {
            self.stamps.each.push(stamp);
        } else {
            self.stamps.incomplete += 1;
        }
        has_room
    }

    /// Reads the times at which datagrams left for the device. As long as the error queue has one,
    /// poll(2) reports the socket.
    fn take_departures(&mut self) {
        while let Ok(Some(TxStamp { id, nanos, .. })) = stamps::tx_stamp(self.socket.as_fd()) {
            let place = self.departures.place(id);
            if let Some(stamp) = place.and_then(|place| self.stamps.each.get_mut(place)) {
                stamp.sent = nanos;
            }
        }
    }

    /// Notes the request that netserver received.
    #[inline]
    fn requested(&mut self, number: u64, arrived: RxStamp) {
        self.open = self.note(Stamp {
            number: place(number),
            arrived: arrived.kernel.unwrap_or(0),
            received: now(),
            tos: arrived.tos,
            ..Stamp::default()
        });
    }

    /// Notes the first response to a request of netperf's. Numbers rise by one from that of the
    /// first request.
    #[inline]
    fn answered(&mut self, number: u64, arrived: RxStamp) {
        let number = place(number);
        let first = self.stamps.each.first().map_or(0, |first| first.number);
        let index = usize::try_from(number.wrapping_sub(first)).unwrap_or(usize::MAX);
        let stamp = self.stamps.each.get_mut(index);
        if let Some(stamp) = stamp.filter(|stamp| stamp.number == number && stamp.received == 0) {
            stamp.received = now();
            stamp.arrived = arrived.kernel.unwrap_or(0);
            stamp.tos = arrived.tos;
        }
    }
}

/// The number of a request as that of a stamp, from 1.
#[inline]
fn place(number: u64) -> u32 {
    u32::try_from(number).map_or(u32::MAX, |number| number.saturating_add(1))
}

/// The number at the beginning of a datagram.
#[inline]
fn number_of(datagram: &[u8]) -> Option<u64> {
    let bytes = datagram.get(..BYTES)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

impl Endpoint for Numbered {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let sending = now();
        let result = match &self.way {
            NumberedDestination::Fixed(to) => {
                let peer = to.as_ref().map_or(Peer::Connected, Peer::At);
                stamps::send(self.socket.as_fd(), buf, &peer, KERNEL)
            }
            NumberedDestination::Back(source, response) => {
                let response = response.get(..buf.len()).unwrap_or(buf);
                stamps::send(self.socket.as_fd(), response, &Peer::Source(source), KERNEL)
            }
        };
        let sent = match datagram_sent(result) {
            Ok(sent @ (Sent::Bytes(_) | Sent::Dropped)) => sent,
            other @ (Ok(Sent::Interrupted) | Err(_)) => {
                self.departures.waited();
                return other;
            }
        };
        let mut stamp = None;
        let next = self.stamps.each.len();
        let is_sent = matches!(sent, Sent::Bytes(_));
        match (&self.way, number_of(buf)) {
            (NumberedDestination::Fixed(_), Some(number)) if is_sent => {
                let is_noted = self.note(Stamp {
                    number: place(number),
                    sending,
                    ..Stamp::default()
                });
                stamp = is_noted.then_some(next);
            }
            (NumberedDestination::Back(..), _) if is_sent && self.open => {
                self.open = false;
                if let Some(last) = self.stamps.each.last_mut() {
                    last.sending = sending;
                    stamp = Some(next - 1);
                }
            }
            _ => {}
        }
        self.departures.sent(stamp);
        Ok(sent)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        self.take_departures();
        let source = match &mut self.way {
            NumberedDestination::Back(source, _) => Some(source),
            NumberedDestination::Fixed(_) => None,
        };
        let (bytes, arrived) = match stamps::recv(self.socket.as_fd(), buf, source) {
            Ok(got) => got,
            Err(error) => return received(Err(error)),
        };
        if let Some(number) = buf.get(..bytes).and_then(number_of) {
            if let NumberedDestination::Back(_, response) = &mut self.way {
                if let Some(head) = response.get_mut(..BYTES) {
                    head.copy_from_slice(&number.to_le_bytes());
                }
                self.requested(number, arrived);
            } else {
                self.answered(number, arrived);
            }
        }
        received(Ok(bytes))
    }

    fn stamps(&mut self) -> Option<Stamps> {
        self.take_departures();
        Some(std::mem::take(&mut self.stamps))
    }
}

impl OnSocket for Numbered {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn into_socket(self) -> Socket {
        self.socket
    }
}

impl Parts for Numbered {
    fn overflowed(&self) -> Option<u32> {
        sockopt::receive_drops(self.socket.as_fd()).ok()
    }

    fn part(self) -> Parted {
        let Self { socket, way, .. } = self;
        mark_the_end(move || {
            let peer = match &way {
                NumberedDestination::Fixed(to) => to.as_ref().map_or(Peer::Connected, Peer::At),
                NumberedDestination::Back(source, _) if source.is_known() => Peer::Source(source),
                NumberedDestination::Back(..) => return,
            };
            // An error means that the peer is gone and needs no mark.
            drop(stamps::send(socket.as_fd(), &[], &peer, None));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_os::Domain;
    use std::net::UdpSocket;

    fn numbered(number: u64) -> [u8; 12] {
        let mut datagram = [0; 12];
        datagram[..BYTES].copy_from_slice(&number.to_le_bytes());
        datagram
    }

    /// Both ends on loopback, and the address of netserver's.
    fn ends() -> (Numbered, Numbered) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = SockAddr::from(server.local_addr().unwrap());
        let client = Socket::new(Domain::IPV4, netperf_os::Type::DGRAM, None).unwrap();
        (
            Numbered::asking(client, Some(to)).unwrap(),
            Numbered::answering(Socket::from(server), Some(12)).unwrap(),
        )
    }

    #[test]
    fn each_datagram_has_its_own_times_whatever_became_of_others() {
        let (mut client, mut server) = ends();
        let mut buffer = [0; 12];
        for number in 0..3 {
            client.send(&numbered(number)).unwrap();
            server.recv(&mut buffer).unwrap();
            // The second response is lost.
            if number != 1 {
                server.send(&[0; 12]).unwrap();
                client.recv(&mut buffer).unwrap();
                assert_eq!(number_of(&buffer), Some(number));
            }
        }
        let (own, far) = (client.stamps().unwrap(), server.stamps().unwrap());
        let numbers =
            |stamps: &Stamps| stamps.each.iter().map(|one| one.number).collect::<Vec<_>>();
        assert_eq!(
            (numbers(&own), numbers(&far)),
            (vec![1, 2, 3], vec![1, 2, 3])
        );
        let back: Vec<bool> = own.each.iter().map(|one| one.received > 0).collect();
        assert_eq!(back, [true, false, true]);
        let answered: Vec<bool> = far.each.iter().map(|one| one.sending > 0).collect();
        assert_eq!(answered, [true, false, true]);
        assert!(own.numbered && far.numbered);
        for stamp in &own.each {
            assert!(stamp.sending <= stamp.sent, "{stamp:?}");
        }
    }

    #[test]
    fn departures_belong_to_datagrams_also_behind_some_that_a_queue_dropped() {
        let mut departures = Departures::new();
        for stamp in [Some(0), None, None, Some(1)] {
            departures.sent(stamp);
        }
        let places: Vec<_> = (0..5).map(|id| departures.place(id)).collect();
        assert_eq!(places[0], Some(0));
        assert_eq!(places[3], Some(1));
        // Places that no stamp has.
        assert!(places[1] >= Some(Stamps::MOST_NUMBERED) && places[4].is_none());
        departures.waited();
        departures.sent(Some(2));
        assert_eq!(departures.place(4), None);
    }

    #[test]
    fn a_response_that_came_twice_keeps_its_first_time_and_an_unknown_one_is_ignored() {
        let (mut client, mut server) = ends();
        let mut buffer = [0; 12];
        client.send(&numbered(7)).unwrap();
        server.recv(&mut buffer).unwrap();
        server.send(&[0; 12]).unwrap();
        client.recv(&mut buffer).unwrap();
        let first = client.stamps.each[0].received;
        client.answered(7, RxStamp::default());
        client.answered(9, RxStamp::default());
        assert_eq!(client.stamps.each[0].received, first);
        assert_eq!(client.stamps.each.len(), 1);
    }
}
