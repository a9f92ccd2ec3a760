//! Options that netperf 2.7 ignores in a test, or that the kernel does not do, are named.

use netperf_testkit::ours;

use crate::asked::{UNSUPPORTED, invocation, run};

/// Options by letter and by name, and the line about them.
const IGNORED: &[(&str, &str, &str)] = &[
    ("-t UDP_RR -S", "-t UDP_RR --keepalive", "keepalive (-S): "),
    ("-t TCP_CC -- -T tls", "", "transport (-T) tls: "),
    ("-t TCP_SENDFILE -- -T udp", "", "transport (-T) udp: "),
    (
        "-t TCP_RR -- -d send",
        "-t TCP_RR --direction send",
        "direction (-d): ",
    ),
    (
        "-t TCP_RR -- -e 1",
        "-t TCP_RR --recv-timeout 1s",
        "receive time-out (-e): ",
    ),
    (
        "-t TCP_STREAM -- -r 1,1",
        "",
        "request and response sizes (-r): ",
    ),
    ("-t UDP_STREAM -- -b 4", "", "burst (-b): "),
    ("-t TCP_SENDFILE -- -n", "", "-n: not in force, "),
    ("-t TCP_RR -- -w 5", "", "-w: not in force, "),
    (
        "-t TCP_STREAM -a 100",
        "-t TCP_STREAM --align 100",
        "alignment (-a) at netperf: asked for 100, in force is 128",
    ),
    (
        "-t TCP_STREAM -A 8,100",
        "-t TCP_STREAM --remote-align 100",
        "alignment (-A) at netserver: asked for 100, in force is 128",
    ),
    (
        "-t TCP_STREAM -w 10",
        "-t TCP_STREAM --pace-interval 10",
        "pacing interval (-w): ",
    ),
    (
        "-t TCP_STREAM -F ,/etc/passwd",
        "-t TCP_STREAM --fill-file ,/etc/passwd",
        "fill file (-F) at netserver: ",
    ),
    (
        "-t TCP_MAERTS -F /etc/passwd",
        "-t TCP_MAERTS --fill-file /etc/passwd",
        "fill file (-F) at netperf: ",
    ),
    (
        "-t TCP_RR -- -G 40000",
        "-t TCP_RR --segment-size 40000",
        "segment size (-G) at netperf: 40000 is not in force: Invalid argument",
    ),
];

#[test]
fn options_that_a_test_ignores_fail_by_name_and_warn_by_letter() {
    let server = ours!().serve();
    for (letter, name, line) in IGNORED {
        let warned = run(&server, letter, true).expect_exit(0);
        assert!(warned.stderr.contains(line), "{}", warned.account());
        let warnings = warned.document()["warnings"].to_string();
        assert_eq!(warnings.matches(line).count(), 1, "{}", warned.account());
        if !name.is_empty() {
            let failed = run(&server, name, true).expect_exit(UNSUPPORTED);
            assert!(failed.stderr.contains(line), "{}", failed.account());
        }
    }
    for in_force in [
        "-t TCP_CC -- -T tcp",
        "-t TCP_RR -- -d rr",
        "-t UDP_RR -- -e 1",
        "-t TCP_STREAM -w 10 -b 1000",
    ] {
        let finished = run(&server, in_force, true).expect_exit(0);
        assert_eq!(finished.stderr, "", "{}", finished.account());
    }
    // Options of published scripts are named where no script reads it.
    for (script, line) in [
        ("-t TCP_STREAM -- -e 1", "receive time-out (-e): "),
        ("-t TCP_CRR -- -m 1k", "send size (-m): "),
        ("-t TCP_CRR -- -M 1k", "receive size (-M): "),
        ("-t TCP_RR -- -m 1k", "send size (-m): "),
        ("-t UDP_RR -- -M 1k", "receive size (-M): "),
        ("-t UDP_STREAM -- -G 1000", "segment size (-G): "),
        ("-t TCP_STREAM -n 4", "number of CPUs (-n): "),
        (
            "-t TCP_CC -i 3,3 -I 95,5",
            "confidence (-i, -I): not in force, because TCP_CC runs once",
        ),
    ] {
        let finished = run(&server, script, true).expect_exit(0);
        assert_eq!(finished.stderr, "", "{}", finished.account());
        let warnings = finished.document()["warnings"].to_string();
        assert_eq!(warnings.matches(line).count(), 1, "{}", finished.account());
    }
}

#[test]
fn confidence_by_name_of_a_test_that_runs_once_fails() {
    let server = ours!().serve();
    let failed = run(&server, "-t TCP_CC --confidence 95,5", true).expect_exit(UNSUPPORTED);
    let line = "confidence (-i, -I): not in force, because TCP_CC runs once";
    assert!(failed.stderr.contains(line), "{}", failed.account());
}

#[test]
fn selection_beyond_the_fourth_part_is_named() {
    let server = ours!().serve();
    let line = "netperf: output selection: UUID,DIRECTION not in force, because a selection has no \
                fifth part between semicolons";
    for layout in ["-k", "-o", "-O"] {
        let selection = "THROUGHPUT;ELAPSED_TIME;PROTOCOL;BURST_SIZE;UUID,DIRECTION";
        let port = server.port();
        let words = format!("-H 127.0.0.1 -p {port} -l -50 -P 0 -t TCP_RR -- {layout} {selection}");
        let finished = invocation(false)
            .args(words.split(' '))
            .run()
            .expect_exit(0);
        assert!(finished.stderr.contains(line), "{}", finished.account());
        assert!(
            !finished.stdout.contains("Send|Recv"),
            "{}",
            finished.account()
        );
    }
}

#[test]
fn sends_without_a_copy_that_the_kernel_copied_are_named_once() {
    let server = ours!().serve();
    let line = "--zerocopy at netperf: the kernel copied the data of all sends";
    let finished = run(&server, "-t TCP_STREAM -i 3,3 --zerocopy", true).expect_exit(0);
    assert_eq!(
        finished.stderr.matches(line).count(),
        1,
        "{}",
        finished.account()
    );
    let warnings = finished.document()["warnings"].to_string();
    assert_eq!(warnings.matches(line).count(), 1, "{warnings}");
}

#[test]
fn the_banner_names_no_cpu_to_which_netperf_is_not_bound() {
    let server = ours!().serve();
    let port = server.port();
    for (cpu, is_named) in [("0,", true), ("99999,", false)] {
        let words = format!("-H 127.0.0.1 -p {port} -t TCP_RR -l -50 -T {cpu}");
        let finished = invocation(true).args(words.split_whitespace()).run();
        let finished = finished.expect_exit(0);
        assert_eq!(
            finished.stdout.contains(" : cpu bind"),
            is_named,
            "{}",
            finished.account()
        );
    }
}
