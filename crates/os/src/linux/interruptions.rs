//! Interrupts blocked calls now and then, on a system whose sockets have no time-outs
//! (`SO_RCVTIMEO`, `SO_SNDTIMEO`).
//!
//! A caller that blocks with a time-out looks around when a call is interrupted, too, because the
//! alarm interrupts calls as well. A separate thread sends `SIGURG`, whose default is to do
//! nothing, to every thread that asked for it.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet};

use super::without::{signal_thread, thread_id};
use super::{alarm, process};

/// Time between two interruptions.
const EVERY: Duration = Duration::from_millis(20);

/// Threads that are interrupted.
static THREADS: Mutex<Vec<libc::pid_t>> = Mutex::new(Vec::new());

thread_local! {
    static THIS_THREAD: Registration = const { Registration(Cell::new(0)) };
}

/// The entry of a thread in the list; it goes with the thread.
struct Registration(Cell<libc::pid_t>);

impl Drop for Registration {
    fn drop(&mut self) {
        let thread = self.0.get();
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|one| *one != thread);
    }
}

/// Returns true if any thread is or was interrupted.
static BEGAN: AtomicBool = AtomicBool::new(false);

/// Interrupts this thread, too, if another is: sockets are made ready by one thread and block
/// another.
pub(super) fn join() {
    if BEGAN.load(Ordering::Relaxed) {
        // Without it calls of this thread block for as long as the other end wants.
        let _interrupted = begin();
    }
}

/// Interrupts blocked calls of this thread from now on.
///
/// # Errors
/// When there are too many threads.
pub(super) fn begin() -> io::Result<()> {
    THIS_THREAD.with(|registration| {
        if registration.0.get() != 0 {
            return Ok(());
        }
        install_handler()?;
        // Threads that move data leave signals to others.
        alarm::unblock(signal::SIGURG);
        let thread = thread_id();
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.is_empty() {
            let builder = std::thread::Builder::new().name("interruptions".to_owned());
            builder.spawn(interrupt)?;
        }
        threads.push(thread);
        BEGAN.store(true, Ordering::Relaxed);
        registration.0.set(thread);
        Ok(())
    })
}

/// Interrupts threads until there are none.
fn interrupt() {
    // Without it a signal to the process would end no call of another thread.
    let _none_blocked = process::block_signals();
    loop {
        std::thread::sleep(EVERY);
        let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.is_empty() {
            return;
        }
        for thread in threads.iter() {
            signal_thread(*thread, libc::SIGURG);
        }
    }
}

/// The handler does nothing, and does not restart the call.
fn install_handler() -> io::Result<()> {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // No flags: no SA_RESTART.
    let action = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing.
    unsafe { signal::sigaction(signal::SIGURG, &action) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_blocked_call_is_interrupted_again_and_again_until_its_thread_ends() {
        let blocked = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            process::block_signals().unwrap();
            begin().unwrap();
            begin().unwrap();
            for _ in 0..3 {
                let interrupted = socket.recv(&mut [0; 1]).unwrap_err();
                assert_eq!(interrupted.kind(), io::ErrorKind::Interrupted);
            }
            thread_id()
        };
        join();
        for _ in 0..2 {
            let thread = std::thread::spawn(blocked).join().unwrap();
            assert!(!THREADS.lock().unwrap().contains(&thread));
        }
        let joined = std::thread::spawn(|| {
            join();
            THREADS.lock().unwrap().contains(&thread_id())
        });
        assert!(joined.join().unwrap());
        assert!(!THREADS.lock().unwrap().contains(&thread_id()));
    }
}
