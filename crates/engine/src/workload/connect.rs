//! A connection for each transaction.

use std::io;

use netperf_measure::recorder::Recorder;
use netperf_model::Tally;
use netperf_transport::{Endpoint, Received};

use super::LoopContext;
use super::message::{MessageResult, recv_all, send_all};
use crate::due::hooks::Hooks;
use crate::limit::RunLimit;
use crate::ring::Ring;
use crate::stop::{Ended, Phase, Stop};

/// Messages of a connection.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// Sent on every connection, if anything is.
    pub send: Option<&'a mut Ring>,
    /// Received on every connection, if anything is.
    pub recv: Option<&'a mut Ring>,
}

/// Result of opening a connection.
#[derive(Debug)]
pub enum NextConnection<E> {
    /// A connection to use.
    Ready(E),
    /// None this time: try again.
    Again,
    /// The loop must end.
    Ended(Ended),
}

/// netperf's side: connect, exchange, wait for netserver to close, close.
///
/// `half_close` ends our direction first, for peers that wait for it (`-N`).
///
/// # Errors
/// What `dial` and the endpoint report.
pub fn client<E, S, R, P>(
    mut dial: impl FnMut(&mut S, &Tally) -> io::Result<NextConnection<E>>,
    mut half_close: impl FnMut(&mut E) -> io::Result<()>,
    mut exchange: Exchange<'_>,
    run: LoopContext<'_, S, R, P>,
) -> io::Result<Ended>
where
    E: Endpoint,
    S: Stop,
    R: Recorder,
    P: Hooks,
{
    let LoopContext {
        limit,
        stop,
        tally,
        recorder,
        hooks,
    } = run;
    while !limit.reached(tally.transactions) {
        if stop.phase() != Phase::Running {
            return Ok(Ended::TimeOver);
        }
        let buffer = exchange
            .send
            .as_mut()
            .map_or(&mut [][..], |ring| ring.advance());
        if let Some(ended) = hooks.before(buffer, stop, tally) {
            return Ok(ended);
        }
        let mark = recorder.begin();
        let mut endpoint = match dial(stop, tally)? {
            NextConnection::Ready(endpoint) => endpoint,
            NextConnection::Again => continue,
            NextConnection::Ended(ended) => return Ok(unanswered(ended, mark, recorder, tally)),
        };
        if !buffer.is_empty() {
            if let MessageResult::Ended(ended) = send_all(&mut endpoint, buffer, stop, tally)? {
                return Ok(unanswered(ended, mark, recorder, tally));
            }
        }
        if let Some(ring) = &mut exchange.recv {
            match answered(recv_all(&mut endpoint, ring.advance(), stop, tally))? {
                MessageResult::Whole => {}
                MessageResult::Ended(ended) => {
                    return Ok(unanswered(ended, mark, recorder, tally));
                }
                // Closed before the whole response came: no transaction.
                MessageResult::End | MessageResult::TimedOut => continue,
            }
        }
        half_close(&mut endpoint)?;
        if let Some(ended) = until_closed(&mut endpoint, stop, tally)? {
            return Ok(unanswered(ended, mark, recorder, tally));
        }
        recorder.end(mark);
        tally.transactions += 1;
        stop.progress(tally);
    }
    Ok(Ended::Complete)
}

/// Counts a transaction that is under way when the loop is cut short. It took at least the time
/// until now.
#[cold]
fn unanswered<R: Recorder>(
    ended: Ended,
    mark: R::Mark,
    recorder: &mut R,
    tally: &mut Tally,
) -> Ended {
    if matches!(ended, Ended::Abandoned | Ended::Lost(_)) {
        recorder.end(mark);
        tally.unanswered += 1;
    }
    ended
}

/// vsock(7) has a peer that closed at once hide what it sent: that is no answer, and no
/// error of the test.
fn answered(received: io::Result<MessageResult>) -> io::Result<MessageResult> {
    match received {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(MessageResult::End),
        other => other,
    }
}

/// More bytes than this, of which none was asked for, come from a peer that means no end.
pub(crate) const UNASKED: usize = 1 << 20;

/// Waits for the peer to close. A reset is a close, too: nothing was left to say.
fn until_closed<E: Endpoint, S: Stop>(
    endpoint: &mut E,
    stop: &mut S,
    tally: &Tally,
) -> io::Result<Option<Ended>> {
    let mut scrap = [0; 64];
    let mut unasked = 0;
    loop {
        // A peer that never pauses never lets a receive block, and be interrupted.
        if stop.phase() == Phase::Abandon {
            return Ok(Some(Ended::Abandoned));
        }
        match endpoint.recv(&mut scrap) {
            Ok(Received::Bytes(count)) => {
                unasked += count;
                if unasked > UNASKED {
                    return Err(io::Error::other("more comes than was asked for"));
                }
            }
            Ok(Received::TimedOut) => {}
            Ok(Received::End) => return Ok(None),
            Ok(Received::Interrupted) => {
                if let Some(ended) = stop.interrupted(tally) {
                    return Ok(Some(ended));
                }
            }
            Err(error) if is_closed(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// A reset; vsock(7) also says that a connection that the peer closed is none.
fn is_closed(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::ConnectionReset || kind == io::ErrorKind::NotConnected
}

/// netserver's side: accept, exchange, close first.
///
/// A client that goes away in the middle of an exchange costs that transaction
/// and nothing more. `accept` decides when there is nothing left to wait for. Requests are
/// `whole` messages, or whatever the first receive brings.
///
/// # Errors
/// What `accept` reports.
pub fn server<E, S>(
    mut accept: impl FnMut(&mut S, &Tally) -> io::Result<NextConnection<E>>,
    mut exchange: Exchange<'_>,
    whole: bool,
    limit: RunLimit,
    stop: &mut S,
    tally: &mut Tally,
) -> io::Result<Ended>
where
    E: Endpoint,
    S: Stop,
{
    while !limit.reached(tally.transactions) {
        if stop.phase() == Phase::Abandon {
            return Ok(Ended::Abandoned);
        }
        let mut endpoint = match accept(stop, tally)? {
            NextConnection::Ready(endpoint) => endpoint,
            NextConnection::Again => continue,
            NextConnection::Ended(ended) => return Ok(ended),
        };
        match serve(&mut endpoint, &mut exchange, whole, stop, tally) {
            Ok(MessageResult::Whole) => {
                tally.transactions += 1;
                endpoint.settle();
            }
            Ok(MessageResult::Ended(ended)) => return Ok(ended),
            Ok(MessageResult::End | MessageResult::TimedOut) | Err(_) => {}
        }
    }
    Ok(Ended::Complete)
}

fn serve<E: Endpoint, S: Stop>(
    endpoint: &mut E,
    exchange: &mut Exchange<'_>,
    whole: bool,
    stop: &mut S,
    tally: &mut Tally,
) -> io::Result<MessageResult> {
    if let Some(ring) = &mut exchange.recv {
        let request = if whole {
            recv_all(endpoint, ring.advance(), stop, tally)?
        } else {
            recv_once(endpoint, ring.advance(), stop, tally)?
        };
        if request != MessageResult::Whole {
            return Ok(request);
        }
    }
    match &mut exchange.send {
        Some(ring) => send_all(endpoint, ring.advance(), stop, tally),
        None => Ok(MessageResult::Whole),
    }
}

/// Without a request size, what one receive brings is the request.
fn recv_once<E: Endpoint, S: Stop>(
    endpoint: &mut E,
    buf: &mut [u8],
    stop: &mut S,
    tally: &mut Tally,
) -> io::Result<MessageResult> {
    loop {
        match endpoint.recv(buf)? {
            Received::Bytes(count) => {
                tally.bytes_received += count as u64;
                tally.recv_calls += 1;
                return Ok(MessageResult::Whole);
            }
            Received::End => return Ok(MessageResult::End),
            Received::TimedOut => return Ok(MessageResult::TimedOut),
            Received::Interrupted => {
                if let Some(ended) = stop.interrupted(tally) {
                    return Ok(MessageResult::Ended(ended));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::RunLimit;
    use crate::ring::RingLayout;
    use crate::workload::message::testing::{Manual, plain};
    use netperf_transport::Sent;
    use netperf_transport::scripted::Scripted;

    fn ring() -> Ring {
        Ring::new(
            RingLayout {
                size: 4,
                width: 1,
                align: 8,
                offset: 0,
            },
            None,
        )
        .unwrap()
    }

    fn connections(
        scripts: Vec<Scripted>,
    ) -> impl FnMut(&mut Manual, &Tally) -> io::Result<NextConnection<Scripted>> {
        let mut scripts = scripts.into_iter();
        move |_, _| {
            Ok(scripts.next().map_or(
                NextConnection::Ended(Ended::TimeOver),
                NextConnection::Ready,
            ))
        }
    }

    fn whole() -> Scripted {
        Scripted::new([Sent::Bytes(4)], [Received::Bytes(4), Received::End])
    }

    #[test]
    fn every_connection_is_one_transaction() {
        let (mut out, mut back, mut tally) = (ring(), ring(), Tally::default());
        let exchange = Exchange {
            send: Some(&mut out),
            recv: Some(&mut back),
        };
        let dial = connections(vec![whole(), whole(), whole()]);
        let mut stop = Manual::patient();
        let ended = client(
            dial,
            |_| Ok(()),
            exchange,
            plain(RunLimit::exactly(2), &mut stop, &mut tally),
        )
        .unwrap();
        assert_eq!((ended, tally.transactions), (Ended::Complete, 2));
    }

    #[test]
    fn a_peer_that_never_stops_sending_ends_the_run_instead_of_a_transaction() {
        let endless = || {
            let unasked = std::iter::repeat_n(Received::Bytes(64), UNASKED / 64 + 1);
            let answer = [Received::Bytes(4)];
            Scripted::new([Sent::Bytes(4)], answer.into_iter().chain(unasked))
        };
        let run = |mut stop: Manual| {
            let (mut out, mut back, mut tally) = (ring(), ring(), Tally::default());
            let exchange = Exchange {
                send: Some(&mut out),
                recv: Some(&mut back),
            };
            let run = plain(RunLimit::exactly(1), &mut stop, &mut tally);
            client(connections(vec![endless()]), |_| Ok(()), exchange, run)
        };
        assert!(run(Manual::patient()).is_err());
        assert_eq!(run(Manual::abandoned_after(9)).unwrap(), Ended::Abandoned);
    }

    #[test]
    fn a_client_that_goes_away_costs_one_transaction_and_not_the_test() {
        let (mut out, mut back, mut tally) = (ring(), ring(), Tally::default());
        let exchange = Exchange {
            send: Some(&mut out),
            recv: Some(&mut back),
        };
        let gone = Scripted::new([], [Received::Bytes(2), Received::End]);
        let reset = Scripted::new([], [Received::Bytes(4)]);
        let accept = connections(vec![whole(), gone, reset, whole()]);
        let mut stop = Manual::patient();
        let ended = server(
            accept,
            exchange,
            true,
            RunLimit::NONE,
            &mut stop,
            &mut tally,
        )
        .unwrap();
        assert_eq!((ended, tally.transactions), (Ended::TimeOver, 2));
    }
}
