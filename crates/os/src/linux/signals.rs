//! Signals as bytes in a pipe, for a loop that waits for descriptors (signal-safety(7)).

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

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

    const fn number(self) -> libc::c_int {
        match self {
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
            Self::HangUp => libc::SIGHUP,
            Self::Child => libc::SIGCHLD,
            Self::Pipe => libc::SIGPIPE,
            Self::Kill => libc::SIGKILL,
        }
    }
}

/// Descriptor that the handler writes to; -1 before [`watch`].
static WRITER: AtomicI32 = AtomicI32::new(-1);

/// Writes the number of the signal. A pipe that is full has enough to tell.
extern "C" fn tell(number: libc::c_int) {
    let byte = u8::try_from(number).unwrap_or(0);
    // SAFETY: errno is this thread's own; write(2), which may change it, is allowed in a
    // handler, and what was interrupted must find the old value.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the location is valid for the life of the thread.
    let before = unsafe { *errno };
    // SAFETY: the pointer is that of one byte; the descriptor is never closed.
    unsafe { libc::write(WRITER.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
    // SAFETY: as above.
    unsafe { *errno = before };
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
        install(signal.number())?;
    }
    Ok(Signals(reader))
}

fn install(number: libc::c_int) -> io::Result<()> {
    // SAFETY: sigaction is plain data for which zeros are valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = tell as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action outlives the call; the handler does nothing that is forbidden
    // in one.
    checked(unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) })
}

/// Sends a signal to a process, such as a child that was not waited for yet (kill(2)).
///
/// # Errors
/// `ESRCH` when there is no such process, `EPERM` when it is another user's.
pub fn send(process: u32, signal: Signal) -> io::Result<()> {
    let process = libc::pid_t::try_from(process).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: kill takes numbers only.
    checked(unsafe { libc::kill(process, signal.number()) }).map(drop)
}

/// Ends this process by the signal, as if it had not been caught, so that the parent sees the
/// signal in the exit status.
pub fn end_of(signal: Signal) {
    // SAFETY: the usual disposition involves no code of ours.
    unsafe { libc::signal(signal.number(), libc::SIG_DFL) };
    // SAFETY: raise takes a number only.
    unsafe { libc::raise(signal.number()) };
}

impl Signals {
    /// The next signal that came, without waiting.
    #[must_use]
    pub fn next(&self) -> Option<Signal> {
        let mut byte = 0_u8;
        // SAFETY: the pointer is that of one byte.
        let got = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut byte).cast(), 1) };
        let number = libc::c_int::from(byte);
        (got == 1)
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
        // SAFETY: the handler stands; the signal goes to this process.
        unsafe { libc::raise(libc::SIGHUP) };
        assert_eq!(signals.next(), Some(Signal::HangUp));
        assert_eq!(signals.next(), None);
        assert!(watch(&[]).is_err());
    }
}
