//! Connections with a time limit, which a signal from outside ends.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock;
use netperf_os::io::{connect_result, goes_on};
use netperf_os::wait::{Interest, ready};
use netperf_os::{SockAddr, Socket, alarm};

/// Longest wait between two looks whether the user stops the program.
const LOOK: Duration = Duration::from_millis(100);

/// Connects a socket, which is a blocking one again afterwards.
///
/// # Errors
/// Whatever connect(2) reports; `ETIMEDOUT` if the time is over, `EINTR` if the user stops the
/// program.
pub fn connect_within(socket: &Socket, to: &SockAddr, within: Duration) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let connected = match socket.connect(to) {
        Err(error) if goes_on(&error) => connected(socket, within),
        done => done,
    };
    socket.set_nonblocking(false)?;
    connected
}

fn connected(socket: &Socket, within: Duration) -> io::Result<()> {
    let until = clock::now().plus(within);
    loop {
        if alarm::stopped_by_user() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let left = until.left();
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        let wait = left.min(LOOK) + Duration::from_millis(1);
        if ready(socket.as_fd(), Interest::Write, wait)? {
            return connect_result(socket.as_fd());
        }
    }
}
