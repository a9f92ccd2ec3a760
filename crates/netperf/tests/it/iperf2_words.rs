//! iperf 2: what its command line means, where that shows only in a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::net::LoopbackOnly;
use netperf_testkit::process::succeeds;
use netperf_testkit::{Finished, Invocation, Place, Scratch, eventually, ours, procfs, require};

use crate::iperf2_served::Served;

const PATIENCE: Duration = Duration::from_secs(60);

fn link(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("iperf");
    std::os::unix::fs::symlink(ours!().netperf, &path).expect("a link");
    path
}

/// Our client and the original.
fn clients(own: &Path) -> Vec<PathBuf> {
    let stock = PathBuf::from("/usr/bin/iperf");
    let mut clients = vec![own.to_owned()];
    if require::require(stock.exists(), "iperf", "install Debian's iperf") {
        clients.push(stock);
    }
    clients
}

#[test]
fn multicast_group_is_joined_and_its_datagrams_are_counted_netns() {
    const GROUP: &str = "239.255.0.7";
    if !require::root() {
        return;
    }
    let host = LoopbackOnly::new();
    let Place::Namespace(name) = host.place() else {
        panic!("a host of its own");
    };
    for words in [
        &["link", "set", "lo", "multicast", "on"][..],
        &["route", "add", "224.0.0.0/4", "dev", "lo"],
    ] {
        let mut command = std::process::Command::new("ip");
        let done = succeeds(command.args(["-n", &name]).args(words));
        assert!(done, "{words:?}");
    }
    let scratch = Scratch::new();
    let own = link(&scratch);
    for client in clients(&own) {
        let mut serving = Invocation::new(Path::new("/usr/bin/stdbuf"))
            .arg("-oL")
            .arg(&own)
            .args(["-s", "-u", "-B", GROUP, "-i", "60"])
            .within(&host.place())
            .patience(PATIENCE)
            .spawn();
        assert!(serving.prints("UDP buffer size", PATIENCE));
        let sent = Invocation::new(&client)
            .args(["-c", GROUP, "-u", "-n", "14700", "-b", "1m", "-T", "2"])
            .within(&host.place())
            .patience(PATIENCE)
            .run()
            .expect_exit(0);
        assert!(sent.stdout.contains("Sent 1"), "{}", sent.account());
        assert!(
            serving.prints("0/11 (0%)", PATIENCE) || serving.prints("0/10 (0%)", PATIENCE),
            "{}",
            serving.stdout()
        );
    }
}

#[test]
fn idle_server_sleeps_until_a_client_comes() {
    let scratch = Scratch::new();
    let server = Served::start(&link(&scratch), &[]);
    let switches = || procfs::voluntary_switches(server.running.pid());
    let before = switches();
    std::thread::sleep(Duration::from_secs(1));
    let while_idle = switches() - before;
    // A look every second by each of two threads.
    assert!(while_idle < 20, "{while_idle} context switches in a second");
    let client = server.client(&link(&Scratch::new()), &["-n", "1K"]);
    client.expect_exit(0);
    server.interrupt().expect_exit(0);
}

#[test]
fn output_goes_to_the_file_that_is_named() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Served::start(&own, &[]);
    let file = scratch.path().join("rows");
    let name = file.to_str().expect("text");
    let finished = server
        .client(&own, &["-n", "1K", "-o", name])
        .expect_exit(0);
    assert_eq!(finished.stdout, "");
    let rows = std::fs::read_to_string(&file).expect("rows");
    assert!(rows.contains("1.00 KBytes"), "{rows}");
    let nowhere = scratch.path().join("none/rows");
    let nowhere = nowhere.to_str().expect("text");
    let refused = server
        .client(&own, &["-n", "1K", "-o", nowhere])
        .expect_exit(1);
    assert!(
        refused.stderr.contains("No such file"),
        "{}",
        refused.account()
    );
}

#[test]
fn connection_is_tried_again_as_often_as_asked() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let port = netperf_testkit::server::free_port().to_string();
    let client = Invocation::new(&own)
        .args([
            "-c",
            "127.0.0.1",
            "-n",
            "1K",
            "-p",
            &port,
            "--connect-retries",
            "200",
        ])
        .patience(PATIENCE)
        .spawn();
    let server = Invocation::new(&own)
        .args(["-s", "-P", "1", "-p", &port])
        .patience(PATIENCE)
        .run()
        .expect_exit(0);
    assert!(
        server.stdout.contains("1.00 KBytes"),
        "{}",
        server.account()
    );
    let finished = client.finish().expect_exit(0);
    assert!(
        finished.stdout.contains("1.00 KBytes"),
        "{}",
        finished.account()
    );
    assert!(eventually(PATIENCE, || !procfs::is_bound(
        port.parse().expect("a port"),
        false
    )));
}

#[test]
fn dual_test_without_a_way_back_measures_what_the_client_sends() {
    use std::io::{Read as _, Write as _};
    let scratch = Scratch::new();
    let server = Served::start(&link(&scratch), &["-P", "1"]);
    let closed = u32::from(netperf_testkit::server::free_port());
    let mut client = std::net::TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
    // -d -n 10000, and this port for the connection back.
    for word in [0x8000_0001, 1, closed, 0, 0, 10_000] {
        client.write_all(&word.to_be_bytes()).expect("sent");
    }
    client.write_all(&[b'0'; 10_000]).expect("sent");
    client
        .shutdown(std::net::Shutdown::Write)
        .expect("shut down");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("closed in order");
    let finished = server.running.finish().expect_exit(0);
    let refused = "tcp connect failed: Connection refused";
    assert!(finished.stderr.contains(refused), "{}", finished.account());
    assert!(
        finished.stdout.contains(" 9.77 KBytes ") || finished.stdout.contains(" 9.79 KBytes "),
        "{}",
        finished.account()
    );
}

/// Runs a test between two programs that are given the same ports, and returns what the client did.
fn across_ports(
    (server, client): (&Path, &Path),
    host: &LoopbackOnly,
    [served, asked]: [&str; 2],
    options: &[&str],
) -> Finished {
    let mut serving = Invocation::new(Path::new("/usr/bin/stdbuf"))
        .arg("-oL")
        .arg(server)
        .args(["-s", "-p", served])
        .args(options)
        .within(&host.place())
        .patience(PATIENCE)
        .spawn();
    let protocol = if options.contains(&"-u") {
        "UDP"
    } else {
        "TCP"
    };
    let head = format!("Server listening on {protocol} ports {served} with pid ");
    assert!(serving.prints(&head, PATIENCE), "{}", serving.stdout());
    let done = Invocation::new(client)
        .args(["-c", "127.0.0.1", "-p", asked, "-n", "1K", "-l", "1K"])
        .args(options)
        .within(&host.place())
        .patience(PATIENCE)
        .run()
        .expect_exit(0);
    for port in 7001..7004 {
        let line = format!("port {port} connected with 127.0.0.1 port ");
        assert!(serving.prints(&line, PATIENCE), "{}", serving.stdout());
    }
    done
}

#[test]
fn ports_of_a_range_are_served_and_each_stream_has_its_own_netns() {
    if !require::root() {
        return;
    }
    let host = LoopbackOnly::new();
    let scratch = Scratch::new();
    let own = link(&scratch);
    let pairs = clients(&own)
        .into_iter()
        .flat_map(|other| [(own.clone(), other.clone()), (other, own.clone())]);
    for (server, client) in pairs {
        for options in [&[][..], &["-u"]] {
            let programs = (server.as_path(), client.as_path());
            let done = across_ports(programs, &host, ["7001-7003"; 2], options);
            let adjusted = "port-range and -P mismatch (adjusting -P to 3)";
            assert!(done.stderr.contains(adjusted), "{}", done.account());
            for port in 7001..7004 {
                let line = format!(" connected with 127.0.0.1 port {port}");
                assert!(done.stdout.contains(&line), "{}", done.account());
            }
            assert!(done.stdout.contains("[SUM] "), "{}", done.account());
        }
    }
    // A port at which nothing listens takes away one stream.
    let done = across_ports((&own, &own), &host, ["7001-7003", "7001-7004"], &[]);
    let refused = "tcp connect failed: Connection refused\n";
    assert_eq!(
        done.stderr.matches(refused).count(),
        1,
        "{}",
        done.account()
    );
    assert_eq!(
        done.stdout.matches("1.00 KBytes").count(),
        3,
        "{}",
        done.account()
    );
    let options = ["-P", "3", "--incr-dstport"];
    let done = across_ports((&own, &own), &host, ["7001-7003", "7001"], &options);
    assert_eq!(done.stderr, "");
}
