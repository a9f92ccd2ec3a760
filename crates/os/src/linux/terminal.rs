//! A terminal that a view of the whole screen is drawn on, or a secret is asked on (termios(3),
//! ioctl_tty(2)).
//!
//! [`enter`] and [`leave`] are a pair, and whatever ends the process in between leaves as
//! well: a signal that kills it, a second `SIGINT`, a panic by its hook. Only `SIGKILL`
//! does not. So what [`leave`] needs is static, and it makes only calls that a signal
//! handler may make (signal-safety(7)).

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};

use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet};
use nix::unistd::{self, Pid};
use zeroize::Zeroizing;

use super::call::{checked, zeroed};
use super::{alarm, signals};

/// The alternate screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// Nothing left on the screen, for terminals without an alternate one; the cursor, and the
/// screen as it was.
const LEAVE: &[u8] = b"\x1b[0m\x1b[H\x1b[J\x1b[?25h\x1b[?1049l";

/// Signals that would end the process without restoring the terminal, besides those of a run.
const KILLS: [signal::Signal; 2] = [signal::SIGHUP, signal::SIGQUIT];

static ENTERED: AtomicBool = AtomicBool::new(false);
static FD: AtomicI32 = AtomicI32::new(-1);
/// The modes as they were. They are never freed: a handler may be reading them.
static MODES: AtomicPtr<libc::termios> = AtomicPtr::new(std::ptr::null_mut());

/// Returns true if this process is in the foreground of its terminal and may draw on it
/// (tcgetpgrp(3)).
#[must_use]
pub fn is_in_foreground(fd: BorrowedFd<'_>) -> bool {
    unistd::tcgetpgrp(fd) == Ok(unistd::getpgrp())
}

/// Columns of a terminal (TIOCGWINSZ); `None` if it has no size.
#[must_use]
pub fn columns(fd: BorrowedFd<'_>) -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the call fills the structure that it is given.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (done == 0 && size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Shows the alternate screen of a terminal. Keys come one by one and are not shown; that
/// of `SIGINT` stays what it is, those that stop the process or the output do nothing.
///
/// # Errors
/// `ENOTTY` where there is no terminal, and whatever tcsetattr(3) or write(2) report.
pub fn enter(fd: BorrowedFd<'_>) -> io::Result<()> {
    let before = modes(fd)?;
    let mut ours = before;
    ours.c_lflag &= !(libc::ICANON | libc::ECHO);
    ours.c_iflag &= !libc::IXON;
    ours.c_cc[libc::VSUSP] = DISABLED;
    ours.c_cc[libc::VMIN] = 1;
    ours.c_cc[libc::VTIME] = 0;
    FD.store(fd.as_raw_fd(), Ordering::Relaxed);
    MODES.store(Box::into_raw(Box::new(before)), Ordering::Release);
    for signal in KILLS {
        leave_on(signal)?;
    }
    set_modes(fd.as_raw_fd(), &ours)?;
    ENTERED.store(true, Ordering::Release);
    super::io::write(fd, ENTER)
        .map(drop)
        .inspect_err(|_| leave())
}

/// `_POSIX_VDISABLE` (termios(3)).
const DISABLED: libc::cc_t = 0;

/// The terminal as it was before [`enter`]; nothing the second time, or without that.
pub fn leave() {
    if !ENTERED.swap(false, Ordering::AcqRel) {
        return;
    }
    let fd = FD.load(Ordering::Relaxed);
    // An error means that the terminal is gone.
    // SAFETY: LEAVE is as long as it says.
    unsafe { libc::write(fd, LEAVE.as_ptr().cast(), LEAVE.len()) };
    // SAFETY: what `enter` stored is never freed or changed.
    if let Some(modes) = unsafe { MODES.load(Ordering::Acquire).as_ref() } {
        // As above.
        drop(set_modes(fd, modes));
    }
}

/// tcgetattr(3).
fn modes(fd: BorrowedFd<'_>) -> io::Result<libc::termios> {
    let mut modes: libc::termios = zeroed();
    // SAFETY: `modes` is valid for writing.
    checked(unsafe { libc::tcgetattr(fd.as_raw_fd(), &raw mut modes) })?;
    Ok(modes)
}

/// tcsetattr(3), at once.
fn set_modes(fd: libc::c_int, modes: &libc::termios) -> io::Result<()> {
    // SAFETY: `modes` outlives the call.
    checked(unsafe { libc::tcsetattr(fd, libc::TCSANOW, modes) })
}

/// Longest answer to a question, bytes: the kernel keeps no longer line (termios(3)).
const LONGEST_ANSWER: usize = 4096;

/// Asks a question on the terminal of this process, and reads an answer that is not shown.
///
/// # Errors
/// `ENXIO` without a terminal, `Interrupted` if the user stops the process, `UnexpectedEof` without
/// an answer, and whatever tcsetattr(3) or read(2) report.
pub fn ask_secretly(question: &str) -> io::Result<Zeroizing<String>> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let before = modes(terminal.as_fd())?;
    let mut hidden = before;
    hidden.c_lflag &= !libc::ECHO;
    // The end of the line is shown.
    hidden.c_lflag |= libc::ECHONL;
    set_modes(terminal.as_raw_fd(), &hidden)?;
    let asked = terminal.write_all(question.as_bytes());
    let answer = asked.and_then(|()| read_answer(&mut terminal));
    set_modes(terminal.as_raw_fd(), &before)?;
    answer
}

/// Reads a line, without its end.
fn read_answer(terminal: &mut File) -> io::Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new([0; LONGEST_ANSWER]);
    let count = loop {
        match terminal.read(&mut *bytes) {
            Err(error)
                if error.kind() == io::ErrorKind::Interrupted && !alarm::stopped_by_user() => {}
            read => break read?,
        }
    };
    let line = bytes.get(..count).unwrap_or_default();
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let text = std::str::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
    if text.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Zeroizing::new(text.to_owned()))
}

/// Makes a signal restore the terminal before it ends the process. An ignored signal, as with
/// nohup(1), stays ignored.
fn leave_on(signal: signal::Signal) -> io::Result<()> {
    if signals::handler(signal as libc::c_int)? != libc::SIG_DFL {
        return Ok(());
    }
    let action = SigAction::new(
        SigHandler::Handler(on_kill),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: `on_kill` does only what a handler may.
    unsafe { signal::sigaction(signal, &action) }?;
    Ok(())
}

extern "C" fn on_kill(signal: libc::c_int) {
    leave();
    signals::raise_usual(signal);
}

/// kill(2): `SIGINT` to this process, as the terminal sends it.
pub fn interrupt_self() {
    // A process may signal itself.
    let _sent = signal::kill(Pid::this(), signal::SIGINT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn files_are_no_terminal() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let error = enter(null.as_fd()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        assert!(!is_in_foreground(null.as_fd()));
        leave();
    }
}
