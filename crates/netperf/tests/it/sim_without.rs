//! Programs on a system that lacks calls, here by a preloaded library: what `netperf_os::without`
//! says happens then. The simulated runs show the same, where the simulator is installed.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use netperf_testkit::{
    Invocation, Netserver, Place, Running, Scratch, Stopwatch, eventually, ours, preload, procfs,
};

/// Fails as a system without these calls and options does.
const LACKING: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#define REAL(name) ({ static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); real; })
static int lacks(int error) { errno = error; return -1; }
int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer) { return lacks(ENOSYS); }
int memfd_create(const char *name, unsigned flags) { return lacks(ENOSYS); }
int execve(const char *path, char *const words[], char *const variables[]) {
    const char *link = "/proc/self/";
    const char *rest = path;
    while (*link && *link == *rest) { link++; rest++; }
    return *link ? REAL(execve)(path, words, variables) : lacks(ENOEXEC);
}
int getsockopt(int fd, int level, int option, void *value, socklen_t *length) {
    if (level == SOL_SOCKET && option == SO_DOMAIN) return lacks(ENOPROTOOPT);
    return REAL(getsockopt)(fd, level, option, value, length);
}
static int is_missing(int fd, int level, int option) {
    int type = 0;
    socklen_t length = sizeof type;
    if (level == IPPROTO_IP) return option == IP_RECVERR || option == IP_PKTINFO;
    if (level != SOL_SOCKET) return 0;
    switch (option) {
    case SO_RCVTIMEO: case SO_SNDTIMEO: case SO_RCVLOWAT: return 1;
    case SO_REUSEADDR:
        REAL(getsockopt)(fd, SOL_SOCKET, SO_TYPE, &type, &length);
        return type == SOCK_DGRAM;
    }
    return 0;
}
int setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
    if (is_missing(fd, level, option)) return lacks(ENOPROTOOPT);
    return REAL(setsockopt)(fd, level, option, value, length);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return message->msg_control ? lacks(EINVAL) : REAL(sendmsg)(fd, message, flags);
}
ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    return message->msg_control ? lacks(EINVAL) : REAL(recvmsg)(fd, message, flags);
}
"#;

/// The environment of a system that lacks calls; `None` without a compiler.
fn lacking(folder: &Scratch) -> Option<Vec<(String, OsString)>> {
    preloading(folder, LACKING)
}

/// The environment in which a library of this source is preloaded.
fn preloading(folder: &Scratch, text: &str) -> Option<Vec<(String, OsString)>> {
    let library = preload::library(folder.path(), "lacking", text, &[])?;
    Some(vec![("LD_PRELOAD".to_owned(), OsString::from(library))])
}

#[test]
fn tests_run_on_a_system_that_lacks_calls() {
    let folder = Scratch::new();
    let Some(env) = lacking(&folder) else {
        return;
    };
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-4"], &env);
    for words in [
        "-t TCP_RR",
        "-t UDP_RR",
        "-t TCP_CRR",
        "-t TCP_STREAM",
        "-t TCP_MAERTS",
        "-t UDP_STREAM --rate 1M -- -m 1400",
        "-t TCP_STREAM --warmup 200ms",
        "-t TCP_RR --flows 3",
        "-t UDP_RR --flows 3",
        "-t UDP_STREAM --flows 2 --rate 1M -- -m 1400",
    ] {
        let since = Stopwatch::start();
        let finished = ours!()
            .client_of(&server)
            .args(["-4", "--time", "300ms", "-P", "0", "-v", "0"])
            .args(words.split(' '))
            .envs(&env)
            .run();
        // A busy host may warn.
        assert!(finished.status.success(), "{}", finished.account());
        let figure: f64 = finished.stdout.trim().parse().expect("a figure");
        assert!(figure > 0.0, "{words}: {}", finished.account());
        let took = since.elapsed();
        assert!(took > Duration::from_millis(280), "{words}: {took:?}");
    }
    assert!(server.alive(), "{:?}", server.said());
}

/// netperf by another name, which decides what it is.
fn by_name(folder: &Scratch, name: &str) -> PathBuf {
    let link = folder.path().join(name);
    std::os::unix::fs::symlink(&ours!().netperf, &link).expect("a link");
    link
}

#[test]
fn an_iperf3_server_takes_streams_without_passing_descriptors() {
    let folder = Scratch::new();
    let Some(env) = lacking(&folder) else {
        return;
    };
    let program = by_name(&folder, "iperf3");
    let port = netperf_testkit::server::free_port().to_string();
    let server = Invocation::new(&program)
        .args(["-s", "-4", "-1", "-p", &port])
        .envs(&env)
        .spawn();
    let client = || {
        Invocation::new(&program)
            .args(["-4", "-c", "127.0.0.1", "-p", &port, "-t", "1", "-P", "2"])
            .envs(&env)
            .run()
    };
    // The server may not listen yet.
    let mut finished = client();
    let listens = eventually(Duration::from_secs(20), || {
        let refused = finished.stderr.contains("refused");
        if refused {
            finished = client();
        }
        !refused
    });
    assert!(listens, "{}", finished.account());
    assert!(
        finished.stdout.contains("iperf Done."),
        "{}",
        finished.account()
    );
    drop(server);
}

/// Times that the threads of a process and of those that it started have waited.
fn waits(server: &Running) -> u64 {
    let mut processes = procfs::descendants(server.pid());
    processes.push(server.pid());
    let tasks = processes.into_iter().flat_map(|pid| {
        let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter();
        entries.flatten().flatten()
    });
    let threads = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
    threads.map(procfs::voluntary_switches).sum()
}

#[test]
fn an_iperf3_server_waits_between_looks_at_a_part_of_a_cookie() {
    let folder = Scratch::new();
    let Some(env) = lacking(&folder) else {
        return;
    };
    let program = by_name(&folder, "iperf3");
    let port = netperf_testkit::server::free_port();
    let server = Invocation::new(&program)
        .args(["-s", "-4", "-p", &port.to_string()])
        .envs(&env)
        .spawn();
    let mut client = None;
    let connects = eventually(Duration::from_secs(20), || {
        client = TcpStream::connect(("127.0.0.1", port)).ok();
        client.is_some()
    });
    assert!(connects, "no server");
    let mut client = client.expect("a connection");
    client.write_all(b"abcdefghij").expect("a part of a cookie");
    let before = waits(&server);
    // One that looks without a pause never waits; one that is told of the rest waits once a second.
    let has_waited = eventually(Duration::from_secs(4), || waits(&server) > before + 20);
    assert!(has_waited, "{} and {before}", waits(&server));
}

/// No option of a socket can be set or read.
const WITHOUT_OPTIONS: &str = r"
#include <errno.h>
#include <sys/socket.h>
int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    errno = ENOPROTOOPT;
    return -1;
}
int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    errno = ENOPROTOOPT;
    return -1;
}
";

#[test]
fn tests_run_where_no_option_of_a_socket_can_be_set_or_read() {
    let folder = Scratch::new();
    let Some(env) = preloading(&folder, WITHOUT_OPTIONS) else {
        return;
    };
    let server = Netserver::start_with(&ours!(), &Place::Here, &["-D", "-4"], &env);
    for words in [
        "-t TCP_STREAM -l -1M",
        "-t TCP_MAERTS -l -1M",
        "-t TCP_SENDFILE -l -1M",
        "-t TCP_RR -l -50",
        "-t TCP_CRR -l -50",
        "-t TCP_CC -l -50",
        "-t UDP_RR -l -50",
        "-t UDP_STREAM -l 0.2 -- -m 1000",
        "-t OMNI -l 0.2 -- -T udp -d recv -m ,1000",
        "-t TCP_RR -l -50 --flows 3",
        "-t UDP_STREAM -l 0.2 --flows 2 -- -m 1000",
        "-t DG_RR -l -50",
        "-t STREAM_STREAM -l -1M",
        "-t TCP_STREAM -l -1M -- -s 32K -S 32K -D",
    ] {
        let (before, own) = words.split_once(" -- ").unwrap_or((words, ""));
        let finished = ours!()
            .client_of(&server)
            .args(["-4", "-P", "0"])
            .args(before.split(' '))
            .arg("--")
            .args(own.split_whitespace())
            .args(["-k", "THROUGHPUT"].iter().filter(|_| !own.is_empty()))
            .envs(&env)
            .run();
        assert!(finished.status.success(), "{}", finished.account());
        let is_said = finished.stderr.contains("send socket buffer at netperf");
        assert_eq!(is_said, own.contains("-s 32K"), "{}", finished.account());
    }
    assert!(server.alive(), "{:?}", server.said());
}
