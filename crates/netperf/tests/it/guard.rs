//! Requests beyond what netserver permits by default, as raw records.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::{
    Invocation, Netserver, Place, Running, Scratch, TwoHosts, eventually, ours, require,
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
fn record(transport: &str, kind: WireSocketType, address: &str) -> Frame {
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
    written.expect("room behind the message");
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
        std::fs::write(&asked, record.as_bytes()).expect("room");
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
        let file = format!("/sys/class/net/{}/statistics/rx_packets", TwoHosts::CABLE);
        let shown = Invocation::new(Path::new("cat")).args([&file]);
        let shown = shown.within(&self.hosts.client()).run().expect_clean();
        shown.stdout.trim().parse().expect("a count")
    }
}

#[test]
fn records_that_name_what_is_off_or_beyond_the_policy_move_nothing_netns() {
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
fn features_are_for_clients_that_are_no_strangers_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    let closed = Netserver::start(&ours!(), &hosts.server());
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
        ("priority", "--priority ,5"),
    ] {
        let refused = run(&closed, &hosts.client(), words).expect_exit(255);
        let way_out = format!("netserver --features {feature} permits it to all");
        assert!(refused.stderr.contains(&way_out), "{}", refused.account());
        run(&open, &hosts.client(), words).expect_exit(0);
    }
    // A client on the same host is no stranger.
    for words in ["--mark ,7", "--priority ,5"] {
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
        .args(["-t", "TCP_RR", "--time", "100ms", "-P", "0"])
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
