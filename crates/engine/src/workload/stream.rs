//! Data in one direction.

use std::io;

use netperf_measure::recorder::Recorder;
use netperf_transport::{Endpoint, Received, Sent};

use super::LoopContext;
use crate::due::hooks::Hooks;
use crate::ring::Ring;
use crate::stop::{Ended, Phase, Stop};

/// Sends until the time or the limit is reached.
///
/// Every byte that the kernel took is counted, those of a send that a signal cut
/// short as well: the receiver counts them too.
///
/// # Errors
/// What the endpoint reports, such as a reset connection.
pub fn send<E: Endpoint, S: Stop, R: Recorder, P: Hooks>(
    endpoint: &mut E,
    ring: &mut Ring,
    run: LoopContext<'_, S, R, P>,
) -> io::Result<Ended> {
    let LoopContext {
        limit,
        stop,
        tally,
        recorder,
        hooks,
    } = run;
    let mut mark = recorder.begin();
    // The mark is older than the last call.
    let mut stale = false;
    loop {
        if stop.phase() != Phase::Running {
            recorder.cut_off(mark);
            return Ok(Ended::TimeOver);
        }
        let space = limit.space(tally.bytes_sent, ring.size());
        if space == 0 {
            return Ok(Ended::Complete);
        }
        let buffer = ring.advance();
        if let Some(ended) = hooks.before(buffer, stop, tally) {
            return Ok(ended);
        }
        if stale || hooks.takes_time() {
            mark = recorder.begin();
        }
        match endpoint.send(&buffer[..space])? {
            Sent::Bytes(count) => {
                // A call that a signal cut short is resumed.
                stale = false;
                if count == space {
                    mark = recorder.end(mark);
                }
                tally.bytes_sent += count as u64;
                tally.send_calls += endpoint.messages_sent(count);
                tally.failed_sends += endpoint.take_dropped();
                stop.progress(tally);
            }
            sent @ (Sent::Dropped | Sent::Interrupted) => {
                // An interrupted operation goes on.
                stale = sent == Sent::Dropped;
                tally.failed_sends += u64::from(stale) + endpoint.take_dropped();
                // Sends that fail do not block, and are not interrupted.
                let looks = !stale || tally.failed_sends % 4096 == 0;
                if let Some(ended) = looks.then(|| stop.interrupted(tally)).flatten() {
                    recorder.cut_off(mark);
                    return Ok(ended);
                }
            }
        }
    }
}

/// Receives until the peer finishes, the limit is reached or patience is over.
///
/// # Errors
/// What the endpoint reports, such as a reset connection.
pub fn receive<E: Endpoint, S: Stop, R: Recorder, P: Hooks>(
    endpoint: &mut E,
    ring: &mut Ring,
    run: LoopContext<'_, S, R, P>,
) -> io::Result<Ended> {
    let LoopContext {
        limit,
        stop,
        tally,
        recorder,
        hooks,
    } = run;
    let mut mark = recorder.begin();
    loop {
        // A sender that never pauses never lets a receive block, and be interrupted.
        if stop.phase() != Phase::Running {
            if let Some(ended) = stop.overtime(tally) {
                recorder.cut_off(mark);
                return Ok(ended);
            }
        }
        let buffer = ring.advance();
        match hooks.before(buffer, stop, tally) {
            // Pacing has ended; data in flight still counts.
            None | Some(Ended::TimeOver) => {}
            Some(ended) => return Ok(ended),
        }
        if hooks.takes_time() {
            mark = recorder.begin();
        }
        match endpoint.recv(buffer)? {
            Received::Bytes(count) => {
                mark = recorder.end(mark);
                hooks.arrived(endpoint, buffer, count);
                tally.bytes_received += count as u64;
                tally.recv_calls += endpoint.messages_received();
                stop.progress(tally);
                if limit.reached(tally.bytes_received) {
                    return Ok(Ended::Complete);
                }
            }
            Received::End => return Ok(Ended::ByPeer),
            Received::Interrupted | Received::TimedOut => {
                if let Some(ended) = stop.interrupted(tally) {
                    recorder.cut_off(mark);
                    return Ok(ended);
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
    use netperf_model::Tally;
    use netperf_transport::scripted::Scripted;

    fn ring() -> Ring {
        Ring::new(
            RingLayout {
                size: 10,
                width: 2,
                align: 8,
                offset: 0,
            },
            None,
        )
        .unwrap()
    }

    #[test]
    fn a_short_send_at_the_end_of_time_is_counted() {
        let mut wire = Scripted::new([Sent::Bytes(10), Sent::Bytes(4)], []);
        let mut tally = Tally::default();
        let mut stop = Manual::stopping_after(2);
        let ended = send(
            &mut wire,
            &mut ring(),
            plain(RunLimit::NONE, &mut stop, &mut tally),
        )
        .unwrap();
        assert_eq!(ended, Ended::TimeOver);
        assert_eq!((tally.bytes_sent, tally.send_calls), (14, 2));
    }

    #[test]
    fn a_byte_limit_is_met_exactly_by_a_shorter_last_send() {
        let mut wire = Scripted::new([Sent::Bytes(10), Sent::Bytes(10), Sent::Bytes(5)], []);
        let mut tally = Tally::default();
        let mut stop = Manual::patient();
        let ended = send(
            &mut wire,
            &mut ring(),
            plain(RunLimit::exactly(25), &mut stop, &mut tally),
        )
        .unwrap();
        assert_eq!(ended, Ended::Complete);
        assert_eq!(wire.offered, [10, 10, 5]);
    }

    #[test]
    fn datagrams_stay_whole_under_a_byte_limit() {
        let mut wire = Scripted::new([Sent::Bytes(10), Sent::Dropped, Sent::Bytes(10)], []);
        let limit = RunLimit::at_least(15, 10);
        let mut tally = Tally::default();
        let mut stop = Manual::patient();
        let ended = send(&mut wire, &mut ring(), plain(limit, &mut stop, &mut tally)).unwrap();
        assert_eq!(ended, Ended::Complete);
        assert_eq!((tally.bytes_sent, tally.failed_sends), (20, 1));
    }

    #[test]
    fn receiving_ends_with_the_grace_even_if_data_never_pauses() {
        let mut wire = Scripted::new([], [Received::Bytes(10); 9]);
        let mut tally = Tally::default();
        let mut stop = Manual::abandoned_after(3);
        let ended = receive(
            &mut wire,
            &mut ring(),
            plain(RunLimit::NONE, &mut stop, &mut tally),
        )
        .unwrap();
        assert_eq!(ended, Ended::Abandoned);
        assert_eq!(tally.recv_calls, 3);
    }

    #[test]
    fn receiving_goes_on_after_an_interruption_until_the_peer_finishes() {
        let script = [
            Received::Bytes(10),
            Received::Interrupted,
            Received::Bytes(3),
            Received::End,
        ];
        let mut wire = Scripted::new([], script);
        let mut tally = Tally::default();
        let mut stop = Manual::patient();
        let ended = receive(
            &mut wire,
            &mut ring(),
            plain(RunLimit::NONE, &mut stop, &mut tally),
        )
        .unwrap();
        assert_eq!(ended, Ended::ByPeer);
        assert_eq!((tally.bytes_received, tally.recv_calls), (13, 2));
    }
}
