//! The state machines of iperf 2 receive arbitrary bytes in arbitrary pieces: each ends, reads and
//! sends no more than its limits, and connects only to the port that the sandbox permits.
//!
//! The first byte of the input chooses the machine.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_iperf2::states::connection::{
    self, ConnectionEffect, ConnectionInput, ConnectionState, HEADER_TIME, PORT_BYTES,
    asks_for_port,
};
use netperf_iperf2::states::finish::{self, FinishEffect, FinishInput, FinishState, MOST_FINALS};
use netperf_iperf2::states::flow::{
    DatagramFlow, FlowAction, FlowSending, FlowStage, IDLE, MOST_IDLE, MOST_REPORTS,
};
use netperf_iperf2::states::{LEAST_DATAGRAM, MOST_BLOCK, MOST_DATAGRAM, SendOrder};
use netperf_iperf2::messages::{MOST_BOUNCEBACK, MOST_HEADER, MOST_KEY, WireTime};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    match kind % 3 {
        0 => connection_of(rest),
        1 => flow_of(rest),
        _ => finish_of(rest),
    }
});

/// A connection whose bytes come in pieces of the size of the first byte; 0 stands for all that
/// is expected. The second byte tells after how many effects a transfer fails.
fn connection_of(bytes: &[u8]) {
    let Some(([piece, fails], stream)) = bytes.split_first_chunk() else {
        return;
    };
    let (mut rest, mut transfers) = (stream, 0);
    let (mut state, mut effects) = connection::start();
    while state != ConnectionState::Closed {
        let mut input = ConnectionInput::Failed;
        for effect in &effects {
            input = match effect {
                ConnectionEffect::Expect(count, within) => {
                    assert!(*count > 0 && *within <= HEADER_TIME);
                    let most = match piece {
                        0 => *count,
                        piece => usize::from(*piece).min(*count),
                    };
                    let (now, later) = rest.split_at(most.min(rest.len()));
                    rest = later;
                    match now {
                        [] => ConnectionInput::Ended,
                        _ => ConnectionInput::Arrived(now.to_vec(), WireTime::default()),
                    }
                }
                ConnectionEffect::Answer(answer) => {
                    assert!(answer.len() <= MOST_HEADER);
                    continue;
                }
                ConnectionEffect::Refuse(_) | ConnectionEffect::Close => {
                    panic!("{effect:?} before the last state")
                }
                transfer => {
                    check_transfer(transfer, stream);
                    transfers += 1;
                    if transfers > *fails {
                        ConnectionInput::Failed
                    } else {
                        ConnectionInput::Done
                    }
                }
            };
        }
        let read = stream.len() - rest.len();
        assert!(read <= MOST_HEADER + MOST_KEY, "{read} bytes of a header");
        (state, effects) = connection::step(state, input);
    }
    assert!(transfers <= 2, "{transfers} transfers");
    assert_eq!(effects.last(), Some(&ConnectionEffect::Close));
    if let Some(ConnectionEffect::Refuse(refusal)) = effects.first() {
        let line = refusal.to_string();
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

fn check_transfer(transfer: &ConnectionEffect, stream: &[u8]) {
    let (order, port) = match transfer {
        ConnectionEffect::Receive(_) => return,
        ConnectionEffect::Bounce(first, message) => {
            assert!(first.len() <= message.size && message.size <= MOST_BOUNCEBACK);
            return;
        }
        ConnectionEffect::Send(order) | ConnectionEffect::Exchange(_, order) => (order, None),
        ConnectionEffect::ExchangeBack(_, port, order)
        | ConnectionEffect::SendBack(port, order) => (order, Some(*port)),
        other => panic!("no transfer: {other:?}"),
    };
    assert!((1..=MOST_BLOCK).contains(&order.block), "{order:?}");
    if let Some(port) = port {
        // The session may connect only to what its first bytes ask for.
        let first: [u8; PORT_BYTES] = *stream.first_chunk().expect("the header");
        assert_eq!(asks_for_port(first), Some(port));
    }
}

/// The next piece, behind a byte with its length.
fn piece<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first()?;
    let (piece, rest) = rest.split_at(rest.len().min(usize::from(*length)));
    *bytes = rest;
    Some(piece)
}

/// A flow of datagrams from one source.
fn flow_of(mut bytes: &[u8]) {
    let Some(first) = piece(&mut bytes) else {
        return;
    };
    let Some(Ok(mut flow)) = DatagramFlow::begin(first) else {
        return;
    };
    if let Some(sending) = flow.sending {
        let (FlowSending::Reverse(order)
        | FlowSending::Both(order)
        | FlowSending::Back(_, _, order)) = sending;
        check_datagrams(&order);
    }
    assert!((IDLE..=MOST_IDLE).contains(&flow.idle_time()));
    let (mut next, mut arrived, mut answered, mut now) = (Some(first), 0, 0, 0);
    while let Some(datagram) = next {
        arrived += datagram.len();
        now += 1000;
        let before = (flow.stage, flow.account);
        let action = flow.take(datagram, now);
        match (before.0, action) {
            (FlowStage::Receiving, FlowAction::Counted) => {
                assert!(flow.report(datagram).is_none(), "a report before the end");
            }
            (FlowStage::Receiving, FlowAction::Finished | FlowAction::Ignored)
            | (FlowStage::Finished(_), FlowAction::Repeated | FlowAction::Ignored) => {}
            (stage, action) => panic!("{action:?} in {stage:?}"),
        }
        if matches!(before.0, FlowStage::Finished(_)) {
            assert_eq!((flow.stage, flow.account), before, "counted after the end");
        }
        if matches!(action, FlowAction::Finished | FlowAction::Repeated) {
            answered += flow.report(datagram).map_or(0, |report| report.len());
        }
        assert!(answered <= arrived, "{answered} bytes for {arrived}");
        assert!(flow.reports <= MOST_REPORTS);
        assert!(flow.account.jitter() >= 0.0);
        assert!(usize::try_from(flow.account.all_bytes).expect("few bytes") <= arrived);
        next = piece(&mut bytes);
    }
    let new = flow.stage != FlowStage::Receiving || !flow.gives_way_to(first);
    assert!(new, "a flow that goes on gives way");
}

fn check_datagrams(order: &SendOrder) {
    assert!((LEAST_DATAGRAM..=MOST_DATAGRAM).contains(&order.block));
    assert!(order.rate.is_some(), "datagrams without a rate");
}

/// The end of a client's flow: answers, and waits in which none comes.
fn finish_of(bytes: &[u8]) {
    let Some((last, mut rest)) = bytes.split_first_chunk() else {
        return;
    };
    let last = i64::from_be_bytes(*last);
    let awaits = rest.first().is_some_and(|byte| byte & 1 == 0);
    let (mut state, mut effects) = finish::start(last, awaits);
    let (mut finals, mut steps) = (0, 0);
    while !effects.is_empty() {
        steps += 1;
        assert!(steps <= MOST_FINALS, "the end of a flow does not end");
        for effect in &effects {
            if let FinishEffect::SendFinal(number) = effect {
                finals += 1;
                assert!(*number < 0 || last < 0, "{number} is not final");
            }
        }
        let answer = piece(&mut rest).filter(|piece| !piece.is_empty());
        let input = answer.map_or(FinishInput::TimedOut, FinishInput::Arrived);
        (state, effects) = finish::step(state, input);
        assert!(finals <= MOST_FINALS);
    }
    assert!(matches!(state, FinishState::Over(_)), "{state:?}");
}
