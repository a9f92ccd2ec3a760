//! AAL5 messages over a permanent ATM virtual circuit.
//!
//! Both ends attach to the circuit. The kernel does not report that the other end has left, and
//! it does not send empty messages, so a dedicated message marks the end of a run.

use std::io;
use std::os::fd::AsFd;

use netperf_os::io as calls;
use netperf_os::{SockAddr, Socket, atm, parts};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};
use crate::meeting::{Addresses, Parted, Parts};
use crate::udp::mark_the_end;

/// End-of-run message. The bytes are random, so that test data cannot match them by accident.
const END: [u8; 16] = [
    0x9d, 0x41, 0xe7, 0x0a, 0x5c, 0xb2, 0x66, 0xf8, 0x13, 0x8f, 0xd0, 0x2b, 0xa4, 0x79, 0x36, 0xcd,
];

/// The transport.
#[derive(Clone, Copy, Debug)]
pub struct Atm;

/// Attaches a socket to a circuit, for AAL5 messages of any size.
///
/// # Errors
/// `EADDRINUSE` when another socket uses the circuit, `ENODEV` when there is no such interface.
pub fn attach(socket: &Socket, circuit: &SockAddr) -> io::Result<()> {
    atm::ask_for_quality(socket.as_fd(), atm::LARGEST_MESSAGE)?;
    socket.connect(circuit)
}

impl Addresses for Atm {
    type Asking = OnCircuit;
    type Answering = OnCircuit;

    /// The socket is already attached; the circuit has no peer address.
    fn asking(&self, socket: Socket, _to: SockAddr) -> io::Result<OnCircuit> {
        Ok(OnCircuit::new(socket))
    }

    fn answering(&self, socket: Socket) -> io::Result<OnCircuit> {
        Ok(OnCircuit::new(socket))
    }
}

/// One end of a circuit.
#[derive(Debug)]
pub struct OnCircuit {
    socket: Socket,
    /// Tail of a message that does not fit into the receive buffer.
    rest: [u8; END.len()],
}

impl OnCircuit {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            rest: [0; END.len()],
        }
    }

    /// Returns true if a message of the end message's length, partly in `buf`, is the end
    /// message.
    fn is_end(&self, buf: &[u8]) -> bool {
        let (first, rest) = END.split_at(buf.len().min(END.len()));
        buf.starts_with(first) && self.rest.starts_with(rest)
    }
}

impl Endpoint for OnCircuit {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        datagram_sent(calls::send(self.socket.as_fd(), buf))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = parts::recv(self.socket.as_fd(), buf, &mut self.rest);
        match got {
            Ok(count) if count == END.len() && self.is_end(buf) => Ok(Received::End),
            Ok(count) => received(Ok(count.min(buf.len()))),
            Err(error) => received(Err(error)),
        }
    }
}

impl Parts for OnCircuit {
    fn part(mut self) -> Parted {
        // AAL5 does not report whether a peer is attached.
        mark_the_end(move || drop(self.send(&END)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn the_end_is_told_from_data_whatever_the_receive_buffer() {
        for size in [1, 8, 16, 64] {
            let (one, other) = UnixDatagram::pair().unwrap();
            let (mut one, mut other) = (OnCircuit::new(one.into()), OnCircuit::new(other.into()));
            let mut buf = vec![0; size];
            for length in [1, 15, 16, 17, 200] {
                assert_eq!(one.send(&vec![7; length]).unwrap(), Sent::Bytes(length));
                let whole = Received::Bytes(length.min(size));
                assert_eq!(other.recv(&mut buf).unwrap(), whole);
            }
            let mut almost = END;
            almost[15] ^= 1;
            one.send(&almost).unwrap();
            assert_ne!(other.recv(&mut buf).unwrap(), Received::End);
            let mark = one.part().mark();
            assert!(mark.is_some());
            assert_eq!(other.recv(&mut buf).unwrap(), Received::End);
        }
    }
}
