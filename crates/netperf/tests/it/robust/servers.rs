//! Starts and ends of netserver.

use super::*;

/// The detached server on a port: a process of ours by its unique words.
fn detached(port: &str) -> Vec<u32> {
    procfs::with_words(&["-p", port])
}

/// Ends detached servers when the test is over, passed or not.
struct Detached(String);

impl Drop for Detached {
    fn drop(&mut self) {
        detached(&self.0)
            .into_iter()
            .for_each(|pid| signal(pid, "KILL"));
    }
}

fn netserver(words: &[&str]) -> Finished {
    Invocation::new(&ours!().netserver).args(words).run()
}

#[test]
fn a_server_goes_to_the_background_only_once_it_listens() {
    let port = free_port().to_string();
    let _detached = Detached(port.clone());
    let finished = netserver(&["-p", &port]).expect_clean();
    assert_eq!(
        finished.stdout,
        format!(
            "Starting netserver with host 'IN(6)ADDR_ANY' port '{port}' and family AF_UNSPEC\n"
        )
    );
    TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens already");
    let daemons = detached(&port);
    assert!(!daemons.is_empty(), "no detached process");
    let mut names = daemons.iter().filter_map(|&pid| procfs::name(pid));
    assert!(names.any(|name| name == "netserver"), "{daemons:?}");
}

#[test]
fn a_port_that_is_taken_is_told_with_the_option_that_asks_for_it() {
    let server = ours!().serve();
    let (taken, free) = (server.port().to_string(), free_port().to_string());
    let told = |words: &[&str], exit| {
        let finished = netserver(&[&["-D", "-p", &free], words].concat()).expect_exit(exit);
        finished.stderr
    };
    for option in ["--iperf3", "--iperf2", "--metrics"] {
        let told = told(&[option, &taken], 1);
        let way_out = format!("give another port with {option}");
        assert!(told.contains(&way_out), "{told}");
        assert!(!told.contains("with -p"), "{told}");
    }
    let own = |option: &str, other: &str| {
        format!(
            "netserver: {option}: port {free} is that of {other}, too: give another port with {option}\n"
        )
    };
    for option in ["--iperf3", "--iperf2", "--metrics"] {
        assert_eq!(told(&[option, &free], 2), own(option, "-p"));
    }
    let twice = ["--iperf3", &taken, "--iperf2", &taken];
    let told = told(&twice, 2);
    assert!(told.contains(" is that of --iperf3, too"), "{told}");
}

#[test]
fn a_port_that_the_kernel_chose_is_told() {
    let words = ["-D", "-p", "0", "--iperf3", "0", "--iperf2", "0"];
    let mut running = Invocation::new(&ours!().netserver).args(words).spawn();
    let told = running.prints("Port of iperf2 clients: ", Duration::from_secs(60));
    assert!(told, "{}", running.stdout());
    let said = running.stdout();
    let chosen = |before: &str| {
        let (_, rest) = said.split_once(before).expect("a line");
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
        digits.and_then(|port| port.parse::<u16>().ok())
    };
    for before in [
        "IN(6)ADDR_ANY' port '",
        "Port of iperf3 clients: ",
        "Port of iperf2 clients: ",
    ] {
        let port = chosen(before).expect("a number");
        TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_of_netserver() {
    let scratch = Scratch::new();
    let settings = scratch.path().join("settings.toml");
    std::fs::write(&settings, "").expect("space");
    let check = ["--check-config", settings.to_str().expect("a name")];
    for words in [
        &["--help"][..],
        &["--help", "limits"],
        &["-V"],
        &["--version"],
        &check,
    ] {
        let finished = Invocation::new(Path::new("/bin/sh"))
            .args(["-c", "\"$0\" \"$@\" > /dev/full"])
            .arg(&ours!().netserver)
            .args(words)
            .run()
            .expect_exit(1);
        let said = "netserver: standard output: No space left on device\n";
        assert!(finished.stderr.ends_with(said), "{}", finished.account());
    }
}

#[test]
fn a_second_server_on_a_busy_port_fails_and_harms_nobody() {
    let server = ours!().serve();
    let port = server.port().to_string();
    for options in [&["-p", &port][..], &["-D", "-p", &port]] {
        let finished = netserver(options).expect_exit(1);
        let unable = format!(
            "Unable to start netserver with  'IN(6)ADDR_ANY' port '{port}' and family AF_UNSPEC\n"
        );
        let reason = finished.stderr.strip_prefix(&unable).unwrap_or_default();
        let named = |line: &str| line.contains("Address already in use: another program has it");
        assert!(
            !reason.is_empty() && reason.lines().all(named),
            "{}",
            finished.account()
        );
        assert_eq!(finished.stdout, "");
    }
    serves(&server);
}

#[test]
fn a_connection_as_standard_input_is_served_as_inetd_would_have_it() {
    // Served so, and as root, the original deletes the machine's /dev/null.
    assert!(!ours!().is_stock(), "not with a stand-in");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let client = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port])
        .args(["-t", "TCP_RR", "-l", "-50"])
        .spawn();
    let (connection, _) = listener.accept().unwrap();
    let served = Invocation::new(&ours!().netserver)
        .stdin(Stdio::from(OwnedFd::from(connection)))
        .spawn();
    client.finish().expect_clean();
    let served = served.finish().expect_clean();
    assert_eq!(served.stdout, "", "{}", served.account());
}

#[test]
fn a_server_that_never_forks_serves_one_client_after_another() {
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-f"], &[]);
    for test in ["TCP_STREAM", "UDP_RR", "TCP_RR"] {
        let mut running = client(&server, &["-t", test, "--time", "200ms"]).spawn();
        let over = eventually(seconds(20), || {
            assert_eq!(server.sessions(), Vec::<u32>::new(), "it forked");
            running.ended()
        });
        assert!(over, "{}", running.stdout());
        running.finish().expect_clean();
    }
    assert!(server.alive());
}

#[test]
fn sessions_go_by_the_name_of_netserver() {
    let server = ours!().serve();
    let running = client(&server, &["-t", "TCP_RR", "-l", "30"]).spawn();
    // A session is named when it begins to serve, not when it is made.
    assert!(eventually(seconds(30), || {
        let sessions = server.sessions();
        let mut names = sessions.into_iter().map(procfs::name);
        names.len() == 1 && names.all(|name| name.as_deref() == Some("netserver"))
    }));
    assert_eq!(procfs::name(running.pid()).as_deref(), Some("netperf"));
    running.signal("INT");
    running.finish().expect_clean();
}

#[test]
fn only_clients_with_the_passphrase_are_served() {
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-Z", "sesame"], &[]);
    let run = ["-t", "TCP_RR", "-l", "-50"];
    client(&server, &["-Z", "sesame"])
        .args(run)
        .run()
        .expect_clean();
    let wrong = client(&server, &["-Z", "mustard"]).args(run).run();
    assert!(!wrong.status.success(), "{}", wrong.account());
    let none = client(&server, &run).run();
    assert!(!none.status.success(), "{}", none.account());
    no_stray_session(&server, seconds(30));
}
