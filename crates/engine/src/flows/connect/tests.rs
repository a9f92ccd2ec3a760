//! The loops over sockets of this process. Inside them nothing is allocated.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use assert_no_alloc::assert_no_alloc;
use netperf_measure::counters::Counts;
use netperf_measure::recorder::{LatencyRecorder, Recorder};
use netperf_os::{Domain, Socket, Type};
use netperf_transport::tcp::Tcp;

use super::*;
use crate::error::Operation;
use crate::flows::poller::{Poller, Waits};
use crate::flows::shared::SharedRun;
use crate::flows::worker::WorkerReport;
use crate::live::Live;
use crate::ring::{Ring, RingLayout};
use netperf_model::Flow as Direction;

fn ring(size: u32) -> Ring {
    let layout = RingLayout {
        size,
        width: 2,
        align: 8,
        offset: 0,
    };
    Ring::new(layout, None).unwrap()
}

/// Buffers of a direction.
fn messages(direction: Direction, sizes: (u32, u32)) -> (Option<Ring>, Option<Ring>) {
    let first = direction.sends.then(|| ring(sizes.0));
    (first, direction.receives.then(|| ring(sizes.1)))
}

fn slots(
    flows: usize,
    share: impl Fn(u32) -> u64,
) -> Vec<FlowState<ConnectionSlot<Tcp>, <LatencyRecorder as Recorder>::Mark>> {
    let mark = LatencyRecorder::new(1).begin();
    let flows = u32::try_from(flows).unwrap();
    (0..flows)
        .map(|flow| FlowState::new(ConnectionSlot::empty(), share(flow), 1, mark))
        .collect()
}

fn asks(
    waits: Waits,
    to: SocketAddr,
    (flows, units, fails): (usize, u64, bool),
    direction: Direction,
    shared: &SharedRun,
    counts: &Counts,
) -> WorkerReport {
    let mut state: WorkerState<'_, LatencyRecorder> = WorkerState::new(shared, counts, false, true);
    let count = u32::try_from(flows).unwrap();
    let mut flows = slots(flows, |index| netperf_model::share_of(units, count, index));
    let mut poller =
        Poller::new(waits, std::iter::empty(), Watch::Changes, &shared.wakeup).unwrap();
    let mut pacing = Pacing::new(None, flows.len());
    let (mut send, mut recv) = messages(direction, (70_000, 300));
    let to = to.into();
    let once = |_| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&to) {
            Err(error) if !netperf_os::io::goes_on(&error) => Err(error),
            Ok(()) | Err(_) => Ok(Connecting::UnderWay(Tcp(socket))),
        }
    };
    let mut run = || {
        let by = &mut LoopEvents {
            poller: &mut poller,
            pacing: &mut pacing,
        };
        let exchange = Exchange {
            send: send.as_mut(),
            recv: recv.as_mut(),
        };
        dial(
            &mut flows,
            by,
            exchange,
            once,
            Connected {
                again: |_| false,
                token: None,
                ends_first: false,
            },
            &mut state,
        )
    };
    // An error allocates.
    let ended = if fails { run() } else { assert_no_alloc(run) };
    match ended {
        Ok(ended) => state.report(ended, &mut flows),
        Err(error) => state.broken_off(Operation::Connect.failed()(error), &mut flows),
    }
}

fn answers(
    waits: Waits,
    listener: &Socket,
    direction: Direction,
    shared: &SharedRun,
    counts: &Counts,
) -> WorkerReport {
    let mut state: WorkerState<'_, LatencyRecorder> = WorkerState::new(shared, counts, false, true);
    let mut flows = slots(8, |_| u64::MAX);
    let mut poller =
        Poller::new(waits, std::iter::empty(), Watch::Changes, &shared.wakeup).unwrap();
    let mut pacing = Pacing::new(None, flows.len());
    let (mut recv, mut send) = messages(direction, (70_000, 300));
    let counter = AcceptState {
        gate: AcceptFilter::open(listener),
        accept: |gate: AcceptFilter<'_>| {
            let (socket, _) = gate.accept()?;
            socket.set_nonblocking(true)?;
            Ok(Some(Tcp(socket)))
        },
        whole: direction.is_request_response(),
        free: (0..flows.len()).collect(),
    };
    let ended = assert_no_alloc(|| {
        let by = &mut LoopEvents {
            poller: &mut poller,
            pacing: &mut pacing,
        };
        let exchange = Exchange {
            send: send.as_mut(),
            recv: recv.as_mut(),
        };
        let mut counter = counter;
        let ended = serve(&mut flows, by, &mut counter, exchange, &mut state);
        (ended, counter)
    });
    drop(ended.1);
    state.report(ended.0.unwrap(), &mut flows)
}

/// Counts of both ends after so many transactions.
fn both(
    waits: Waits,
    direction: Direction,
    flows: usize,
    units: u64,
) -> (WorkerReport, WorkerReport) {
    netperf_testkit::watchdog::watch_unit();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let listener = Socket::from(listener);
    listener.set_nonblocking(true).unwrap();
    let shared = || Arc::new(SharedRun::new(1, RunStage::Count).unwrap());
    let (here, there) = (shared(), shared());
    let counts = Live::default().of_workers(2);
    let answering = {
        let (there, counts) = (Arc::clone(&there), Arc::clone(&counts));
        std::thread::spawn(move || answers(waits, &listener, direction, &there, &counts[1]))
    };
    let asked = asks(
        waits,
        to,
        (flows, units, false),
        direction,
        &here,
        &counts[0],
    );
    // A close is seen a moment before it is counted.
    while netperf_measure::counters::total(&counts[1..]).transactions < units {
        std::thread::sleep(Duration::from_millis(1));
    }
    there.enter(RunStage::Finish);
    (asked, answering.join().unwrap())
}

#[test]
fn every_transaction_has_a_connection_of_its_own_and_both_ends_count_it() {
    for direction in [Direction::CRR, Direction::CC] {
        let (asked, answered) = both(Waits::Sleeping, direction, 3, 40);
        assert_eq!(asked.tally.transactions, 40);
        assert_eq!(answered.tally.transactions, 40);
        assert_eq!(asked.tally.bytes_sent, answered.tally.bytes_received);
        assert_eq!(asked.tally.bytes_received, answered.tally.bytes_sent);
        let each: Vec<u64> = asked.flows.iter().map(|flow| flow.transactions).collect();
        assert_eq!(each, [14, 13, 13]);
        assert_eq!(asked.latency.unwrap().count, 40);
        assert_eq!(asked.starts.flows, 3);
    }
}

#[test]
fn threads_that_spin_do_the_same() {
    let (asked, answered) = both(Waits::Spinning, Direction::CRR, 2, 10);
    assert_eq!(asked.tally.transactions, 10);
    assert_eq!(answered.tally.bytes_received, 700_000);
}

#[test]
fn a_peer_that_never_stops_sending_ends_the_run_instead_of_a_transaction() {
    netperf_testkit::watchdog::watch_unit();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let endless = std::thread::spawn(move || {
        let (mut data, _) = listener.accept().unwrap();
        while data.write_all(&[7; 4096]).is_ok() {}
    });
    let shared = SharedRun::new(1, RunStage::Count).unwrap();
    let counts = Live::default().of_workers(1);
    let asked = asks(
        Waits::Sleeping,
        to,
        (1, 1, true),
        Direction::CC,
        &shared,
        &counts[0],
    );
    assert_eq!(asked.tally.transactions, 0);
    assert!(asked.broke.is_some());
    endless.join().unwrap();
}
