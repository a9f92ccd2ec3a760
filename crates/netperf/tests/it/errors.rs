//! Errors name the operation, the address and port, the cause and the remedy: on a terminal, in
//! JSON, and in netserver's journal. The texts of netperf 2.7 stay what programs read.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use netperf_testkit::server::free_port;
use netperf_testkit::{Finished, Invocation, Netserver, Place, Scratch, ours, require};

/// A run with JSON, whose error is one text.
fn refused(options: &[&str]) -> (Finished, String) {
    let finished = Invocation::new(&ours!().netperf)
        .args(["--json", "-l", "1"])
        .args(options)
        .run();
    let message = finished.document()["error"]["message"].to_string();
    (finished, message)
}

#[test]
fn an_unknown_test_is_one_line_beside_output_that_is_not_the_original() {
    let server = ours!().serve();
    for format in ["--human", "--json"] {
        let finished = Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &server.port().to_string()])
            .args([format, "-t", "TCP_STREEM"])
            .run()
            .expect_exit(1);
        let line = "netperf: there is no test TCP_STREEM: did you mean TCP_STREAM? \
                    `netperf -t help` lists the tests\n";
        assert_eq!(finished.stderr, line, "{}", finished.account());
        assert_eq!(finished.stdout, "", "{}", finished.account());
    }
}

#[test]
fn a_connection_that_fails_is_explained() {
    let port = free_port().to_string();
    for (options, parts) in [
        (
            &["-H", "127.0.0.1", "-p", &*port][..],
            &[
                "connect to 127.0.0.1 port ",
                &*port,
                "Connection refused",
                "start netserver",
            ][..],
        ),
        (
            &["-H", "127.0.0.1:23000"],
            &["give the port with -p, as in 127.0.0.1 -p 23000"],
        ),
        (
            &["-H", "127.0.0.1", "-p", "99999"],
            &["'99999' is not a port", "from 1 to 65535"],
        ),
        (
            &["-H", "127.0.0.1", "-L", "192.0.2.9", "-p", &*port],
            &[
                "bind to 192.0.2.9",
                "Cannot assign",
                "does not have the address",
            ],
        ),
        (
            &["-H", "fe80::1", "-p", &*port],
            &["connect to fe80::1", "needs the interface, as in fe80::1%"],
        ),
        (
            &["-H", "no-such-host.invalid"],
            &["look up 'no-such-host.invalid'"],
        ),
    ] {
        let (finished, message) = refused(options);
        assert_eq!(finished.status.code(), Some(255), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(finished.stderr.lines().count(), 1, "{message}");
        // Output for a person has the same line alone.
        let human = Invocation::new(&ours!().netperf)
            .args(["--human", "-l", "1"])
            .args(options)
            .run();
        assert_eq!(human.stderr, finished.stderr, "{}", human.account());
        assert_eq!(human.stdout, "", "{}", human.account());
        // It follows the lines of the original, on a terminal or off it.
        let plain = Invocation::new(&ours!().netperf)
            .args(["-l", "1"])
            .args(options)
            .run();
        assert_eq!(plain.status.code(), Some(255));
        for part in parts {
            assert!(plain.stderr.contains(part), "{}", plain.account());
        }
    }
}

#[test]
fn tests_that_move_nothing_by_their_options_say_so() {
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-L", "127.0.0.1"], &[]);
    let port = server.port().to_string();
    let own = free_port().to_string();
    for (words, part) in [
        (
            "-t TCP_RR -- -r 0".to_owned(),
            "a message of 0 bytes is never sent",
        ),
        (
            "-t UDP_RR -l 0.1 -- -r 0".to_owned(),
            "a message of 0 bytes is never sent",
        ),
        (
            format!("-t TCP_STREAM -- -P {own}"),
            "the data connection would connect netperf to itself",
        ),
        (
            "--bind-device eth999".to_owned(),
            "it has no interface of that name",
        ),
    ] {
        let words = ["-H", "127.0.0.1", "-p", &port]
            .into_iter()
            .chain(words.split(' '));
        let (finished, message) = refused(&words.collect::<Vec<_>>());
        assert!(message.contains(part), "{}", finished.account());
        let blames_a_port = ["firewall", "open that port", "--one-port"];
        let blames_a_port = blames_a_port
            .into_iter()
            .any(|words| message.contains(words));
        assert!(!blames_a_port, "{message}");
    }
}

#[test]
fn a_datagram_that_does_not_fit_is_answered_with_the_limit() {
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-L", "127.0.0.1"], &[]);
    let port = server.port().to_string();
    for words in ["-t UDP_RR -- -r 100000", "-t UDP_STREAM -- -m 100000"] {
        let options: Vec<&str> = ["-H", "127.0.0.1", "-p", &port]
            .into_iter()
            .chain(words.split(' '))
            .collect();
        let (_, message) = refused(&options);
        assert!(
            message.contains("at most 65507 bytes over IPv4"),
            "{message}"
        );
    }
}

#[test]
fn a_size_that_does_not_fit_and_a_word_without_an_option_are_named() {
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-L", "127.0.0.1"], &[]);
    let port = server.port().to_string();
    for (words, line) in [
        ("-l -1K -- -m 3G", "netperf: -m 3G: not a size such as"),
        (
            "-l -1K TCP_RR",
            "'TCP_RR' is ignored: a test is given as -t TCP_RR",
        ),
    ] {
        let finished = Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port])
            .args(words.split(' '))
            .run()
            .expect_exit(0);
        assert!(finished.stderr.contains(line), "{}", finished.account());
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
    }
}

#[test]
fn a_server_that_is_no_netserver_is_told_from_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    // An iperf3 server reads a cookie of 37 bytes and answers with a state (9).
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 656]).unwrap();
        stream.write_all(&[9]).unwrap();
    });
    let (_, message) = refused(&["-H", "127.0.0.1", "-p", &port]);
    server.join().unwrap();
    assert!(
        message.contains("an iperf3 server answers, not netserver"),
        "{message}"
    );
}

#[test]
fn every_address_of_a_name_is_tried() {
    let unshare = Path::new("/usr/bin/unshare");
    if !require::root() || !require::require(unshare.exists(), "unshare", "install util-linux") {
        return;
    }
    let folder = Scratch::new();
    let hosts = folder.path().join("hosts");
    std::fs::write(&hosts, "::1 both\n127.0.0.1 both\n").unwrap();
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-L", "127.0.0.1"], &[]);
    let mount = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
    let finished = Invocation::new(unshare)
        .args(["--mount", "--", "sh", "-c", mount])
        .arg(&hosts)
        .arg(&ours!().netperf)
        .args([
            "-H",
            "both",
            "-p",
            &server.port().to_string(),
            "-l",
            "1",
            "-P",
            "0",
        ])
        .run();
    finished.expect_clean();
}

#[test]
fn netserver_says_why_it_could_not_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (options, reason) in [
        (
            &["-L", "127.0.0.1", "-p", &*port][..],
            &[
                "listen at 127.0.0.1 port ",
                &*port,
                "Address already in use",
                "-p",
            ][..],
        ),
        (
            &["-L", "192.0.2.9"],
            &[
                "listen at 192.0.2.9 port 12865",
                "does not have the address",
            ],
        ),
        (&["-p", "99999"], &["-p '99999'", "from 1 to 65535"]),
        (&["-L", "fe80::1"], &["needs the interface, as in fe80::1%"]),
        (
            &["-L", "no-such-host.invalid"],
            &["-L 'no-such-host.invalid'", "give an address of this host"],
        ),
    ] {
        let netserver = |words: &[&str], journal: &[(&str, &str)]| {
            let mut netserver = Invocation::new(&ours!().netserver)
                .args(words)
                .args(options);
            for (name, value) in journal {
                netserver = netserver.env(name, value);
            }
            netserver.run().expect_exit(1)
        };
        let told = netserver(&["-D"], &[("JOURNAL_STREAM", "8:1")]).stderr;
        assert!(
            told.starts_with("Unable to start netserver with  '"),
            "{told}"
        );
        for part in reason {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(netserver(&["-D"], &[]).stderr, told);
        assert_eq!(netserver(&["-D", "--max-sessions", "5"], &[]).stderr, told);
    }
}

#[test]
fn a_port_that_needs_rights_is_told_from_one_that_is_taken() {
    let setpriv = Path::new("/usr/bin/setpriv");
    if !require::root() || !require::require(setpriv.exists(), "setpriv", "install util-linux") {
        return;
    }
    // In a network of this test alone ports below 1024 need rights.
    let told = Invocation::new(Path::new("/usr/bin/unshare"))
        .args(["--net", "--", "setpriv", "--bounding-set=-net_bind_service"])
        .args(["--inh-caps=-net_bind_service", "--"])
        .arg(&ours!().netserver)
        .args(["-D", "-p", "80"])
        .env("JOURNAL_STREAM", "8:1")
        .run()
        .expect_exit(1)
        .stderr;
    assert!(
        told.contains("listen at 0.0.0.0 port 80: Permission denied"),
        "{told}"
    );
    assert!(told.contains("CAP_NET_BIND_SERVICE"), "{told}");
}

#[test]
fn an_address_without_a_route_is_explained() {
    if !require::root() {
        return;
    }
    // A network of this test alone has no route.
    let finished = Invocation::new(Path::new("/usr/bin/unshare"))
        .args(["--net", "--"])
        .arg(&ours!().netperf)
        .args(["--json", "-l", "1", "-H", "192.0.2.1", "-p", "12999"])
        .run()
        .expect_exit(255);
    let message = finished.document()["error"]["message"].to_string();
    let told = "connect to 192.0.2.1 port 12999: Network is unreachable: no r";
    assert!(message.contains(told), "{message}");
}

/// A short run against a netserver of this test; its standard error.
fn told(options: &[&str], status: i32) -> String {
    let server = ours!().serve();
    let run = ours!()
        .client_of(&server)
        .args(["-l", "-50", "-t", "TCP_RR"])
        .args(options)
        .run();
    assert_eq!(run.status.code(), Some(status), "{}", run.account());
    run.stderr_beyond_hosts()
}

#[test]
fn an_unknown_type_of_service_and_a_cpu_that_does_not_exist_are_reported() {
    let line = told(&["-Y", "le"], 0);
    assert!(line.starts_with("netperf: -Y le: "), "{line}");
    assert!(line.contains("such as ef, cs1 or af11"), "{line}");
    let both = told(&["-Y", "cs9,le"], 0);
    assert!(both.starts_with("netperf: -Y cs9,le: "), "{both}");
    let line = told(&["-T", "1000,"], 0);
    assert!(
        line.contains("this host has no CPU 1000 to run on"),
        "{line}"
    );
    assert_eq!(told(&["-Y", "ef,0x10", "-T", "0"], 0), "");
}

#[test]
fn a_local_data_port_that_cannot_be_had_is_explained() {
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let line = told(&["--", "-P", &format!("{port},")], 1);
    assert_eq!(
        line,
        format!(
            "netperf: bind the data socket to 0.0.0.0 port {port}: Address already in use: name \
             another port with -P (--data-port), or none\n"
        )
    );
    let line = told(&["--", "-L", "192.0.2.9"], 1);
    assert!(
        line.contains("bind the data socket to 192.0.2.9 port 0: Cannot assign"),
        "{line}"
    );
    assert!(line.contains("does not have the address"), "{line}");
}

#[test]
fn names_are_tried_in_the_family_of_the_local_address() {
    let server = ours!().serve();
    let port = server.port().to_string();
    for (local, other) in [("127.0.0.1", "::1"), ("::1", "127.0.0.1"), (",4", "::1")] {
        let (_, message) = refused(&["-H", other, "-L", local, "-p", &port]);
        let line = format!("connect to {other} port {port}: -L has no address of this family");
        assert!(message.contains(&line), "{message}");
    }
}

#[test]
fn a_list_of_the_tests_is_at_hand() {
    for options in [&["-t", "help"][..], &["--list"]] {
        let run = Invocation::new(&ours!().netperf).args(options).run();
        let listed = run.expect_clean().stdout;
        for test in ["TCP_STREAM", "UDP_RR", "OMNI"] {
            assert!(listed.contains(test), "{listed}");
        }
    }
}

#[test]
fn suggestions_are_names_that_make_sense() {
    for (options, message) in [
        (
            &["--unit", "q"][..],
            "option --unit: 'q' is not one of G, M, K, B, g, m, k, b, x, u\n",
        ),
        (
            &["--report"],
            "option --report is unknown; did you mean the subcommand, as in `netperf report \
             --help`?\n",
        ),
        (
            &["--tset"],
            "option --tset is unknown; did you mean --test?\n",
        ),
        (
            &["--test", "TCP_STREEM"],
            "option --test: 'TCP_STREEM' is not the name of a test; did you mean TCP_STREAM?\n",
        ),
    ] {
        let run = Invocation::new(&ours!().netperf).args(options).run();
        let run = run.expect_exit(2);
        assert!(run.stderr.ends_with(message), "{}", run.account());
    }
}
