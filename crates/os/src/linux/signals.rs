//! Signals as bytes in a pipe, for a loop that waits for descriptors (signal-safety(7)).

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet};
use nix::unistd::{self, Pid};

use super::call::checked;
use super::process::pipe;

/// A signal that can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGINT`: the user ends the program.
    Interrupt,
    /// `SIGTERM`: end.
    Terminate,
    /// `SIGHUP`: read the configuration again.
    HangUp,
    /// `SIGCHLD`: a child ended.
    Child,
    /// `SIGPIPE`: the reader of a pipe is gone.
    Pipe,
    /// `SIGKILL`: end at once; it cannot be watched.
    Kill,
}

impl Signal {
    const ALL: [Self; 6] = [
        Self::Interrupt,
        Self::Terminate,
        Self::HangUp,
        Self::Child,
        Self::Pipe,
        Self::Kill,
    ];

    const fn known(self) -> signal::Signal {
        match self {
            Self::Interrupt => signal::SIGINT,
            Self::Terminate => signal::SIGTERM,
            Self::HangUp => signal::SIGHUP,
            Self::Child => signal::SIGCHLD,
            Self::Pipe => signal::SIGPIPE,
            Self::Kill => signal::SIGKILL,
        }
    }

    const fn number(self) -> libc::c_int {
        self.known() as libc::c_int
    }
}

/// Descriptor that the handler writes to; -1 before [`watch`].
static WRITER: AtomicI32 = AtomicI32::new(-1);

/// Writes the number of the signal. A pipe that is full has enough to tell.
extern "C" fn tell(number: libc::c_int) {
    let byte = u8::try_from(number).unwrap_or(0);
    // write(2) may change errno, and what was interrupted must find the old value.
    let before = Errno::last_raw();
    // SAFETY: the pointer is that of one byte; the descriptor is never closed.
    unsafe { libc::write(WRITER.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
    Errno::set_raw(before);
}

/// The reading end of the pipe of signals.
#[derive(Debug)]
pub struct Signals(OwnedFd);

/// sigaction(2): from now on these signals are bytes to read, and end nothing. A program
/// that is executed finds them as they were.
///
/// # Errors
/// Whatever pipe2(2), fcntl(2) or sigaction(2) report; `EBUSY` the second time.
pub fn watch(signals: &[Signal]) -> io::Result<Signals> {
    let (reader, writer) = pipe()?;
    for end in [&reader, &writer] {
        super::io::set_nonblocking(std::os::fd::AsFd::as_fd(end), true)?;
    }
    let unset =
        WRITER.compare_exchange(-1, writer.as_raw_fd(), Ordering::Relaxed, Ordering::Relaxed);
    if unset.is_err() {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // Handlers may run until the process ends.
    let _for_ever = writer.into_raw_fd();
    for signal in signals {
        install(signal.known())?;
    }
    Ok(Signals(reader))
}

fn install(signal: signal::Signal) -> io::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(tell),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing that is forbidden in one.
    unsafe { signal::sigaction(signal, &action) }?;
    Ok(())
}

/// Action of a signal (signal(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disposition {
    /// The default action.
    Usual,
    /// Nothing.
    Ignored,
}

/// signal(2). Safe in a signal handler.
pub(super) fn dispose(signal: libc::c_int, disposition: Disposition) {
    let disposition = match disposition {
        Disposition::Usual => libc::SIG_DFL,
        Disposition::Ignored => libc::SIG_IGN,
    };
    // SAFETY: neither disposition involves code of ours.
    unsafe { libc::signal(signal, disposition) };
}

/// Handler of a signal, or `SIG_DFL` or `SIG_IGN` (sigaction(2)).
///
/// # Errors
/// Whatever sigaction(2) reports.
pub(super) fn handler(signal: libc::c_int) -> io::Result<libc::sighandler_t> {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes `now`, which has space for it.
    checked(unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) })?;
    // SAFETY: the call has filled it.
    Ok(unsafe { now.assume_init() }.sa_sigaction)
}

/// Sends a signal to a process, such as a child that was not waited for yet (kill(2)).
///
/// # Errors
/// `ESRCH` when there is no such process, `EPERM` when it is another user's.
pub fn send(process: u32, signal: Signal) -> io::Result<()> {
    let process = libc::pid_t::try_from(process).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(signal::kill(Pid::from_raw(process), signal.known())?)
}

/// Ends this process by the signal, as if it had not been caught, so that the parent sees the
/// signal in the exit status.
pub fn end_of(signal: Signal) {
    raise_usual(signal.number());
}

/// The same for any signal. Safe in a signal handler, where it takes effect when that is over.
pub(super) fn raise_usual(signal: libc::c_int) {
    dispose(signal, Disposition::Usual);
    // SAFETY: raise takes a number only.
    unsafe { libc::raise(signal) };
}

impl Signals {
    /// The next signal that came, without waiting.
    #[must_use]
    pub fn next(&self) -> Option<Signal> {
        let mut byte = 0_u8;
        let got = unistd::read(&self.0, std::slice::from_mut(&mut byte));
        let number = libc::c_int::from(byte);
        (got == Ok(1))
            .then(|| Signal::ALL.into_iter().find(|one| one.number() == number))
            .flatten()
    }
}

impl std::os::fd::AsFd for Signals {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_a_byte_to_read() {
        let signals = watch(&[Signal::HangUp]).unwrap();
        assert_eq!(signals.next(), None);
        signal::raise(signal::SIGHUP).unwrap();
        assert_eq!(signals.next(), Some(Signal::HangUp));
        assert_eq!(signals.next(), None);
        assert!(watch(&[]).is_err());
    }
}
