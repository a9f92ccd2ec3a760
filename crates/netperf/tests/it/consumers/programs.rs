//! The programs as processes: names, signals, exit statuses, servers.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use netperf_testkit::process::signal;
use netperf_testkit::server::free_port;
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Running, Scratch, eventually, is_closed, ours, procfs,
};

use super::{client, is_decimal, run, seconds, server};

fn session_begins(server: &Netserver) {
    assert!(eventually(seconds(5), || !server.sessions().is_empty()));
}

fn netserver(words: &[&str]) -> Finished {
    Invocation::new(&ours!().netserver).args(words).run()
}

/// The server that went to the background on a port; ended with the test.
struct Detached(String);

impl Detached {
    fn processes(&self) -> Vec<u32> {
        procfs::with_words(&["-p", &self.0])
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        self.processes()
            .into_iter()
            .for_each(|pid| signal(pid, "KILL"));
    }
}

#[test]
fn i01_processes_go_by_the_names_of_the_programs() {
    let server = server();
    let mut running = client(&server, "-t TCP_RR -l 60").spawn();
    let name = |pid| procfs::name(pid).unwrap_or_default();
    // A session is named when it begins to serve, not when it is made.
    assert!(eventually(seconds(5), || {
        let mut names = server.sessions().into_iter().map(name);
        names.len() == 1 && names.all(|name| name == "netserver")
    }));
    assert_eq!(name(running.pid()), "netperf");
    assert_eq!(name(server.pid()), "netserver");
    assert!(running.works(seconds(60)));
    running.signal("INT");
    running.finish().expect_clean();
}

/// Runs into a file, as scripts do.
fn into_file(server: &Netserver, folder: &Path, words: &str) -> Running {
    let line = format!(
        "exec '{}' -H 127.0.0.1 -p {} {words} > out",
        ours!().netperf.display(),
        server.port()
    );
    let shell = Invocation::new(Path::new("/bin/sh"));
    shell.args(["-c", &line]).folder(folder).spawn()
}

#[test]
fn i02_an_alarm_or_an_interrupt_ends_the_test_with_its_result() {
    let server = server();
    for name in ["ALRM", "INT"] {
        let mut running = client(&server, "-l 60").spawn();
        assert!(running.prints("MIGRATED", seconds(5)));
        assert!(running.works(seconds(60)));
        running.signal(name);
        let finished = running.finish().expect_clean();
        let result = finished.stdout.lines().nth(6).expect("the result");
        assert!(
            super::words(result)
                .last()
                .is_some_and(|word| is_decimal(word))
        );
    }
}

#[test]
fn i02_what_was_printed_before_a_termination_is_in_the_file() {
    let server = server();
    let folder = Scratch::new();
    let mut running = into_file(&server, folder.path(), "-l 60 -D 0.2");
    let read = || std::fs::read_to_string(folder.path().join("out")).unwrap_or_default();
    assert!(eventually(seconds(10), || read().contains("Interim result")));
    running.signal("TERM");
    assert!(eventually(seconds(5), || running.ended()));
    let text = read();
    assert!(
        text.starts_with("MIGRATED ") && text.ends_with('\n'),
        "{text}"
    );
}

#[test]
fn i26_the_exit_status_says_whether_it_worked() {
    let server = server();
    run(&server, "-t TCP_RR -l -20");
    let unknown = client(&server, "-t NO_SUCH").run();
    assert!(unknown.status.code().is_some_and(|code| code != 0));
    let port = free_port().to_string();
    let absent = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port])
        .run()
        .expect_exit(255);
    let said = format!(
        "establish control: are you sure there is a netserver listening on 127.0.0.1 at port {port}?"
    );
    assert!(absent.stdout.contains(&said), "{}", absent.account());
}

#[test]
fn i27_a_server_returns_once_it_listens() {
    let detached = Detached(free_port().to_string());
    let finished = netserver(&["-p", &detached.0]).expect_clean();
    TcpStream::connect(format!("127.0.0.1:{}", detached.0)).expect("it listens");
    let line = format!(
        "Starting netserver with host 'IN(6)ADDR_ANY' port '{}' and family AF_UNSPEC\n",
        detached.0
    );
    assert_eq!(finished.stdout, line);
    for options in [&["-D"][..], &["-D", "-f"], &["-D", "-N"]] {
        let server = Netserver::start_with(&ours!(), &Place::Here, options, &[]);
        run(&server, "-t TCP_RR -l -20");
    }
}

#[test]
fn i28_servers_share_a_host_by_port_and_a_busy_port_harms_nobody() {
    let (one, other) = (server(), server());
    run(&one, "-t TCP_RR -l -20");
    run(&other, "-t TCP_RR -l -20");
    let second = netserver(&["-p", &one.port().to_string()]);
    assert!(!second.status.success(), "{}", second.account());
    run(&one, "-t TCP_RR -l -20");
    for options in [&["-D", "-4"][..], &["-D", "-L", "127.0.0.1"]] {
        let server = Netserver::start_with(&ours!(), &Place::Here, options, &[]);
        run(&server, "-t TCP_RR -l -20");
    }
    let six = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-6"], &[]);
    let six_run = client(&six, "-t TCP_RR -l -20").args(["-H", "::1"]);
    six_run.run().expect_clean();
}

#[test]
fn i29_a_connection_as_standard_input_is_served_as_inetd_would_have_it() {
    // Served so, and as root, the original deletes the machine's /dev/null.
    assert!(!ours!().is_stock(), "not with a stand-in");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let client = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port, "-t", "TCP_RR", "-l", "-20"])
        .spawn();
    let (connection, _) = listener.accept().unwrap();
    let served = Invocation::new(&ours!().netserver)
        .stdin(Stdio::from(OwnedFd::from(connection)))
        .spawn();
    client.finish().expect_clean();
    served.finish().expect_clean();
}

#[test]
fn i29_a_killed_server_leaves_no_listener() {
    let server = server();
    let port = server.port();
    let running = client(&server, "-t TCP_RR -l 1 -w 20 -b 1").spawn();
    session_begins(&server);
    signal(server.pid(), "KILL");
    let refused = || TcpStream::connect(("127.0.0.1", port)).is_err();
    assert!(eventually(seconds(3), refused), "somebody still listens");
    running.finish();
}

#[test]
fn i30_a_passphrase_is_for_both_programs() {
    let open = server();
    let guarded = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-Z", "pass"], &[]);
    run(&guarded, "-Z pass -t TCP_RR -l -20");
    run(&open, "-Z pass -t TCP_RR -l -20");
    let stranger = client(&guarded, "-t TCP_RR -l -20").run();
    assert!(!stranger.status.success(), "{}", stranger.account());
}

#[test]
fn i30_a_silent_stranger_is_dropped_within_20_seconds() {
    let guarded = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-Z", "pass"], &[]);
    let silent = TcpStream::connect(("127.0.0.1", guarded.port())).expect("a connection");
    // Two more for a machine that is busy.
    silent.set_read_timeout(Some(seconds(22))).expect("a limit");
    assert!(is_closed(&silent), "not in time");
    assert!(guarded.sessions().is_empty(), "a process for nothing");
}

#[test]
fn i31_a_server_in_one_process_never_forks() {
    let options = ["-D", "-f", "-4", "-L", "127.0.0.1"];
    let server = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
    let mut running = client(&server, "-t TCP_RR -l -2000 -- -r 1024").spawn();
    let over = eventually(seconds(20), || {
        assert!(server.sessions().is_empty(), "it forked");
        running.ended()
    });
    assert!(over, "{}", running.stdout());
    running.finish().expect_clean();
    run(&server, "-l 1");
}

#[test]
fn i32_version_and_usage_are_where_probes_look() {
    for program in [ours!().netperf, ours!().netserver] {
        let version = Invocation::new(&program).arg("-V").run().expect_clean();
        assert!(version.stdout.starts_with("Netperf version 2.7."));
        let usage = Invocation::new(&program).arg("-h").run().expect_exit(1);
        assert!(usage.stderr.contains("Usage"), "{}", usage.account());
        assert_eq!(usage.stdout, "");
    }
}
