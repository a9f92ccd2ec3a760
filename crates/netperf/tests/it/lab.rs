//! Measurements agree with a known network, in the
//! labs (docs/manual, chapter Lab). Elsewhere these tests are skipped.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::lab::Routed;
use netperf_testkit::{Finished, Invocation, Lab, Netserver, Place, TwoHosts, Values, note, ours};

/// The labs are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Warnings of these labs, which are true: the kernel limits send buffers, and the emulated network
/// drops in the queue of the interface.
const EXPECTED: [&str; 2] = [
    "netperf: send socket buffer at netserver: asked for ",
    "netperf: the queue of ",
];

/// Runs netperf in `place` against a server, with options as one line.
fn measure(place: &Place, server: &Netserver, address: &str, options: &str) -> Finished {
    let finished = Invocation::new(&ours!().netperf)
        .args(["-H", address, "-p", &server.port().to_string()])
        .args(options.split_whitespace())
        .within(place)
        .patience(PATIENCE)
        .run()
        .expect_exit(0);
    let mut warnings = finished.stderr.lines();
    let expected = |line: &str| EXPECTED.iter().any(|begin| line.starts_with(begin));
    assert!(warnings.all(expected), "{}", finished.account());
    note(&finished.account());
    finished
}

/// Panics unless `low <= value <= high`.
#[track_caller]
fn expect_between(what: &str, low: f64, value: f64, high: f64) {
    assert!(
        (low..=high).contains(&value),
        "{what} is {value}, not in {low}..={high}"
    );
}

/// Both ends counted the same bytes, and some.
#[track_caller]
fn expect_all_arrived(values: &Values) {
    let sent = values.count("LOCAL_BYTES_SENT");
    assert!(sent > 0, "nothing was sent");
    assert_eq!(sent, values.count("REMOTE_BYTES_RECVD"));
}

/// Two hosts in the virtual machine and a network between them that is emulated.
mod emulated {
    use super::*;

    struct Bench {
        hosts: TwoHosts,
        server: Netserver,
    }

    impl Bench {
        /// The hosts, or nothing outside of the virtual machine.
        fn new() -> Option<Self> {
            Lab::Vm.is_here().then(|| {
                let hosts = TwoHosts::new();
                let server = Netserver::start(&ours!(), &hosts.server());
                Self { hosts, server }
            })
        }

        fn measure(&self, options: &str) -> Values {
            let client = self.hosts.client();
            measure(&client, &self.server, TwoHosts::SERVER_V4, options).values()
        }
    }

    /// A transaction takes the round trip, and little more.
    fn a_round_trip_is_told(test: &str) {
        let Some(bench) = Bench::new() else { return };
        for one_way in [25, 100] {
            bench.hosts.emulate(&["delay", &format!("{one_way}ms")]);
            let round_trip = f64::from(2 * one_way) * 1000.0;
            let mut told = [(); RUNS].map(|()| mean_and_least(&bench, test, round_trip));
            told.sort_by(|one, other| one.0.total_cmp(&other.0));
            let (median, _) = told[RUNS / 2];
            assert!((median - 1.0).abs() <= 0.05, "{told:?}");
            let least = told.map(|(_, least)| least);
            let least = least.into_iter().fold(f64::INFINITY, f64::min);
            assert!(least <= round_trip * 1.05, "{told:?}");
        }
    }

    /// An emulated processor may be held up for long, and then so are its packets. Tolerance: the
    /// median of so many means is within 5 %, and the least of all.
    const RUNS: usize = 5;

    /// The mean as a multiple of the round trip, or of ping's mean at the same time if the machine
    /// was late, and the least. Packets are never early.
    fn mean_and_least(bench: &Bench, test: &str, round_trip: f64) -> (f64, f64) {
        let ping = Invocation::new(Path::new("ping"))
            .args(["-q", "-i", "0.05", "-w", "4", TwoHosts::SERVER_V4])
            .within(&bench.hosts.client())
            .spawn();
        let values = bench.measure(&format!(
            "-t {test} -l 4 -- -k THROUGHPUT,MEAN_LATENCY,MIN_LATENCY"
        ));
        let seen = mean_of_ping(&ping.finish()).max(round_trip);
        let mean = values.number("MEAN_LATENCY");
        let least = values.number("MIN_LATENCY");
        note(&format!("ping: {seen} us"));
        assert!(
            least >= round_trip * 0.999,
            "{least} us, earlier than the network"
        );
        assert!(mean >= least, "a mean of {mean} us, but {least} at least");
        // One transaction after the other, so a second holds no more of them.
        let most = 1e6 / mean * 1.01;
        expect_between("rate", most * 0.7, values.number("THROUGHPUT"), most);
        (mean / seen, least)
    }

    /// From the line `rtt min/avg/max/mdev = 1/2/3/4 ms`, in microseconds.
    fn mean_of_ping(finished: &Finished) -> f64 {
        let summary = finished.stdout.split_once("rtt min/avg/max/mdev = ");
        let mean = summary.and_then(|(_, figures)| figures.split('/').nth(1)?.parse().ok());
        let mean: f64 = mean.unwrap_or_else(|| panic!("{}", finished.account()));
        mean * 1000.0
    }

    #[test]
    fn a_tcp_transaction_takes_the_delay_of_the_network_both_ways() {
        a_round_trip_is_told("TCP_RR");
    }

    #[test]
    fn a_udp_transaction_takes_the_delay_of_the_network_both_ways() {
        a_round_trip_is_told("UDP_RR");
    }

    #[test]
    fn as_many_datagrams_are_missed_as_the_network_loses() {
        let Some(bench) = Bench::new() else { return };
        for percent in [1, 5] {
            bench
                .hosts
                .emulate_upstream(&["loss", &format!("{percent}%")]);
            let before = Missed::so_far(&bench.hosts);
            // Paced and small, so that the server hardly lacks space for them.
            let values = bench.measure(
                "-t UDP_STREAM -l 5 -b 10 -w 10ms -- -m 64 -S 8M \
                 -k LOCAL_SEND_CALLS,REMOTE_RECV_CALLS",
            );
            let missed = Missed::so_far(&bench.hosts);
            let sent = values.count("LOCAL_SEND_CALLS");
            let lost = sent - values.count("REMOTE_RECV_CALLS");
            let lost = lost - (missed.overflowed - before.overflowed);
            let dropped = missed.dropped - before.dropped;
            note(&format!("sent {sent}, lost {lost}, dropped {dropped}"));
            expect_loss(sent, lost, f64::from(percent) / 100.0);
            // The control connection has its share in what was dropped.
            assert!((lost..=lost + 10).contains(&dropped), "{lost} of {dropped}");
        }
    }

    #[test]
    fn sequence_counts_equal_the_kernels() {
        let Some(bench) = Bench::new() else { return };
        let hosts = &bench.hosts;
        let arrived = || i64::try_from(hosts.server_counter("UdpInDatagrams")).expect("few");
        let numbered = |path: &[&str]| {
            hosts.emulate_upstream(path);
            let (before, read) = (Missed::so_far(hosts), arrived());
            let values = bench.measure(
                "-t UDP_STREAM -l 3 -b 2 -w 1ms --sequence -- -m 200 -S 8M -k LOCAL_SEND_CALLS,\
                 UDP_RECEIVED,UDP_LOST,UDP_DUPLICATED,UDP_REORDERED,UDP_REORDER_EXTENT",
            );
            let after = Missed::so_far(hosts);
            let count = |name| values.count(name);
            let (received, twice) = (count("UDP_RECEIVED"), count("UDP_DUPLICATED"));
            assert_eq!(received + count("UDP_LOST"), count("LOCAL_SEND_CALLS"));
            // And the empty one that ends the test.
            assert_eq!(received + twice + 1, arrived() - read);
            let gone = after.dropped + after.overflowed - before.dropped - before.overflowed;
            (values, twice, gone)
        };
        let (values, twice, _) = numbered(&["loss", "5%"]);
        let sent = values.count("LOCAL_SEND_CALLS");
        expect_loss(sent, values.count("UDP_LOST"), 0.05);
        assert_eq!((twice, values.count("UDP_REORDERED")), (0, 0));
        let (values, twice, gone) = numbered(&["duplicate", "5%"]);
        expect_loss(values.count("LOCAL_SEND_CALLS"), twice, 0.05);
        assert!((gone - values.count("UDP_LOST")).abs() <= 3, "{values:?}");
        let (values, twice, _) = numbered(&["delay", "10ms", "reorder", "20%"]);
        assert!(values.count("UDP_REORDERED") > 100, "{values:?}");
        assert!(values.count("UDP_REORDER_EXTENT") > 0, "{values:?}");
        // The end of the data may overtake what was sent in the last 10 ms.
        let overtaken = values.count("UDP_LOST");
        assert!(twice == 0 && overtaken < 100, "{values:?}");
    }

    /// Devices that packets used, according to the kernel.
    struct Missed {
        /// Lost in the network.
        dropped: i64,
        /// Come to a server that was held up for too long to take them.
        overflowed: i64,
    }

    impl Missed {
        fn so_far(hosts: &TwoHosts) -> Self {
            let exact = |count: u64| i64::try_from(count).expect("few");
            Self {
                dropped: exact(hosts.dropped_upstream()),
                overflowed: exact(hosts.server_counter("UdpRcvbufErrors")),
            }
        }
    }

    /// Within four standard deviations of the binomial distribution.
    fn expect_loss(sent: i64, lost: i64, share: f64) {
        let exact = |count: i64| f64::from(i32::try_from(count).expect("few"));
        let (sent, lost) = (exact(sent), exact(lost));
        assert!(sent > 1000.0, "{sent} datagrams tell nothing");
        let (mean, deviation) = (sent * share, (sent * share * (1.0 - share)).sqrt());
        expect_between("lost", mean - 4.0 * deviation, lost, mean + 4.0 * deviation);
    }

    #[test]
    fn the_retransmissions_reported_are_the_kernels() {
        let Some(bench) = Bench::new() else { return };
        bench.hosts.emulate_upstream(&["loss", "1%"]);
        let before = bench.hosts.client_counter("TcpRetransSegs");
        let values = bench.measure(
            "-t TCP_STREAM -l 4 -- \
             -k LOCAL_TRANSPORT_RETRANS,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD",
        );
        expect_all_arrived(&values);
        let told = values.count("LOCAL_TRANSPORT_RETRANS");
        let kernel = bench.hosts.client_counter("TcpRetransSegs") - before;
        let kernel = i64::try_from(kernel).expect("few");
        assert!(told > 0, "nothing was retransmitted");
        // The control connection has a few messages, which may be lost as well.
        assert!(
            (kernel - 10..=kernel).contains(&told),
            "{told}, kernel {kernel}"
        );
    }

    #[test]
    fn every_byte_arrives_through_a_network_that_reorders() {
        let Some(bench) = Bench::new() else { return };
        bench
            .hosts
            .emulate(&["delay", "5ms", "reorder", "25%", "50%"]);
        for test in ["TCP_STREAM", "TCP_RR"] {
            let values = bench.measure(&format!(
                "-t {test} -l 3 -- -k LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD"
            ));
            expect_all_arrived(&values);
        }
    }
}

/// A client and a server with a router between them whose links are slow.
mod routed {
    use super::*;

    /// Ethernet, IPv4 or IPv6 and TCP or UDP headers around a full packet of
    /// 1500 bytes: the share of the rate that is left for data.
    const TCP_SHARE: f64 = 1448.0 / 1514.0;
    const UDP_SHARE: f64 = 1472.0 / 1514.0;

    struct Bench {
        hosts: Routed,
        server: Netserver,
    }

    impl Bench {
        fn new() -> Option<Self> {
            Lab::Netns.is_here().then(|| {
                let hosts = Routed::here();
                let server = Netserver::start(&ours!(), &hosts.server());
                Self { hosts, server }
            })
        }

        fn measure(&self, address: &str, options: &str) -> Values {
            measure(&self.hosts.client(), &self.server, address, options).values()
        }
    }

    #[test]
    fn tcp_fills_a_slow_link_in_either_direction() {
        let Some(bench) = Bench::new() else { return };
        let fair = bench.hosts.rate * TCP_SHARE;
        for test in ["TCP_STREAM", "TCP_MAERTS"] {
            let values = bench.measure(
                &bench.hosts.server_v4,
                &format!("-t {test} -l 4 -- -k THROUGHPUT"),
            );
            // The bucket and the queue in front of it are full at the end.
            expect_between(test, fair * 0.92, values.number("THROUGHPUT"), fair * 1.01);
        }
    }

    /// Seconds of data wait at the router while it is; put right when dropped.
    struct Bloated<'a>(&'a Routed);

    impl<'a> Bloated<'a> {
        fn new(hosts: &'a Routed) -> Self {
            hosts.downstream(5.0, 3000);
            Self(hosts)
        }
    }

    impl Drop for Bloated<'_> {
        fn drop(&mut self) {
            self.0.downstream(self.0.rate, 50);
        }
    }

    #[test]
    fn queued_data_at_the_end_of_the_time_is_discarded() {
        let Some(bench) = Bench::new() else { return };
        let _bloated = Bloated::new(&bench.hosts);
        let values = bench.measure(
            &bench.hosts.server_v4,
            "-t TCP_MAERTS -l 3 -- -k LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,ELAPSED_TIME",
        );
        // The alarm comes a little late on a loaded machine.
        let elapsed = values.number("ELAPSED_TIME");
        expect_between("seconds", 2.9, elapsed, 3.3);
        let received = values.count("LOCAL_BYTES_RECVD");
        assert!(received < values.count("REMOTE_BYTES_SENT"));
    }

    #[test]
    fn of_a_flood_of_datagrams_the_rate_of_the_link_arrives() {
        let Some(bench) = Bench::new() else { return };
        let fair = bench.hosts.rate * UDP_SHARE;
        let values = bench.measure(
            &bench.hosts.server_v4,
            "-t UDP_STREAM -l 3 -- -m 1472 -k LOCAL_SEND_THROUGHPUT,REMOTE_RECV_THROUGHPUT",
        );
        let received = values.number("REMOTE_RECV_THROUGHPUT");
        expect_between("received", fair * 0.95, received, fair * 1.03);
        assert!(
            values.number("LOCAL_SEND_THROUGHPUT") > fair * 1.1,
            "no flood"
        );
    }

    /// The MTU behind the router while it is small; put right when dropped, for
    /// the tests that follow.
    struct Narrow<'a>(&'a Routed);

    impl<'a> Narrow<'a> {
        fn new(hosts: &'a Routed, mtu: u32) -> Self {
            hosts.narrow(mtu);
            Self(hosts)
        }
    }

    impl Drop for Narrow<'_> {
        fn drop(&mut self) {
            self.0.narrow(1500);
        }
    }

    #[test]
    fn a_smaller_mtu_behind_the_router_is_found_out() {
        let Some(bench) = Bench::new() else { return };
        let _narrow = Narrow::new(&bench.hosts, 1300);
        for address in [&bench.hosts.server_v4, &bench.hosts.server_v6] {
            assert_eq!(bench.hosts.path_mtu(address), None, "known beforehand");
            let values = bench.measure(
                address,
                "-t TCP_STREAM -l 2 -- -k LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,THROUGHPUT",
            );
            expect_all_arrived(&values);
            let rate = bench.hosts.rate;
            expect_between("throughput", rate * 0.8, values.number("THROUGHPUT"), rate);
            assert_eq!(bench.hosts.path_mtu(address), Some(1300));
        }
    }

    #[test]
    fn transactions_cross_the_router_in_both_families() {
        let Some(bench) = Bench::new() else { return };
        for address in [&bench.hosts.server_v4, &bench.hosts.server_v6] {
            for test in ["TCP_RR", "UDP_RR", "TCP_CRR"] {
                let values = bench.measure(
                    address,
                    &format!("-t {test} -l 1 -- -k THROUGHPUT,MEAN_LATENCY"),
                );
                assert!(values.number("THROUGHPUT") > 10.0);
                assert!(values.number("MEAN_LATENCY") > 0.0);
            }
        }
    }
}

/// A host that is reached without a network.
mod machines {
    use super::*;

    fn server() -> Option<Netserver> {
        let options = ["-D", "-L", "vsock:any"];
        Lab::Vm
            .is_here()
            .then(|| Netserver::start_with(&ours!(), &Place::Here, &options, &[]))
    }

    #[test]
    fn control_and_data_go_over_vsock() {
        let Some(server) = server() else { return };
        for kind in ["vsock", "vsock-seqpacket"] {
            let options = format!(
                "-t OMNI -l 1 -- -T {kind} -d send \
                 -k PROTOCOL,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD"
            );
            let values = measure(&Place::Here, &server, "vsock:1", &options).values();
            assert_eq!(values.text("PROTOCOL"), "vsock");
            expect_all_arrived(&values);
        }
        let plain = measure(
            &Place::Here,
            &server,
            "vsock:1",
            "-t OMNI -l 1 -- -k PROTOCOL",
        );
        assert_eq!(plain.values().text("PROTOCOL"), "vsock");
    }

    #[test]
    fn a_transport_that_does_not_lead_there_is_refused() {
        let Some(server) = server() else { return };
        let finished = Invocation::new(&ours!().netperf)
            .args(["-H", "vsock:1", "-p", &server.port().to_string()])
            .args(["-t", "TCP_STREAM", "-l", "1"])
            .patience(PATIENCE)
            .run()
            .expect_exit(3);
        assert!(finished.stderr.contains("TCP does not lead to vsock:1"));
    }
}
