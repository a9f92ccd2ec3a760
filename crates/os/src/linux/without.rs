//! Substitutes for calls that a system lacks.
//!
//! Other systems that run programs of Linux (simulators, sandboxes, compatibility layers) lack
//! some calls. The programs then do the same by another call, or do without:
//!
//! | missing | instead | what differs |
//! |---|---|---|
//! | timer_create(2) | setitimer(2), [`Timer`] | microseconds, not nanoseconds; the signal goes to the process and is passed on to the thread of the run |
//! | memfd_create(2) | a temporary file without a name, [`file_in_memory`] | its bytes may be written to a disk |
//! | execution of `/proc/self/exe` or `/proc/self/fd/N` | the path by which the program was started, [`start_first`] | after an upgrade the new program is started |
//! | exec errors of posix_spawn(3) | fork(2) and execve(2) at the first start, [`start_first`] | – |
//! | `SO_REUSEADDR` | nothing, [`share_port`] | bind(2) fails while the port is in use, and says so |
//! | `SO_ERROR` | getpeername(2), [`connect_error`] | a failed connect has the error `ENOTCONN` |
//! | `SO_DOMAIN` | the family of getsockname(2), [`domain`] | – |
//! | `IP_RECVERR` | nothing, [`report_drops`] | datagrams that the queue of this host drops count as sent |
//! | `SO_DONTROUTE` | nothing, [`route_directly`] | what is sent may be routed, as `-R 1` asks |
//! | `IP_PKTINFO` | nothing, [`tell_destination`] | responses leave from the address that the kernel chooses |
//! | `SO_RCVTIMEO`, `SO_SNDTIMEO` | a signal every 20 ms, [`set_patience`] | a call returns earlier, with `EINTR` |
//! | `SCM_RIGHTS` | a copy of a short file, and a list in the process, [`pass`](super::pass) | sockets reach other threads, not other processes |
//! | `PR_SET_TIMERSLACK` | [`sleep_exactly`](super::wait::sleep_exactly) measures whether sleeps are exact | where they are, nothing spins until a time |
//! | `SO_RCVLOWAT` | nothing, [`set_wake_threshold`](super::sockopt::set_wake_threshold) | more wake-ups; where a part of a message stays in the socket, a look every millisecond |
//!
//! Options that only inform (getsockopt(2)) are `None` in the result where they are missing. An
//! option that the user asked for and that cannot be set is named in a message.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{getpid, gettid, write};
use socket2::{Domain, SockRef, Socket};

use super::call::{checked, timespec, zeroed};
use super::sockopt::{self, IntOption};
use super::{interruptions, io as calls, process, system, ticks, wait};

/// A timer whose signal is `SIGALRM`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timer {
    /// timer_create(2): it signals the thread that created it.
    OfThread(libc::timer_t),
    /// setitimer(2): it signals any thread of the process. There is one for each process.
    OfProcess,
}

impl Timer {
    /// A timer for the calling thread.
    ///
    /// # Errors
    /// Whatever timer_create(2) reports, on a system that has no setitimer(2) either.
    pub(super) fn new() -> io::Result<Self> {
        create_timer().or_else(|error| match Self::OfProcess.stop() {
            Ok(()) => Ok(Self::OfProcess),
            Err(_) => Err(error),
        })
    }

    /// timer_settime(2) or setitimer(2). Safe in a signal handler.
    pub(super) fn arm(self, first: Duration, every: Duration) -> io::Result<()> {
        match self {
            Self::OfThread(timer) => {
                let spec = libc::itimerspec {
                    it_value: timespec(first),
                    it_interval: timespec(every),
                };
                // SAFETY: the timer exists while an `Alarm` does, and `spec` outlives the call.
                checked(unsafe {
                    libc::timer_settime(timer, 0, &raw const spec, std::ptr::null_mut())
                })
            }
            Self::OfProcess => {
                let spec = libc::itimerval {
                    it_value: timeval(first),
                    it_interval: timeval(every),
                };
                // SAFETY: `spec` outlives the call, and the old value is not asked for.
                checked(unsafe {
                    libc::setitimer(libc::ITIMER_REAL, &raw const spec, std::ptr::null_mut())
                })
            }
        }
    }

    /// No more signals.
    pub(super) fn stop(self) -> io::Result<()> {
        self.arm(Duration::ZERO, Duration::ZERO)
    }

    /// Deletes it; it must not be used any more.
    pub(super) fn delete(self) {
        match self {
            // SAFETY: the timer was created by `new` and is deleted once.
            Self::OfThread(timer) => unsafe {
                libc::timer_delete(timer);
            },
            // Disarming a timer that exists cannot fail.
            Self::OfProcess => drop(self.stop()),
        }
    }
}

fn create_timer() -> io::Result<Timer> {
    let mut event: libc::sigevent = zeroed();
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGALRM;
    event.sigev_notify_thread_id = thread_id();
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: both pointers are valid for the call.
    checked(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) })?;
    Ok(Timer::OfThread(timer))
}

/// gettid(2).
pub(super) fn thread_id() -> libc::pid_t {
    gettid().as_raw()
}

/// tgkill(2): a signal for a thread of this process. Safe in a signal handler.
pub(super) fn signal_thread(thread: libc::pid_t, signal: libc::c_int) {
    let process = getpid().as_raw();
    // SAFETY: tgkill takes numbers; a thread that has ended is an error.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

/// Rounded up: a timer must not fire early, and zero would disarm it.
fn timeval(time: Duration) -> libc::timeval {
    let micros = time.as_nanos().div_ceil(1000);
    let part = |number: u128| i32::try_from(number).unwrap_or(i32::MAX);
    libc::timeval {
        tv_sec: part(micros / 1_000_000).into(),
        tv_usec: part(micros % 1_000_000).into(),
    }
}

/// A file that has no name in any directory: in memory (memfd_create(2)), or else on disk.
///
/// # Errors
/// `EMFILE` or `ENFILE` when there are too many open files.
pub fn file_in_memory(name: &CStr) -> io::Result<OwnedFd> {
    let file = memfd_create(name, MFdFlags::MFD_CLOEXEC);
    file.or_else(|error| unlinked_file(&std::env::temp_dir()).map_err(|_| error.into()))
}

/// A temporary file whose name is removed at once. Only this user may open it until then.
fn unlinked_file(folder: &Path) -> io::Result<OwnedFd> {
    use std::os::unix::fs::OpenOptionsExt;
    const TRIES: u32 = 100;
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..TRIES {
        let path = folder.join(format!("netperf-{:016x}", system::unlike()));
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match options {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file.into());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Starts the first of these files that the system can execute, and returns which one it was.
/// `name` is the argument 0. The new process has the variables that the command names, and no
/// others; its program is not looked at.
///
/// The start is by fork(2) and execve(2), whose errors arrive here on every system: where
/// vfork(2) is fork(2), a child of posix_spawn(3) ends with status 127 and the reason is lost.
/// execvp(3) would take a file that cannot be executed for a script.
///
/// # Errors
/// Whatever the start of the last file reports, if none can be executed.
pub fn start_first(
    files: &[PathBuf],
    name: &CStr,
    command: &mut Command,
) -> io::Result<(Child, usize)> {
    let paths = files.iter().map(|file| c_string(file.as_os_str()));
    let paths: Vec<CString> = paths.collect::<io::Result<_>>()?;
    let arguments = command.get_args().map(c_string);
    let arguments = std::iter::once(Ok(name.to_owned())).chain(arguments);
    let arguments = TextList::new(arguments.collect::<io::Result<_>>()?);
    let variables = command.get_envs().filter_map(|(key, value)| {
        let text = [key.as_bytes(), b"=", value?.as_bytes()].concat();
        Some(CString::new(text).map_err(io::Error::from))
    });
    let variables = TextList::new(variables.collect::<io::Result<_>>()?);
    // One byte for each file that cannot be executed.
    let (failures, reporter) = process::pipe()?;
    let execute = move || {
        let mut last = Ok(());
        for path in &paths {
            // SAFETY: the strings and the lists are NUL-terminated and outlive the call.
            unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
            let error = io::Error::last_os_error();
            report(reporter.as_fd());
            last = Err(error);
        }
        last
    };
    // SAFETY: between fork and exec the closure makes system calls and allocates nothing.
    unsafe { command.pre_exec(execute) };
    let child = command.spawn()?;
    // One was executed, so all bytes of the others are there.
    calls::set_nonblocking(failures.as_fd(), true)?;
    let mut failed = [0; 8];
    let count = File::from(failures).read(&mut failed).unwrap_or(0);
    Ok((child, count))
}

/// Writes a byte, in a new process before execve(2).
fn report(to: BorrowedFd<'_>) {
    // The count of these bytes is read, which is too small by one if it fails.
    let _written = write(to, &[0]);
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// Texts as execve(2) takes them: pointers, the last of which is null.
struct TextList {
    pointers: Vec<*const libc::c_char>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead to the texts, which belong to the list and do not change.
unsafe impl Send for TextList {}
// SAFETY: as above.
unsafe impl Sync for TextList {}

impl TextList {
    fn new(texts: Vec<CString>) -> Self {
        let end = std::iter::once(std::ptr::null());
        Self {
            pointers: texts.iter().map(|text| text.as_ptr()).chain(end).collect(),
            _texts: texts,
        }
    }

    fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// Returns true if sleeps of a system without `PR_SET_TIMERSLACK` (prctl(2)) end on time, as
/// those in simulated time do. Determined once, by a few sleeps.
pub(super) fn sleeps_are_exact() -> bool {
    const TRIES: u32 = 5;
    const SLEEP: Duration = Duration::from_micros(50);
    const EXACT: Duration = Duration::from_micros(5);
    static EXACTLY: OnceLock<bool> = OnceLock::new();
    let is_exact = |_| {
        let before = ticks::monotonic();
        wait::sleep(SLEEP);
        Duration::from_nanos(ticks::monotonic().saturating_sub(before)) <= SLEEP + EXACT
    };
    *EXACTLY.get_or_init(|| (0..TRIES).all(is_exact))
}

/// `SO_RCVTIMEO` and `SO_SNDTIMEO`: a call that waits for longer fails as one that does not wait;
/// `None` waits without end. Without them blocked calls of this thread are interrupted.
///
/// # Errors
/// When there are too many threads.
pub fn set_patience(fd: BorrowedFd<'_>, patience: Option<Duration>) -> io::Result<()> {
    let socket = SockRef::from(&fd);
    let set = socket.set_read_timeout(patience);
    interrupted_unless(
        set.and_then(|()| socket.set_write_timeout(patience)),
        patience,
    )
}

/// The same for receiving alone.
///
/// # Errors
/// When there are too many threads.
pub fn set_read_patience(fd: BorrowedFd<'_>, patience: Duration) -> io::Result<()> {
    let set = SockRef::from(&fd).set_read_timeout(Some(patience));
    interrupted_unless(set, Some(patience))
}

/// For a thread that uses sockets whose time limits another thread has set: without the options its
/// calls are interrupted as those of the other.
pub fn join_patience() {
    interruptions::join();
}

fn interrupted_unless(set: io::Result<()>, patience: Option<Duration>) -> io::Result<()> {
    match set {
        Err(_) if patience.is_some() => interruptions::begin(),
        _ => Ok(()),
    }
}

/// `SO_REUSEADDR`: whether the socket may have an address that another one has. Without the option
/// bind(2) reports an address that is in use.
pub fn share_port(socket: &Socket, shares: bool) {
    let _told_by_bind = socket.set_reuse_address(shares);
}

/// `SO_ERROR`: the reason why a connect failed that has ended. Without the option, the socket has a
/// peer or the error of getpeername(2).
#[must_use]
pub fn connect_error(socket: &Socket) -> Option<io::Error> {
    let error = socket.take_error();
    error.unwrap_or_else(|_| socket.peer_addr().err())
}

/// Domain of a socket: `SO_DOMAIN`, or the family of its address.
///
/// # Errors
/// Whatever getsockname(2) reports.
pub fn domain(socket: &Socket) -> io::Result<Domain> {
    socket
        .domain()
        .or_else(|_| Ok(socket.local_addr()?.domain()))
}

/// `IP_RECVERR` or `IPV6_RECVERR`: sends of a datagram socket fail when the queue of this host is
/// full, and with the errors that other hosts report by ICMP. Returns false on a system without
/// them: it drops such datagrams silently.
#[must_use]
pub fn report_drops(socket: &Socket) -> bool {
    let option = match domain(socket) {
        Ok(Domain::IPV6) => IntOption::RecvErrV6,
        Ok(_) | Err(_) => IntOption::RecvErrV4,
    };
    sockopt::set(socket.as_fd(), option, 1).is_ok()
}

/// `SO_DONTROUTE`: packets go to hosts of the local network only. Nothing on a system without
/// it, as in netperf 2.7.
///
/// # Errors
/// Any other of setsockopt(2).
pub fn route_directly(socket: &Socket) -> io::Result<()> {
    match sockopt::set(socket.as_fd(), IntOption::DontRoute, 1) {
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(()),
        set => set,
    }
}

/// `IP_PKTINFO` or `IPV6_RECVPKTINFO`: a datagram comes with the address it was sent to. Without
/// them the kernel chooses the address of a response.
pub fn tell_destination(socket: &Socket) {
    let option = match domain(socket) {
        Ok(Domain::IPV6) => IntOption::PacketInfoV6,
        Ok(_) | Err(_) => IntOption::PacketInfoV4,
    };
    let _kernel_chooses = sockopt::set(socket.as_fd(), option, 1);
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_unlinked_file_has_no_name_and_keeps_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::from(unlinked_file(folder.path()).unwrap());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        folder.close().unwrap();
        file.write_all(b"kept").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "kept");
        assert!(unlinked_file(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_time_is_rounded_up_to_microseconds() {
        let parts = |nanos| {
            let time = timeval(Duration::from_nanos(nanos));
            (i128::from(time.tv_sec), i128::from(time.tv_usec))
        };
        assert_eq!(parts(0), (0, 0));
        assert_eq!(parts(1), (0, 1));
        assert_eq!(parts(999_999_999), (1, 0));
        assert_eq!(parts(5_000_001_000), (5, 1));
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        std::fs::write(&text, "exit 1").unwrap();
        std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o700)).unwrap();
        let files = [text.clone(), "/no/such/file".into(), "/bin/sh".into()];
        let start = |files: &[PathBuf]| {
            let mut command = Command::new("/bin/false");
            command
                .args(["-c", "exit $STATUS"])
                .env_clear()
                .env("STATUS", "9");
            start_first(files, c"sh", &mut command)
        };
        let (mut child, index) = start(&files).unwrap();
        assert_eq!(index, 2);
        assert_eq!(child.wait().unwrap().code(), Some(9));
        let error = start(&files[..1]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOEXEC));
    }

    #[test]
    fn a_domain_is_known_without_being_told() {
        for (domain, address) in [(Domain::IPV4, "127.0.0.1:0"), (Domain::IPV6, "[::1]:0")] {
            let Ok(socket) = std::net::UdpSocket::bind(address) else {
                continue;
            };
            let socket = Socket::from(socket);
            assert_eq!(super::domain(&socket).unwrap(), domain);
            assert_eq!(socket.local_addr().unwrap().domain(), domain);
        }
    }
}
