//! Operations that some kernels refuse end with status 3 at the end concerned, and netperf
//! reports the requests that a stock netserver ignores.

use netperf_os::seccomp;
use netperf_testkit::require::require;
use netperf_testkit::{Finished, Netserver, Place, Programs, ours};

/// Exit status for what an end cannot do.
const UNSUPPORTED: i32 = 3;

fn run(server: &Netserver, words: &str) -> Finished {
    ours!()
        .client_of(server)
        .args(["-P", "0"])
        .args(words.split_whitespace())
        .run()
}

/// Does something where `io_uring_setup(2)` is refused.
fn without_io_uring<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let refused = || {
        seccomp::refuse_io_uring().expect("a filter of system calls");
        work()
    };
    std::thread::scope(|scope| scope.spawn(refused).join().expect("a thread"))
}

#[track_caller]
fn is_refused(finished: Finished, whose: &str) {
    let finished = finished.expect_exit(UNSUPPORTED);
    let line = &finished.stderr;
    assert_eq!(line.lines().count(), 1, "{}", finished.account());
    for words in [whose, "cannot do --io uring", "io_uring_disabled"] {
        assert!(line.contains(words), "{}", finished.account());
    }
    assert!(finished.stdout.is_empty(), "{}", finished.account());
}

#[test]
fn io_uring_is_refused_at_the_end_whose_kernel_denies_it() {
    let filters = seccomp::is_there();
    if !require(
        filters,
        "seccomp",
        "use a kernel with CONFIG_SECCOMP_FILTER",
    ) {
        return;
    }
    let server = ours!().serve_with_rings();
    for flows in ["", "--flows 2"] {
        let words = format!("-t TCP_RR --time 300ms {flows} --io uring,blocking");
        is_refused(without_io_uring(|| run(&server, &words)), "this host");
    }

    let denied = without_io_uring(|| ours!().serve_with_rings());
    let words = "-t TCP_RR --time 300ms --io blocking,uring";
    is_refused(run(&denied, words), "netserver on 127.0.0.1");
    // It goes on to serve what it can.
    run(&denied, "-t TCP_RR -l -50").expect_clean();
}

#[test]
fn threads_that_a_stock_netserver_does_not_have_are_said_to_be_missing() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for (threads, said) in [("2", true), ("1,2", true), ("2,", false), ("4", false)] {
        let words = format!("-t TCP_RR --count 40 --flows 4 --threads {threads}");
        let finished = run(&server, &words);
        assert!(finished.status.success(), "{}", finished.account());
        let warned = finished
            .stderr
            .contains("--threads applies to this end only");
        assert_eq!(warned, said, "{}", finished.account());
    }
}
