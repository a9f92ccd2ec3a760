//! The loops over sockets of this process. Inside them nothing is allocated (house, the
//! timed section): their threads abort where something is.

mod unanswered;

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use assert_no_alloc::{AllocDisabler, assert_no_alloc};
use netperf_measure::counters::Counts;
use netperf_measure::recorder::{LatencyRecorder, NoRecorder};
use netperf_model::{Arrival, FlowCounts, PacePlan, RatePlan, RateUnit, Tally};
use netperf_os::{Domain, Socket, Type};
use netperf_transport::tcp::Tcp;

use super::*;
use crate::due::pacing::{PaceRule, Pacing, Sharing};
use crate::due::queue::DueQueue;
use crate::flows::poller::{Poller, Waits};
use crate::flows::shared::SharedRun;
use crate::flows::worker::{CountedWindow, WorkerReport};
use crate::live::Live;
use crate::ring::RingLayout;

#[global_allocator]
static ALLOCATOR: AllocDisabler = AllocDisabler;

/// Loop of one end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopRole {
    Ask {
        burst: usize,
    },
    /// At 20,000 requests a second.
    AskAtTimes,
    Answer,
    /// Four requests in flight whose responses are as long.
    AskForMuch,
    AnswerWithMuch,
    Push,
    PushEvenly,
    Pull,
    /// Both ways: netperf's end, or netserver's.
    Exchange {
        asks: bool,
        ends_both: bool,
    },
}

/// Both ends of data that goes both ways, until a time or an amount is over.
fn exchange_roles(timed: bool) -> (LoopRole, LoopRole) {
    let role = |asks, ends_both| LoopRole::Exchange { asks, ends_both };
    (role(true, false), role(false, timed))
}

fn ring(size: u32) -> Ring {
    let layout = RingLayout {
        size,
        width: 2,
        align: 8,
        offset: 0,
    };
    Ring::new(layout, None).unwrap()
}

fn pairs(flows: usize) -> (Vec<Socket>, Vec<Socket>) {
    netperf_testkit::watchdog::watch_unit();
    (0..flows)
        .map(|_| Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap())
        .unzip()
}

/// One end of all flows, its loop between two lines that forbid allocations. netperf's
/// end closes its sockets afterwards.
fn end<R: WorkerRecorder>(
    (role, pace, waits): (LoopRole, Option<PacePlan>, Waits),
    sockets: Vec<Socket>,
    units: Option<u64>,
    shared: &SharedRun,
    counts: &Counts,
) -> WorkerReport {
    let mut state: WorkerState<'_, R> = WorkerState::new(shared, counts, units.is_none(), true);
    // The other end may get no processor for longer than a program would wait.
    state.drain = |_, _| Duration::MAX;
    let mark = state.recorder().begin();
    let count = u32::try_from(sockets.len()).unwrap();
    let share = |index| netperf_model::share_of(units.unwrap_or(0), count, index);
    let mut flows: Vec<FlowState<Tcp, R::Mark>> = (0..)
        .zip(sockets)
        .map(|(place, socket)| {
            let left = units.map_or(u64::MAX, |_| share(place));
            FlowState::new(Tcp(socket), left, 4, mark)
        })
        .collect();
    let watch = if matches!(role, LoopRole::Push | LoopRole::PushEvenly) {
        Watch::Write
    } else {
        Watch::Read
    };
    let fds = flows.iter().map(|flow| flow.endpoint.fd());
    let mut poller = Poller::new(waits, fds, watch, &shared.wakeup).unwrap();
    // Sends that are even: of a byte stream 300 gigabits a second each, so that the test is quick.
    let rate = |per_second, unit| RatePlan {
        per_second,
        unit,
        arrival: Arrival::Poisson,
        seed: None,
    };
    let mut pacing = if role == LoopRole::PushEvenly {
        let sharing = Sharing {
            first: 0,
            step: 1,
            all: 3,
            size: 300_000,
        };
        Pacing::shared(rate(9e11, RateUnit::Bits), flows.len(), sharing)
    } else {
        Pacing::new(pace.map(PaceRule::Bursts), flows.len())
    };
    let requests = rate(20_000.0, RateUnit::Transactions);
    let all = u32::try_from(flows.len()).unwrap();
    let mut queue = DueQueue::of_thread(&requests, all, 0, 1);
    // Messages that do not fit into a socket at once.
    let much = matches!(role, LoopRole::AskForMuch | LoopRole::AnswerWithMuch);
    let (mut first, mut second) = (ring(300_000), ring(if much { 300_000 } else { 70 }));
    state.begin(&flows);
    pacing.begin();
    let ended = assert_no_alloc(|| {
        let (flows, state) = (&mut flows, &mut state);
        let by = &mut LoopEvents {
            poller: &mut poller,
            pacing: &mut pacing,
        };
        match role {
            LoopRole::Ask { burst } => ask(flows, by, (&mut first, &mut second), burst + 1, state),
            LoopRole::AskForMuch => ask(flows, by, (&mut first, &mut second), 4, state),
            LoopRole::AskAtTimes => {
                ask_at_times(flows, by, (&mut first, &mut second), &mut queue, state)
            }
            LoopRole::Answer | LoopRole::AnswerWithMuch => {
                answer(flows, by, (&mut first, &mut second), state)
            }
            LoopRole::Push | LoopRole::PushEvenly => push(flows, by, &mut first, state),
            LoopRole::Pull => pull(flows, by, &mut first, state),
            LoopRole::Exchange { asks, ends_both } => {
                let rules = EndRules {
                    asks,
                    ends_both,
                    most: units.map_or(u64::MAX, |_| share(0) + 1_000_000),
                    tell: |endpoint: &mut Tcp| drop(calls::half_close(endpoint.fd())),
                };
                exchange(flows, by, (&mut first, &mut second), &rules, state)
            }
        }
    });
    let spaced = pacing.paced(state.tally.bytes_sent, state.tally.send_calls);
    let mut report = state.report(ended.unwrap(), &mut flows);
    report.paced = spaced;
    if role == LoopRole::AskAtTimes {
        report.keep(queue);
    }
    report
}

/// Waits until a worker has been through a whole round, however busy the machine is.
fn goes_on(counts: &[Counts]) {
    let moved = || netperf_measure::counters::total(counts).bytes_sent;
    for _ in 0..2 {
        let before = moved();
        let looks = (0..10_000).take_while(|_| moved() == before);
        looks.for_each(|_| std::thread::sleep(Duration::from_millis(1)));
    }
}

fn both<R: WorkerRecorder + 'static>(
    waits: Waits,
    roles: (LoopRole, LoopRole),
    flows: usize,
    units: Option<u64>,
) -> (WorkerReport, WorkerReport) {
    both_paced::<R>(roles, (None, waits), flows, units)
}

/// Both ends of some flows, until `units` are done or, without, until the stages are over.
fn both_paced<R: WorkerRecorder + 'static>(
    roles: (LoopRole, LoopRole),
    (pace, waits): (Option<PacePlan>, Waits),
    flows: usize,
    units: Option<u64>,
) -> (WorkerReport, WorkerReport) {
    let (ours, theirs) = pairs(flows);
    let first = if units.is_some() {
        RunStage::Count
    } else {
        RunStage::Warm
    };
    let (here, there) = (
        Arc::new(SharedRun::new(1, first).unwrap()),
        Arc::new(SharedRun::new(1, RunStage::Count).unwrap()),
    );
    let counts = Live::default().of_workers(2);
    let spawn = |role, sockets, units, shared: &Arc<SharedRun>, index: usize| {
        let (shared, counts) = (Arc::clone(shared), Arc::clone(&counts));
        std::thread::spawn(move || end::<R>(role, sockets, units, &shared, &counts[index]))
    };
    let asking = spawn((roles.0, pace, waits), ours, units, &here, 0);
    let sends = matches!(roles.1, LoopRole::Exchange { .. });
    let units_there = units.filter(|_| sends).or(Some(u64::MAX));
    let answering = spawn((roles.1, None, waits), theirs, units_there, &there, 1);
    if units.is_none() {
        for stage in [RunStage::Count, RunStage::Cool, RunStage::Finish] {
            std::thread::sleep(Duration::from_millis(60));
            goes_on(&counts[..1]);
            here.enter(stage);
        }
    }
    (asking.join().unwrap(), answering.join().unwrap())
}

fn exchanged(report: &WorkerReport) -> u64 {
    report.tally.transactions
}

#[test]
fn every_request_is_answered_and_counted_on_its_flow_at_both_ends() {
    for burst in [0, 3] {
        let roles = (LoopRole::Ask { burst }, LoopRole::Answer);
        let (asked, answered) = both::<LatencyRecorder>(Waits::Sleeping, roles, 3, Some(100));
        assert_eq!((exchanged(&asked), exchanged(&answered)), (100, 100));
        let each: Vec<u64> = asked.flows.iter().map(|flow| flow.transactions).collect();
        assert_eq!(each, [34, 33, 33]);
        assert_eq!(asked.tally.bytes_sent, 30_000_000);
        assert_eq!(answered.tally.bytes_received, 30_000_000);
        assert_eq!(asked.latency.unwrap().count, 100);
        assert_eq!(asked.starts.flows, 3);
    }
}

#[test]
fn responses_are_received_while_a_burst_does_not_fit_the_buffers() {
    let roles = (LoopRole::AskForMuch, LoopRole::AnswerWithMuch);
    for waits in [Waits::Sleeping, Waits::Spinning] {
        let (asked, answered) = both::<LatencyRecorder>(waits, roles, 2, Some(20));
        assert_eq!((exchanged(&asked), exchanged(&answered)), (20, 20));
        assert_eq!(asked.tally.bytes_received, answered.tally.bytes_sent);
        assert_eq!(asked.latency.unwrap().count, 20);
    }
}

#[test]
fn requests_that_are_sent_when_they_are_due_are_all_answered_and_in_the_account() {
    let roles = (LoopRole::AskAtTimes, LoopRole::Answer);
    let (asked, answered) = both::<NoRecorder>(Waits::Sleeping, roles, 3, Some(100));
    assert_eq!((exchanged(&asked), exchanged(&answered)), (100, 100));
    let each: Vec<u64> = asked.flows.iter().map(|flow| flow.transactions).collect();
    assert_eq!(each, [34, 33, 33]);
    let paced = asked.paced.unwrap();
    assert_eq!((paced.due, paced.sent, paced.unanswered), (100, 100, 0));
    assert_eq!(
        (asked.latency.unwrap().count, paced.lateness.count()),
        (100, 100)
    );
    let (asked, _) = both::<NoRecorder>(Waits::Spinning, roles, 3, None);
    let answered = exchanged(&asked);
    let paced = asked.paced.unwrap();
    assert!(paced.sent >= answered && answered > 0);
    assert_eq!(paced.sent - paced.unanswered, answered);
}

#[test]
fn flows_that_send_evenly_send_all_of_it() {
    let (pushed, pulled) = both::<NoRecorder>(
        Waits::Sleeping,
        (LoopRole::PushEvenly, LoopRole::Pull),
        3,
        Some(5_000_001),
    );
    assert_eq!(pulled.tally.bytes_received, 5_000_001);
    let paced = pushed.paced.unwrap();
    assert_eq!(paced.sent, 8 * 5_000_001);
    assert_eq!(paced.lateness.count(), pushed.tally.send_calls);
}

#[test]
fn a_flow_alone_does_the_same_in_calls_that_wait() {
    let roles = (LoopRole::Ask { burst: 0 }, LoopRole::Answer);
    let (asked, answered) = both::<NoRecorder>(Waits::Alone { spins: false }, roles, 1, Some(20));
    assert_eq!((exchanged(&asked), exchanged(&answered)), (20, 20));
    let (pushed, pulled) = both::<LatencyRecorder>(
        Waits::Alone { spins: false },
        (LoopRole::Push, LoopRole::Pull),
        1,
        Some(5_000_001),
    );
    assert_eq!(pushed.tally.bytes_sent, 5_000_001);
    assert_eq!(pulled.tally.bytes_received, 5_000_001);
}

#[test]
fn workers_that_spin_do_the_same() {
    let roles = (LoopRole::Ask { burst: 1 }, LoopRole::Answer);
    let (asked, answered) = both::<NoRecorder>(Waits::Spinning, roles, 3, Some(50));
    assert_eq!((exchanged(&asked), exchanged(&answered)), (50, 50));
    let (pushed, pulled) = both::<NoRecorder>(
        Waits::Alone { spins: true },
        (LoopRole::Push, LoopRole::Pull),
        1,
        Some(5_000_001),
    );
    assert_eq!(pushed.tally.bytes_sent, 5_000_001);
    assert_eq!(pulled.tally.bytes_received, 5_000_001);
}

#[test]
fn each_flow_waits_for_its_turns() {
    let interval = Duration::from_millis(10);
    let pace = Some(PacePlan { burst: 2, interval });
    for (roles, units) in [
        ((LoopRole::Ask { burst: 0 }, LoopRole::Answer), 24),
        ((LoopRole::Push, LoopRole::Pull), 24 * 300_000),
    ] {
        let start = netperf_measure::clock::now();
        let (asked, answered) =
            both_paced::<LatencyRecorder>(roles, (pace, Waits::Sleeping), 3, Some(units));
        // Eight operations for each: two at once, and two at each of three ticks. A send
        // that is cut short is an operation, too.
        assert!(start.elapsed() >= interval * 3);
        assert_eq!(answered.tally.bytes_received, asked.tally.bytes_sent);
    }
}

#[test]
fn an_amount_is_sent_exactly_by_all_flows_together() {
    let (pushed, pulled) = both::<NoRecorder>(
        Waits::Sleeping,
        (LoopRole::Push, LoopRole::Pull),
        5,
        Some(9_999_999),
    );
    assert_eq!(pushed.ended, Ended::Complete);
    assert_eq!(pushed.tally.bytes_sent, 9_999_999);
    assert_eq!(pulled.tally.bytes_received, 9_999_999);
    assert!(
        pulled
            .flows
            .iter()
            .all(|flow| flow.bytes_received >= 1_999_999)
    );
}

#[test]
fn flows_that_go_both_ways_send_an_amount_each_way_and_read_all_of_it() {
    for flows in [1, 3] {
        let (here, there) = both::<LatencyRecorder>(
            Waits::Sleeping,
            exchange_roles(false),
            flows,
            Some(5_000_001),
        );
        assert_eq!(
            (here.ended, there.ended),
            (Ended::Complete, Ended::Complete)
        );
        for end in [&here, &there] {
            assert_eq!(end.tally.bytes_sent, 5_000_001);
            assert_eq!(end.tally.bytes_received, 5_000_001);
        }
        let there_and_back = there.flows.iter().map(|flow| FlowCounts {
            bytes_sent: flow.bytes_received,
            bytes_received: flow.bytes_sent,
            transactions: 0,
        });
        assert_eq!(here.flows, there_and_back.collect::<Vec<_>>());
        assert_eq!((here.starts.flows, there.starts.flows), (flows, 0));
    }
    let (here, _) = both::<NoRecorder>(Waits::Spinning, exchange_roles(false), 2, Some(1_000_000));
    assert_eq!(here.tally.bytes_received, 1_000_000);
}

#[test]
fn the_time_ends_both_directions_of_every_flow_and_nothing_is_lost() {
    for pace in [
        None,
        Some(PacePlan {
            burst: 2,
            interval: Duration::from_millis(5),
        }),
    ] {
        let roles = exchange_roles(true);
        let (here, there) = both_paced::<NoRecorder>(roles, (pace, Waits::Sleeping), 3, None);
        assert_eq!(
            (here.ended, there.ended),
            (Ended::TimeOver, Ended::Complete)
        );
        assert!(here.tally.bytes_sent > 0 && here.tally.bytes_received > 0);
        assert_eq!(here.tally.bytes_sent, there.tally.bytes_received);
        assert_eq!(here.tally.bytes_received, there.tally.bytes_sent);
        let window = here.window.unwrap().tally;
        let each = |of: fn(&FlowCounts) -> u64| here.flows.iter().map(of).sum::<u64>();
        assert_eq!(each(|flow| flow.bytes_sent), window.bytes_sent);
        assert_eq!(each(|flow| flow.bytes_received), window.bytes_received);
    }
}

#[test]
fn only_what_happened_between_the_edges_counts() {
    for roles in [
        (LoopRole::Ask { burst: 1 }, LoopRole::Answer),
        (LoopRole::Push, LoopRole::Pull),
    ] {
        let (here, there) = both::<LatencyRecorder>(Waits::Sleeping, roles, 4, None);
        assert_eq!(here.ended, Ended::TimeOver);
        let CountedWindow {
            length,
            tally: window,
            ..
        } = here.window.unwrap();
        assert!(!length.is_zero());
        let whole = |tally: &Tally| tally.bytes_sent;
        let each: u64 = here.flows.iter().map(|flow| flow.bytes_sent).sum();
        assert_eq!(each, whole(&window));
        assert!(each > 0 && each < whole(&here.tally));
        assert_eq!(there.tally.bytes_received, here.tally.bytes_sent);
        assert!(here.latency.unwrap().count < here.tally.send_calls);
    }
}

#[test]
fn flows_that_go_both_ways_end_if_the_other_end_never_stops_sending() {
    let (here, there) = pairs(2);
    let peers: Vec<_> = there
        .into_iter()
        .map(|socket| {
            std::thread::spawn(move || {
                let mut scrap = vec![0; 65_536];
                // It ends when netperf has closed.
                while let Ok(1..) = calls::send(socket.as_fd(), &[7; 4096]) {
                    let _nothing = calls::recv_now(socket.as_fd(), &mut scrap);
                }
            })
        })
        .collect();
    let shared = SharedRun::new(1, RunStage::Count).unwrap();
    let counts = Live::default().of_workers(1);
    shared.open();
    let role = exchange_roles(false).0;
    let netperf = (role, None, Waits::Sleeping);
    let report = end::<NoRecorder>(netperf, here, Some(100_000), &shared, &counts[0]);
    assert_eq!(report.ended, Ended::Complete);
    assert_eq!(report.tally.bytes_sent, 100_000);
    let enough = |flow: &FlowCounts| flow.bytes_received >= 1_050_000;
    assert!(report.flows.iter().all(enough), "{:?}", report.flows);
    peers.into_iter().for_each(|peer| peer.join().unwrap());
}

#[test]
fn a_sender_that_never_stops_is_received_from_until_the_amount_has_come() {
    let (here, there) = pairs(2);
    let sends = |socket: Socket| {
        std::thread::spawn(move || {
            // It ends when the receiver has closed.
            while let Ok(1..) = calls::send(socket.as_fd(), &[7; 4096]) {}
        })
    };
    let senders: Vec<_> = there.into_iter().map(sends).collect();
    let shared = SharedRun::new(1, RunStage::Count).unwrap();
    let counts = Live::default().of_workers(1);
    shared.open();
    let pulls = (LoopRole::Pull, None, Waits::Sleeping);
    let report = end::<NoRecorder>(pulls, here, Some(1_000_000), &shared, &counts[0]);
    assert!(report.tally.bytes_received >= 1_000_000);
    assert!(
        report
            .flows
            .iter()
            .all(|flow| flow.bytes_received >= 500_000)
    );
    senders
        .into_iter()
        .for_each(|sender| sender.join().unwrap());
}
