//! Request/response over one connection or datagram socket.

use std::io;

use netperf_transport::Endpoint;

use super::Run;
use super::message::{Message, recv_all, send_all};
use crate::due::hooks::Hooks;
use crate::record::Recorder;
use crate::ring::Ring;
use crate::stop::{Ended, Phase, Stop};

/// netperf's side: keeps `burst + 1` requests in flight.
///
/// When the time is over no request is sent any more, and the responses to those
/// in flight are still collected, so that both ends count the same transactions.
///
/// # Errors
/// What the endpoint reports, such as a reset connection.
pub fn client<E: Endpoint, S: Stop, R: Recorder, P: Hooks>(
    endpoint: &mut E,
    (requests, responses): (&mut Ring, &mut Ring),
    burst: u32,
    run: Run<'_, S, R, P>,
) -> io::Result<Ended> {
    let Run {
        limit,
        stop,
        tally,
        recorder,
        hooks,
    } = run;
    let in_flight_at_most = u64::from(burst) + 1;
    let mut in_flight = 0;
    let mut mark = recorder.begin();
    // The mark is older than the last call.
    let mut stale = true;
    loop {
        while in_flight < in_flight_at_most && !limit.reached(tally.transactions + in_flight) {
            if stop.phase() != Phase::Running {
                break;
            }
            let request = requests.advance();
            if let Some(ended) = hooks.before(request, stop, tally) {
                if ended == Ended::TimeOver {
                    break;
                }
                return Ok(ended);
            }
            if stale || hooks.takes_time() {
                mark = recorder.begin();
            }
            recorder.asked(mark);
            stale = true;
            match send_all(endpoint, request, stop, tally)? {
                Message::Whole => in_flight += 1,
                Message::Ended(ended) => return Ok(ended),
                Message::End | Message::TimedOut => return Ok(Ended::ByPeer),
            }
        }
        if in_flight == 0 {
            let complete = limit.reached(tally.transactions);
            return Ok(if complete {
                Ended::Complete
            } else {
                Ended::TimeOver
            });
        }
        match recv_all(endpoint, responses.advance(), stop, tally)? {
            Message::Whole => {
                mark = recorder.answered();
                stale = false;
                tally.transactions += 1;
                in_flight -= 1;
                stop.progress(tally);
            }
            // A datagram was lost: what is in flight is forgotten (`-e`).
            Message::TimedOut => {
                recorder.forget();
                in_flight = 0;
            }
            Message::End => return Ok(Ended::ByPeer),
            Message::Ended(ended) => return Ok(ended),
        }
    }
}

/// netserver's side: a response for every request.
///
/// # Errors
/// What the endpoint reports, such as a reset connection.
pub fn server<E: Endpoint, S: Stop, R: Recorder, P: Hooks>(
    endpoint: &mut E,
    (requests, responses): (&mut Ring, &mut Ring),
    run: Run<'_, S, R, P>,
) -> io::Result<Ended> {
    let Run {
        limit,
        stop,
        tally,
        hooks,
        ..
    } = run;
    while !limit.reached(tally.transactions) {
        if stop.phase() == Phase::Abandon {
            return Ok(Ended::Abandoned);
        }
        match recv_all(endpoint, requests.advance(), stop, tally)? {
            Message::Whole => {}
            Message::TimedOut => continue,
            Message::End => return Ok(Ended::ByPeer),
            Message::Ended(ended) => return Ok(ended),
        }
        let response = responses.advance();
        if let Some(ended) = hooks.before(response, stop, tally) {
            return Ok(ended);
        }
        match send_all(endpoint, response, stop, tally)? {
            Message::Whole => tally.transactions += 1,
            Message::End | Message::TimedOut => return Ok(Ended::ByPeer),
            Message::Ended(ended) => return Ok(ended),
        }
    }
    Ok(Ended::Complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::ring::Layout;
    use crate::workload::message::testing::{Manual, plain};
    use netperf_model::Tally;
    use netperf_transport::scripted::Scripted;
    use netperf_transport::{Received, Sent};

    fn ring(size: u32) -> Ring {
        Ring::new(
            Layout {
                size,
                width: 1,
                align: 8,
                offset: 0,
            },
            None,
        )
        .unwrap()
    }

    fn run(wire: &mut Scripted, burst: u32, limit: Limit, mut stop: Manual) -> (Ended, Tally) {
        let mut tally = Tally::default();
        let rings = (&mut ring(4), &mut ring(6));
        let ended = client(wire, rings, burst, plain(limit, &mut stop, &mut tally)).unwrap();
        (ended, tally)
    }

    #[test]
    fn a_response_in_parts_is_one_transaction() {
        let mut wire = Scripted::new([Sent::Bytes(4)], [Received::Bytes(2), Received::Bytes(4)]);
        let (ended, tally) = run(&mut wire, 0, Limit::exactly(1), Manual::patient());
        assert_eq!(ended, Ended::Complete);
        assert_eq!(
            (tally.transactions, tally.recv_calls, tally.bytes_received),
            (1, 2, 6)
        );
    }

    #[test]
    fn a_burst_of_two_keeps_three_in_flight_and_asks_for_no_more_than_the_limit() {
        let mut wire = Scripted::new([Sent::Bytes(4); 4], [Received::Bytes(6); 4]);
        let (ended, tally) = run(&mut wire, 2, Limit::exactly(4), Manual::patient());
        assert_eq!(ended, Ended::Complete);
        assert_eq!((tally.send_calls, tally.transactions), (4, 4));
        assert!(wire.is_over());
    }

    #[test]
    fn responses_in_flight_are_collected_when_the_time_is_over() {
        let mut wire = Scripted::new([Sent::Bytes(4); 3], [Received::Bytes(6); 3]);
        let (ended, tally) = run(&mut wire, 2, Limit::NONE, Manual::stopping_after(3));
        assert_eq!(ended, Ended::TimeOver);
        assert_eq!(tally.transactions, 3);
    }

    #[test]
    fn a_timed_out_receive_starts_the_burst_again() {
        let script = [Received::TimedOut, Received::Bytes(6)];
        let mut wire = Scripted::new([Sent::Bytes(4); 2], script);
        let (ended, tally) = run(&mut wire, 0, Limit::exactly(1), Manual::patient());
        assert_eq!(ended, Ended::Complete);
        assert_eq!((tally.send_calls, tally.transactions), (2, 1));
    }

    #[test]
    fn what_does_not_finish_within_the_grace_is_not_counted() {
        let mut wire = Scripted::new([Sent::Bytes(4)], [Received::Interrupted]);
        let (ended, tally) = run(&mut wire, 0, Limit::NONE, Manual::impatient());
        assert_eq!(ended, Ended::Abandoned);
        assert_eq!(tally.transactions, 0);
    }

    #[test]
    fn the_server_ends_when_the_client_does() {
        let script = [Received::Bytes(6), Received::Bytes(6), Received::End];
        let mut wire = Scripted::new([Sent::Bytes(4); 2], script);
        let mut tally = Tally::default();
        let rings = (&mut ring(6), &mut ring(4));
        let mut stop = Manual::patient();
        let ended = server(&mut wire, rings, plain(Limit::NONE, &mut stop, &mut tally)).unwrap();
        assert_eq!(ended, Ended::ByPeer);
        assert_eq!(tally.transactions, 2);
    }
}
