//! Requests beyond what netserver permits by default, as raw records.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Programs, Running, Scratch, TwoHosts, eventually, ours,
    require,
};
use netperf_wire::messages::{Extension, ItemKind, OmniRequest};
use netperf_wire::{
    Direction, FRAME_LEN, Frame, Header, Message, RequestKind, Stage, WireFamily, WireSocketType,
};
use serde_json::Value;

/// `EACCES` and `EPROTONOSUPPORT`.
const ACCESS: i32 = 13;
const NO_PROTOCOL: i32 = 93;
/// Packets that a control connection may need, with those of the kernel on a new link. A flood
/// has ten times as many.
const FEW: u64 = 300;
const MANY: u64 = 3000;

/// A request that makes netserver send to this address.
pub(crate) fn record(transport: &str, kind: WireSocketType, address: &str) -> Frame {
    let request = OmniRequest {
        send_buf_size: -1,
        send_size: 64,
        send_alignment: 8,
        request_size: -1,
        recv_buf_size: -1,
        receive_size: -1,
        recv_alignment: 8,
        response_size: -1,
        test_length: 10,
        ipfamily: WireFamily::Inet,
        socket_type: kind,
        direction: Direction::TRANSMIT,
        socket_prio: -1,
        socket_tos: -1,
        ..OmniRequest::default()
    };
    let mut frame = request.encode(Header::request(RequestKind::Omni));
    let mut block = Extension::default();
    block.push(ItemKind::Transport, transport.as_bytes());
    block.push(ItemKind::SocketAddress, address.as_bytes());
    block.push(ItemKind::Device, TwoHosts::CABLE.as_bytes());
    let written = block.encode_over(Stage::Request, &mut frame);
    written.expect("space behind the message");
    frame
}

/// A client on the other host, which sends a record and keeps the connection open.
struct Attacker<'h> {
    hosts: &'h TwoHosts,
    folder: Scratch,
}

impl<'h> Attacker<'h> {
    fn new(hosts: &'h TwoHosts) -> Self {
        let folder = Scratch::new();
        Self { hosts, folder }
    }

    fn send(&self, server: &Netserver, record: &Frame) -> (Running, Frame) {
        let [asked, answer] = ["asked", "answer"].map(|name| self.folder.path().join(name));
        std::fs::write(&asked, record.as_bytes()).expect("space");
        let _none_yet = std::fs::remove_file(&answer);
        let script = format!(
            "exec 3<>/dev/tcp/{}/{}; cat \"$0\" >&3; head -c {FRAME_LEN} <&3 >\"$1\"; exec sleep 30",
            TwoHosts::SERVER_V4,
            server.port()
        );
        let running = Invocation::new(Path::new("bash"))
            .args(["-c", &script])
            .arg(&asked)
            .arg(&answer)
            .within(&self.hosts.client())
            .spawn();
        let read = || std::fs::read(&answer).unwrap_or_default();
        let whole = eventually(Duration::from_secs(20), || read().len() == FRAME_LEN);
        assert!(whole, "no answer: {}", running.stderr());
        (
            running,
            Frame::from_bytes(read().try_into().expect("whole")),
        )
    }

    /// Packets that arrived at this host.
    fn packets(&self) -> u64 {
        arrived(self.hosts)
    }
}

/// Packets that arrived at the client's end of the cable.
fn arrived(hosts: &TwoHosts) -> u64 {
    let file = format!("/sys/class/net/{}/statistics/rx_packets", TwoHosts::CABLE);
    let shown = Invocation::new(Path::new("cat")).args([&file]);
    let shown = shown.within(&hosts.client()).run().expect_clean();
    shown.stdout.trim().parse().expect("a count")
}

#[test]
fn threat_model_records_that_name_what_is_off_or_beyond_the_policy_move_nothing_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    let attacker = Attacker::new(&hosts);
    let datagram = WireSocketType::Datagram;
    let broadcast = "link:ff:ff:ff:ff:ff:ff/84";
    let server = Netserver::start(&ours!(), &hosts.server());
    for (transport, kind, address, errno) in [
        ("packet", datagram, broadcast, NO_PROTOCOL),
        ("llc1", datagram, broadcast, NO_PROTOCOL),
        ("llc1", datagram, "link:02:00:00:00:00:01/84", NO_PROTOCOL),
        ("llc2", WireSocketType::Stream, broadcast, NO_PROTOCOL),
        ("atm", datagram, "atm:0.0.100", NO_PROTOCOL),
        ("unix-dgram", datagram, "unix:/run/systemd/notify", ACCESS),
    ] {
        let (_running, answer) = attacker.send(&server, &record(transport, kind, address));
        assert_eq!(answer.errno().0, errno, "{transport} {address}");
    }
    // A group of stations takes more than the name of the transport.
    let options = ["-D", "--transports", "all"];
    let link = Netserver::start_with(&ours!(), &hosts.server(), &options, &[]);
    for transport in ["packet", "llc1"] {
        let (_running, answer) = attacker.send(&link, &record(transport, datagram, broadcast));
        assert_eq!(answer.errno().0, ACCESS, "{transport}");
    }
    let arrived = attacker.packets();
    assert!(arrived < FEW, "{arrived} packets");
    // The same record is a flood where the policy permits it.
    let options = ["-D", "--transports", "all", "--data-peers", "any"];
    let open = Netserver::start_with(&ours!(), &hosts.server(), &options, &[]);
    let (_running, answer) = attacker.send(&open, &record("packet", datagram, broadcast));
    assert!(answer.errno().is_ok(), "{:?}", answer.errno());
    let flood = eventually(Duration::from_secs(20), || attacker.packets() > MANY);
    assert!(flood, "{} packets", attacker.packets());
}

#[test]
fn threat_model_features_are_for_clients_that_are_no_strangers_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    // Without the feature, a netserver that becomes another user has no right to it.
    let options = ["-D", "--user", "root"];
    let closed = Netserver::start_with(&ours!(), &hosts.server(), &options, &[]);
    let options = ["-D", "--features", "mark,bind-device,priority"];
    let open = Netserver::start_with(&ours!(), &hosts.server(), &options, &[]);
    let run = |server: &Netserver, place: &Place, words: &str| {
        let client = Invocation::new(&ours!().netperf).within(place);
        let port = server.port().to_string();
        let client = client.args(["-H", TwoHosts::SERVER_V4, "-p", &port]);
        let client = client.args(["-t", "TCP_RR", "--count", "10", "-P", "0"]);
        client.args(words.split_whitespace()).run()
    };
    for (feature, words) in [
        ("mark", "--mark ,7"),
        ("bind-device", "--bind-device ,cable"),
        ("priority", "--priority ,7"),
    ] {
        let refused = run(&closed, &hosts.client(), words).expect_exit(255);
        let way_out = format!("netserver --features {feature} permits it to all");
        assert!(refused.stderr.contains(&way_out), "{}", refused.account());
        run(&open, &hosts.client(), words).expect_exit(0);
    }
    // Options that need no right are for all users (socket(7)).
    for words in ["-y ,0", "-y ,6", "-Y ,CS5"] {
        run(&closed, &hosts.client(), words).expect_exit(0);
    }
    // A client on the same host is no stranger.
    for words in ["--mark ,7", "--priority ,7"] {
        run(&closed, &hosts.server(), words).expect_exit(0);
    }
}

#[test]
fn a_transport_that_is_off_is_named_with_the_way_out() {
    let server = Netserver::start_with(
        &ours!(),
        &Place::Here,
        &["-D", "--transports", "tcp,udp"],
        &[],
    );
    let client = || ours!().client_of(&server);
    let refused = client()
        .args(["-t", "STREAM_STREAM", "--time", "100ms"])
        .run()
        .expect_exit(255);
    let way_out = "netserver --transports unix permits them";
    assert!(refused.stderr.contains(way_out), "{}", refused.account());
    client()
        .args(["-t", "TCP_RR", "-l", "-50", "-P", "0"])
        .run()
        .expect_clean();
    let listed = client().args(["--list", "--json"]).run().expect_clean();
    let list: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let transports = list["transports"].as_array().expect("a list");
    for row in transports {
        // The kernel's default for a stream is TCP.
        let named = ["tcp", "udp", "ip"]
            .iter()
            .any(|name| row["transport"] == *name);
        assert_eq!(row["there"]["supported"], named, "{row}");
        let reason = row["there"]["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.contains("--transports"), !named, "{row}");
    }
}

/// Another address at the client's end of the cable.
const VICTIM: &str = "198.18.0.9";
/// Another address of netserver's host.
const OTHER: &str = "198.18.0.8";

/// Requests whose data comes from another address than the control connection, by kind of
/// request, transport and data path of netserver.
const FORGED: [&str; 7] = [
    "-t UDP_RR --",
    "-t UDP_RR -- -n",
    "-t UDP_RR -- -N",
    "-t UDP_RR --timestamps software --",
    "-t UDP_RR --flows 2 --",
    "-t OMNI -- -d rr -T udplite",
    "-t UDP_STREAM --bidirectional same --flows 2 --batch 8 -- -m 64",
];

/// The same of data that netserver only receives.
const RECEIVED: [&str; 7] = [
    "-t UDP_STREAM -- -m 1000",
    "-t UDP_STREAM --batch 16 -- -m 64",
    "-t UDP_STREAM --segment-offload on -- -m 64",
    "-t UDP_STREAM --discard -- -m 64",
    "-t UDP_STREAM --io uring --batch 16 -- -m 64",
    "-t UDP_STREAM --flows 2 --batch 8 -- -m 64",
    "-t OMNI -- -d send -T udplite -m 1000",
];

/// The client's host, which has the victim's address, too.
struct Forger {
    hosts: TwoHosts,
}

impl Forger {
    fn new() -> Self {
        let forger = Self {
            hosts: TwoHosts::new(),
        };
        let address = format!("addr add {VICTIM}/24 dev {}", TwoHosts::CABLE);
        forger.run("ip", &address);
        // Datagrams of the host to itself do not count.
        let rules = format!(
            "table inet seen {{ counter datagrams {{ }}; chain input {{ type filter hook input \
             priority 0; iifname {} meta l4proto {{ udp, udplite }} counter name datagrams; }}; }}",
            TwoHosts::CABLE
        );
        forger.run("nft", &rules);
        forger
    }

    /// Runs a program at the client's host.
    fn run(&self, program: &str, words: &str) -> String {
        let run = Invocation::new(Path::new(program)).args(words.split(' '));
        run.within(&self.hosts.client()).run().expect_clean().stdout
    }

    fn serve(&self, options: &[&str]) -> Netserver {
        let all = [&["-D", "--features", "io-uring"], options].concat();
        Netserver::start_with(&ours!(), &self.hosts.server(), &all, &[])
    }

    /// A test whose data socket has the victim's address.
    fn forge(&self, server: &Netserver, words: &str) -> Running {
        let port = server.port().to_string();
        Invocation::new(&ours!().netperf)
            .within(&self.hosts.client())
            .args(["-4", "-H", TwoHosts::SERVER_V4, "-p", &port])
            .args(["--time", "200ms"])
            .args(words.split_whitespace())
            .args(["-L", &format!("{VICTIM},4")])
            .spawn()
    }

    /// All forged requests at the same time.
    fn forge_all(&self, server: &Netserver) -> impl Iterator<Item = (&'static str, Finished)> {
        let running = FORGED.map(|words| {
            let selecting = format!("{words} -k REMOTE_BYTES_RECVD,LOCAL_BYTES_RECVD");
            (words, self.forge(server, &selecting))
        });
        running
            .into_iter()
            .map(|(words, running)| (words, running.finish()))
    }

    /// Datagrams that came to the client's host over the cable.
    fn datagrams(&self) -> u64 {
        let shown = self.run("nft", "list counter inet seen datagrams");
        let (_, count) = shown.split_once("packets ").expect("a counter");
        let count = count.split(' ').next().expect("a word");
        count.parse().expect("a count")
    }

    /// Datagrams that arrived at netserver's host, delivered or not.
    fn requests(&self) -> u64 {
        let names = ["UdpInDatagrams", "UdpInErrors"];
        names
            .iter()
            .map(|name| self.hosts.server_counter(name))
            .sum()
    }
}

#[test]
fn threat_model_requests_with_a_forged_source_are_neither_answered_nor_counted_netns() {
    if !require::root() || !require::nft() {
        return;
    }
    let forger = Forger::new();
    let server = forger.serve(&[]);
    for (words, finished) in forger.forge_all(&server) {
        let account = || format!("{words}: {}", finished.account());
        assert!(!finished.status.success(), "{}", account());
        let mut figures = finished.stdout.lines().filter(|line| line.contains('='));
        assert!(figures.all(|line| line.ends_with("=0")), "{}", account());
    }
    // Addresses that netserver sends to are refused.
    for words in [
        "-t OMNI -- -d recv -T udp",
        "-t UDP_STREAM --bidirectional same --",
    ] {
        forger.forge(&server, words).finish().expect_exit(255);
    }
    // Data that netserver only receives is harmless.
    for words in RECEIVED {
        let selecting = format!("{words} -k REMOTE_BYTES_RECVD");
        let finished = forger.forge(&server, &selecting).finish().expect_exit(0);
        let received = finished.stdout.lines().find(|line| line.contains("RECVD="));
        assert!(
            received.is_some_and(|line| !line.ends_with("=0")),
            "{}",
            finished.account()
        );
    }
    assert_eq!(forger.datagrams(), 0);
    // The same requests are served where the policy permits their source.
    let open = forger.serve(&["--data-peers", "any"]);
    for (words, finished) in forger.forge_all(&open) {
        assert!(finished.status.success(), "{words}: {}", finished.account());
    }
    assert!(forger.datagrams() > 0);
}

#[test]
fn consent_to_data_is_a_handshake_or_a_key_at_any_address_netns() {
    if !require::root() || !require::nft() {
        return;
    }
    let forger = Forger::new();
    // Its own network for data, as with `-- -H data -L data`.
    let other = format!("addr add {OTHER}/24 dev {}", TwoHosts::CABLE);
    let add = Invocation::new(Path::new("ip")).args(other.split(' '));
    add.within(&forger.hosts.server()).run().expect_clean();
    let folder = Scratch::new();
    let key = folder.path().join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let key = key.to_str().unwrap();
    let server = forger.serve(&[]);
    let with_key = forger.serve(&["--key-file", key]);
    let data = ["", &format!("-H {OTHER},4")];
    for bind in data {
        for test in [
            "TCP_STREAM",
            "TCP_MAERTS",
            "TCP_RR",
            "TCP_CRR",
            "UDP_STREAM",
        ] {
            let words = format!("-t {test} -- {bind}");
            forger.forge(&server, &words).finish().expect_exit(0);
        }
        // A client that has proven the key says where datagrams go.
        for test in ["-t UDP_RR --", "-t OMNI -- -d recv -T udp"] {
            let (test, options) = test.split_once(" --").unwrap();
            let words = format!("--key-file {key} {test} -- {options} {bind}");
            forger.forge(&with_key, &words).finish().expect_exit(0);
        }
    }
    let refused = forger.forge(&server, "-t OMNI -- -d recv -T udp").finish();
    let line = format!("or where a client with its key asks for them, not to {VICTIM}");
    assert!(refused.stderr.contains(&line), "{}", refused.account());
}

#[test]
fn a_forged_datagram_to_the_port_of_the_control_connection_is_not_answered_netns() {
    if !require::root() || !require::nft() {
        return;
    }
    let forger = Forger::new();
    let server = forger.serve(&[]);
    let before = forger.requests();
    let running = forger.forge(&server, "-t UDP_RR --one-port --");
    // netperf repeats its probe until it is answered.
    let probed = eventually(Duration::from_secs(20), || forger.requests() >= before + 3);
    assert!(probed, "{}", running.stderr());
    assert_eq!(forger.datagrams(), 0);
}

/// Tests in which netserver sends datagrams until it is told otherwise.
const FLOODS: [&str; 6] = [
    "-t OMNI -l 60 -- -d recv -T udp -m ,1000",
    "-t OMNI -l 60 --flows 3 -- -d recv -T udp -m ,1000",
    "-t OMNI -l 60 --flows 3 --threads 3,3 -- -d recv -T udp -m ,1000",
    "-t UDP_STREAM -l 60 --bidirectional same -- -m 1000",
    "-t UDP_STREAM -l 60 --bidirectional same --flows 3 -- -m 1000",
    "-t UDP_STREAM -l 60 --bidirectional same --flows 3 --batch 8 -- -m 1000",
];

/// A client at the client's host.
fn client_of(hosts: &TwoHosts, client: &Programs, server: &Netserver, words: &str) -> Running {
    Invocation::new(&client.netperf)
        .within(&hosts.client())
        .args(["-H", TwoHosts::SERVER_V4, "-p", &server.port().to_string()])
        .args(words.split_whitespace())
        .spawn()
}

/// Waits until netserver sends to the client's host no more.
fn stops(hosts: &TwoHosts) -> bool {
    let calm = Duration::from_millis(500);
    eventually(Duration::from_secs(20), || {
        let before = arrived(hosts);
        std::thread::sleep(calm);
        arrived(hosts) < before + FEW
    })
}

fn floods(hosts: &TwoHosts) -> bool {
    let before = arrived(hosts);
    eventually(Duration::from_secs(20), || arrived(hosts) > before + MANY)
}

#[test]
fn threat_model_datagrams_to_an_address_that_is_gone_stop_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    let server = Netserver::start(&ours!(), &hosts.server());
    let start = |words| {
        let running = client_of(&hosts, &ours!(), &server, words);
        assert!(floods(&hosts), "{words}: {}", running.stderr());
        running
    };
    let mut running: Vec<_> = FLOODS.map(start).into();
    if let Some(stock) = Programs::stock() {
        let before = server.sessions().len();
        running.push(client_of(&hosts, &stock, &server, FLOODS[0]));
        let sessions = || server.sessions().len();
        assert!(eventually(Duration::from_secs(20), || sessions() > before));
        assert!(floods(&hosts));
    }
    hosts.take_address();
    // It takes 2 s; without feedback it goes on for 40 s.
    assert!(stops(&hosts), "netserver sends to an address that is gone");
}

#[test]
#[ignore = "nightly: pauses last 3 s, and a stock client measures for 6 s"]
fn flows_of_datagrams_pause_and_stock_clients_are_not_disturbed_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    let server = Netserver::start(&ours!(), &hosts.server());
    // netperf cannot send without its address.
    for words in &FLOODS[..3] {
        let mut running = client_of(&hosts, &ours!(), &server, words);
        assert!(floods(&hosts), "{words}: {}", running.stderr());
        hosts.take_address();
        assert!(stops(&hosts), "{words}");
        hosts.give_address();
        assert!(floods(&hosts), "{words}: {}", running.stderr());
        running.signal("INT");
        let is_over = || running.ended() && server.sessions().is_empty();
        assert!(eventually(Duration::from_secs(60), is_over), "{words}");
    }
    let Some(stock) = Programs::stock() else {
        return;
    };
    let words = "-t OMNI -l 6 -P 0 -- -d recv -T udp -m ,1000 -k ELAPSED_TIME,LOCAL_BYTES_RECVD";
    let before = arrived(&hosts);
    let finished = client_of(&hosts, &stock, &server, words)
        .finish()
        .expect_exit(0);
    let seconds = finished.values().number("ELAPSED_TIME");
    assert!(seconds >= 6.0, "{}", finished.account());
    assert!(arrived(&hosts) > before + MANY, "{}", finished.account());
}
