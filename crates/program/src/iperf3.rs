//! iperf3 tests at either end: the streams of the engine with the messages of the protocol.

pub mod lines;
pub mod run;
pub mod socket;

use netperf_engine::streams::DatagramFormat;
use netperf_iperf3::messages::{Counter, DatagramHeader, TokenPadding};
use netperf_os::openssl::RsaPadding;

/// The padding with which RSA encrypts a token.
#[must_use]
pub const fn rsa_padding(padding: TokenPadding) -> RsaPadding {
    match padding {
        TokenPadding::Pkcs1 => RsaPadding::Pkcs1,
        TokenPadding::Oaep => RsaPadding::Oaep,
    }
}

/// Numbers of datagrams as iperf3 writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iperf3Numbers(pub Counter);

const MICRO: u64 = 1000;
const SECOND: u64 = 1_000_000_000;

impl DatagramFormat for Iperf3Numbers {
    #[inline]
    fn write(self, datagram: &mut [u8], number: u64, nanos: u64) {
        let micros = nanos % SECOND / MICRO;
        DatagramHeader {
            // The clock counts from the start of the host.
            seconds: u32::try_from(nanos / SECOND).unwrap_or(u32::MAX),
            micros: u32::try_from(micros).unwrap_or(0),
            number,
        }
        .write(datagram, self.0);
    }

    #[inline]
    fn read(self, datagram: &[u8]) -> Option<(u64, u64)> {
        let header = DatagramHeader::read(datagram, self.0)?;
        let micros = u64::from(header.micros) * MICRO;
        Some((header.number, u64::from(header.seconds) * SECOND + micros))
    }
}
