//! Connections before their first message is complete: they cost no process and have a time
//! limit, and other protocols are disconnected.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use netperf_testkit::server::free_port;
use netperf_testkit::{Invocation, Netserver, Place, eventually, is_closed, ours, procfs};
use netperf_wire::{FRAME_LEN, Frame, Header, RemoteErrno, RequestKind};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// A netserver that says everything.
struct Target {
    server: Netserver,
    metrics: u16,
}

impl Target {
    fn new(options: &[&str]) -> Self {
        let metrics = free_port();
        let at = metrics.to_string();
        let usual = ["-D", "--log", "json", "--log-level", "debug", "--metrics"];
        let options: Vec<&str> = usual
            .into_iter()
            .chain([at.as_str()])
            .chain(options.iter().copied())
            .collect();
        let server = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
        Self { server, metrics }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.server.port())).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        // Separate writes arrive separately.
        stream.set_nodelay(true).expect("a connection");
        stream
    }

    /// Waits for word that a connection ended unserved, of this peer.
    #[track_caller]
    fn hears_of(&self, ended: &str, stream: &TcpStream) {
        let peer = stream.local_addr().expect("an address").to_string();
        let said = || -> Vec<Value> {
            let text = self.server.said().1;
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let lines = whole.lines().map(serde_json::from_str);
            lines.map(|line| line.expect("JSON")).collect()
        };
        let fits = |line: &Value| {
            line["event"] == "unspoken" && line["peer"] == *peer && line["end"] == ended
        };
        let heard = eventually(PATIENCE, || said().iter().any(fits));
        assert!(heard, "{ended} {peer}: {:?}", said());
    }

    /// Waits until the page of metrics has all of these lines.
    #[track_caller]
    fn counts(&self, lines: &[&str]) {
        let mut page = String::new();
        let all = eventually(PATIENCE, || {
            page = self.page();
            lines.iter().all(|line| page.contains(&format!("{line}\n")))
        });
        assert!(all, "{lines:?}: {page}");
    }

    fn page(&self) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics)).expect("a desk");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
            .expect("space");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("an answer");
        page
    }

    #[track_caller]
    fn serves(&self) {
        Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &self.server.port().to_string()])
            .args(["-t", "TCP_RR", "-l", "-50", "-P", "0", "-v", "0"])
            .run()
            .expect_clean();
    }

    /// No session has been made so far.
    #[track_caller]
    fn has_made_no_process(&self) {
        assert_eq!(procfs::children(self.server.pid()), Vec::<u32>::new());
        let page = self.page();
        assert!(!page.contains("netserver_sessions_total{"), "{page}");
    }
}

fn message(kind: u32) -> [u8; FRAME_LEN] {
    let header = Header::request(RequestKind::from_number(kind));
    *Frame::new(header).as_bytes()
}

fn sys_info() -> [u8; FRAME_LEN] {
    message(RequestKind::SysInfo.number())
}

#[track_caller]
fn answer(stream: &mut TcpStream) -> Frame {
    let mut bytes = [0; FRAME_LEN];
    stream.read_exact(&mut bytes).expect("an answer");
    Frame::from_bytes(bytes)
}

#[test]
fn a_client_that_drips_never_gets_a_process() {
    let target = Target::new(&[]);
    let mut dripping = target.connect();
    for byte in sys_info().iter().take(FRAME_LEN - 1) {
        dripping.write_all(&[*byte]).expect("space");
    }
    target.counts(&["netserver_connections_waiting 1"]);
    target.has_made_no_process();
    target.serves();
    // Its last byte makes it a client as any other.
    dripping.write_all(&[0]).expect("space");
    assert_eq!(answer(&mut dripping).errno(), RemoteErrno::OK);
    let mut gone = target.connect();
    gone.write_all(&sys_info()[..100]).expect("space");
    gone.shutdown(Shutdown::Write).expect("a connection");
    target.hears_of("cut", &gone);
    target.counts(&["netserver_connections_unspoken_total{reason=\"cut\"} 1"]);
}

#[test]
fn first_messages_of_other_programs_are_closed_without_a_process() {
    let target = Target::new(&[]);
    for said in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-x\r\n",
        &[0xa5; 2 * FRAME_LEN],
    ] {
        let mut stream = target.connect();
        stream.write_all(said).expect("space");
        assert!(is_closed(&stream));
        target.hears_of("nonsense", &stream);
    }
    target.counts(&[
        "netserver_connections_unspoken_total{reason=\"nonsense\"} 4",
        "netserver_connections_waiting 0",
    ]);
    target.has_made_no_process();
    target.serves();
}

#[test]
fn a_request_that_nobody_knows_is_answered_and_the_next_one_too() {
    let target = Target::new(&[]);
    for kind in [0, 9999, 65_535] {
        let mut stream = target.connect();
        stream.write_all(&message(kind)).expect("space");
        assert_eq!(answer(&mut stream).errno(), RemoteErrno::UNKNOWN_REQUEST);
        stream.write_all(&sys_info()).expect("space");
        assert_eq!(answer(&mut stream).errno(), RemoteErrno::OK);
    }
}

#[test]
fn a_first_message_in_pieces_or_with_the_next_is_served() {
    let target = Target::new(&[]);
    let whole = sys_info();
    for cut in [1, 3, 4, 328, FRAME_LEN - 1] {
        let mut stream = target.connect();
        stream.write_all(&whole[..cut]).expect("space");
        target.counts(&["netserver_connections_waiting 1"]);
        assert_eq!(target.server.sessions(), Vec::<u32>::new(), "{cut}");
        stream.write_all(&whole[cut..]).expect("space");
        assert_eq!(answer(&mut stream).errno(), RemoteErrno::OK, "{cut}");
        drop(stream);
        assert!(eventually(PATIENCE, || target.server.sessions().is_empty()));
    }
    // One and a half at once, and two at once.
    for cut in [FRAME_LEN + 328, 2 * FRAME_LEN] {
        let both = [whole, whole].concat();
        let mut stream = target.connect();
        stream.write_all(&both[..cut]).expect("space");
        assert_eq!(answer(&mut stream).errno(), RemoteErrno::OK);
        stream.write_all(&both[cut..]).expect("space");
        assert_eq!(answer(&mut stream).errno(), RemoteErrno::OK);
    }
}

#[test]
fn first_messages_that_do_not_come_or_end_are_closed_in_time() {
    let target = Target::new(&["--idle-time", "300ms"]);
    let (silent, mut begun) = (target.connect(), target.connect());
    begun.write_all(&sys_info()[..328]).expect("space");
    assert!(is_closed(&silent) && is_closed(&begun));
    target.hears_of("silent", &silent);
    target.hears_of("slow", &begun);
    target.counts(&[
        "netserver_connections_unspoken_total{reason=\"silent\"} 1",
        "netserver_connections_unspoken_total{reason=\"slow\"} 1",
        "netserver_connections_waiting 0",
    ]);
    target.has_made_no_process();
}

#[test]
fn half_a_preamble_that_ends_is_not_waited_for() {
    let target = Target::new(&[]);
    let mut data = target.connect();
    data.write_all(&[0xb5, 0x6e, 0x70, 0x00]).expect("space");
    data.shutdown(Shutdown::Write).expect("a connection");
    target.hears_of("cut", &data);
    target.has_made_no_process();
}

#[test]
fn a_client_that_drips_does_not_hold_up_a_server_of_one_process() {
    let target = Target::new(&["-f"]);
    let mut dripping = target.connect();
    dripping.write_all(&sys_info()[..328]).expect("space");
    target.counts(&["netserver_connections_waiting 1"]);
    target.serves();
    dripping.write_all(&sys_info()[328..]).expect("space");
    assert_eq!(answer(&mut dripping).errno(), RemoteErrno::OK);
}

#[test]
fn a_passphrase_in_pieces_is_heard() {
    let target = Target::new(&["-Z", "sesame"]);
    let mut phrase = message(RequestKind::Passphrase.number());
    phrase[8..14].copy_from_slice(b"sesame");
    let mut stream = target.connect();
    stream.write_all(&phrase[..10]).expect("space");
    target.counts(&["netserver_connections_waiting 1"]);
    stream.write_all(&phrase[10..]).expect("space");
    stream.write_all(&sys_info()).expect("space");
    assert_eq!(answer(&mut stream).errno(), RemoteErrno::OK);
}
