use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use super::*;

const KEY: &[u8] = b"a key that both ends have";
const SOON: Duration = Duration::from_secs(20);

fn secret(key: &[u8]) -> Secret {
    Secret::new(key).unwrap()
}

fn pair() -> (TcpStream, TcpStream) {
    netperf_testkit::watchdog::watch_unit();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

type Accepted = Result<(Channel, TcpStream), NoChannel>;

fn server(socket: TcpStream, key: &'static [u8], within: Duration) -> JoinHandle<Accepted> {
    thread::spawn(move || {
        let keys = KeyRing::bare(secret(key));
        let (channel, _) = Channel::accept(socket.as_fd(), &keys, within)?;
        Ok((channel, socket))
    })
}

fn receive(channel: &mut Channel, socket: &TcpStream) -> Vec<u8> {
    let mut got = vec![0; 656];
    let mut filled = 0;
    while filled < got.len() {
        match channel.read(&mut got[filled..]).unwrap() {
            Some(0) => break,
            Some(count) => filled += count,
            None => assert!(channel.take_in(socket.as_fd()).unwrap()),
        }
    }
    got.truncate(filled);
    got
}

#[test]
fn two_ends_with_the_same_key_talk() {
    let (client, served) = pair();
    let server = server(served, KEY, SOON);
    let mut own = Channel::connect(client.as_fd(), &secret(KEY), SOON).unwrap();
    let (mut other, served) = server.join().unwrap().unwrap();
    for _ in 0..3 {
        own.send(client.as_fd(), &[7; 656], SOON).unwrap();
        assert_eq!(receive(&mut other, &served), [7; 656]);
        other.send(served.as_fd(), &[8; 656], SOON).unwrap();
        assert_eq!(receive(&mut own, &client), [8; 656]);
    }
    client.shutdown(Shutdown::Write).unwrap();
    assert!(!other.take_in(served.as_fd()).unwrap());
    assert_eq!(other.read(&mut [0; 1]).unwrap(), Some(0));
}

#[test]
fn another_key_is_refused_at_both_ends() {
    let (client, served) = pair();
    let server = server(served, KEY, SOON);
    let refused = Channel::connect(client.as_fd(), &secret(b"a key of another netserver"), SOON);
    assert!(matches!(refused, Err(NoChannel::WrongKey)), "{refused:?}");
    let refused = server.join().unwrap().map(drop);
    assert!(matches!(refused, Err(NoChannel::WrongKey)), "{refused:?}");
}

#[test]
fn a_netserver_that_takes_any_key_is_found_out() {
    let (client, served) = pair();
    let impostor = thread::spawn(move || {
        let fd = served.as_fd();
        let tls = ServerConnection::new(config::server(None).unwrap()).unwrap();
        let deadline = Deadline::after(SOON);
        let mut channel = Channel::handshake(tls.into(), fd, deadline).unwrap();
        channel.put(fd, &[1; SIZE], deadline).unwrap();
        let _proof: [u8; 2 * SIZE] = channel.take(fd, deadline).unwrap();
        channel.put(fd, &[TAKEN; 1 + SIZE], deadline).unwrap();
        served
    });
    let found = Channel::connect(client.as_fd(), &secret(KEY), SOON);
    assert!(matches!(found, Err(NoChannel::Impostor)), "{found:?}");
    drop(impostor.join().unwrap());
}

/// A man in the middle forwards the proofs over a separate TLS connection with each end.
#[test]
fn man_in_the_middle_is_refused_by_both_ends() {
    let ((client, near), (far, served)) = (pair(), pair());
    let server = server(served, KEY, SOON);
    let between = thread::spawn(move || {
        let deadline = Deadline::after(SOON);
        let (near_fd, far_fd) = (near.as_fd(), far.as_fd());
        let tls = ServerConnection::new(config::server(None).unwrap()).unwrap();
        let mut to_client = Channel::handshake(tls.into(), near_fd, deadline).unwrap();
        let name = ServerName::try_from("netserver").unwrap();
        let tls = ClientConnection::new(config::client(None).unwrap(), name).unwrap();
        let mut to_server = Channel::handshake(tls.into(), far_fd, deadline).unwrap();
        let number: [u8; SIZE] = to_server.take(far_fd, deadline).unwrap();
        to_client.put(near_fd, &number, deadline).unwrap();
        let proof: [u8; 2 * SIZE] = to_client.take(near_fd, deadline).unwrap();
        to_server.put(far_fd, &proof, deadline).unwrap();
        let [verdict] = to_server.take(far_fd, deadline).unwrap();
        verdict
    });
    let client_end = Channel::connect(client.as_fd(), &secret(KEY), SOON);
    assert!(client_end.is_err(), "{client_end:?}");
    assert_eq!(between.join().unwrap(), REFUSED);
    let refused = server.join().unwrap().map(drop);
    assert!(matches!(refused, Err(NoChannel::WrongKey)), "{refused:?}");
}

/// Records the bytes that a client sends to a server.
fn recorded() -> Vec<u8> {
    let ((client, near), (far, served)) = (pair(), pair());
    let server = server(served, KEY, SOON);
    let said = Arc::new(Mutex::new(Vec::new()));
    let copy = |mut from: TcpStream, mut to: TcpStream, said: Option<Arc<Mutex<Vec<u8>>>>| {
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut chunk) {
                if let Some(said) = &said {
                    said.lock().unwrap().extend_from_slice(&chunk[..count]);
                }
                if to.write_all(&chunk[..count]).is_err() {
                    break;
                }
            }
            to.shutdown(Shutdown::Write).ok();
        })
    };
    let there = copy(
        near.try_clone().unwrap(),
        far.try_clone().unwrap(),
        Some(Arc::clone(&said)),
    );
    let back = copy(far, near, None);
    let mut own = Channel::connect(client.as_fd(), &secret(KEY), SOON).unwrap();
    own.send(client.as_fd(), &[5; 656], SOON).unwrap();
    drop(own);
    client.shutdown(Shutdown::Write).unwrap();
    let (other, served) = server.join().unwrap().unwrap();
    there.join().unwrap();
    drop((other, served));
    back.join().unwrap();
    let said = said.lock().unwrap().clone();
    assert!(said.len() > 656);
    said
}

#[test]
fn replayed_proof_is_refused_at_any_length() {
    let said = recorded();
    let parts = [said.len(), said.len() - 700, said.len() / 2, 5, 1, 0];
    for part in parts {
        let (mut client, served) = pair();
        let server = server(served, KEY, SOON);
        client.write_all(&said[..part]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let refused = server.join().unwrap().map(drop);
        assert!(
            matches!(refused, Err(NoChannel::Broken(_))),
            "{part} bytes: {refused:?}"
        );
    }
}

#[test]
fn an_end_that_says_too_little_is_not_waited_for() {
    for said in [b"".as_slice(), b"\x16\x03\x01", b"GET / HTTP/1.0\r\n\r\n"] {
        let (mut client, served) = pair();
        let server = server(served, KEY, Duration::from_millis(200));
        client.write_all(said).unwrap();
        let refused = server.join().unwrap().map(drop);
        assert!(
            matches!(refused, Err(NoChannel::TooSlow | NoChannel::Broken(_))),
            "{refused:?}"
        );
    }
    let (client, _silent) = pair();
    let none = Channel::connect(client.as_fd(), &secret(KEY), Duration::from_millis(200));
    assert!(matches!(none, Err(NoChannel::TooSlow)), "{none:?}");
}
