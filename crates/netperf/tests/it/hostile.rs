//! Clients that mean harm, or know no better: what netserver hears from them must not cost
//! it its life, its memory, or anybody else their test; and when they are gone, nothing of
//! them is left.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_os::{Domain, Socket, Type};
use netperf_testkit::server::free_port;
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Stopwatch, eventually, machine, note, ours, procfs,
};
use netperf_wire::messages::OmniResponse;
use netperf_wire::{FRAME_LEN, Frame, Message, RequestKind};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A netserver, and how it was before anybody came.
struct Target {
    server: Netserver,
    descriptors: usize,
}

impl Target {
    fn new() -> Self {
        let server = ours!().serve();
        let mut target = Self {
            descriptors: 0,
            server,
        };
        // It has allocated all that it needs when it has served one client.
        target.serves();
        let alone = eventually(seconds(10), || target.server.sessions().is_empty());
        assert!(alone, "a session is left");
        target.descriptors = procfs::descriptors(target.server.pid());
        target
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.server.port())).expect("it listens");
        stream.set_read_timeout(Some(seconds(20))).expect("a limit");
        stream
            .set_write_timeout(Some(seconds(20)))
            .expect("a limit");
        stream
    }

    /// Says this and hangs up.
    fn hit(&self, bytes: &[u8]) {
        let mut stream = self.connect();
        // It may have had enough of us already.
        let _refused = stream.write_all(bytes);
    }

    fn honest(&self) -> Finished {
        Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &self.server.port().to_string()])
            .args(["-t", "TCP_RR", "-l", "-50", "-P", "0", "-v", "0"])
            .run()
    }

    /// An honest client is served.
    #[track_caller]
    fn serves(&self) {
        self.honest().expect_clean();
    }

    /// Memory of the listener that is in use, kB.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.pid()));
        let status = status.expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let words = line.expect("a process has memory").split_whitespace();
        words
            .into_iter()
            .next()
            .expect("a number")
            .parse()
            .expect("a number")
    }

    /// No process, no descriptor is left, and the server serves.
    #[track_caller]
    fn is_as_before(&self) {
        let gone = eventually(seconds(30), || self.server.sessions().is_empty());
        let left: Vec<_> = self
            .server
            .sessions()
            .into_iter()
            .map(procfs::words)
            .collect();
        assert!(gone, "sessions are left: {left:?}");
        self.serves();
        let closed = eventually(seconds(10), || {
            procfs::descriptors(self.server.pid()) == self.descriptors
        });
        let now = procfs::descriptors(self.server.pid());
        assert!(closed, "{now} descriptors, and {} before", self.descriptors);
        assert!(self.server.alive());
        let (_, complaints) = self.server.said();
        let unusual = complaints
            .lines()
            .filter(|line| !line.contains(" session "));
        assert_eq!(unusual.count(), 0, "{complaints}");
    }
}

/// Dice that fall the same way each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, faces: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % faces
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut byte = || u8::try_from(self.roll(256)).expect("a byte");
        (0..count).map(|_| byte()).collect()
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.roll(most.try_into().expect("small"))).expect("small")
    }
}

/// The request that netperf makes for a test, caught on its way: the last message before it
/// waits for an answer to a test.
pub(crate) fn request(words: &[&str]) -> Frame {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let running = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .args(words)
        .spawn();
    let (mut stream, _) = listener.accept().expect("netperf");
    stream.set_read_timeout(Some(seconds(20))).expect("a limit");
    let mut bytes = [0; FRAME_LEN];
    stream.read_exact(&mut bytes).expect("a request");
    // It would wait for an answer.
    running.signal("KILL");
    running.finish();
    drop(stream);
    Frame::from_bytes(bytes)
}

const TESTS: [&str; 7] = [
    "TCP_STREAM",
    "TCP_MAERTS",
    "TCP_RR",
    "TCP_CRR",
    "TCP_CC",
    "UDP_STREAM",
    "UDP_RR",
];

#[test]
fn random_bytes_and_messages_of_the_wrong_length_are_survived() {
    let target = Target::new();
    let mut dice = Dice(6);
    let whole = request(&["-t", "TCP_RR", "-l", "1"]);
    for _ in 0..40 {
        let length = 1 + dice.below(2 * FRAME_LEN);
        let noise = dice.bytes(length);
        target.hit(&noise);
        target.hit(&whole.as_bytes()[..1 + dice.below(FRAME_LEN - 1)]);
        let mut long = whole.as_bytes().to_vec();
        long.extend(dice.bytes(10 * FRAME_LEN));
        target.hit(&long);
    }
    target.is_as_before();
}

/// Values that no test means: -1, the largest and smallest integers, no number and
/// infinity in both precisions.
const ABSURD: [u32; 7] = [
    u32::MAX,
    0x7fff_ffff,
    0x8000_0000,
    0x7ff8_0000,
    0xfff0_0000,
    0x7fc0_0000,
    0,
];

fn with_word(frame: &Frame, word: usize, value: u32) -> [u8; FRAME_LEN] {
    let mut bytes = *frame.as_bytes();
    bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_be_bytes());
    bytes
}

#[test]
fn threat_model_every_request_with_absurd_values_is_survived() {
    let target = Target::new();
    let mut dice = Dice(66);
    // Every request there is, and some that there are not, with nothing sensible in it.
    let kinds = RequestKind::NAMED.iter().map(|kind| kind.number());
    for kind in kinds.chain([0, 7, 32_766, u32::MAX]) {
        let value = ABSURD[dice.below(ABSURD.len())];
        let mut bytes = [0; FRAME_LEN];
        for word in bytes.chunks_exact_mut(4) {
            word.copy_from_slice(&value.to_be_bytes());
        }
        bytes[..4].copy_from_slice(&kind.to_be_bytes());
        target.hit(&bytes);
        let mut noise = dice.bytes(FRAME_LEN);
        noise[..4].copy_from_slice(&kind.to_be_bytes());
        target.hit(&noise);
    }
    // Real requests, each word of which is absurd in its turn.
    for test in TESTS {
        let whole = request(&["-t", test, "-l", "1"]);
        for word in 1..FRAME_LEN / 4 {
            if dice.roll(6) == 0 {
                target.hit(&with_word(&whole, word, ABSURD[dice.below(ABSURD.len())]));
            }
        }
    }
    target.is_as_before();
}

/// Number of connections that this process may have open.
fn space() -> usize {
    let limit = netperf_os::process::raise_open_files().expect("a limit");
    usize::try_from(limit)
        .unwrap_or(usize::MAX)
        .saturating_sub(200)
}

#[test]
fn threat_model_two_thousand_silent_clients_cost_no_process_and_keep_nobody_waiting() {
    let _slot = machine::slot();
    let target = Target::new();
    let before = target.memory();
    let crowd: Vec<TcpStream> = (0..space().min(2000)).map(|_| target.connect()).collect();
    // The connections are accepted when a later one has been served.
    target.serves();
    assert!(eventually(seconds(10), || target
        .server
        .sessions()
        .is_empty()));
    let grown = target.memory().saturating_sub(before);
    note(&format!("{} silent clients: {grown} kB more", crowd.len()));
    assert!(grown < 32 * 1024, "the listener grew by {grown} kB");
    // Some wake up and say half of what they should.
    for stream in crowd.iter().take(40) {
        let mut stream = stream;
        stream.write_all(&[0; 100]).expect("space");
    }
    target.serves();
    drop(crowd);
    target.is_as_before();
}

#[test]
fn a_session_that_is_killed_leaves_no_socket_file() {
    // The message of a Unix-domain test takes short paths only.
    let folder = PathBuf::from(format!("/tmp/np{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    // A netserver that root starts is another user.
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&folder, open).expect("own folder");
    let files = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
    let environment = [("TMPDIR".to_owned(), OsString::from(&folder))];
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D"], &environment);
    let running = ours!()
        .client_of(&server)
        .args(["-t", "STREAM_STREAM", "-l", "60"])
        .spawn();
    assert!(eventually(seconds(20), || files() > 0));
    server.signal_sessions("KILL");
    assert!(eventually(seconds(20), || files() == 0));
    drop(running);
    drop(server);
    std::fs::remove_dir(&folder).expect("an empty folder");
}

#[test]
fn a_flood_of_connections_leaves_nothing_behind() {
    let target = Target::new();
    for round in 0..2000 {
        let stream = target.connect();
        match round % 3 {
            0 => stream.shutdown(Shutdown::Both).expect("a connection"),
            // Ends with a reset.
            1 => Socket::from(stream)
                .set_linger(Some(Duration::ZERO))
                .expect("a connection"),
            _ => {}
        }
    }
    target.is_as_before();
}

/// A conversation that is left in the middle.
struct Caller {
    control: TcpStream,
    response: OmniResponse,
}

impl Caller {
    /// Asks for a test and hears that netserver is ready.
    fn new(target: &Target, request: &Frame) -> Self {
        let mut control = target.connect();
        control.write_all(request.as_bytes()).expect("space");
        let mut bytes = [0; FRAME_LEN];
        control.read_exact(&mut bytes).expect("an answer");
        let response = OmniResponse::decode(&Frame::from_bytes(bytes)).expect("whole");
        Self { control, response }
    }

    /// Opens the data connection.
    fn data(&self) -> TcpStream {
        let port = self.response.data_port.try_into().expect("a port");
        TcpStream::connect(("127.0.0.1", port)).expect("netserver listens for data")
    }
}

#[test]
fn threat_model_clients_that_leave_in_the_middle_at_any_state_leave_nothing_behind() {
    let target = Target::new();
    for test in TESTS {
        let request = request(&["-t", test, "-l", "30"]);
        // Asked, and gone; by a reset too.
        target.hit(request.as_bytes());
        let mut control = target.connect();
        control.write_all(request.as_bytes()).expect("space");
        let control = Socket::from(control);
        control
            .set_linger(Some(Duration::ZERO))
            .expect("a connection");
        drop(control);
        // Answered, and gone.
        drop(Caller::new(&target, &request));
        if !test.starts_with("TCP") {
            continue;
        }
        // Gone with the data connection open.
        let caller = Caller::new(&target, &request);
        let data = caller.data();
        drop(caller);
        drop(data);
        // Gone with some of the data on the way.
        let caller = Caller::new(&target, &request);
        let mut data = caller.data();
        let _refused = data.write_all(&[0; 1000]);
        drop(data);
        drop(caller);
    }
    target.is_as_before();
}

#[test]
fn a_client_that_never_reads_is_left_to_itself_when_the_time_is_over() {
    let target = Target::new();
    let request = request(&["-t", "TCP_MAERTS", "-l", "1"]);
    let mut caller = Caller::new(&target, &request);
    let data = caller.data();
    let waiting = Stopwatch::start();
    // netserver fills the connection, waits for us in vain, and says so in time.
    let mut bytes = [0; FRAME_LEN];
    let answered = caller.control.read_exact(&mut bytes);
    assert!(
        answered.is_ok(),
        "after {:?}: {answered:?}",
        waiting.elapsed()
    );
    drop(data);
    drop(caller);
    // One that asks and asks and hears no answer fills the control connection.
    let mut deaf = target.connect();
    deaf.set_write_timeout(Some(seconds(1))).expect("a limit");
    let ask = {
        let mut bytes = [0; FRAME_LEN];
        let kind = RequestKind::SysInfo.number();
        bytes[..4].copy_from_slice(&kind.to_be_bytes());
        bytes
    };
    let mut asked = 0;
    while asked < 20_000 && deaf.write_all(&ask).is_ok() {
        asked += 1;
    }
    note(&format!("asked {asked} times"));
    assert!(asked > 100, "it answered and was heard");
    target.serves();
    drop(deaf);
    target.is_as_before();
}

#[test]
fn a_netserver_short_of_descriptors_goes_on_serving() {
    let port = free_port().to_string();
    let mut running = Invocation::new(Path::new("/bin/sh"))
        .args(["-c", "ulimit -n 24 && exec \"$0\" \"$@\""])
        .arg(&ours!().netserver)
        .args(["-D", "-p", &port])
        .spawn();
    assert!(running.prints("Starting netserver", seconds(10)));
    let connect = || TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    // Each of these wants a process, and there are not descriptors enough.
    let crowd: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = connect();
            // It may have been let go already.
            let _refused = stream.write_all(&[0; FRAME_LEN]);
            stream
        })
        .collect();
    let short = eventually(seconds(20), || {
        running.stderr().contains("Too many open files")
    });
    assert!(short, "{}", running.stderr());
    assert!(!running.ended(), "{}", running.stderr());
    drop(crowd);
    let served = eventually(seconds(20), || {
        let honest = Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port])
            .args(["-t", "TCP_RR", "-l", "-50", "-P", "0", "-v", "0"]);
        honest.run().status.success()
    });
    assert!(served, "{}", running.stderr());
}

/// A connection from another address of this host that says this and then nothing.
fn silent(port: u16, said: &[u8]) -> Option<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let at = |text: String| text.parse::<SocketAddr>().expect("an address").into();
    socket
        .bind(&at("127.0.0.2:0".to_owned()))
        .expect("an address");
    let to = at(format!("127.0.0.1:{port}"));
    socket.connect_timeout(&to, seconds(20)).ok()?;
    // It may have been let go already.
    let _refused = (&socket).write_all(said);
    Some(socket)
}

#[test]
fn threat_model_silent_connections_at_every_port_leave_descriptors_to_others() {
    const EACH: usize = 300;
    let _slot = machine::slot();
    let ports = [free_port(), free_port(), free_port()];
    let [port, iperf3, iperf2] = ports.map(|port| port.to_string());
    let mut running = Invocation::new(Path::new("/bin/sh"))
        .args(["-c", "ulimit -n 256 && exec \"$0\" \"$@\""])
        .arg(&ours!().netserver)
        .args(["-D", "-p", &port, "--iperf3", &iperf3, "--iperf2", &iperf2])
        .spawn();
    assert!(running.prints("Starting netserver", seconds(10)));
    let [netperf, of_iperf3, of_iperf2] = ports;
    let attacks: [(u16, &[u8]); 6] = [
        (netperf, b""),
        (netperf, &[0; 100]),
        (netperf, &[0xb5, 0x6e, 0x70, 0x00, 0xc7, 0x72, 0x73, 1]),
        (of_iperf3, b""),
        (of_iperf3, b"abcdefgh"),
        (of_iperf2, b""),
    ];
    let honest = |(port, words): (&String, &[&str])| {
        let client = Invocation::new(&ours!().netperf).args(["-H", "127.0.0.1", "-p", port]);
        client.args(words.iter()).run().expect_exit(0);
    };
    let mut crowd = Vec::new();
    for (at, said) in attacks {
        crowd.extend((0..EACH).filter_map(|_| silent(at, said)));
        honest((&port, &["-t", "TCP_RR", "-l", "-50"]));
        honest((&port, &["-t", "TCP_RR", "-l", "-50", "--one-port"]));
        honest((&iperf3, &["--iperf3", "-l", "-8192"]));
        honest((&iperf2, &["--iperf2", "-l", "-8192"]));
    }
    assert!(!running.ended(), "{}", running.stderr());
    assert!(
        !running.stderr().contains("open files"),
        "{}",
        running.stderr()
    );
}
