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
            let options = format!("--time 100ms -t OMNI -- -T {transport} -d {direction} -m 1000");
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
    let finished = run(&ours!(), &server, "--time 100ms -t TCP_CRR");
    assert!(range.contains(port_of(&finished)), "{}", finished.account());
    let finished = run(&ours!(), &server, "-t TCP_STREAM -- -P ,9");
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
    for test in ["TCP_STREAM", "UDP_RR", "OMNI", "TCP_STREAM -- -P ,9"] {
        let finished = run(&stock, &server, &format!("-t {test}"));
        assert!(finished.status.success(), "{}", finished.account());
        assert!(range.contains(port_of(&finished)), "{}", finished.account());
    }
}

#[test]
fn each_flow_of_datagrams_has_a_port_of_the_range() {
    let range = DataPortRange::free(4).leave(3);
    let server = range.serve();
    let all = "-t UDP_RR --time 100ms --flows";
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
    let finished = run(&ours!(), &server, "-t TCP_RR --time 100ms --flows 9");
    assert!(finished.status.success(), "{}", finished.account());
}

#[test]
fn a_data_port_that_is_taken_is_refused() {
    let server = ours!().serve();
    let port = DataPortRange::free(1).first;
    let refused = |test: &str| {
        let options = format!("--time 100ms -t {test} -- -P ,{port}");
        let finished = run(&ours!(), &server, &options);
        assert_eq!(finished.status.code(), Some(3), "{}", finished.account());
        let line = format!("cannot bind to data port {port}: Address already in use");
        assert!(finished.stderr.contains(&line), "{}", finished.account());
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
    };
    for test in ["TCP_RR", "UDP_RR"] {
        let options = format!("--time 100ms -i 3,3 -t {test} -- -P ,{port}");
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
