//! netserver starts wherever a program in C starts: with a file that others may not execute, limits
//! near 0, a renamed program, and no /proc.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use netperf_testkit::process::succeeds;
use netperf_testkit::server::{free_port, on_free_port};
use netperf_testkit::{Invocation, Running, Scratch, eventually, ours, procfs, require};

const PATIENCE: Duration = Duration::from_secs(60);

/// netserver behind the words of a shell, and its port.
fn behind(shell: &str, program: &Path, options: &[&str]) -> (Running, u16) {
    let started = on_free_port(|port| {
        let script = format!("{shell} exec \"$0\" \"$@\"");
        let mut running = Invocation::new(Path::new("/bin/sh"))
            .args(["-c", &script])
            .args([program])
            .args(["-D", "--log", "text", "-p", &port.to_string()])
            .args(options)
            .spawn();
        let ready = running.prints("Starting netserver", Duration::from_secs(10));
        ready.then_some((running, port))
    });
    started.expect("netserver starts")
}

fn serves(running: &Running, port: u16) {
    let client =
        Invocation::new(&ours!().netperf).args(["-H", "127.0.0.1", "-p", &port.to_string()]);
    let run = client.args(["-t", "TCP_RR", "-l", "-20", "-P", "0"]).run();
    assert!(
        run.status.success(),
        "{}\n{}",
        run.account(),
        running.stderr()
    );
}

/// A copy of netserver with this name and mode, in a folder for all.
fn copy(folder: &Scratch, name: &str, mode: u32) -> PathBuf {
    let all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), all).expect("a folder");
    let program = folder.path().join(name);
    std::fs::copy(&ours!().netserver, &program).expect("a copy");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).expect("a mode");
    program
}

#[test]
fn starts_serve_from_a_file_that_its_user_may_not_execute() {
    let folder = Scratch::new();
    let program = copy(&folder, "netserver", 0o750);
    let (running, port) = behind("", &program, &[]);
    for _ in 0..2 {
        serves(&running, port);
    }
    // So is a program that is gone.
    std::fs::remove_file(&program).expect("a file");
    serves(&running, port);
}

#[test]
fn starts_serve_within_limits_near_zero() {
    let program = ours!().netserver;
    for limit in ["ulimit -f 0;", "ulimit -c 0; ulimit -l 0;", "ulimit -t 60;"] {
        let (running, port) = behind(limit, &program, &[]);
        serves(&running, port);
    }
}

/// netserver behind the words of a shell either serves or ends with one line about this limit.
fn serves_or_names(shell: &str, options: &[&str], limit: &str) {
    let port = free_port();
    let script = format!("{shell} exec \"$0\" \"$@\"");
    let mut running = Invocation::new(Path::new("/bin/sh"))
        .args(["-c", &script])
        .args([&ours!().netserver])
        .args(["-D", "-p", &port.to_string()])
        .args(options)
        .spawn();
    if running.prints("Starting netserver", PATIENCE) {
        return serves(&running, port);
    }
    let finished = running.finish();
    let account = finished.account();
    assert_eq!(finished.status.code(), Some(1), "{account}");
    assert_eq!(finished.stderr.lines().count(), 1, "{account}");
    assert!(finished.stderr.contains(limit), "{account}");
}

#[test]
fn starts_serve_or_name_a_limit_that_is_too_low() {
    for count in [5, 8, 10, 12, 14, 16, 20, 23, 24, 26] {
        for options in [&[][..], &["-f"]] {
            let shell = format!("ulimit -n {count};");
            serves_or_names(&shell, options, "the limit of open files is ");
        }
    }
    for kibibytes in [64, 128, 192] {
        let shell = format!("ulimit -s {kibibytes};");
        serves_or_names(&shell, &[], "the limit of the stack, in KiB, is ");
    }
    for options in [&[][..], &["-f"]] {
        serves_or_names(
            "ulimit -u 1;",
            options,
            "no process for sessions can be started: ",
        );
    }
}

#[test]
fn starts_serve_with_few_open_files() {
    // A descriptor that whoever runs the tests left open is one more.
    let listed = Invocation::new(Path::new("/bin/sh"))
        .args(["-c", "cd /proc/self/fd && echo *"])
        .run()
        .expect_clean();
    let listed = listed.stdout.split_whitespace();
    let open: Vec<u64> = listed.filter_map(|one| one.parse().ok()).collect();
    for (own, options) in [(20, &[][..]), (14, &["-f"])] {
        let needed = (own..).find(|limit| {
            // The shell has the folder open.
            let inherited = open.iter().filter(|fd| (3..*limit).contains(*fd)).count() - 1;
            own + u64::try_from(inherited).expect("a number") == *limit
        });
        let limit = format!("ulimit -n {};", needed.expect("a limit"));
        let (running, port) = behind(&limit, &ours!().netserver, options);
        serves(&running, port);
    }
}

#[test]
fn starts_survive_a_log_that_may_not_grow() {
    let folder = Scratch::new();
    let log = folder.path().join("log");
    let log = log.to_str().expect("a name");
    let (mut running, port) = behind("ulimit -f 0;", &ours!().netserver, &["--log-file", log]);
    serves(&running, port);
    serves(&running, port);
    assert!(!running.ended(), "{}", running.stderr());
}

#[test]
fn starts_keep_the_name_of_their_program() {
    let folder = Scratch::new();
    let program = copy(&folder, "nsrv-test", 0o755);
    let (running, port) = behind("", &program, &[]);
    let client =
        Invocation::new(&ours!().netperf).args(["-H", "127.0.0.1", "-p", &port.to_string()]);
    let _long = client.args(["-t", "TCP_RR", "-l", "60"]).spawn();
    let names = || {
        let all = procfs::children(running.pid())
            .into_iter()
            .chain([running.pid()]);
        all.map(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default())
            .collect::<Vec<_>>()
    };
    let named = || names().len() == 2 && names().iter().all(|name| name == "nsrv-test\n");
    assert!(eventually(PATIENCE, named), "{:?}", names());
}

#[test]
fn starts_serve_where_one_user_exists_and_without_proc() {
    if !require::root() {
        return;
    }
    let program = ours!().netserver;
    let unshare = |words: &str| {
        let mut made = Command::new("unshare");
        succeeds(made.args(words.split(' ')).arg("/bin/true"))
    };
    if unshare("-r") {
        let (running, port) = behind(r#"exec unshare -r "$0" "$@";"#, &program, &[]);
        serves(&running, port);
    }
    if unshare("-m") {
        let hidden = r#"exec unshare -m sh -c 'umount -l /proc; exec "$0" "$@"' "$0" "$@";"#;
        let (running, port) = behind(hidden, &program, &[]);
        serves(&running, port);
    }
}
