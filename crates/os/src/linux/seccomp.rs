//! Which system calls a session may make (seccomp(2)); the filter is compiled by
//! `seccompiler`.
//!
//! The list was drawn up from what strace(1) saw netserver do in every test there is, and
//! from what the transports do that no kernel at hand has.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

mod bisection;

/// Calls with any arguments.
const ALWAYS: &[i64] = &[
    // Bytes in and out.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_memfd_create,
    // Sockets.
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    // Restricted by Landlock.
    libc::SYS_openat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_unlinkat,
    libc::SYS_getcwd,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_setitimer,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_membarrier,
    // Threads and signals; clone(2) and what can be done to other processes are below.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_getpriority,
    libc::SYS_getcpu,
    libc::SYS_getrusage,
    // Facts.
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
];

/// Calls of io_uring(7). A ring makes calls that no filter sees, such as socket(2).
const RINGS: [i64; 3] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that newer architectures leave out.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_eventfd,
    libc::SYS_alarm,
    libc::SYS_time,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];

/// Families of sockets that tests run over.
const FAMILIES: [libc::c_int; 7] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_PACKET,
    libc::AF_VSOCK,
    libc::AF_LLC,
    libc::AF_ATMPVC,
];
/// Requests of ioctl(2) that only ask. The last is for the identifier of a virtual machine
/// (vsock(7), `IOCTL_VM_SOCKETS_GET_LOCAL_CID`).
const REQUESTS: [u64; 13] = [
    0x5401, // TCGETS, by which isatty(3) asks
    0x5411, // SIOCOUTQ
    0x541B, // SIOCINQ
    0x5421, // FIONBIO
    0x8910, // SIOCGIFNAME
    0x8912, // SIOCGIFCONF
    0x8913, // SIOCGIFFLAGS
    0x8921, // SIOCGIFMTU
    0x8927, // SIOCGIFHWADDR
    0x8933, // SIOCGIFINDEX
    0x8946, // SIOCETHTOOL
    0x89b1, // SIOCGHWTSTAMP
    0x07b9, // IOCTL_VM_SOCKETS_GET_LOCAL_CID
];
/// fcntl(2) commands on descriptors, pipes and memory files, except those that direct signals.
const COMMANDS: [libc::c_int; 10] = [
    libc::F_DUPFD,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_DUPFD_CLOEXEC,
    libc::F_SETPIPE_SZ,
    libc::F_GETPIPE_SZ,
    libc::F_ADD_SEALS,
    libc::F_GET_SEALS,
];
/// `PR_SET_VMA`, by which an allocator names its memory.
const NAME_MEMORY: u64 = 0x5356_4d41;

/// Returns true if this kernel can filter system calls.
#[must_use]
pub fn is_there() -> bool {
    const GET_ACTION_AVAILABLE: libc::c_uint = 2;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the action outlives the call, which only reads it.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            GET_ACTION_AVAILABLE,
            0 as libc::c_uint,
            &raw const action,
        )
    };
    answer == 0
}

/// Restricts every thread of this process to the calls that a session needs; others fail with
/// `EPERM`. With `rings` they include those of io_uring(7). Sets no-new-privileges, too.
///
/// # Errors
/// Whatever seccomp(2) reports.
pub fn restrict(rings: bool) -> io::Result<()> {
    let rings: &[i64] = if rings { &RINGS } else { &[] };
    let program = of_session(rings)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

/// The filter of a session that may make these calls, too.
fn of_session(further: &[i64]) -> io::Result<BpfProgram> {
    let refused = SeccompAction::Errno(errno(libc::EPERM));
    let rest = compiled(rules()?, refused, SeccompAction::Allow)?;
    let calls = [ALWAYS, OLD, further].concat();
    // The flags of clone3(2) are out of a filter's sight. The C library then takes clone(2),
    // whose flags are not.
    bisection::permit_first(&calls, libc::SYS_clone3, rest)
}

/// Makes `io_uring_setup(2)` fail with `EPERM` for this thread and its children, as containers
/// and `kernel.io_uring_disabled` do. Sets no-new-privileges, too.
///
/// # Errors
/// Whatever seccomp(2) reports.
pub fn refuse_io_uring() -> io::Result<()> {
    let refused = BTreeMap::from([(libc::SYS_io_uring_setup, Vec::new())]);
    let permitted = SeccompAction::Errno(errno(libc::EPERM));
    let program = compiled(refused, SeccompAction::Allow, permitted)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn compiled(
    rules: Rules,
    otherwise: SeccompAction,
    matching: SeccompAction,
) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, otherwise, matching, arch).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

fn errno(number: i32) -> u32 {
    number.unsigned_abs()
}

/// Calls with some arguments alone.
fn rules() -> io::Result<Rules> {
    let mut rules = Rules::new();
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    rules.insert(
        libc::SYS_clone,
        vec![one(0, SeccompCmpOp::MaskedEq(thread), thread)?],
    );
    // Its own, as abort(3) sends it, and to its own threads.
    let own = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, vec![one(0, SeccompCmpOp::Eq, own)?]);
    }
    // Permitted only for the caller itself, which is 0. The listener and other sessions run as
    // the same user, and a CPU time limit would end them like a signal; Landlock does not
    // restrict these calls.
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
    ] {
        rules.insert(call, vec![one(0, SeccompCmpOp::Eq, 0)?]);
    }
    let process = libc::PRIO_PROCESS;
    let itself = vec![equal(0, process.into())?, equal(1, 0)?];
    let itself = SeccompRule::new(itself).map_err(io::Error::other)?;
    rules.insert(libc::SYS_setpriority, vec![itself]);
    let commands = COMMANDS.map(|command| u64::from(command.unsigned_abs()));
    rules.insert(libc::SYS_fcntl, any_of(1, &commands)?);
    let mut families = any_of(0, &FAMILIES.map(|family| family.unsigned_abs().into()))?;
    // getifaddrs(3) asks by NETLINK_ROUTE, which is 0.
    families.push(
        SeccompRule::new(vec![
            equal(0, libc::AF_NETLINK.unsigned_abs().into())?,
            equal(2, libc::NETLINK_ROUTE.unsigned_abs().into())?,
        ])
        .map_err(io::Error::other)?,
    );
    rules.insert(libc::SYS_socket, families);
    let pairs = vec![one(
        0,
        SeccompCmpOp::Eq,
        libc::AF_UNIX.unsigned_abs().into(),
    )?];
    rules.insert(libc::SYS_socketpair, pairs);
    rules.insert(libc::SYS_ioctl, any_of(1, &REQUESTS)?);
    let name = libc::PR_SET_NAME.unsigned_abs().into();
    rules.insert(libc::SYS_prctl, any_of(0, &[name, NAME_MEMORY])?);
    Ok(rules)
}

fn any_of(argument: u8, values: &[u64]) -> io::Result<Vec<SeccompRule>> {
    let each = values.iter();
    each.map(|&value| one(argument, SeccompCmpOp::Eq, value))
        .collect()
}

fn one(argument: u8, comparison: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value);
    condition
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(io::Error::other)
}

fn equal(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use nix::fcntl::{FcntlArg, fcntl};
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::{Pid, getppid};

    use super::*;
    use crate::linux::call::checked;
    use crate::linux::privileges::{ResourceLimit, limits};
    use crate::linux::process::schedule;

    /// Returns true if a call is refused by the filter.
    fn refused(done: io::Result<()>) -> bool {
        done.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
    }

    /// Actions against other processes of the user and their files: name, and true if the
    /// filter refuses it. None of them would change anything.
    fn attempts(parent: libc::pid_t) -> [(&'static str, bool); 7] {
        let itself = libc::PRIO_PROCESS;
        let of = parent.unsigned_abs();
        let none = std::ptr::null();
        // SAFETY: neither a new limit is given nor the old one asked for.
        let limit = unsafe { libc::prlimit(parent, libc::RLIMIT_CPU, none, std::ptr::null_mut()) };
        let limit = refused(checked(limit));
        // SAFETY: getpriority takes no pointers.
        let nice = unsafe { libc::getpriority(itself, of) };
        // SAFETY: setpriority takes no pointers.
        let priority = refused(checked(unsafe { libc::setpriority(itself, of, nice) }));
        // The policy is the one that every process has.
        let scheduler = refused(schedule(parent, libc::SCHED_OTHER, 0));
        // Signal 0 is none.
        let signal = refused(kill(Pid::from_raw(parent), None::<Signal>).map_err(io::Error::from));
        // SAFETY: tgkill takes numbers; signal 0 is none.
        let thread = unsafe { libc::syscall(libc::SYS_tgkill, parent, parent, 0) };
        let thread = refused(checked(thread));
        // SAFETY: this command takes a number; there is no such descriptor.
        let owner = refused(checked(unsafe { libc::fcntl(-1, libc::F_SETOWN, parent) }));
        // There is no such file.
        let mode = Permissions::from_mode(0o666);
        let mode = refused(std::fs::set_permissions("/no/such/file", mode));
        [
            ("limits", limit),
            ("priority", priority),
            ("scheduling", scheduler),
            ("a signal", signal),
            ("a signal to a thread", thread),
            ("signals by a descriptor", owner),
            ("who may use a file", mode),
        ]
    }

    /// Actions of a session on itself.
    fn needs() -> [(&'static str, bool); 3] {
        // SAFETY: setpriority takes no pointers; 0 is the caller.
        let priority = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
        let flags = fcntl(io::stdout(), FcntlArg::F_GETFD);
        [
            ("its limits", limits(ResourceLimit::Processes).is_ok()),
            ("its priority", priority == 0),
            ("its descriptors", flags.is_ok()),
        ]
    }

    #[test]
    fn seccomp_leaves_no_ring_to_a_session() {
        let program = of_session(&[]).unwrap();
        let ring = std::thread::spawn(move || {
            seccompiler::apply_filter(&program).unwrap();
            crate::linux::uring::Uring::new(1, None).err()
        });
        let error = ring.join().unwrap().expect("no ring");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_session_can_do_nothing_to_others_of_its_user_nor_to_who_may_use_their_files() {
        let parent = getppid().as_raw();
        let program = of_session(&[]).unwrap();
        // This filter is one of the thread alone.
        let tried = std::thread::spawn(move || {
            seccompiler::apply_filter(&program).unwrap();
            (attempts(parent), needs())
        });
        let (attempts, needs) = tried.join().unwrap();
        for (what, refused) in attempts {
            assert!(refused, "{what} of others");
        }
        for (what, done) in needs {
            assert!(done, "{what}");
        }
    }
}
