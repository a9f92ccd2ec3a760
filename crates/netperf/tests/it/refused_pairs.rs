//! Options that work alone and not together: each pair is refused in one line that names an
//! option and a way out, at once, rather than waited for, done by halves, or answered with the
//! words of a system call.

use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs, ours};

fn run(server: &Netserver, words: &str) -> Finished {
    ours!()
        .client_of(server)
        .args(words.split_whitespace())
        .run()
}

/// Exit status when a host, a peer or a test cannot do what is asked.
const UNSUPPORTED: i32 = 3;

#[test]
fn pairs_of_options_are_refused_in_a_line_with_a_way_out() {
    // The table of all combinations has its tests in netperf-cli.
    let server = ours!().serve();
    for (words, line) in [
        (
            "-t UDP_STREAM --flows 2 --bidirectional separate --place pack",
            "netperf: --flows: many flows with an address each have a process each at netserver: \
             give --cpus and --remote-cpus, not --place",
        ),
        (
            "-t TCP_STREAM -- -T unix -q 1000000",
            "netperf: --pacing-rate: only IP has it",
        ),
    ] {
        let refused = run(&server, words).expect_exit(UNSUPPORTED);
        assert_eq!(refused.stderr.trim(), line);
    }
}

#[test]
fn a_letter_of_the_original_that_is_no_amount_there_is_none_here() {
    // `-l -5` in DG_STREAM goes on until a signal, as it ever did.
    let server = ours!().serve();
    let port = server.port().to_string();
    let mut running = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port])
        .args("-t DG_STREAM -l -5 -D 0.05 --json-stream".split_whitespace())
        .spawn();
    // Before, signals have their usual effect, which is none if the caller ignores SIGINT.
    assert!(running.prints("\"interim\"", netperf_testkit::process::PATIENCE));
    running.signal("INT");
    running.finish();
}

#[test]
fn an_amount_of_datagrams_both_ways_ends_with_a_netserver_that_does_not_tell() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let words = "-t UDP_STREAM --bidirectional separate --count 2000 -- \
                 -k LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD -m 1000,1000";
    let values = run(&server, words).expect_clean().values();
    assert_eq!(values.count("LOCAL_BYTES_SENT"), 2000);
    assert_eq!(values.count("LOCAL_BYTES_RECVD"), 2000);
}

#[test]
fn refusals_for_a_stock_netserver_are_the_only_line() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let refused = run(&server, "-t TCP_STREAM --flows 3 --threads 2 --io poll");
    let refused = refused.expect_exit(UNSUPPORTED);
    assert_eq!(
        refused.stderr.trim().lines().count(),
        1,
        "{}",
        refused.stderr
    );
}
