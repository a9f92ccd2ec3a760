//! Sources of datagrams that are not proven.

use super::*;

#[test]
fn threat_model_a_source_that_proves_nothing_gets_no_more_than_it_sent() {
    let served = ServedIperf2::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a limit");
    let to = ("127.0.0.1", served.port);
    // A final datagram of an unknown source has no answer, and 32 bytes are less than a report.
    for number in [-2, 1, -2] {
        socket.send_to(&numbered(number), to).expect("a datagram");
    }
    let mut answer = [0; 2048];
    let early = socket.recv(&mut answer);
    assert!(early.is_err(), "{early:?}");
    let mut sent = 48;
    let report = (3..30).find_map(|number| {
        socket.send_to(&numbered(-number), to).expect("a datagram");
        sent += 16;
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .expect("a limit");
        socket.recv(&mut answer).ok()
    });
    assert!(
        report.is_some_and(|length| length <= sent),
        "{report:?} after {sent}"
    );
}

#[test]
fn threat_model_datagrams_in_reverse_go_only_to_permitted_networks_netns() {
    if !iperf() || !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    for (peers, is_permitted) in [
        ("same", false),
        (&*format!("{}/32", TwoHosts::CLIENT_V4), true),
    ] {
        let port = free_port().to_string();
        let words = ["-D", "--iperf2", &port, "--data-peers", peers];
        let _server = Netserver::start_with(&ours!(), &hosts.server(), &words, &[]);
        let done = Invocation::new(Path::new(IPERF))
            .args([
                "-c",
                TwoHosts::SERVER_V4,
                "-p",
                &port,
                "-u",
                "-R",
                "-t",
                "1",
                "-b",
                "500k",
            ])
            .within(&hosts.client())
            .patience(Duration::from_secs(60));
        let running = done.spawn();
        let row = |running: &netperf_testkit::Running| {
            let said = running.stdout();
            said.contains(" 0/") && !said.contains(" 0/0")
        };
        let seconds = if is_permitted { 30 } else { 3 };
        let got = eventually(Duration::from_secs(seconds), || row(&running));
        assert_eq!(got, is_permitted, "{peers}: {}", running.stdout());
    }
}

/// An address of the client's host that sends nothing itself.
const VICTIM: &str = "198.18.0.9";

#[test]
fn threat_model_a_forged_source_gets_no_more_bytes_than_it_seems_to_have_sent_netns() {
    if !require::root() || !require::nft() {
        return;
    }
    let hosts = TwoHosts::new();
    let shell = |script: &str| {
        let run = Invocation::new(Path::new("bash")).args(["-ec", script]);
        run.within(&hosts.client()).run().expect_clean().stdout
    };
    // Packets that leave the host have the victim's address. Bytes of both ways, with headers of
    // IP.
    shell(&format!(
        "ip addr add {VICTIM}/24 dev cable
         ip route add {}/32 dev cable src {VICTIM}
         nft 'table inet seen {{
             counter out {{ }}; counter in {{ }};
             chain o {{ type filter hook output priority 0;
                 ip saddr {VICTIM} meta l4proto udp counter name out; }}
             chain i {{ type filter hook input priority 0;
                 ip daddr {VICTIM} iifname cable counter name in; }}
         }}'",
        TwoHosts::SERVER_V4
    ));
    let bytes = |name: &str| -> u64 {
        let shown = shell(&format!("nft list counter inet seen {name}"));
        let (_, count) = shown.split_once("bytes ").expect("a counter");
        let count = count.split_whitespace().next().expect("a count");
        count.parse().expect("a number")
    };
    let port = free_port().to_string();
    let words = ["-D", "--iperf2", &port];
    let server = Netserver::start_with(&ours!(), &hosts.server(), &words, &[]);
    let folder = Scratch::new();
    let forge = |datagrams: &[Vec<u8>]| {
        let files = datagrams.iter().enumerate().map(|(at, datagram)| {
            let path = folder.path().join(at.to_string());
            std::fs::write(&path, datagram).expect("space");
            // A block of this size is one datagram.
            format!("dd if={} bs=2000 status=none >&3\n", path.display())
        });
        let sends: String = files.collect();
        let to = TwoHosts::SERVER_V4;
        shell(&format!("exec 3<>/dev/udp/{to}/{port}\n{sends}"));
    };
    let few = |datagram: &dyn Fn(i64) -> Vec<u8>| (1..=4).map(datagram).collect::<Vec<_>>();
    let plain = |number| numbered(number).to_vec();
    let ends = |number: i64| numbered(-number).to_vec();
    forge(&[few(&plain), few(&ends), few(&ends), few(&ends)].concat());
    // Long datagrams that ask for many short ones, and all directions.
    for direction in [
        Iperf2Direction::Reverse,
        Iperf2Direction::FullDuplex,
        Iperf2Direction::Dual,
        Iperf2Direction::Tradeoff,
    ] {
        let asks = |number| asking(direction, number);
        let short = |number| {
            let mut bytes = asks(number);
            // The length of the datagrams that are asked for.
            bytes[28..32].copy_from_slice(&16_u32.to_be_bytes());
            bytes
        };
        forge(&few(&asks));
        forge(&[few(&short), vec![asks(-5)]].concat());
    }
    // Something comes back, so the counters count; senders without credit end after 10 s.
    assert!(eventually(Duration::from_secs(20), || bytes("in") > 0));
    std::thread::sleep(Duration::from_secs(2));
    let (sent, got) = (bytes("out"), bytes("in"));
    assert!(got <= sent, "{got} bytes for {sent}");
    assert!(sent > 40_000 && server.alive(), "{sent}");
}
