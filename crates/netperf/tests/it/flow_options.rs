//! Options that change how data moves, with many flows.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use netperf_os::uring::Uring;
use netperf_testkit::process::signal;
use netperf_testkit::{Invocation, Netserver, Programs, TwoHosts, ours, require};
use serde_json::Value;

/// Services of inetd(8).
#[derive(Clone, Copy)]
enum Service {
    Echo,
    Discard,
    Chargen,
}

impl Service {
    fn serve(self, mut data: TcpStream) {
        let mut buffer = [7; 4096];
        if matches!(self, Self::Chargen) {
            // It never ends by itself.
            while data.write_all(&buffer).is_ok() {}
        }
        while let Ok(count @ 1..) = data.read(&mut buffer) {
            if matches!(self, Self::Echo) && data.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    }

    /// Its port, and the number of connections that it has had.
    fn start(self) -> (u16, Arc<AtomicU64>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for data in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || self.serve(data));
            }
        });
        (port, connections)
    }
}

/// Result of a test without a netserver.
fn alone(port: u16, test: &str) -> Value {
    let words = format!("-N -H 127.0.0.1 --json --flows 4 {test} -P ,{port}");
    let finished = Invocation::new(&ours!().netperf)
        .args(words.split_whitespace())
        .run()
        .expect_clean();
    let measured = finished.document()["iterations"][0].clone();
    assert_eq!(
        measured["flows"]["each"].as_array().map(Vec::len),
        Some(4),
        "{}",
        finished.account()
    );
    assert_eq!(measured["remote"], Value::Null, "{}", finished.account());
    measured["local"].clone()
}

#[test]
fn many_flows_go_to_a_server_that_is_no_netserver() {
    let (echo, connections) = Service::Echo.start();
    let rr = alone(echo, "-t TCP_RR --threads 2 --count 100 -- -r 500,500");
    assert_eq!(rr["transactions"], 100);
    assert_eq!(rr["received_bytes"], 50_000);
    assert_eq!(connections.load(Ordering::Relaxed), 4);
    let crr = alone(echo, "-t TCP_CRR --count 20 -- -r 50,50");
    assert_eq!(crr["transactions"], 20);
    assert_eq!(connections.load(Ordering::Relaxed), 24);
    let (discard, _) = Service::Discard.start();
    let sent = alone(discard, "-t TCP_STREAM -l -1000000 --");
    assert_eq!(sent["sent_bytes"], 1_000_000);
    let (chargen, _) = Service::Chargen.start();
    for (limit, least) in [("--time 200ms", 1), ("-l -1000000", 1_000_000)] {
        let received = alone(chargen, &format!("-t TCP_MAERTS {limit} --"));
        let bytes = received["received_bytes"].as_u64();
        assert!(bytes >= Some(least), "{received}");
    }
}

#[test]
fn many_flows_of_datagrams_go_to_a_server_that_is_no_netserver() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((count, from)) = socket.recv_from(&mut buffer) {
            let _gone = socket.send_to(&buffer[..count], from);
        }
    });
    let rr = alone(port, "-t UDP_RR --count 60 -- -r 20,20");
    assert_eq!(rr["transactions"], 60);
}

#[test]
fn responses_of_every_flow_come_from_the_address_that_was_asked() {
    let server = ours!().serve();
    let port = server.port().to_string();
    let measured = |test: &str| {
        // Connected sockets take responses from that address alone.
        let words = format!("-H 127.0.0.5 -p {port} --json --flows 3 --threads 2 {test} -n -B");
        let finished = Invocation::new(&ours!().netperf)
            .args(words.split_whitespace())
            .run()
            .expect_clean();
        finished.document()["iterations"][0].clone()
    };
    let rr = measured("-t UDP_RR --count 60 --");
    for end in ["local", "remote"] {
        assert_eq!(rr[end]["transactions"], 60, "{rr}");
    }
    let stream = measured("-t UDP_STREAM -l -100000 -- -m 1000");
    let received = stream["remote"]["received_bytes"].as_u64();
    assert!(received > Some(0), "{stream}");
}

#[test]
fn the_first_data_of_many_flows_goes_with_their_connections_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    for host in [hosts.client(), hosts.server()] {
        let permit = "echo 3 > /proc/sys/net/ipv4/tcp_fastopen";
        let permit = Invocation::new(Path::new("sh")).args(["-c", permit]);
        permit.within(&host).run().expect_clean();
    }
    let server = Netserver::start(&ours!(), &hosts.server());
    let port = server.port().to_string();
    let words = format!("-p {port} --json -t TCP_CRR --flows 2 --count 40 -- -F");
    let client = Invocation::new(&ours!().netperf).within(&hosts.client());
    let client = client.args(["-H", TwoHosts::SERVER_V4]);
    let finished = client.args(words.split_whitespace()).run().expect_clean();
    let measured = &finished.document()["iterations"][0]["local"];
    assert_eq!(measured["transactions"], 40, "{}", finished.account());
    // The first connection of a flow asks for a cookie.
    let opened = hosts.server_counter("TcpExtTCPFastOpenPassive");
    assert!(opened > 0, "{opened} connections");
}

/// Datagrams that netserver alone sends, on three flows.
fn download(server: &Netserver, options: &str) -> Value {
    downloaded(server, options)["iterations"][0].clone()
}

fn downloaded(server: &Netserver, options: &str) -> Value {
    let port = server.port().to_string();
    let words = format!(
        "-H 127.0.0.1 -p {port} --json --flows 3 --threads 2 {options} -d recv -T udp -m ,1000"
    );
    let finished = Invocation::new(&ours!().netperf)
        .args(words.split_whitespace())
        .run()
        .expect_exit(0);
    finished.document()
}

#[test]
fn datagrams_that_netserver_alone_sends_arrive_on_every_flow() {
    let mut servers = vec![ours!().serve()];
    servers.extend(Programs::stock().map(|stock| stock.serve()));
    for server in servers {
        let measured = download(&server, "-t OMNI -l -60000 --");
        let each = measured["flows"]["each"].as_array().expect("flows");
        assert_eq!(each.len(), 3, "{measured}");
        for flow in each {
            assert!(flow["received_bytes"].as_u64() > Some(0), "{measured}");
        }
        assert_eq!(measured["remote"]["sent_bytes"], 60_000, "{measured}");
    }
}

#[test]
fn sessions_of_datagrams_that_netserver_alone_sends_share_a_rate() {
    let document = downloaded(&ours!().serve(), "-t OMNI -l 1 --rate 2400000 --");
    let paced = &document["rate"];
    let [due, sent] = ["due", "sent"].map(|key| paced[key].as_u64().unwrap_or(0));
    let seconds = paced["sending_seconds"].as_f64().unwrap_or(0.0);
    // A datagram is due at the begin of each flow, too: 3 of 8000 bits.
    assert!(
        (2.0e6..=2_424_000.0 * seconds).contains(&(due as f64)),
        "{paced}"
    );
    let bytes = document["iterations"][0]["remote"]["sent_bytes"].as_u64();
    assert_eq!(bytes.map(|bytes| bytes * 8), Some(sent), "{paced}");
    assert_eq!(paced["kept_by"], "remote");
}

#[test]
fn sessions_of_datagrams_that_netserver_alone_sends_run_on_their_cpus() {
    let server = ours!().serve();
    let port = server.port().to_string();
    let words = format!(
        "-t OMNI -H 127.0.0.1 -p {port} -l 30 --flows 3 --remote-cpus 0 -- -d recv -T udp -m ,1000"
    );
    let mut running = Invocation::new(&ours!().netperf)
        .args(words.split_whitespace())
        .spawn();
    assert!(running.works(Duration::from_secs(60)));
    let bound = |session: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{session}/status"));
        status.is_ok_and(|status| status.contains("Cpus_allowed_list:\t0\n"))
    };
    let sessions = server.sessions();
    assert_eq!(sessions.iter().filter(|one| bound(one)).count(), 3);
    signal(running.pid(), "INT");
    running.finish().expect_exit(0);
    let refused = Invocation::new(&ours!().netperf)
        .args(words.replace("cpus 0", "cpus 999").split_whitespace())
        .run();
    assert_eq!(refused.status.code(), Some(3), "{}", refused.account());
    assert!(refused.stderr.contains("CPU 999"), "{}", refused.account());
}

#[test]
fn sessions_of_datagrams_that_netserver_alone_sends_share_one_port() {
    let server = ours!().serve();
    for test in ["-t OMNI -l -60000", "-t OMNI -l -60000 --batch 4"] {
        let measured = download(&server, &format!("{test} --one-port --sequence --"));
        let each = measured["flows"]["each"].as_array().expect("flows");
        for flow in each {
            assert!(flow["received_bytes"].as_u64() > Some(0), "{measured}");
        }
        assert_eq!(measured["remote"]["sent_bytes"], 60_000, "{measured}");
        let got = &measured["local"]["datagrams"];
        let [received, lost] = ["received", "lost"].map(|count| got[count].as_u64());
        let all = received.zip(lost).map(|(a, b)| a + b);
        assert_eq!(all, Some(60), "{measured}");
    }
}

#[test]
fn sessions_of_datagrams_that_netserver_alone_sends_end_before_their_time() {
    let server = ours!().serve();
    for one_port in ["", "--one-port"] {
        let words = format!("-t OMNI {one_port} --rate 8M --time 60s --until 90% --");
        let document = downloaded(&server, &words);
        let until = &document["until"];
        assert_eq!(until["end"], "reached", "{until}");
        let run = &document["iterations"][0];
        for end in ["local", "remote"] {
            let seconds = run["elapsed_seconds"].as_f64();
            assert!(seconds < Some(59.0), "{end}: {run}");
        }
        let each = run["flows"]["each"].as_array().expect("flows");
        assert_eq!(each.len(), 3, "{run}");
        for flow in each {
            assert!(flow["received_bytes"].as_u64() > Some(0), "{run}");
        }
    }
}

#[test]
fn numbers_of_datagrams_that_netserver_alone_sends_are_counted_for_all_flows() {
    let measured = download(&ours!().serve(), "-t OMNI -l -60000 --sequence --");
    let got = &measured["local"]["datagrams"];
    assert_eq!(measured["remote"]["datagrams"]["sent"], 60, "{measured}");
    let [received, lost] = ["received", "lost"].map(|count| got[count].as_u64());
    assert_eq!(
        received.zip(lost).map(|(a, b)| a + b),
        Some(60),
        "{measured}"
    );
}

#[test]
fn rings_move_the_data_of_many_flows_each_in_a_thread() {
    if Uring::new(1, None).is_err() {
        // refused_by_kernel.rs has the refusal.
        return;
    }
    let server = ours!().serve_with_rings();
    let port = server.port().to_string();
    for (test, unit, count) in [
        ("-t TCP_RR --count 60 -- -r 500,500", "transactions", 60),
        // A burst that does not fit the buffers.
        (
            "-t TCP_RR --count 60 -- -b 20 -r 64K,64K -s 32K -S 32K",
            "transactions",
            60,
        ),
        ("-t TCP_STREAM -l -3000000 --", "sent_bytes", 3_000_000),
        ("-t TCP_MAERTS -l -3000000 --", "received_bytes", 3_000_000),
        (
            "-t TCP_STREAM -l -3000000 --discard --",
            "sent_bytes",
            3_000_000,
        ),
        ("-t UDP_RR --count 60 -- -r 50,500", "transactions", 60),
        ("-t UDP_RR --count 60 -- -n -N", "transactions", 60),
        ("-t UDP_RR --count 60 --rate 300 --", "transactions", 60),
        ("-t UDP_RR --count 60 -- -e 5", "transactions", 60),
        ("-t TCP_RR --count 60 --rate 300 --", "transactions", 60),
        ("-t TCP_RR --count 60 -b 2 -w 5 --", "transactions", 60),
        (
            "-t UDP_STREAM --rate 8M -l -60000 -- -m 1000",
            "sent_bytes",
            60_000,
        ),
        (
            "-t OMNI -l -60000 -- -T udp -d recv -m ,1000",
            "remote sent_bytes",
            60_000,
        ),
        ("-t STREAM_RR --count 60 -- -r 500,500", "transactions", 60),
        ("-t STREAM_STREAM -l -3000000 --", "sent_bytes", 3_000_000),
    ] {
        let words = format!("-H 127.0.0.1 -p {port} --json --flows 3 --io uring {test}");
        let finished = Invocation::new(&ours!().netperf)
            .args(words.split_whitespace())
            .run();
        // A busy machine is late, which is said on standard error.
        assert!(finished.status.success(), "{}", finished.account());
        let measured = &finished.document()["iterations"][0];
        let (end, unit) = unit.split_once(' ').unwrap_or(("local", unit));
        assert_eq!(measured[end][unit], count, "{}", finished.account());
        for end in ["local", "remote"] {
            // A session for each flow has no threads.
            if end == "local" || !test.contains("-d recv") {
                let workers = &measured[end]["workers"]["threads"];
                assert_eq!(*workers, 3, "{}", finished.account());
            }
            let calls = measured[end]["io"]["send_system_calls"].as_u64();
            assert!(calls.is_some(), "{}", finished.account());
        }
    }
}

#[test]
fn rings_of_many_flows_have_many_messages_under_way_and_send_without_copies() {
    if Uring::new(1, None).is_err() {
        // refused_by_kernel.rs has the refusal.
        return;
    }
    let server = ours!().serve_with_rings();
    let port = server.port().to_string();
    for (test, sends, amount) in [
        (
            "-t TCP_STREAM -l -3000000 --batch 8 -- -m 4000",
            "local",
            3_000_000,
        ),
        (
            "-t TCP_MAERTS -l -3000000 --batch 8 -- -m ,4000",
            "remote",
            3_000_000,
        ),
        (
            "-t TCP_STREAM -l -3000000 --zerocopy -- -m 64K",
            "local",
            3_000_000,
        ),
        (
            "-t TCP_MAERTS -l -3000000 --zerocopy -- -m ,64K",
            "remote",
            3_000_000,
        ),
        (
            "-t UDP_STREAM -l -60000 --batch 8 -- -m 1000",
            "local",
            60_000,
        ),
        (
            "-t OMNI -l -60000 --batch 8 -- -T udp -d recv -m ,1000",
            "remote",
            60_000,
        ),
        ("-t TCP_STREAM --time 150ms --batch 8 --", "local", 0),
        ("-t TCP_MAERTS --time 150ms --batch 8 --", "remote", 0),
        (
            "-t TCP_STREAM --time 150ms --zerocopy -- -m 64K",
            "local",
            0,
        ),
        (
            "-t TCP_STREAM --time 150ms --warmup 0.1 --batch 8 --",
            "local",
            0,
        ),
    ] {
        let words = format!("-H 127.0.0.1 -p {port} --json --flows 3 --io uring {test}");
        let finished = Invocation::new(&ours!().netperf)
            .args(words.split_whitespace())
            .run();
        // A busy machine is late, which is said on standard error.
        assert!(finished.status.success(), "{}", finished.account());
        let measured = &finished.document()["iterations"][0];
        let receives = if sends == "local" { "remote" } else { "local" };
        let count = |end: &str, name: &str| measured[end][name].as_u64();
        let sent = count(sends, "sent_bytes");
        assert_eq!(
            sent,
            count(receives, "received_bytes"),
            "{}",
            finished.account()
        );
        assert!(sent > Some(0), "{}", finished.account());
        assert!(
            amount == 0 || sent == Some(amount),
            "{}",
            finished.account()
        );
        let io = &measured[sends]["io"];
        let calls = io["send_system_calls"].as_u64();
        if test.contains("--batch") && amount > 0 {
            // Each flow has a third, eight messages in a call and fewer in the last.
            assert!(calls < count(sends, "send_calls"), "{}", finished.account());
        }
        if test.contains("--zerocopy") {
            // Unknown before Linux 6.2.
            let told = io["zero_copy_sends"].as_u64();
            assert!(told == calls || told == Some(0), "{}", finished.account());
        }
    }
}
