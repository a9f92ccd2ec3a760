//! Opening the streams of a session.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use netperf_iperf3::messages::{CONNECT_WORD, ConnectWord, Parameters, ServerError};
use netperf_os::io::{Source, recv_from_now, send};
use netperf_os::{Domain, Protocol, Socket, Type, rights, without};
use netperf_program::iperf3::socket::{equip, labelled};

use super::message::{self, StreamMessage};
use crate::one_port::canonical;

/// Datagrams that are looked at when a socket is new.
const AT_ONCE: usize = 64;

/// Opens the socket of a stream of datagrams, from the source of a connect word, and answers the
/// word. The kernel prefers a connected socket to the listener's.
///
/// # Errors
/// When the socket cannot be opened or connected.
pub(super) fn open_datagrams(
    (from, own): (SocketAddr, SocketAddr),
    parameters: &Parameters,
    handoff: &Socket,
) -> Result<Socket, ServerError> {
    let unable = |error: io::Error| ServerError::stream(error.raw_os_error().unwrap_or(0));
    let protocol = Some(Protocol::UDP);
    let socket = Socket::new(Domain::for_address(own), Type::DGRAM, protocol).map_err(unable)?;
    without::share_port(&socket, true);
    rights::bind(&socket, own).map_err(unable)?;
    equip(&socket, parameters)?;
    let peer = labelled(&socket, from, parameters)?;
    socket.connect(&peer.into()).map_err(unable)?;
    return_words(&socket, (from, own), handoff);
    // The client sends one word and waits, so this is the first data.
    send(socket.as_fd(), &ConnectWord::Reply.bytes()).map_err(unable)?;
    Ok(socket)
}

/// Returns connect words of other clients to the listener. They came before the socket was
/// connected.
fn return_words(socket: &Socket, (from, own): (SocketAddr, SocketAddr), handoff: &Socket) {
    let mut bytes = [0; CONNECT_WORD + 1];
    for _ in 0..AT_ONCE {
        let mut source = Source::unknown();
        let Ok(count) = recv_from_now(socket.as_fd(), &mut bytes, &mut source) else {
            return;
        };
        let word = bytes.get(..count).and_then(ConnectWord::from_client);
        let other = source
            .address()
            .map(canonical)
            .filter(|other| *other != from);
        if let (Some(_), Some(other)) = (word, other) {
            // A client without an answer gives up.
            let _lost = message::send(handoff, &StreamMessage::Word(other, own));
        }
    }
}
