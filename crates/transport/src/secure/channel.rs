//! The channel over rustls.

use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_model::{KeyRing, Secret};
use netperf_os::io as calls;
use netperf_os::wait::{Deadline, Interest};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use super::NoChannel;
use crate::tls::config;

/// Length of a nonce, a proof and the exporter value, bytes.
const SIZE: usize = 32;
/// Bytes that are encrypted at a time.
const PART: usize = 16 << 10;
/// Context string of netperf's proof, so that one end's proof is not valid for the other.
const CLIENT: &[u8] = b"netperf control 1 client";
const SERVER: &[u8] = b"netperf control 1 server";
/// The label of RFC 9266.
const EXPORTER: &[u8] = b"EXPORTER-Channel-Binding";
/// netserver's answer if it accepts the client's proof.
const TAKEN: u8 = 1;
const REFUSED: u8 = 0;

/// The encrypted connection. The caller keeps the socket.
#[derive(Debug)]
pub struct Channel {
    tls: Connection,
}

/// Adapter from a socket to `Read` and `Write` for rustls.
struct TlsSocket<'a>(BorrowedFd<'a>);

impl Read for TlsSocket<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        calls::recv(self.0, buf)
    }
}

impl Write for TlsSocket<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        calls::send(self.0, buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Nonces of both ends and the TLS exporter value.
struct Transcript {
    exporter: [u8; SIZE],
    server: [u8; SIZE],
    client: [u8; SIZE],
}

impl Transcript {
    fn of(&self, whose: &[u8]) -> Vec<u8> {
        [whose, &self.exporter, &self.server, &self.client].concat()
    }
}

fn fresh() -> io::Result<[u8; SIZE]> {
    let mut number = [0; SIZE];
    SystemRandom::new()
        .fill(&mut number)
        .map_err(|_| io::Error::other("no random numbers"))?;
    Ok(number)
}

fn malformed() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl Channel {
    /// Client side (netperf), on a connected socket with no pending input.
    ///
    /// # Errors
    /// Any failure of the handshake or of the proofs.
    pub fn connect(
        fd: BorrowedFd<'_>,
        secret: &Secret,
        within: Duration,
    ) -> Result<Self, NoChannel> {
        let name = ServerName::try_from("netserver").map_err(io::Error::other)?;
        let tls = ClientConnection::new(config::client(None)?, name).map_err(io::Error::other)?;
        let deadline = Deadline::after(within);
        let mut channel = Self::handshake(tls.into(), fd, deadline)?;
        let transcript = Transcript {
            exporter: channel.exporter()?,
            server: channel.take(fd, deadline)?,
            client: fresh()?,
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.bytes());
        let proof = hmac::sign(&key, &transcript.of(CLIENT));
        channel.put(fd, &[&transcript.client, proof.as_ref()].concat(), deadline)?;
        let [verdict] = channel.take(fd, deadline)?;
        if verdict != TAKEN {
            return Err(NoChannel::WrongKey);
        }
        let proof: [u8; SIZE] = channel.take(fd, deadline)?;
        hmac::verify(&key, &transcript.of(SERVER), &proof).map_err(|_| NoChannel::Impostor)?;
        Ok(channel)
    }

    /// Server side (netserver). Returns the index of the client's key, too.
    ///
    /// # Errors
    /// Any failure of the handshake or of the proofs.
    pub fn accept(
        fd: BorrowedFd<'_>,
        keys: &KeyRing,
        within: Duration,
    ) -> Result<(Self, usize), NoChannel> {
        let tls = ServerConnection::new(config::server(None)?).map_err(io::Error::other)?;
        let deadline = Deadline::after(within);
        let mut channel = Self::handshake(tls.into(), fd, deadline)?;
        let exporter = channel.exporter()?;
        let server = fresh()?;
        channel.put(fd, &server, deadline)?;
        let transcript = Transcript {
            exporter,
            server,
            client: channel.take(fd, deadline)?,
        };
        let proof: [u8; SIZE] = channel.take(fd, deadline)?;
        let of_client = transcript.of(CLIENT);
        // Constant-time comparison with each key. The time does not depend on the key that fits.
        let mut found = None;
        for (index, one) in keys.keys().iter().enumerate() {
            let key = hmac::Key::new(hmac::HMAC_SHA256, one.secret.bytes());
            if hmac::verify(&key, &of_client, &proof).is_ok() {
                found = Some((index, key));
            }
        }
        let Some((index, key)) = found else {
            channel.put(fd, &[REFUSED], deadline)?;
            return Err(NoChannel::WrongKey);
        };
        let proof = hmac::sign(&key, &transcript.of(SERVER));
        channel.put(fd, &[&[TAKEN], proof.as_ref()].concat(), deadline)?;
        Ok((channel, index))
    }

    fn handshake(tls: Connection, fd: BorrowedFd<'_>, deadline: Deadline) -> io::Result<Self> {
        let mut channel = Self { tls };
        channel.flush(fd, deadline)?;
        while channel.tls.is_handshaking() {
            channel.wait(fd, Interest::Read, deadline)?;
            let taken = channel.take_in(fd);
            // Sends the alert that names the cause of a failed handshake. An error means that
            // the peer is gone.
            let flushed = channel.flush(fd, deadline);
            if !taken? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            flushed?;
        }
        Ok(channel)
    }

    fn exporter(&self) -> io::Result<[u8; SIZE]> {
        self.tls
            .export_keying_material([0; SIZE], EXPORTER, Some(&[]))
            .map_err(io::Error::other)
    }

    fn wait(&self, fd: BorrowedFd<'_>, interest: Interest, deadline: Deadline) -> io::Result<()> {
        if deadline.ready(fd, interest)? {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }

    fn flush(&mut self, fd: BorrowedFd<'_>, deadline: Deadline) -> io::Result<()> {
        while self.tls.wants_write() {
            self.wait(fd, Interest::Write, deadline)?;
            match self.tls.write_tls(&mut TlsSocket(fd)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => other.map(drop)?,
            }
        }
        Ok(())
    }

    fn put(&mut self, fd: BorrowedFd<'_>, bytes: &[u8], deadline: Deadline) -> io::Result<()> {
        // The connection holds a limited number of bytes that were not sent.
        for part in bytes.chunks(PART) {
            self.tls.writer().write_all(part)?;
            self.flush(fd, deadline)?;
        }
        Ok(())
    }

    fn take<const N: usize>(
        &mut self,
        fd: BorrowedFd<'_>,
        deadline: Deadline,
    ) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        let mut got = 0;
        while got < N {
            match self.read(&mut bytes[got..])? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(count) => got += count,
                None => {
                    self.wait(fd, Interest::Read, deadline)?;
                    if !self.take_in(fd)? {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    // A key update needs an answer.
                    self.flush(fd, deadline)?;
                }
            }
        }
        Ok(bytes)
    }

    /// Sends all bytes.
    ///
    /// # Errors
    /// `TimedOut` when the other end does not read; whatever send(2) reports.
    pub fn send(&mut self, fd: BorrowedFd<'_>, bytes: &[u8], within: Duration) -> io::Result<()> {
        self.put(fd, bytes, Deadline::after(within))
    }

    /// Reads decrypted data. Returns the number of bytes, 0 at the end, and `None` when
    /// [`Self::take_in`] must receive more first.
    ///
    /// # Errors
    /// When the connection was cut in the middle of a record.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        match self.tls.reader().read(buf) {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            // The end of the TCP connection counts as a regular end, because every message has
            // a known length.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    /// Waits for input, receives and decrypts it. Returns false at the end of the connection.
    ///
    /// # Errors
    /// `InvalidData` for an invalid record; whatever recv(2) reports.
    pub fn take_in(&mut self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        match self.tls.read_tls(&mut TlsSocket(fd)) {
            Ok(count) => {
                self.tls.process_new_packets().map_err(|_| malformed())?;
                Ok(count > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
