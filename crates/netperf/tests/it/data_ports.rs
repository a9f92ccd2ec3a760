//! Data ports of netserver: a port that the client names, and the operator's range.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use netperf_os::{Domain, Socket, Type};
use netperf_testkit::process::PATIENCE;
use netperf_testkit::server::free_ports;
use netperf_testkit::{Finished, Netserver, Place, Programs, eventually, ours};

/// A range of ports, and sockets that occupy some of them.
struct DataPortRange {
    first: u16,
    last: u16,
    taken: Vec<(TcpListener, UdpSocket)>,
}

impl DataPortRange {
    /// A range in which no port is in use, outside of those that the kernel gives to sockets.
    fn free(count: u16) -> Self {
        let first = free_ports(count);
        Self {
            first,
            last: first + count - 1,
            taken: Vec::new(),
        }
    }

    /// Occupies all ports but the last ones.
    fn leave(mut self, free: u16) -> Self {
        let ports = self.first..=self.last - free;
        self.taken = ports
            .map(|port| occupy(port).expect("a free port"))
            .collect();
        self
    }

    fn contains(&self, port: f64) -> bool {
        f64::from(self.first) <= port && port <= f64::from(self.last)
    }

    fn serve(&self) -> Netserver {
        let range = format!("{}-{}", self.first, self.last);
        let options = ["-D", "--log", "text", "--data-ports", &range];
        Netserver::start_with(&ours!(), &Place::Here, &options, &[])
    }
}

fn occupy(port: u16) -> std::io::Result<(TcpListener, UdpSocket)> {
    let at = (Ipv4Addr::UNSPECIFIED, port);
    Ok((TcpListener::bind(at)?, UdpSocket::bind(at)?))
}

fn run(programs: &Programs, server: &Netserver, options: &str) -> Finished {
    let port = server.port().to_string();
    let finished = netperf_testkit::Invocation::new(&programs.netperf)
        .args(["-4", "-H", "127.0.0.1", "-p", &port, "-d", "-l", "1"])
        .args(options.split_whitespace())
        .run();
    // A session has its port until it ends, and the next test needs the port.
    let ended = eventually(PATIENCE, || server.sessions().is_empty());
    assert!(ended, "{}", finished.account());
    finished
}

/// The data port in the output of `-d`.
fn port_of(finished: &Finished) -> f64 {
    let (_, port) = finished
        .stdout
        .split_once("remote port is ")
        .unwrap_or_else(|| panic!("{}", finished.account()));
    let digits = port.split_whitespace().next().expect("a word");
    digits.parse().expect("a number")
}

#[test]
fn every_transport_over_ip_uses_a_port_of_the_range() {
    let range = DataPortRange::free(3).leave(1);
    let server = range.serve();
    let mut served = 0;
    for transport in [
        "tcp",
        "udp",
        "udplite",
        "sctp",
        "sctp-many",
        "dccp",
        "mptcp",
        "tls",
    ] {
        for direction in ["rr", "send"] {
            // The kernel may give the port of MPTCP back later than its session ends.
            let free = || (range.first..=range.last).any(|port| occupy(port).is_ok());
            assert!(eventually(PATIENCE, free), "{transport}");
            let options = format!("-l -500 -t OMNI -- -T {transport} -d {direction} -m 1000");
            let finished = run(&ours!(), &server, &options);
            // Not every kernel has every transport.
            if finished.status.code() == Some(3) {
                continue;
            }
            assert!(finished.status.success(), "{}", finished.account());
            let port = port_of(&finished);
            assert!(range.contains(port), "{transport}: {port}");
            served += 1;
        }
    }
    assert!(served >= 8, "TCP, UDP, UDP-Lite and TLS are always there");
    let finished = run(&ours!(), &server, "-l -50 -t TCP_CRR");
    assert!(range.contains(port_of(&finished)), "{}", finished.account());
    let finished = run(&ours!(), &server, "-t TCP_STREAM -- --data-port ,9");
    assert_eq!(finished.status.code(), Some(3), "{}", finished.account());
    let line = "cannot bind to data port 9:";
    assert!(finished.stderr.contains(line), "{}", finished.account());
}

#[test]
fn a_range_without_a_free_port_refuses_tests_and_tells_both_ends() {
    let range = DataPortRange::free(2).leave(0);
    let server = range.serve();
    for test in ["TCP_RR", "UDP_STREAM -- -m 1000"] {
        let finished = run(&ours!(), &server, &format!("-t {test}"));
        assert_eq!(finished.status.code(), Some(255), "{}", finished.account());
        let line = "netperf: netserver refuses: not enough free ports in its range (--data-ports)";
        assert!(finished.stderr.starts_with(line), "{}", finished.account());
    }
    let logged = || server.said().1.matches("denied=data-ports").count() == 2;
    assert!(
        eventually(Duration::from_secs(5), logged),
        "{:?}",
        server.said()
    );
    if let Some(stock) = Programs::stock() {
        let finished = run(&stock, &server, "-t TCP_STREAM");
        let error = finished.stdout.contains("remote error 98");
        assert!(error, "{}", finished.account());
    }
}

#[test]
fn stock_clients_use_the_range() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let range = DataPortRange::free(3).leave(1);
    let server = range.serve();
    for test in [
        "TCP_STREAM -l -100000",
        "UDP_RR -l -10",
        "OMNI -l -100000",
        "TCP_STREAM -l -100000 -- -P ,9",
    ] {
        let finished = run(&stock, &server, &format!("-t {test}"));
        assert!(finished.status.success(), "{}", finished.account());
        assert!(range.contains(port_of(&finished)), "{}", finished.account());
    }
}

#[test]
fn each_flow_of_datagrams_has_a_port_of_the_range() {
    let range = DataPortRange::free(4).leave(3);
    let server = range.serve();
    let all = "-t UDP_RR -l -50 --flows";
    let finished = run(&ours!(), &server, &format!("{all} 3"));
    assert!(finished.status.success(), "{}", finished.account());
    let finished = run(&ours!(), &server, &format!("{all} 4"));
    assert_eq!(finished.status.code(), Some(255), "{}", finished.account());
    assert!(
        finished.stderr.contains("use fewer flows"),
        "{}",
        finished.account()
    );
    // Connections share a port.
    let finished = run(&ours!(), &server, "-t TCP_RR -l -50 --flows 9");
    assert!(finished.status.success(), "{}", finished.account());
}

#[test]
fn data_port_of_a_letter_falls_back_with_a_warning_and_that_of_a_name_does_not() {
    let server = ours!().serve();
    let port = DataPortRange::free(1).first;
    let client = |programs: &Programs, option: &str, test: &str| {
        let words = format!("-t {test} -l 60 -D 0.2 -- {option}");
        programs.client_of(&server).args(words.split_whitespace())
    };
    let mut first = client(&ours!(), &format!("-P ,{port}"), "TCP_RR").spawn();
    assert!(first.prints("Interim", PATIENCE), "{}", first.stderr());
    // Each of them finds the port in use, whatever the number of those that begin together.
    let letter = format!("-P ,{port}");
    let short = |programs: &Programs| {
        let words = [
            "-t",
            "TCP_RR",
            "-l",
            "-50",
            "-P",
            "0",
            "--",
            "-P",
            &letter[3..],
        ];
        programs.client_of(&server).args(words)
    };
    let together: Vec<_> = (0..4).map(|_| short(&ours!()).spawn()).collect();
    for running in together {
        let finished = running.finish().expect_exit(0);
        let line = format!("data port of netserver (-P): {port} is in use there");
        assert!(finished.stderr.contains(&line), "{}", finished.account());
    }
    if let Some(stock) = Programs::stock() {
        short(&stock).run().expect_clean();
    }
    for _ in 0..4 {
        let named = client(&ours!(), &format!("--data-port ,{port}"), "TCP_RR");
        let finished = named.run().expect_exit(3);
        let line = format!("cannot bind to data port {port}");
        assert!(finished.stderr.contains(&line), "{}", finished.account());
    }
    assert!(!first.ended(), "{}", first.stderr());
}

#[test]
fn data_port_goes_to_one_of_several_tests_that_begin_together() {
    let server = ours!().serve();
    let port = DataPortRange::free(1).first;
    let word = format!(",{port}");
    let client = || {
        let words = ["-t", "TCP_RR", "-l", "60", "-D", "0.1", "--", "-P", &word];
        ours!().client_of(&server).args(words).spawn()
    };
    let mut together: Vec<_> = (0..4).map(|_| client()).collect();
    // All of them run at the same time, and one has the port.
    for running in &mut together {
        assert!(running.prints("Interim", PATIENCE), "{}", running.stderr());
    }
    together.iter().for_each(|running| running.signal("INT"));
    let finished = together.into_iter().map(netperf_testkit::Running::finish);
    let warned = finished.filter(|one| one.stderr.contains("is in use there"));
    assert_eq!(warned.count(), 3);
}

#[test]
fn a_data_port_that_is_taken_is_refused() {
    let server = ours!().serve();
    let port = DataPortRange::free(1).first;
    let refused = |test: &str| {
        let options = format!("--time 100ms -t {test} -- --data-port ,{port}");
        let finished = run(&ours!(), &server, &options);
        assert_eq!(finished.status.code(), Some(3), "{}", finished.account());
        let line = format!("cannot bind to data port {port}: Address already in use");
        assert!(finished.stderr.contains(&line), "{}", finished.account());
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
    };
    for test in ["TCP_RR", "UDP_RR"] {
        let options = format!("-l -50 -i 3,3 -t {test} -- -P ,{port}");
        let finished = run(&ours!(), &server, &options);
        assert!(finished.status.success(), "{}", finished.account());
        assert!((port_of(&finished) - f64::from(port)).abs() < 0.5);
    }
    {
        let _taken = occupy(port).unwrap();
        refused("TCP_RR");
        refused("UDP_RR");
    }
    // Another netserver's socket permits others at its port.
    let shared = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    shared.set_reuse_address(true).unwrap();
    let at = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    // A process that another test is starting has a copy of the socket until it executes.
    assert!(eventually(PATIENCE, || shared.bind(&at.into()).is_ok()));
    refused("UDP_RR");
}
