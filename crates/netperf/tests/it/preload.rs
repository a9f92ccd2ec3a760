//! Users preload other network stacks under netperf, so every socket call must
//! go through the C library's symbols.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use netperf_testkit::process::output;
use netperf_testkit::{Finished, Invocation, Netserver, Place, Scratch, ours, preload, require};

/// The client, told to report its counts.
fn client(server: &Netserver, test: &str, length: &str, env: &[(String, OsString)]) -> Finished {
    Invocation::new(&ours!().netperf)
        .args(["-4", "-H", "127.0.0.1", "-p", &server.port().to_string()])
        .args(["-t", test, "-l", length, "--", "-k"])
        .arg("ELAPSED_TIME,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,LOCAL_SEND_CALLS,LOCAL_RECV_CALLS")
        .envs(env)
        .run()
}

/// The library that carries sockets over files, where a distribution puts it.
fn socket_wrapper() -> Option<PathBuf> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ];
    let found = folders
        .iter()
        .map(|folder| Path::new(folder).join("libsocket_wrapper.so"))
        .find(|library| library.exists());
    require::require(
        found.is_some(),
        "libsocket_wrapper.so",
        "install libsocket-wrapper",
    );
    found
}

fn wrapped(library: &Path, folder: &Path) -> Vec<(String, OsString)> {
    vec![
        ("LD_PRELOAD".into(), library.into()),
        ("SOCKET_WRAPPER_DIR".into(), folder.into()),
        // 127.0.0.1 is the first of its interfaces.
        ("SOCKET_WRAPPER_DEFAULT_IFACE".into(), "1".into()),
    ]
}

/// A library of another's name that changes nothing: what SDP is preloaded by can no longer
/// be had, and what netperf asks for is that it is there.
#[test]
fn sdp_tests_run_over_tcp_where_a_library_for_sdp_is_preloaded() {
    let folder = Scratch::new();
    let source = "int netperf_sdp_stand_in;\n";
    let Some(library) = preload::library(folder.path(), "libsdp", source, &[]) else {
        return;
    };
    let env = vec![("LD_PRELOAD".into(), library.into())];
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D"], &env);
    for test in [
        "SDP_STREAM",
        "SDP_MAERTS",
        "SDP_RR",
        "SDP_CRR",
        "SDP_CC",
        "SDP_RR --flows 3",
        "SDP_CRR --flows 3",
    ] {
        let amount = if test.ends_with("STREAM") || test.ends_with("MAERTS") {
            "-1M"
        } else {
            "-50"
        };
        let finished = ours!()
            .client_of(&server)
            .args(["-l", amount, "-P", "0", "-v", "0", "-t"])
            .args(test.split(' '))
            .envs(&env)
            .run()
            .expect_clean();
        let figure: f64 = finished.stdout.trim().parse().expect("a figure");
        assert!(figure > 0.0, "{}", finished.account());
    }
}

#[test]
fn tests_run_their_full_length_over_a_preloaded_socket_library() {
    let Some(library) = socket_wrapper() else {
        return;
    };
    let folder = Scratch::new();
    let env = wrapped(&library, folder.path());
    let options = ["-D", "-f", "-4", "-L", "127.0.0.1"];
    let server = Netserver::start_with(&ours!(), &Place::Here, &options, &env);
    for test in ["TCP_STREAM", "TCP_RR", "UDP_RR"] {
        let finished = client(&server, test, "0.3", &env).expect_clean();
        let values = finished.values();
        println!("{}", finished.account());
        assert!(
            values.number("ELAPSED_TIME") > 0.28,
            "{}",
            finished.account()
        );
        assert!(
            finished.took > Duration::from_millis(280),
            "{}",
            finished.account()
        );
        // The library takes 1500 bytes at a time: a short send is not the end.
        assert!(
            values.count("LOCAL_SEND_CALLS") > 100,
            "{}",
            finished.account()
        );
        assert_eq!(
            values.count("LOCAL_BYTES_SENT"),
            values.count("REMOTE_BYTES_RECVD"),
            "{}",
            finished.account()
        );
    }
    assert!(server.alive(), "{:?}", server.said());
}

/// Calls that the preloaded counter counted, by kind.
#[derive(Debug)]
struct Counted {
    socket: u64,
    connect: u64,
    accept: u64,
    send: u64,
    recv: u64,
    shutdown: u64,
}

impl Counted {
    fn read(file: &Path) -> Self {
        let bytes = std::fs::read(file).expect("the counter's file");
        let mut words = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
        let mut next = || words.next().expect("six counts");
        Self {
            socket: next(),
            connect: next(),
            accept: next(),
            send: next(),
            recv: next(),
            shutdown: next(),
        }
    }
}

/// Compiles a library from a source below `tests`; a machine that builds Rust has a C compiler.
pub(crate) fn compiled(folder: &Path, source: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let text = std::fs::read_to_string(tests.join(source)).expect("a source");
    preload::library(folder, "preloaded", &text, &[]).expect("a C compiler")
}

fn counting(library: &Path, file: &Path) -> Vec<(String, OsString)> {
    vec![
        ("LD_PRELOAD".into(), library.into()),
        ("COUNT_FILE".into(), file.into()),
    ]
}

#[test]
fn every_socket_call_of_both_programs_can_be_intercepted() {
    let folder = Scratch::new();
    let library = compiled(folder.path(), "preload_count/count.c");
    let at = |name: &str| folder.path().join(name);
    let server_env = counting(&library, &at("server"));
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D"], &server_env);
    for (test, transactions) in [("TCP_RR", 500), ("UDP_RR", 500), ("TCP_CRR", 50)] {
        let finished = client(
            &server,
            test,
            &format!("-{transactions}"),
            &counting(&library, &at(test)),
        );
        let finished = finished.expect_clean();
        let seen = Counted::read(&at(test));
        println!("client, {test}: {seen:?}");
        // The control connection's own calls come on top.
        assert!(seen.send >= transactions, "{seen:?}");
        assert!(seen.recv >= transactions, "{seen:?}");
        let connections = if test == "TCP_CRR" { transactions } else { 1 };
        assert!(seen.connect >= connections, "{seen:?}");
        assert!(seen.socket >= connections, "{seen:?}");
        assert!(seen.shutdown >= 1, "{seen:?}");
        assert_eq!(
            finished.values().count("LOCAL_RECV_CALLS"),
            i64::try_from(transactions).unwrap()
        );
    }
    let seen = Counted::read(&at("server"));
    println!("server: {seen:?}");
    assert!(seen.send >= 1050 && seen.recv >= 1050, "{seen:?}");
    assert!(seen.accept >= 3 + 1 + 50, "{seen:?}");
}

/// The listener looks for transports and features once.
#[test]
fn a_greeting_opens_no_socket() {
    let folder = Scratch::new();
    let library = compiled(folder.path(), "preload_count/count.c");
    let file = folder.path().join("server");
    let env = counting(&library, &file);
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D"], &env);
    // The list greets and runs no test.
    let greet = || {
        let listed = ours!().client_of(&server).args(["--list", "--json"]).run();
        let list: serde_json::Value = serde_json::from_str(&listed.expect_clean().stdout).unwrap();
        assert!(list.to_string().contains("\"there\""), "{list}");
    };
    greet();
    let before = Counted::read(&file);
    assert!(before.socket > 1, "the listener has looked: {before:?}");
    greet();
    greet();
    let after = Counted::read(&file);
    assert_eq!(after.socket, before.socket, "{before:?}, {after:?}");
    assert!(after.accept > before.accept, "{before:?}, {after:?}");
}

#[test]
fn both_programs_take_their_socket_calls_from_the_c_library() {
    let programs = ours!();
    for program in [&programs.netperf, &programs.netserver] {
        let mut symbols = Command::new("nm");
        let listed = output(symbols.args(["-D", "--undefined-only"]).arg(program));
        let listed = String::from_utf8(listed.expect("nm, from binutils").stdout).unwrap();
        let undefined = |name: &str| {
            listed
                .split_whitespace()
                .any(|word| word.split('@').next() == Some(name))
        };
        let needed: [&[&str]; 10] = [
            &["socket"],
            &["bind"],
            &["listen"],
            &["accept", "accept4"],
            &["connect"],
            &["send", "sendto"],
            &["recv", "recvfrom"],
            &["setsockopt"],
            &["getsockopt"],
            &["getsockname"],
        ];
        for names in needed {
            assert!(
                names.iter().any(|name| undefined(name)),
                "{} does not take {names:?} from the C library",
                program.display()
            );
        }
    }
}

/// Writes a line for each socket: process, family, kind, protocol.
const SOCKET_LOG: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int socket(int family, int kind, int protocol)
{
    int (*next)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    const char *file = getenv("SOCKET_LOG");
    int log = file ? open(file, O_WRONLY | O_APPEND) : -1;
    if (log >= 0) {
        char line[80];
        int length = snprintf(line, sizeof line, "%d %d %d %d\n", (int)getpid(), family, kind,
                              protocol);
        if (write(log, line, length) != length) {
            abort();
        }
        close(log);
    }
    return next(family, kind, protocol);
}
"#;

/// ATM (PVC and SVC), packets, LLC: families whose sockets may load kernel modules.
const MODULE_FAMILIES: [i32; 4] = [8, 20, 17, 26];
/// DCCP and SCTP: protocols of which the same is true.
const MODULE_PROTOCOLS: [i32; 2] = [33, 132];

#[test]
fn threat_model_no_greeting_opens_a_socket_that_may_load_a_kernel_module() {
    let folder = Scratch::new();
    let log = folder.path().join("sockets");
    std::fs::write(&log, "").expect("a log");
    // netserver may be another user.
    for (path, mode) in [(folder.path(), 0o755), (log.as_path(), 0o666)] {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("own file");
    }
    let Some(library) = preload::library(folder.path(), "liblog", SOCKET_LOG, &[]) else {
        return;
    };
    let env = vec![
        ("LD_PRELOAD".into(), library.into()),
        ("SOCKET_LOG".into(), log.clone().into()),
    ];
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D"], &env);
    for words in [
        &["--list"][..],
        &["-t", "TCP_RR", "--count", "10", "-P", "0"],
    ] {
        let client = ours!().client_of(&server).args(words.iter().copied());
        client.run().expect_exit(0);
    }
    let text = std::fs::read_to_string(&log).expect("a log");
    let lines = text.lines().map(|line| {
        let numbers = line.split(' ').map(|word| word.parse().expect("a number"));
        numbers.collect::<Vec<i32>>()
    });
    let may_load =
        |line: &Vec<i32>| MODULE_FAMILIES.contains(&line[1]) || MODULE_PROTOCOLS.contains(&line[3]);
    let listener = i32::try_from(server.pid()).expect("a process");
    let (at_start, of_sessions): (Vec<_>, Vec<_>) = lines.partition(|line| line[0] == listener);
    // It is found once at the start, so that greetings need not.
    assert!(at_start.iter().any(may_load), "{text}");
    assert!(!of_sessions.is_empty(), "sessions are not logged: {text}");
    assert!(!of_sessions.iter().any(may_load), "{text}");
}

/// A library that starts a thread when it is loaded.
const THREAD: &str = "#include <pthread.h>\n#include <unistd.h>\n\
static void *run(void *none) { for (;;) pause(); return none; }\n\
__attribute__((constructor)) static void start(void) \
{ pthread_t thread; pthread_create(&thread, 0, run, 0); }\n";

#[test]
fn threat_model_sandbox_that_is_required_is_refused_beside_a_thread_of_a_preloaded_library() {
    let folder = Scratch::new();
    let Some(library) = preload::library(folder.path(), "libthread", THREAD, &[]) else {
        return;
    };
    let finished = Invocation::new(&ours!().netserver)
        .env("LD_PRELOAD", &library)
        .args(["-D", "--sandbox", "require"])
        .run()
        .expect_exit(1);
    let line = "netserver: --sandbox require: a preloaded library has started a thread, which keeps \
                its rights\n";
    assert_eq!(finished.stderr, line, "{}", finished.account());
}
