//! This process: where it runs, what it is called, what it was started with.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::process::{CommandExt, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{self, SigSet};
use nix::sys::time::TimeVal;
use nix::unistd::{self, ForkResult, Pid};

use super::call::{checked, number, zeroed};
use super::privileges::{self, LimitPair, ResourceLimit};
use super::signals::{Disposition, dispose};
use super::without;

/// Side of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The process that called, and the number of the new one.
    Parent(i32),
    /// The new one.
    Child,
}

/// fork(2), for a process whose own code runs in one thread. A preloaded library or an emulator may
/// have its threads: they hold no lock of this program, and the C library keeps its own
/// locks usable in the child.
///
/// # Errors
/// `EAGAIN` when a limit on processes is reached, or `ENOMEM`.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: the child may run any code, as no other thread can hold a lock of this program.
    match unsafe { unistd::fork() }? {
        ForkResult::Child => Ok(Forked::Child),
        ForkResult::Parent { child } => Ok(Forked::Parent(child.as_raw())),
    }
}

/// Forks a process that is no child of this one (fork(2), twice): its end needs no waitpid(2) here.
/// Gives the number of the process between them.
///
/// # Errors
/// As [`fork`].
pub fn fork_no_child() -> io::Result<Forked> {
    let Forked::Parent(between) = fork()? else {
        return match fork() {
            Ok(Forked::Child) => Ok(Forked::Child),
            // SAFETY: _exit takes a number.
            forked => unsafe { libc::_exit(forked.is_err().into()) },
        };
    };
    let status = loop {
        match wait_for(between, 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            status => break status?,
        }
    };
    match status {
        Some(0) => Ok(Forked::Parent(between)),
        _ => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
    }
}

/// Forks a process that is a child of this one's parent (clone(2), `CLONE_PARENT`), which waits for
/// its end. The calling process must have one thread.
///
/// # Errors
/// As [`fork`], and `Unsupported` with a C library that keeps the number of its thread.
pub fn fork_for_parent() -> io::Result<Forked> {
    if !cfg!(target_env = "gnu") {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let flags = libc::c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    // The order of the first two differs on this architecture.
    let (first, second) = if cfg!(target_arch = "s390x") {
        (0, flags)
    } else {
        (flags, 0)
    };
    // SAFETY: without a stack and without shared memory the call is fork(2); no other thread can
    // hold a lock of the C library.
    let forked = unsafe { libc::syscall(libc::SYS_clone, first, second, 0_i64, 0_i64, 0_i64) };
    match forked {
        0 => Ok(Forked::Child),
        number if number > 0 => Ok(Forked::Parent(i32::try_from(number).unwrap_or(i32::MAX))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Starts a process that ends at once (fork(2)), and waits for it.
///
/// # Errors
/// As [`fork`].
pub fn can_fork() -> io::Result<()> {
    match fork()? {
        // SAFETY: _exit takes a number.
        Forked::Child => unsafe { libc::_exit(0) },
        Forked::Parent(child) => loop {
            match wait_for(child, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Without its status where the end of children is ignored.
                _ended => return Ok(()),
            }
        },
    }
}

/// waitpid(2): the status of a child that has ended.
fn wait_for(child: i32, flags: libc::c_int) -> io::Result<Option<libc::c_int>> {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let ended = number(unsafe { libc::waitpid(child, &raw mut status, flags) })?;
    Ok((ended == child).then_some(status))
}

/// Number of a child that has ended and that has not been waited for; `None` if there is none.
#[must_use]
pub fn ended_child() -> Option<u32> {
    // SAFETY: zero bytes are a valid `siginfo_t`.
    let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `ended` outlives the call.
    let answer = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut ended, flags) };
    // SAFETY: waitid(2) fills the part of a child, or leaves zeros.
    let child = unsafe { ended.si_pid() };
    u32::try_from(child)
        .ok()
        .filter(|child| answer == 0 && *child != 0)
}

/// Kills a child (kill(2)) and returns true once it is gone, which may take longer than this call.
#[must_use]
pub fn end_child(child: i32) -> bool {
    // The child has this number until waitpid(2) has returned it.
    let _gone = signal::kill(Pid::from_raw(child), signal::SIGKILL);
    !matches!(wait_for(child, libc::WNOHANG), Ok(None))
}

/// A process that this one has started.
#[derive(Debug)]
pub enum ChildProcess {
    /// As a program.
    Started(Child),
    /// By fork(2), with this number.
    Forked(i32),
}

impl ChildProcess {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        match self {
            Self::Started(child) => child.id(),
            Self::Forked(number) => number.unsigned_abs(),
        }
    }

    /// Exit status, if it has ended. It must not be asked again then.
    ///
    /// # Errors
    /// Whatever waitpid(2) reports.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Started(child) => child.try_wait(),
            Self::Forked(number) => Ok(wait_for(*number, libc::WNOHANG)?.map(ExitStatus::from_raw)),
        }
    }

    /// Kills it and waits for its end.
    pub fn end(&mut self) {
        match self {
            Self::Started(child) => {
                // An error means that it has already ended.
                let _gone = child.kill();
                let _status = child.wait();
            }
            Self::Forked(number) => {
                let _gone = end_child(*number);
                let _status = wait_for(*number, 0);
            }
        }
    }
}

/// Has this process, which was forked, begin as one that was started: these descriptors are its
/// standard input and output, all others but those kept are closed, and no signal is blocked or
/// caught.
///
/// # Errors
/// When a descriptor cannot be duplicated.
pub fn begin_anew(input: &OwnedFd, output: &OwnedFd, keep: &[RawFd]) -> io::Result<()> {
    close_standard_streams()?;
    unistd::dup2_stdin(input)?;
    unistd::dup2_stdout(output)?;
    close_others(keep.to_vec());
    SigSet::empty().thread_set_mask()?;
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGCHLD] {
        dispose(signal, Disposition::Usual);
    }
    Ok(())
}

/// Closes all descriptors of this process, which was forked, but its standard streams and these.
pub fn close_all_but(keep: &[BorrowedFd<'_>]) {
    close_others(keep.iter().map(AsRawFd::as_raw_fd).collect());
}

fn close_others(mut keep: Vec<RawFd>) {
    keep.sort_unstable();
    let mut first = libc::STDERR_FILENO + 1;
    for fd in keep {
        close_range(first, fd - 1);
        first = fd + 1;
    }
    close_range(first, i32::MAX);
}

/// close_range(2), or close(2) of each.
fn close_range(first: RawFd, last: RawFd) {
    /// More than any limit of a kernel that lacks the call.
    const MANY: RawFd = 65_536;
    if first > last {
        return;
    }
    // SAFETY: nothing here uses a descriptor of the process that forked.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if closed != 0 {
        for fd in first..=last.min(MANY) {
            // SAFETY: as above.
            unsafe { libc::close(fd) };
        }
    }
}

/// Name by which this program was started, without folders.
#[must_use]
pub fn own_name() -> &'static CStr {
    static NAME: OnceLock<CString> = OnceLock::new();
    NAME.get_or_init(|| {
        let program = std::env::args_os().next().unwrap_or_default();
        let name = Path::new(&program).file_name().unwrap_or_default();
        CString::new(name.as_bytes()).unwrap_or_default()
    })
}

/// Has a write beyond the limit of file sizes (`RLIMIT_FSIZE`) fail instead of ending this process
/// (signal(7), `SIGXFSZ`).
pub fn survive_large_files() {
    dispose(libc::SIGXFSZ, Disposition::Ignored);
}

/// setsid(2): leave the terminal.
///
/// # Errors
/// `EPERM` when this process leads a process group already.
pub fn new_session() -> io::Result<()> {
    unistd::setsid()?;
    Ok(())
}

/// Points the three standard streams at the null device.
///
/// # Errors
/// When the null device cannot be opened.
pub fn close_standard_streams() -> io::Result<()> {
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    unistd::dup2_stdin(&null)?;
    unistd::dup2_stdout(&null)?;
    Ok(unistd::dup2_stderr(&null)?)
}

/// Writes standard output to a file, which is emptied or made.
///
/// # Errors
/// When the file cannot be opened.
pub fn write_output_to(file: &Path) -> io::Result<()> {
    Ok(unistd::dup2_stdout(File::create(file)?)?)
}

/// sched_setscheduler(2) `SCHED_RR` with the highest priority, for this thread and those that it
/// starts.
///
/// # Errors
/// `EPERM` without the right to do so.
pub fn realtime_priority() -> io::Result<()> {
    // SAFETY: the call takes a number.
    let most = number(unsafe { libc::sched_get_priority_max(libc::SCHED_RR) })?;
    schedule(0, libc::SCHED_RR, most)
}

/// sched_setscheduler(2): policy and priority of a thread; 0 is the calling one.
pub(super) fn schedule(
    thread: libc::pid_t,
    policy: libc::c_int,
    priority: libc::c_int,
) -> io::Result<()> {
    let mut parameter: libc::sched_param = zeroed();
    parameter.sched_priority = priority;
    // SAFETY: the parameter outlives the call.
    checked(unsafe { libc::sched_setscheduler(thread, policy, &raw const parameter) })
}

/// Returns true if descriptor 0 is a socket: started by inetd or by the netserver listener.
#[must_use]
pub fn standard_input_is_socket() -> bool {
    is_socket(std::io::stdin().as_fd())
}

/// Returns true if descriptor 2 is a socket: the client's, if inetd started this process.
#[must_use]
pub fn standard_error_is_socket() -> bool {
    is_socket(std::io::stderr().as_fd())
}

/// Returns whether a descriptor is a socket of the kernel, or of a library that replaces its calls.
fn is_socket(fd: BorrowedFd<'_>) -> bool {
    let of_kernel = || {
        let file = File::from(fd.try_clone_to_owned()?);
        Ok::<_, io::Error>(file.metadata()?.file_type().is_socket())
    };
    of_kernel().unwrap_or(false) || socket2::SockRef::from(&fd).r#type().is_ok()
}

/// Descriptor 0, to own. It is not duplicated: preloaded socket stacks do not see
/// that, and would not know the duplicate.
///
/// `None` when it was taken before: it has one owner.
pub fn take_standard_input() -> Option<OwnedFd> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return None;
    }
    // SAFETY: descriptor 0 was open when the process started, nothing here reads
    // standard input, and the flag above makes this its only owner.
    Some(unsafe { OwnedFd::from_raw_fd(libc::STDIN_FILENO) })
}

/// umask(2): files that this process makes from now on lack these permissions.
pub fn set_file_mask(lacking: u32) {
    // Through nix it would panic where the former mask has other bits, as simulators give it.
    // SAFETY: it takes no pointer, and does not fail.
    let _former = unsafe { libc::umask(lacking) };
}

/// sched_setaffinity(2): run this thread, and what it starts, on one CPU.
///
/// # Errors
/// `EINVAL` when there is no such CPU.
pub fn bind_to_cpu(cpu: u32) -> io::Result<()> {
    bind_to_cpus(&[cpu])
}

/// sched_setaffinity(2): run this thread, and what it starts, on these CPUs.
///
/// # Errors
/// `EINVAL` when there is no such CPU.
pub fn bind_to_cpus(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(usize::try_from(*cpu).unwrap_or(usize::MAX))?;
    }
    Ok(sched_setaffinity(SELF, &set)?)
}

/// The calling thread.
const SELF: Pid = Pid::from_raw(0);

/// sched_getaffinity(2): CPUs that this thread may run on, in order.
///
/// # Errors
/// `EINVAL` when the machine has more CPUs than the set can hold.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(SELF)?;
    let allowed = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu) == Ok(true));
    Ok(allowed.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// setrlimit(2) `RLIMIT_NOFILE`: this process may have as many files open as it is ever
/// allowed to. Gives that number.
///
/// # Errors
/// Whatever getrlimit(2) or setrlimit(2) report.
pub fn raise_open_files() -> io::Result<u64> {
    let limits = privileges::limits(ResourceLimit::OpenFiles)?;
    if limits.now < limits.most {
        let now = limits.most;
        privileges::set_limits(ResourceLimit::OpenFiles, LimitPair { now, ..limits })?;
    }
    Ok(limits.most)
}

/// sched_setscheduler(2) `SCHED_IDLE`, setpriority(2): this thread runs only when nothing
/// else wants its CPU.
///
/// # Errors
/// `EPERM` when neither is allowed.
pub fn lowest_priority() -> io::Result<()> {
    let idle = schedule(0, libc::SCHED_IDLE, 0);
    // SAFETY: setpriority takes no pointers; 0 is the calling thread.
    let nice = checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) });
    // One is enough: some C libraries have no sched_setscheduler.
    nice.or(idle)
}

/// pthread_sigmask(3): no signal is handled by this thread.
///
/// # Errors
/// Never, with the arguments given.
pub fn block_signals() -> io::Result<()> {
    Ok(SigSet::all().thread_block()?)
}

/// Number of threads of this process; 1 where /proc does not tell.
#[must_use]
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// prctl(2) `PR_SET_NAME`: what ps and pgrep see, 15 bytes.
pub fn set_name(name: &CStr) {
    // A failure would only leave the old name.
    let _named = prctl::set_name(name);
}

/// CPU time of this process so far (getrusage(2)): in programs, and in the kernel for them.
///
/// # Errors
/// Never, with the arguments given.
pub fn cpu_times() -> io::Result<(Duration, Duration)> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let time = |time: TimeVal| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        let micros = u64::try_from(time.tv_usec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    Ok((time(usage.user_time()), time(usage.system_time())))
}

/// pipe2(2), closed on exec: the reading end, then the writing end.
///
/// # Errors
/// `EMFILE` or `ENFILE` when there are too many open files.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(unistd::pipe2(OFlag::O_CLOEXEC)?)
}

/// Has programs that this process starts not inherit any descriptor that is open now, apart from
/// the standard streams (close_range(2)).
///
/// # Errors
/// `ENOSYS` before Linux 5.9, `EINVAL` before Linux 5.11.
pub fn close_all_on_exec() -> io::Result<()> {
    let (first, last) = (libc::STDERR_FILENO + 1, libc::c_uint::MAX);
    // SAFETY: the call takes numbers, and no descriptor is closed here.
    checked(unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            last,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    })
}

/// Makes this process not dumpable (prctl(2)): no core file, and other processes of the same user
/// cannot read its memory or its environment.
///
/// # Errors
/// None on a kernel that has prctl(2).
pub fn set_not_dumpable() -> io::Result<()> {
    Ok(prctl::set_dumpable(false)?)
}

/// Sends SIGKILL to all processes of a process group, and returns true if there was one (kill(2)).
#[must_use]
pub fn kill_group(group: u32) -> bool {
    // 0 and 1 are not those of a child.
    let group = libc::pid_t::try_from(group).ok().filter(|id| *id > 1);
    group.is_some_and(|group| signal::killpg(Pid::from_raw(group), signal::SIGKILL).is_ok())
}

/// A file on disk that has no name (`O_TMPFILE`, open(2)).
///
/// # Errors
/// `EOPNOTSUPP` where the folder's file system has no such files, or `EACCES`.
pub fn unnamed_file(folder: &std::path::Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(folder)
}

/// Opens a file to read. A pipe without a writer and a terminal without a line do not block.
///
/// # Errors
/// Those of open(2).
pub fn open_at_once(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}

/// Opens a file to append to, which is made if it is not there. A link to another file is none.
///
/// # Errors
/// Those of open(2).
pub fn append_at_once(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .append(true)
        .create(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}

/// Path of this program's file, for starting it again (proc(5)). Without `/proc`, as in a bare
/// chroot, the path given to execve(2) (getauxval(3)).
#[must_use]
pub fn own_file() -> &'static Path {
    let best = || own_files().first().map(PathBuf::as_path);
    let file = EXECUTABLE.get().copied().or_else(best);
    file.unwrap_or(Path::new(OWN_LINK))
}

/// Leads to this program's file even after another was put in its place.
const OWN_LINK: &str = "/proc/self/exe";

/// The one of its paths that was executed.
static EXECUTABLE: OnceLock<&Path> = OnceLock::new();

/// Paths of this program's file, the best first. Determined once, so that a later chdir(2) does not
/// matter.
fn own_files() -> &'static [PathBuf] {
    static FILES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FILES.get_or_init(|| {
        let link = PathBuf::from(OWN_LINK);
        let link = Some(link).filter(|link| link.symlink_metadata().is_ok());
        let started = started_as().and_then(|path| std::path::absolute(path).ok());
        link.into_iter().chain(started).collect()
    })
}

/// Starts this program again, from the first of its paths that can be executed. The command is one
/// of [`own_file`]; `name` is its argument 0. Its environment is cleared: the new process has the
/// variables that the command names.
///
/// # Errors
/// When there are too many processes or open files, or the file is gone.
pub fn start_itself(name: &CStr, command: &mut Command) -> io::Result<Child> {
    command.arg0(OsStr::from_bytes(name.to_bytes()));
    if EXECUTABLE.get().is_some() {
        return command.spawn();
    }
    let (child, index) = without::start_first(own_files(), name, command)?;
    if let Some(file) = own_files().get(index) {
        // Another thread may have found the same.
        let _known = EXECUTABLE.set(file);
    }
    Ok(child)
}

fn started_as() -> Option<PathBuf> {
    // SAFETY: getauxval takes a number and reads what the kernel left at the start.
    let address = unsafe { libc::getauxval(libc::AT_EXECFN) };
    let name = std::ptr::with_exposed_provenance::<libc::c_char>(usize::try_from(address).ok()?);
    if name.is_null() {
        return None;
    }
    // SAFETY: the kernel leaves a NUL-terminated name there that lives as long as the process.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Returns true if a library whose file name begins like this is loaded into this process, for
/// example by a preload (proc(5), `/proc/self/maps`).
#[must_use]
pub fn has_library(name: &str) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines()
        .filter_map(|line| line.rsplit('/').next())
        .any(|file| file.starts_with(name))
}

#[cfg(test)]
mod tests;
