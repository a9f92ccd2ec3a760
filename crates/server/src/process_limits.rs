//! Limits of the process below which no session can be served (setrlimit(2)).

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use netperf_cli::ServerArgs;
use netperf_os::Socket;
use netperf_os::privileges::{ResourceLimit, limit_now};
use netperf_os::process;
use netperf_program::output::{FAILED, Failure};

/// Descriptors of the process of a session with a test of one flow.
const OF_SESSION: u64 = 20;
/// Descriptors of a listener that serves one session after the other (`-f`).
const OF_LISTENER: u64 = 14;
/// Descriptors with which the listener starts the process of a session.
const SPARE: usize = 8;
/// Stack of a session, bytes.
const STACK: u64 = 192 << 10;

/// Number of descriptors below a limit, besides the standard streams, that the starter of netserver
/// left open; 0 where /proc does not tell.
fn inherited(limit: u64) -> u64 {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return 0;
    };
    let number =
        |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let numbers: Vec<u64> = open.filter_map(number).collect();
    let taken = numbers
        .iter()
        .filter(|number| (3..limit).contains(*number))
        .count();
    // The folder itself is open meanwhile.
    u64::try_from(taken).unwrap_or(0).saturating_sub(1)
}

/// Checks the limits that no session may be without.
pub(super) fn check(args: &ServerArgs) -> Result<(), Failure> {
    let own = if args.no_fork {
        OF_LISTENER
    } else {
        OF_SESSION
    };
    let descriptors = own + inherited(limit_now(ResourceLimit::OpenFiles));
    let limits = [
        (ResourceLimit::OpenFiles, "open files", "-n", descriptors, 1),
        (
            ResourceLimit::Stack,
            "the stack, in KiB,",
            "-s",
            STACK,
            1024,
        ),
    ];
    for (limit, name, letter, least, unit) in limits {
        let now = limit_now(limit);
        if now < least {
            let (now, least) = (now / unit, least / unit);
            return Err(too_low(format_args!(
                "the limit of {name} is {now}, and a session takes {least}: ulimit {letter} {least}"
            )));
        }
    }
    if args.no_fork {
        return Ok(());
    }
    process::can_fork().map_err(|error| {
        let now = limit_now(ResourceLimit::Processes);
        too_low(format_args!(
            "no process for sessions can be started: {error}; the limit of processes of this user \
             is {now}: raise it (ulimit -u), or serve all sessions in one process (-f)"
        ))
    })
}

/// Checks that a session can be started, now that everything else is open.
pub(super) fn check_start(args: &ServerArgs, listener: &Socket) -> Result<(), Failure> {
    if args.no_fork {
        return Ok(());
    }
    let open = || listener.as_fd().try_clone_to_owned();
    let spare: io::Result<Vec<OwnedFd>> = (0..SPARE).map(|_| open()).collect();
    if spare.is_err() {
        let now = limit_now(ResourceLimit::OpenFiles);
        return Err(too_low(format_args!(
            "the limit of open files is {now}, and nothing is left for sessions: ulimit -n {}",
            now + OF_SESSION
        )));
    }
    Ok(())
}

fn too_low(line: std::fmt::Arguments<'_>) -> Failure {
    Failure::netserver(FAILED, line)
}
