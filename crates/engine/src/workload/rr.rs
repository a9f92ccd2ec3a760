//! Request/response over one connection or datagram socket.

use std::io;

use netperf_measure::recorder::Recorder;
use netperf_model::Tally;
use netperf_transport::Endpoint;

use super::LoopContext;
use super::message::{MessageResult, recv_all, send_all};
use crate::due::hooks::Hooks;
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
    run: LoopContext<'_, S, R, P>,
) -> io::Result<Ended> {
    let LoopContext {
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
                MessageResult::Whole => in_flight += 1,
                MessageResult::Ended(ended) => {
                    unanswered(in_flight, recorder, tally);
                    return Ok(ended);
                }
                MessageResult::End | MessageResult::TimedOut => return Ok(Ended::ByPeer),
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
            MessageResult::Whole => {
                mark = recorder.answered();
                stale = false;
                tally.transactions += 1;
                in_flight -= 1;
                stop.progress(tally);
            }
            // A datagram was lost: what is in flight is forgotten (`-e`).
            MessageResult::TimedOut => {
                recorder.forget();
                tally.unanswered += in_flight;
                in_flight = 0;
            }
            MessageResult::End => return Ok(Ended::ByPeer),
            MessageResult::Ended(ended) => {
                unanswered(in_flight, recorder, tally);
                return Ok(ended);
            }
        }
    }
}

/// Counts requests in flight when the loop is cut short.
#[cold]
#[inline(never)]
fn unanswered<R: Recorder>(in_flight: u64, recorder: &mut R, tally: &mut Tally) {
    recorder.unanswered(in_flight);
    tally.unanswered += in_flight;
}

/// netserver's side: a response for every request.
///
/// # Errors
/// What the endpoint reports, such as a reset connection.
pub fn server<E: Endpoint, S: Stop, R: Recorder, P: Hooks>(
    endpoint: &mut E,
    (requests, responses): (&mut Ring, &mut Ring),
    run: LoopContext<'_, S, R, P>,
) -> io::Result<Ended> {
    let LoopContext {
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
            MessageResult::Whole => {}
            MessageResult::TimedOut => continue,
            MessageResult::End => return Ok(Ended::ByPeer),
            MessageResult::Ended(ended) => return Ok(ended),
        }
        let response = responses.advance();
        if let Some(ended) = hooks.before(response, stop, tally) {
            return Ok(ended);
        }
        match send_all(endpoint, response, stop, tally)? {
            MessageResult::Whole => tally.transactions += 1,
            MessageResult::End | MessageResult::TimedOut => return Ok(Ended::ByPeer),
            MessageResult::Ended(ended) => return Ok(ended),
        }
    }
    Ok(Ended::Complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::RunLimit;
    use crate::ring::RingLayout;
    use crate::workload::message::testing::{Manual, plain};
    use netperf_transport::scripted::Scripted;
    use netperf_transport::{Received, Sent};

    fn ring(size: u32) -> Ring {
        Ring::new(
            RingLayout {
                size,
                width: 1,
                align: 8,
                offset: 0,
            },
            None,
        )
        .unwrap()
    }

    fn run(wire: &mut Scripted, burst: u32, limit: RunLimit, mut stop: Manual) -> (Ended, Tally) {
        let mut tally = Tally::default();
        let rings = (&mut ring(4), &mut ring(6));
        let ended = client(wire, rings, burst, plain(limit, &mut stop, &mut tally)).unwrap();
        (ended, tally)
    }

    #[test]
    fn a_response_in_parts_is_one_transaction() {
        let mut wire = Scripted::new([Sent::Bytes(4)], [Received::Bytes(2), Received::Bytes(4)]);
        let (ended, tally) = run(&mut wire, 0, RunLimit::exactly(1), Manual::patient());
        assert_eq!(ended, Ended::Complete);
        assert_eq!(
            (tally.transactions, tally.recv_calls, tally.bytes_received),
            (1, 2, 6)
        );
    }

    #[test]
    fn a_burst_of_two_keeps_three_in_flight_and_asks_for_no_more_than_the_limit() {
        let mut wire = Scripted::new([Sent::Bytes(4); 4], [Received::Bytes(6); 4]);
        let (ended, tally) = run(&mut wire, 2, RunLimit::exactly(4), Manual::patient());
        assert_eq!(ended, Ended::Complete);
        assert_eq!((tally.send_calls, tally.transactions), (4, 4));
        assert!(wire.is_over());
    }

    #[test]
    fn responses_in_flight_are_collected_when_the_time_is_over() {
        let mut wire = Scripted::new([Sent::Bytes(4); 3], [Received::Bytes(6); 3]);
        let (ended, tally) = run(&mut wire, 2, RunLimit::NONE, Manual::stopping_after(3));
        assert_eq!(ended, Ended::TimeOver);
        assert_eq!(tally.transactions, 3);
    }

    #[test]
    fn a_timed_out_receive_starts_the_burst_again() {
        let script = [Received::TimedOut, Received::Bytes(6)];
        let mut wire = Scripted::new([Sent::Bytes(4); 2], script);
        let (ended, tally) = run(&mut wire, 0, RunLimit::exactly(1), Manual::patient());
        assert_eq!(ended, Ended::Complete);
        assert_eq!((tally.send_calls, tally.transactions), (2, 1));
        assert_eq!(tally.unanswered, 1);
    }

    #[test]
    fn transaction_that_exceeds_the_grace_period_is_not_counted() {
        let mut wire = Scripted::new([Sent::Bytes(4)], [Received::Interrupted]);
        let (ended, tally) = run(&mut wire, 0, RunLimit::NONE, Manual::impatient());
        assert_eq!(ended, Ended::Abandoned);
        assert_eq!((tally.transactions, tally.unanswered), (0, 1));
    }

    #[test]
    fn the_server_ends_when_the_client_does() {
        let script = [Received::Bytes(6), Received::Bytes(6), Received::End];
        let mut wire = Scripted::new([Sent::Bytes(4); 2], script);
        let mut tally = Tally::default();
        let rings = (&mut ring(6), &mut ring(4));
        let mut stop = Manual::patient();
        let ended = server(
            &mut wire,
            rings,
            plain(RunLimit::NONE, &mut stop, &mut tally),
        )
        .unwrap();
        assert_eq!(ended, Ended::ByPeer);
        assert_eq!(tally.transactions, 2);
    }
}
