//! Looks which program listens where netserver was expected.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use netperf_iperf2::messages::{ClientHeader, Flags, HeaderExtension};
use netperf_os::alarm;
use netperf_program::link::ForeignProbe;
use netperf_program::threads::spawn_detached;
use netperf_session::ForeignProgram;

/// Time for an answer of a program on a busy host.
const WITHIN: Duration = Duration::from_secs(2);

/// The probe of the program at this address.
pub(super) fn probe(address: SocketAddr) -> ForeignProbe {
    ForeignProbe(Box::new(move || look(address)))
}

/// Says what web servers, servers of TLS and those of iperf understand, over separate connections at
/// the same time; `None` if none of them answers, or netserver does.
fn look(address: SocketAddr) -> Option<ForeignProgram> {
    let web = b"GET / HTTP/1.0\r\n\r\n".to_vec();
    // A server of iperf3 answers to the 37 bytes of a cookie.
    let cookie = [b"netperf0123456789abcdefghijklmnopqrst".as_slice(), b"\0"].concat();
    let (tell, told) = mpsc::channel();
    for words in [web, cookie, iperf2_header()] {
        let tell = tell.clone();
        let ask = move || {
            let bytes = answer(address, &words).unwrap_or_default();
            let is_iperf2 = bytes.starts_with(&IPERF2_ANSWER);
            let iperf2 = is_iperf2.then_some(ForeignProgram::Iperf2);
            // Nobody listens any more once a program is known.
            let _told = tell.send(iperf2.or_else(|| ForeignProgram::of_answer(&bytes)));
        };
        // Without a thread one look fewer is taken.
        let _started = spawn_detached(ask);
    }
    drop(tell);
    told.iter().flatten().next()
}

/// Type and length of the answer of iperf 2.1 to a header.
const IPERF2_ANSWER: [u8; 8] = [0, 0, 0, 2, 0, 0, 0, 28];

/// A header of a test of iperf 2.1 that sends nothing.
fn iperf2_header() -> Vec<u8> {
    let header = ClientHeader {
        threads: 1,
        extension: Some(HeaderExtension::default()),
        ..ClientHeader::default()
    };
    let flags = Flags::EXTEND.with_length(header.length());
    ClientHeader { flags, ..header }.encode()
}

/// The first bytes that a program answers.
fn answer(address: SocketAddr, words: &[u8]) -> Option<Vec<u8>> {
    if alarm::stopped_by_user() {
        return None;
    }
    let mut stream = TcpStream::connect_timeout(&address, WITHIN).ok()?;
    stream.set_read_timeout(Some(WITHIN)).ok()?;
    stream.set_write_timeout(Some(WITHIN)).ok()?;
    stream.write_all(words).ok()?;
    let mut bytes = [0; 64];
    let count = stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
    bytes.get(..count).map(<[u8]>::to_vec)
}
