//! Connections that a test makes itself.

use std::io::{ErrorKind, Read as _};
use std::net::TcpStream;

/// Waits until the other end closes the connection, no longer than the connection's read
/// timeout. Says whether it did, without a byte before.
///
/// A read with a timeout may be interrupted, and is then begun again.
pub fn is_closed(mut stream: &TcpStream) -> bool {
    loop {
        match stream.read(&mut [0; 1]) {
            Ok(count) => return count == 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Closed with something unread is a reset.
            Err(error) => return error.kind() == ErrorKind::ConnectionReset,
        }
    }
}
