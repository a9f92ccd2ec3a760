//! netserver as an operator meets it: its log, its end, and what it does about clients
//! that say nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use netperf_testkit::process::{signal, succeeds};
use netperf_testkit::server::free_port;
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Running, Scratch, eventually, is_closed, ours, procfs,
    require,
};
use serde_json::Value;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn server(options: &[&str]) -> Netserver {
    let options: Vec<&str> = ["-D"].into_iter().chain(options.iter().copied()).collect();
    Netserver::start_with(&ours!(), &Place::Here, &options, &[])
}

fn client(server: &Netserver, words: &[&str]) -> Running {
    ours!()
        .client_of(server)
        .args(["-P", "0", "-v", "0"])
        .args(words)
        .spawn()
}

fn measures(server: &Netserver, words: &[&str]) -> Finished {
    client(server, words).finish().expect_clean()
}

/// The events in a log of JSON, complete lines only.
fn events(text: &str) -> Vec<Value> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

/// Waits for an event of this name on standard error that `fits`.
#[track_caller]
fn event(server: &Netserver, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let mut found = None;
    eventually(seconds(10), || {
        let events = events(&server.said().1);
        found = events
            .into_iter()
            .find(|event| event["event"] == name && fits(event));
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("no {name} in {}", server.said().1))
}

fn connect(server: &Netserver) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    stream.set_read_timeout(Some(seconds(10))).expect("a limit");
    stream
}

#[test]
fn each_session_is_one_line_of_json_with_peer_test_result_and_end() {
    let server = server(&["--log", "json"]);
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    let line = event(&server, "session", |_| true);
    assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert_eq!(
        (&line["tests"], &line["test"]),
        (&1.into(), &"tcp_rr".into())
    );
    assert_eq!(line["unit"], "transactions/s");
    assert!(line["result"].as_f64().unwrap() > 0.0, "{line}");
    assert_eq!(line["bytes_received"], 50);
    assert_eq!(line["end"], "finished");
    measures(&server, &["-t", "UDP_STREAM", "--time", "200ms"]);
    let line = event(&server, "session", |line| line["test"] == "udp_stream");
    assert_eq!(line["unit"], "10^6bits/s");
}

#[test]
fn without_an_option_a_log_says_nothing_of_what_is_usual() {
    let server = server(&[]);
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    assert!(eventually(seconds(5), || server.sessions().is_empty()));
    assert_eq!(server.said().1, "");
}

#[test]
fn a_session_that_dies_is_logged_as_such() {
    let server = server(&["--log", "json"]);
    let running = client(&server, &["-t", "TCP_RR", "-l", "30"]);
    assert!(eventually(seconds(10), || !server.sessions().is_empty()));
    signal(server.sessions()[0], "KILL");
    let line = event(&server, "session", |_| true);
    assert_eq!(
        (&line["end"], &line["signal"]),
        (&"killed".into(), &"9".into())
    );
    assert_eq!(line["level"], "warn");
    assert!(!running.finish().status.success());
}

#[test]
fn a_log_file_that_was_moved_away_is_opened_anew_on_sighup() {
    let folder = Scratch::new();
    let (file, moved) = (folder.path().join("log"), folder.path().join("log.1"));
    // A user that root starts netserver for could not create a file in this folder.
    let mut options = vec!["--log-file", file.to_str().unwrap()];
    options.extend(require::same_user());
    let server = server(&options);
    let lines = |file: &Path| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines()
            .filter(|line| line.contains(" session "))
            .count()
    };
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    assert!(eventually(seconds(10), || lines(&file) == 1));
    std::fs::rename(&file, &moved).unwrap();
    signal(server.pid(), "HUP");
    assert!(eventually(seconds(10), || file.exists()));
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    assert!(eventually(seconds(10), || lines(&file) == 1));
    assert_eq!(lines(&moved), 1);
}

#[test]
fn a_log_that_cannot_be_written_is_said_before_anything_begins() {
    let finished = Invocation::new(&ours!().netserver)
        .args(["-D", "--log-file", "/nonexistent/log"])
        .run()
        .expect_exit(1);
    let why = "netserver: cannot write the log to /nonexistent/log: No such file or directory";
    assert!(finished.stderr.starts_with(why), "{}", finished.account());
}

#[test]
fn a_termination_lets_sessions_finish_and_takes_no_new_ones() {
    let server = server(&["--log", "json"]);
    let mut running = client(&server, &["-t", "TCP_RR", "-l", "60"]);
    assert!(running.works(seconds(60)));
    signal(server.pid(), "TERM");
    event(&server, "draining", |line| line["sessions"] == 1);
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    running.signal("INT");
    running.finish().expect_clean();
    let line = event(&server, "session", |_| true);
    assert_eq!(line["end"], "finished");
    event(&server, "stopped", |_| true);
    assert!(eventually(seconds(5), || !server.alive()));
}

#[test]
fn sessions_that_outlast_the_drain_are_ended() {
    let server = server(&["--log", "json", "--drain", "300ms"]);
    let running = client(&server, &["-t", "TCP_RR", "-l", "60"]);
    assert!(eventually(seconds(10), || !server.sessions().is_empty()));
    signal(server.pid(), "TERM");
    let line = event(&server, "session", |_| true);
    assert_eq!(line["end"], "drained");
    assert!(eventually(seconds(5), || !server.alive()));
    assert!(!running.finish().status.success());
}

#[test]
fn a_second_termination_ends_everything_at_once() {
    let server = server(&["--log", "json", "--drain", "1h"]);
    let running = client(&server, &["-t", "TCP_RR", "-l", "60"]);
    assert!(eventually(seconds(10), || !server.sessions().is_empty()));
    signal(server.pid(), "TERM");
    event(&server, "draining", |_| true);
    signal(server.pid(), "TERM");
    assert!(eventually(seconds(5), || !server.alive()));
    assert!(!running.finish().status.success());
}

#[test]
fn a_client_that_says_nothing_gets_no_process() {
    let server = server(&["--log", "json", "--log-level", "debug"]);
    let silent: Vec<TcpStream> = (0..20).map(|_| connect(&server)).collect();
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    assert!(eventually(seconds(5), || server.sessions().is_empty()));
    // One that goes without a word is let go without a process, too.
    drop(silent);
    event(&server, "unspoken", |line| line["end"] == "finished");
    assert!(procfs::children(server.pid()).is_empty());
}

#[test]
fn a_client_that_speaks_out_of_turn_is_hung_up_on() {
    let server = server(&["--log", "json", "-Z", "sesame"]);
    let mut stream = connect(&server);
    stream.write_all(&[0; 656]).expect("space for a message");
    assert!(is_closed(&stream));
    assert!(eventually(seconds(5), || server.sessions().is_empty()));
    // It asked for nothing, so nothing is said of it.
    let log = server.said().1;
    assert!(!log.contains("\"session\""), "{log}");
}

/// Response of the metrics server to a request.
fn asked(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(seconds(10))).expect("a limit");
    stream.write_all(request.as_bytes()).expect("space");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn healthy(port: u16) -> Finished {
    let words = ["--health".to_owned(), format!("127.0.0.1:{port}")];
    Invocation::new(&ours!().netserver).args(words).run()
}

#[test]
fn metrics_and_health_are_to_be_had_over_http() {
    let port = free_port();
    let server = server(&["--metrics", &format!("127.0.0.1:{port}"), "--drain", "1h"]);
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    measures(&server, &["-t", "TCP_MAERTS", "-l", "-64K"]);
    let _silent = connect(&server);
    let mut page = String::new();
    let counted = eventually(seconds(10), || {
        page = asked(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        page.contains("netserver_connections_waiting 1\n")
            && page.contains("netserver_sessions_total{kind=\"tcp_maerts\",end=\"finished\"} 1\n")
    });
    assert!(counted, "{page}");
    for line in [
        "HTTP/1.1 200 OK\r\n",
        "# TYPE netserver_sessions_total counter\n",
        "netserver_sessions_total{kind=\"tcp_rr\",end=\"finished\"} 1\n",
        "netserver_tests_total{result=\"ran\"} 2\n",
        "netserver_bytes_total{direction=\"received\"} 50\n",
        "netserver_sessions_active 0\n",
    ] {
        assert!(page.contains(line), "{line} is missing: {page}");
    }
    assert!(asked(port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(asked(port, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    // A slow or long request does not delay others.
    let slow: Vec<TcpStream> = (0..30)
        .map(|_| TcpStream::connect(("127.0.0.1", port)).expect("it listens"))
        .collect();
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    healthy(port).expect_clean();
    drop(slow);
    let running = client(&server, &["-t", "TCP_RR", "-l", "60"]);
    assert!(eventually(seconds(10), || !server.sessions().is_empty()));
    signal(server.pid(), "TERM");
    assert!(eventually(seconds(10), || !healthy(port).status.success()));
    let finished = healthy(port).expect_exit(1);
    assert!(
        finished.stderr.ends_with(": draining\n"),
        "{}",
        finished.account()
    );
    drop(running);
}

#[test]
fn a_netserver_that_is_not_there_is_not_well() {
    let finished = healthy(free_port()).expect_exit(1);
    assert!(
        finished.stderr.ends_with(": Connection refused\n"),
        "{}",
        finished.account()
    );
    for option in ["--health", "--metrics"] {
        let wrong = Invocation::new(&ours!().netserver).args(["-D", option, "nowhere"]);
        wrong.run().expect_exit(2);
    }
}

#[test]
fn a_socket_that_a_supervisor_opened_is_served_and_it_hears_of_it() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let folder = Scratch::new();
    let path = folder.path().join("notify");
    let notify = UnixDatagram::bind(&path).expect("a socket");
    notify.set_read_timeout(Some(seconds(10))).expect("a limit");
    let heard = || {
        let mut bytes = [0; 256];
        let count = notify.recv(&mut bytes).expect("word of netserver");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"";
    let log = folder.path().join("log");
    let mut running = Invocation::new(Path::new("/bin/sh"))
        .args(["-c", script])
        .arg(&ours!().netserver)
        .args(["--log-file", log.to_str().expect("a short name")])
        .env("NOTIFY_SOCKET", &path)
        .stdin(std::os::fd::OwnedFd::from(listener))
        .spawn();
    assert!(heard().starts_with("READY=1\n"));
    let listening = format!(" listening port={port} ");
    assert!(eventually(seconds(10), || {
        std::fs::read_to_string(&log).is_ok_and(|said| said.contains(&listening))
    }));
    Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .args(["-t", "TCP_RR", "-l", "-50", "-P", "0", "-v", "0"])
        .run()
        .expect_clean();
    running.signal("TERM");
    assert!(heard().starts_with("STOPPING=1\n"));
    assert!(eventually(seconds(10), || running.ended()));
}

#[test]
fn sighup_reads_the_policy_again_and_a_wrong_one_changes_nothing() {
    let folder = Scratch::new();
    let file = folder.path().join("netserver.toml");
    std::fs::write(&file, "max-sessions = 7\n").unwrap();
    // A netserver of root changes to a user that cannot read it again.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    let server = server(&["--log", "json", "--config", file.to_str().unwrap()]);
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    std::fs::write(&file, "max-sessions = \"many\"\n").unwrap();
    signal(server.pid(), "HUP");
    let wrong = event(&server, "reload", |_| true);
    assert!(
        wrong["error"].as_str().unwrap().contains("max-sessions"),
        "{wrong}"
    );
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    // Nothing is ever written to it.
    std::fs::remove_file(&file).unwrap();
    assert!(succeeds(Command::new("mkfifo").arg(&file)));
    signal(server.pid(), "HUP");
    let pipe = |line: &Value| line["error"].as_str().unwrap().contains("read again");
    event(&server, "reload", pipe);
    measures(&server, &["-t", "TCP_RR", "-l", "-50"]);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "deny = [\"127.0.0.0/8\"]\n").unwrap();
    signal(server.pid(), "HUP");
    event(&server, "reloaded", |_| true);
    let refused = client(&server, &["-t", "TCP_RR", "-l", "-50"]).finish();
    assert!(!refused.status.success(), "{}", refused.account());
    event(&server, "denied", |_| true);
}
