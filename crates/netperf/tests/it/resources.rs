//! Both programs with too little memory and too few threads: an error line and a status, no
//! signal.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs, Scratch, ours, require};

/// Runs netperf in a shell, by these commands.
fn limited(by: &str, server: &Netserver, words: &str) -> Finished {
    let netperf = ours!().netperf;
    let port = server.port();
    let script = format!("{by} \"$0\" -H 127.0.0.1 -P 0 -p {port} {words}");
    Invocation::new(Path::new("bash"))
        .args(["-c", &script])
        .arg(netperf)
        .run()
}

#[track_caller]
fn expect_line(finished: &Finished, text: &str) {
    let account = finished.account();
    assert!(
        finished.status.code().is_some_and(|code| code > 0),
        "{account}"
    );
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert!(lines.iter().any(|line| line.contains(text)), "{account}");
    assert!(!account.contains("panicked"), "{account}");
    assert!(!account.contains("memory allocation of"), "{account}");
}

#[test]
fn buffers_that_do_not_fit_into_memory_are_an_error() {
    let server = ours!().serve();
    let words = "-t TCP_STREAM -l 1 -- -m 300M";
    expect_line(
        &limited("ulimit -v 200000; exec", &server, words),
        "annot allocate memory",
    );
}

#[test]
fn a_process_without_memory_ends_with_a_line() {
    let server = ours!().serve();
    // The least address space in which netperf starts, and a little more.
    let by = "for kib in $(seq 8000 1000 200000); do \
              (ulimit -v $kib; exec \"$0\" -V) >/dev/null 2>&1 && break; done 2>/dev/null; \
              ulimit -v $((kib + 2000)); exec";
    let words = "-t TCP_RR -l 1 --flows 500 --rate 1000";
    expect_line(&limited(by, &server, words), "netperf: not enough memory");
}

#[test]
fn a_session_without_memory_is_an_error_at_netperf() {
    let folder = Scratch::new();
    let limited = folder.path().join("netserver");
    let own = ours!();
    let script = format!(
        "#!/bin/sh\nulimit -v 200000\nexec '{}' \"$@\"\n",
        own.netserver.display()
    );
    std::fs::write(&limited, script).expect("space");
    let executable = Permissions::from_mode(0o755);
    std::fs::set_permissions(&limited, executable).expect("own file");
    let programs = Programs {
        netserver: limited,
        ..own
    };
    let server = Netserver::start_with(&programs, &Place::Here, &["-D", "--max-memory", "2G"], &[]);
    let refused = ours!()
        .client_of(&server)
        .args(["-t", "TCP_MAERTS", "-l", "1", "--", "-m", ",300M"])
        .run();
    expect_line(&refused, "annot allocate memory");
    ours!()
        .client_of(&server)
        .args(["-l", "-1M"])
        .run()
        .expect_clean();
    assert!(server.alive(), "{:?}", server.said());
}

#[test]
fn threads_that_cannot_be_started_are_an_error_netns() {
    if !require::root() {
        return;
    }
    let server = ours!().serve();
    // Root has no such limit. The other user need not reach the folder of the program.
    let by = "exec 5<\"$0\"; exec setpriv --reuid 61234 --regid 61234 --clear-groups bash -c \
              'ulimit -u 3; exec -a netperf /proc/self/fd/5 \"${@:2}\"' bash";
    let words = "-t TCP_RR -l 1 --flows 8 --threads 8";
    expect_line(
        &limited(by, &server, words),
        "esource temporarily unavailable",
    );
}
