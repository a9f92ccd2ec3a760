//! A signal in the middle of connect(2).

use std::io;
use std::net::TcpListener;

use netperf_os::{Domain, SockAddr, Socket, Type};
use netperf_testkit::Scratch;
use netperf_transport::meeting::{self, Met};

use crate::heartbeat::Heartbeat;

/// With a listener whose queue is full, so that connect(2) waits.
fn full_queue(at: &SockAddr) -> [Socket; 2] {
    let listener = unix_socket();
    listener.bind(at).unwrap();
    listener.listen(0).unwrap();
    let first = unix_socket();
    let met = meeting::connect(&first, at, &mut || false).unwrap();
    assert!(matches!(met, Met::Connected(())));
    [listener, first]
}

fn unix_socket() -> Socket {
    Socket::new(Domain::UNIX, Type::STREAM, None).unwrap()
}

/// A signal takes back what waits for space in a queue of unix(7). The socket is writable
/// then and has no error, and is not connected all the same.
#[test]
fn a_connect_that_a_signal_undid_is_no_connection_and_any_other_is_one() {
    let folder = Scratch::new();
    let at = SockAddr::unix(folder.path().join("listener")).unwrap();
    let _full = full_queue(&at);
    let _heartbeat = Heartbeat::start();
    let error = meeting::connect(&unix_socket(), &at, &mut || false).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    // The caller is asked first, and may give up.
    let met = meeting::connect(&unix_socket(), &at, &mut || true).unwrap();
    assert!(matches!(met, Met::GivenUp));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at: SockAddr = listener.local_addr().unwrap().into();
    for _ in 0..200 {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let met = meeting::connect(&socket, &at, &mut || false).unwrap();
        assert!(matches!(met, Met::Connected(())));
        drop(listener.accept());
    }
}
