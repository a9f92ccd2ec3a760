//! Programs on a system that lacks calls, here by a preloaded library: what `netperf_os::without`
//! says happens then. The simulated runs show the same, where the simulator is installed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use netperf_testkit::{Netserver, Place, Scratch, Stopwatch, ours, require};

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
    let (source, library) = (
        folder.path().join("lacking.c"),
        folder.path().join("lacking.so"),
    );
    std::fs::write(&source, LACKING).expect("a source");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    let built = built.is_ok_and(|status| status.success());
    require::require(built, "cc", "install gcc")
        .then(|| vec![("LD_PRELOAD".to_owned(), OsString::from(library))])
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
            .args(["-4", "-l", "1", "-P", "0", "-v", "0"])
            .args(words.split(' '))
            .envs(&env)
            .run();
        // A busy host may warn.
        assert!(finished.status.success(), "{}", finished.account());
        let figure: f64 = finished.stdout.trim().parse().expect("a figure");
        assert!(figure > 0.0, "{words}: {}", finished.account());
        let took = since.elapsed();
        assert!(took > Duration::from_millis(950), "{words}: {took:?}");
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
    use netperf_testkit::Invocation;

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
    let listens = netperf_testkit::eventually(Duration::from_secs(20), || {
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
