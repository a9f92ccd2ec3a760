//! Messages that come over a connection and are returned.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_measure::{clock, overtime};
use netperf_os::io::{recv, send};

use super::{STALLED, Transfer, TransferCounts, TransferEnd, ended_by};

/// Returns messages of the length of `message` until the peer ends. The first `have` bytes of the
/// first have been read before. `turn` changes each before it is returned. Both
/// directions are counted.
/// `longest` limits the whole time, and an outage within it.
///
/// # Errors
/// Whatever recv(2) or send(2) reports, except that the peer has closed the connection.
pub fn return_messages(
    fd: BorrowedFd<'_>,
    message: &mut [u8],
    (mut have, longest): (usize, Duration),
    counts: &TransferCounts,
    stop: &AtomicBool,
    mut turn: impl FnMut(&mut [u8]),
) -> io::Result<Transfer> {
    let start = clock::now();
    let mut run = Transfer::begun(0);
    let outage = longest.clamp(STALLED, overtime::OF_OWN_DATA);
    let (mut last, mut returned) = (start, message.len());
    loop {
        if stop.load(Ordering::Relaxed) {
            run.end = TransferEnd::Stopped;
            break;
        }
        if last.since(start) >= longest {
            run.end = TransferEnd::Overrun;
            break;
        }
        let answer = message.get(returned..).filter(|rest| !rest.is_empty());
        let answers = answer.is_some();
        let moved = match answer {
            Some(rest) => send(fd, rest).map(|count| returned += count),
            None => match recv(fd, message.get_mut(have..).unwrap_or_default()) {
                Ok(0) => break,
                received => received.map(|count| have += count),
            },
        };
        match moved {
            Ok(()) => last = clock::now(),
            Err(error) => {
                if let Some(end) = ended_by(error, clock::now().since(last), outage)? {
                    run.end = end;
                    break;
                }
            }
        }
        if answers && returned == message.len() {
            run.count(returned as u64, counts);
        }
        if have == message.len() {
            run.count(have as u64, counts);
            if let Some(reads) = &counts.reads {
                reads.count(have);
            }
            turn(message);
            (have, returned) = (0, 0);
        }
    }
    run.elapsed = clock::now().since(start);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn messages_are_returned_with_their_change_until_the_peer_ends() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let peer = std::thread::spawn(move || {
            // The first two bytes have been read before.
            far.write_all(b"c").unwrap();
            let mut returned = [0; 3];
            far.read_exact(&mut returned).unwrap();
            far.write_all(b"defx").unwrap();
            far.shutdown(Shutdown::Write).unwrap();
            let mut rest = Vec::new();
            far.read_to_end(&mut rest).unwrap();
            (returned, rest)
        });
        let (counts, stop) = (TransferCounts::default(), AtomicBool::new(false));
        let mut message = *b"ab\0";
        let limit = (2, Duration::from_secs(60));
        let turn = |message: &mut [u8]| message.make_ascii_uppercase();
        let run = return_messages(near.as_fd(), &mut message, limit, &counts, &stop, turn);
        let run = run.unwrap();
        drop(near);
        assert_eq!(peer.join().unwrap(), (*b"ABC", b"DEF".to_vec()));
        assert_eq!(
            (run.bytes, run.calls, run.end),
            (12, 4, TransferEnd::Complete)
        );
    }
}
