//! Options without an effect.

use super::*;

#[test]
fn a_cpu_that_is_not_there_fails_by_name_and_warns_by_letter() {
    let server = ours!().serve();
    let line = "this host has no CPU 99999 to run on";
    let named = run(&server, "--bind-cpu 99999,", true).expect_exit(UNSUPPORTED);
    assert!(named.stderr.contains(line), "{}", named.account());
    let letter = run(&server, "-T 99999,", true).expect_exit(0);
    assert!(letter.stderr.contains(line), "{}", letter.account());
    let line = "netserver cannot bind to CPU 999: ";
    let named = run(&server, "--bind-cpu ,999", true).expect_exit(UNSUPPORTED);
    assert!(named.stderr.contains(line), "{}", named.account());
    let letter = run(&server, "-T ,999", true).expect_exit(0);
    assert!(letter.stderr.contains(line), "{}", letter.account());
    let warnings = letter.document()["warnings"].to_string();
    assert!(warnings.contains(line), "{warnings}");
    run(&server, "-T ,0", true).expect_clean();
    if let Some(stock) = Programs::stock() {
        // It does not tell.
        let server = stock.serve();
        run(&server, "-T ,999", true).expect_clean();
    }
}

#[test]
fn values_of_letters_that_are_not_used_are_named_on_standard_error_and_in_json() {
    let server = ours!().serve();
    for (case, letter) in [
        ("-f z", "-f z: "),
        ("-Y foo", "-Y foo: "),
        ("-P 8", "-P 8: "),
        ("-T quic", "-T quic: "),
        ("-t TCP_STREAM -- -m abc", "-m abc: "),
        ("-t OMNI -- -d xyz", "-d xyz: "),
        ("-t OMNI -- -T quic", "-T quic: "),
        ("-- -b 50M", "-b 50M: "),
        ("-t UDP_STREAM -b 50M", "-b: "),
    ] {
        let finished = run(&server, case, true);
        assert!(
            finished.stderr.contains(&format!("netperf: {letter}")),
            "{}",
            finished.account()
        );
        if finished.status.success() {
            let warnings = finished.document()["warnings"].to_string();
            assert!(warnings.contains(letter), "{}", finished.account());
        }
    }
}

#[test]
fn options_that_a_transport_does_not_have_fail_by_name_and_warn_by_letter() {
    let server = ours!().serve();
    for (test, letter, name) in [
        ("UDP_RR", "-C", "--cork"),
        ("UDP_RR", "-F", "--fast-open"),
        ("UDP_RR", "-a", "--defer-accept"),
        ("UDP_RR", "-D", "--no-delay"),
        ("TCP_RR", "-f", "--no-fragment"),
        ("TCP_RR", "-l 5", "--multicast-ttl=5"),
    ] {
        let finished = run(&server, &format!("-t {test} -- {letter}"), true).expect_exit(0);
        let warnings = finished.document()["warnings"].to_string();
        assert!(warnings.contains("not_as_asked"), "{}", finished.account());
        assert_ne!(finished.stderr, "", "{}", finished.account());
        run(&server, &format!("-t {test} {name}"), true).expect_exit(UNSUPPORTED);
    }
}

#[test]
fn datagrams_that_the_kernel_does_not_pace_are_named() {
    let server = ours!().serve();
    let text = "asked for 8000 bits per second, sent ";
    for (case, status) in [
        ("-t UDP_STREAM -- -q 1000", 0),
        ("-t UDP_STREAM --pacing-rate 8000", UNSUPPORTED),
        ("-t UDP_STREAM --remote-pacing-rate 8000", UNSUPPORTED),
    ] {
        let finished = run(&server, case, true);
        if case.contains("remote") {
            // netserver sends nothing that could be paced.
            finished.expect_exit(0);
            continue;
        }
        let finished = finished.expect_exit(status);
        assert!(finished.stderr.contains(text), "{}", finished.account());
    }
}

#[test]
fn local_ports_that_cannot_be_had_end_the_test() {
    let server = ours!().serve();
    let finished = run(&server, "-t TCP_CRR -- -p 100,110", false).expect_exit(1);
    let line = "no local port from 100 to 109 (-p) can be had: Permission denied";
    assert!(finished.stderr.contains(line), "{}", finished.account());
}

#[test]
fn requests_to_netserver_without_one_fail_by_name_and_warn_by_letter() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let run = |words: &str, test: &str| {
        let words = format!("-N -H 127.0.0.1 -t TCP_STREAM --count 1 {words} -- -P ,{port} {test}");
        invocation(true).args(words.split_whitespace()).run()
    };
    let line = " at netserver: not in force, because -N (--no-control) has no netserver";
    // Side by side: each waits for this listener to close the connection.
    let all = |cases: &[(&str, &str)], judge: &(dyn Fn(Finished) + Sync)| {
        std::thread::scope(|scope| {
            for (words, test) in cases {
                let run = &run;
                scope.spawn(move || judge(run(words, test)));
            }
        });
    };
    let warned = [
        ("-T ,1", ""),
        ("-C", ""),
        ("-y ,5", ""),
        ("-Y ,ef", ""),
        ("-A 4096", ""),
        ("-b ,4", ""),
        ("", "-S 64K"),
        ("", "-K ,cubic"),
        ("", "-a"),
    ];
    all(&warned, &|finished| {
        let finished = finished.expect_exit(0);
        assert!(finished.stderr.contains(line), "{}", finished.account());
    });
    for words in [
        "--bind-cpu ,1",
        "--remote-socket-buffer 64K",
        "--mark ,5",
        "--remote-pacing-rate 1M",
        "--io ,epoll",
        "--series ,1s",
    ] {
        let finished = run(words, "").expect_exit(UNSUPPORTED);
        assert!(finished.stderr.contains(line), "{}", finished.account());
    }
    let mut in_force = vec![("", ""), ("-T 0", ""), ("-y 5", ""), ("--io epoll", "")];
    let mark = "--mark 5,";
    if is_root() {
        in_force.push((mark, ""));
    } else {
        let finished = run(mark, "").expect_exit(UNSUPPORTED);
        let lacking = "this host cannot do --mark: it takes CAP_NET_ADMIN";
        assert!(finished.stderr.contains(lacking), "{}", finished.account());
    }
    all(&in_force, &|finished| {
        finished.expect_clean();
    });
}
