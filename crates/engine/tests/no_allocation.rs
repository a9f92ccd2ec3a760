//! Inside the timed section nothing is allocated (house, the timed section).

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use assert_no_alloc::{AllocDisabler, assert_no_alloc};
use netperf_engine::alarm_stop::AlarmStop;
use netperf_engine::due::clock::Ticker;
use netperf_engine::due::hooks::{Hooks, NoHooks, PlannedHooks};
use netperf_engine::due::queue::DueQueue;
use netperf_engine::limit::RunLimit;
use netperf_engine::live::Live;
use netperf_engine::ring::{Ring, RingLayout};
use netperf_engine::stop::{Ended, Phase, Stop};
use netperf_engine::workload::connect::{self, Exchange, NextConnection};
use netperf_engine::workload::open;
use netperf_engine::workload::{LoopContext, rr, stream};
use netperf_measure::recorder::{LatencyRecorder, NoRecorder, Recorder};
use netperf_model::plan::TouchPlan;
use netperf_model::{Arrival, EndPlan, EndSetup, PacePlan, RatePlan, RateUnit, Stamper, Tally};
use netperf_os::Socket;
use netperf_os::alarm::{Alarm, Outside};
use netperf_transport::io::batch::Trains;
use netperf_transport::io::{
    Again, BatchedRecv, BatchedSend, ByRing, Discarding, RingRecv, RingSend, RingZeroCopy, Stamped,
    ZeroCopy,
};
use netperf_transport::null::Null;
use netperf_transport::tcp::{FromFile, Spliced, Tcp, Written};
use netperf_transport::{Endpoint, Received, Sent};

#[global_allocator]
static ALLOCATOR: AllocDisabler = AllocDisabler;

fn ring(size: u32) -> Ring {
    let layout = RingLayout {
        size,
        width: 3,
        align: 8,
        offset: 0,
    };
    Ring::new(layout, None).unwrap()
}

fn rate(per_second: f64, unit: RateUnit) -> RatePlan {
    RatePlan {
        per_second,
        unit,
        arrival: Arrival::Poisson,
        seed: Some(1),
    }
}

fn hooks() -> PlannedHooks {
    let plan = EndPlan {
        pace: Some(PacePlan {
            burst: 1000,
            interval: Duration::from_micros(10),
        }),
        touch: TouchPlan { dirty: 8, clean: 8 },
        rate: Some(rate(1e12, RateUnit::Bits)),
        ..EndPlan::default()
    };
    PlannedHooks::of(&plan)
}

/// Numbers, written or read.
fn numbers(sends: bool) -> PlannedHooks {
    let plan = EndPlan {
        sequence: true,
        ..EndPlan::default()
    };
    let setup = EndSetup {
        send_size: Some(64),
        ..EndSetup::default()
    };
    PlannedHooks::of_end(&plan, &setup, sends)
}

/// Every loop, with everything that can stand around it, between two lines.
fn all_loops<R: Recorder, P: Hooks>(recorder: &mut R, hooks: &mut P) -> u64 {
    let (mut requests, mut responses) = (ring(64), ring(64));
    let alarm = Alarm::new(Outside::Ignored).unwrap();
    let live = Live::default();
    let mut stop = AlarmStop::new(None, &alarm, &live, Duration::from_secs(1));
    let mut tally = Tally::default();
    let (bytes, transactions) = (RunLimit::exactly(640_000), RunLimit::exactly(10_000));
    assert_no_alloc(|| {
        macro_rules! run {
            ($limit:expr) => {
                LoopContext {
                    limit: $limit,
                    stop: &mut stop,
                    tally: &mut tally,
                    recorder: &mut *recorder,
                    hooks: &mut *hooks,
                }
            };
        }
        let ended = [
            stream::send(&mut Null, &mut requests, run!(bytes)).ok(),
            stream::receive(&mut Null, &mut responses, run!(bytes)).ok(),
            rr::client(
                &mut Null,
                (&mut requests, &mut responses),
                3,
                run!(transactions),
            )
            .ok(),
        ];
        assert!(ended.iter().all(|ended| *ended == Some(Ended::Complete)));
    });
    tally.transactions
}

/// A clock that runs by itself, and waits for nothing.
struct Ticks(u64);

impl Ticker for Ticks {
    fn now(&mut self) -> u64 {
        self.0 += 100;
        self.0
    }

    fn rang(&mut self) -> bool {
        false
    }

    fn wait(&mut self, _now: u64, _until: u64, _room: bool) -> io::Result<()> {
        Ok(())
    }
}

/// Requests that are sent when they are due.
fn open_loop() -> u64 {
    let (mut requests, mut responses) = (ring(64), ring(64));
    let alarm = Alarm::new(Outside::Ignored).unwrap();
    let live = Live::default();
    let mut stop = AlarmStop::new(None, &alarm, &live, Duration::from_secs(1));
    let mut tally = Tally::default();
    let mut due = DueQueue::of_one(&rate(1e6, RateUnit::Transactions));
    assert_no_alloc(|| {
        let run = LoopContext {
            limit: RunLimit::exactly(10_000),
            stop: &mut stop,
            tally: &mut tally,
            recorder: &mut NoRecorder,
            hooks: &mut NoHooks,
        };
        let rings = (&mut requests, &mut responses);
        let ended = open::client(&mut Null, rings, &mut due, (&mut Ticks(0), None), run).ok();
        assert_eq!(ended, Some(Ended::Complete));
    });
    due.balance(true).0.count
}

/// Datagrams by every faster way, to a socket that reads what arrives.
fn datagrams() -> u64 {
    let trains = Trains {
        messages: 4,
        segments: true,
    };
    let there = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = there.local_addr().unwrap();
    let here = UdpSocket::bind("127.0.0.1:0").unwrap();
    let send = BatchedSend::new(here.into(), Some(to.into()), trains, 64).unwrap();
    let recv = BatchedRecv::new(there.into(), trains, 64, false).unwrap();
    let mut send = Again::sleeping(send, None).unwrap();
    let mut recv = Again::spinning(recv, None).unwrap();
    let data = vec![1; trains.send_buffer(64)];
    let mut buf = vec![0; trains.recv_buffer(64)];
    assert_no_alloc(|| {
        let mut datagrams = 0;
        for _ in 0..100 {
            if let Ok(Sent::Bytes(_)) = send.send(&data) {
                if let Ok(Received::Bytes(_)) = recv.recv(&mut buf) {
                    datagrams += recv.messages_received();
                }
            }
        }
        datagrams
    })
}

/// Sends without a copy, and the wait for their completions.
fn without_a_copy() -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut send = ZeroCopy::new(here.into(), 3).unwrap();
    let mut recv = Discarding(listener.accept().unwrap().0.into());
    let (data, mut buf) = (vec![1; 20_000], vec![0; 20_000]);
    assert_no_alloc(|| {
        for _ in 0..100 {
            let mut left = data.len();
            let _whole = send.send(&data);
            while left > 0 {
                match recv.recv(&mut buf) {
                    Ok(Received::Bytes(count)) => left -= count.min(left),
                    _ => break,
                }
            }
        }
    });
    send.reclaim();
    send.counts().unwrap().zerocopy_done
}

/// A run that nothing ends but its limit.
struct Never;

impl Stop for Never {
    fn phase(&self) -> Phase {
        Phase::Running
    }

    fn progress(&self, _tally: &Tally) {}

    fn interrupted(&mut self, _tally: &Tally) -> Option<Ended> {
        None
    }
}

fn connection() -> (Socket, Socket) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (here.into(), listener.accept().unwrap().0.into())
}

/// A loop between two lines that forbid allocations, and what it counted.
fn within<R: Recorder>(
    limit: RunLimit,
    recorder: &mut R,
    run: impl FnOnce(LoopContext<'_, Never, R, NoHooks>) -> std::io::Result<Ended>,
) -> Tally {
    let mut tally = Tally::default();
    let ended = assert_no_alloc(|| {
        run(LoopContext {
            limit,
            stop: &mut Never,
            tally: &mut tally,
            recorder,
            hooks: &mut NoHooks,
        })
    });
    assert_eq!(ended.unwrap(), Ended::Complete);
    tally
}

const TRANSACTIONS: u64 = 500;

/// Requests and responses over a connection, the loop of each end in its own thread.
fn exchange<E: Endpoint, R: Recorder>(
    endpoint: impl Fn(Socket) -> E + Copy + Send + 'static,
    recorder: &mut R,
) {
    let (here, there) = connection();
    let limit = RunLimit::exactly(TRANSACTIONS);
    let server = std::thread::spawn(move || {
        let (mut requests, mut responses, mut endpoint) = (ring(64), ring(100), endpoint(there));
        within(limit, &mut NoRecorder, |run| {
            rr::server(&mut endpoint, (&mut requests, &mut responses), run)
        })
    });
    let (mut requests, mut responses, mut endpoint) = (ring(64), ring(100), endpoint(here));
    let counted = within(limit, recorder, |run| {
        rr::client(&mut endpoint, (&mut requests, &mut responses), 2, run)
    });
    assert_eq!(counted.transactions, TRANSACTIONS);
    assert_eq!(server.join().unwrap().transactions, TRANSACTIONS);
}

const BYTES: u64 = 4_000_000;

/// Data one way over a connection, the loop of each end in its own thread.
fn one_way<S: Endpoint, E: Endpoint, R: Recorder>(
    sender: impl FnOnce(Socket) -> S,
    receiver: impl FnOnce(Socket) -> E + Send + 'static,
    recorder: &mut R,
) {
    let (here, there) = connection();
    let limit = RunLimit::exactly(BYTES);
    let pulling = std::thread::spawn(move || {
        let (mut ring, mut endpoint) = (ring(30_000), receiver(there));
        within(limit, &mut NoRecorder, |run| {
            stream::receive(&mut endpoint, &mut ring, run)
        })
    });
    let (mut ring, mut endpoint) = (ring(20_000), sender(here));
    let counted = within(limit, recorder, |run| {
        stream::send(&mut endpoint, &mut ring, run)
    });
    assert_eq!(counted.bytes_sent, BYTES);
    assert_eq!(pulling.join().unwrap().bytes_received, BYTES);
}

/// A connection for every transaction.
fn connections<R: Recorder>(recorder: &mut R) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let limit = RunLimit::exactly(50);
    let server = std::thread::spawn(move || {
        let (mut requests, mut responses, mut tally) = (ring(64), ring(100), Tally::default());
        let exchange = Exchange {
            send: Some(&mut responses),
            recv: Some(&mut requests),
        };
        let accept = |_: &mut Never, _: &Tally| {
            let accepted = listener.accept()?.0;
            Ok(NextConnection::Ready(Tcp(accepted.into())))
        };
        let ended = assert_no_alloc(|| {
            connect::server(accept, exchange, true, limit, &mut Never, &mut tally)
        });
        assert_eq!(ended.unwrap(), Ended::Complete);
    });
    let (mut requests, mut responses) = (ring(64), ring(100));
    let exchange = Exchange {
        send: Some(&mut requests),
        recv: Some(&mut responses),
    };
    let dial =
        |_: &mut Never, _: &Tally| Ok(NextConnection::Ready(Tcp(TcpStream::connect(to)?.into())));
    let counted = within(limit, recorder, |run| {
        connect::client(dial, |_| Ok(()), exchange, run)
    });
    assert_eq!(counted.transactions, 50);
    server.join().unwrap();
}

/// Every data path under the loops of both ends.
fn all_paths<R: Recorder>(recorder: &mut R) {
    exchange(Tcp, recorder);
    exchange(Written, recorder);
    exchange(
        |socket| Again::spinning(Tcp(socket), None).unwrap(),
        recorder,
    );
    exchange(
        |socket| Again::sleeping(Tcp(socket), None).unwrap(),
        recorder,
    );
    one_way(Tcp, Tcp, recorder);
    one_way(
        |socket| ZeroCopy::new(socket, 3).unwrap(),
        Discarding,
        recorder,
    );
    one_way(
        |socket| Again::spinning(Tcp(socket), None).unwrap(),
        |socket| Again::sleeping(Tcp(socket), None).unwrap(),
        recorder,
    );
    connections(recorder);
    // A kernel that gives no ring is told of in the tests of that data path.
    let by_ring = |socket| ByRing::new(Tcp(socket), None, false);
    if by_ring(connection().0).is_ok() {
        exchange(move |socket| by_ring(socket).unwrap(), recorder);
        one_way(
            |socket| by_ring(socket).unwrap(),
            move |socket| by_ring(socket).unwrap(),
            recorder,
        );
    }
}

/// Transactions that the kernel stamps, and those whose devices could.
fn stamped<R: Recorder>(recorder: &mut R) {
    for by in [Stamper::Kernel, Stamper::Device] {
        let stamped = move |socket| Stamped::stream(socket, true, (by, 1)).unwrap();
        exchange(stamped, recorder);
    }
    let (here, there) = (datagram_socket(), datagram_socket());
    let to = there.local_addr().unwrap();
    let mut asking = Stamped::asking(here, Some(to), (Stamper::Kernel, 1)).unwrap();
    let mut answering = Stamped::answering(there, (Stamper::Kernel, 1)).unwrap();
    let mut buf = [0; 64];
    assert_no_alloc(|| {
        for _ in 0..100 {
            let sent = asking.send(&[1; 64]).is_ok() && answering.recv(&mut buf).is_ok();
            let answered = answering.send(&[1; 64]).is_ok() && asking.recv(&mut buf).is_ok();
            assert!(sent && answered);
        }
    });
    assert_eq!(asking.stamps().map(|stamps| stamps.every), Some(1));
}

fn datagram_socket() -> Socket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket.into()
}

/// Requests that are sent when they are due, over a connection that does not block.
fn open_loop_over_a_connection() {
    let (here, there) = connection();
    let limit = RunLimit::exactly(TRANSACTIONS);
    let server = std::thread::spawn(move || {
        let (mut requests, mut responses, mut endpoint) = (ring(64), ring(100), Tcp(there));
        within(limit, &mut NoRecorder, |run| {
            rr::server(&mut endpoint, (&mut requests, &mut responses), run)
        })
    });
    here.set_nonblocking(true).unwrap();
    let (mut requests, mut responses, mut endpoint) = (ring(64), ring(100), Tcp(here));
    let mut due = DueQueue::of_one(&rate(1e6, RateUnit::Transactions));
    let counted = within(limit, &mut NoRecorder, |run| {
        let rings = (&mut requests, &mut responses);
        open::client(&mut endpoint, rings, &mut due, (&mut Ticks(0), None), run)
    });
    assert_eq!(counted.transactions, TRANSACTIONS);
    assert_eq!(server.join().unwrap().transactions, TRANSACTIONS);
}

/// Data both ways over one connection, each half in a thread.
fn both_ways() {
    let (here, there) = connection();
    let limit = RunLimit::exactly(BYTES);
    let (here, there) = (&here, &there);
    std::thread::scope(|scope| {
        for (end, size) in [(here, 20_000), (there, 30_000)] {
            scope.spawn(move || {
                let (mut ring, mut half) = (ring(size), Tcp(end.try_clone().unwrap()));
                let counted = within(limit, &mut NoRecorder, |run| {
                    stream::send(&mut half, &mut ring, run)
                });
                assert_eq!(counted.bytes_sent, BYTES);
            });
            scope.spawn(move || {
                let (mut ring, mut half) = (ring(size), Tcp(end.try_clone().unwrap()));
                let counted = within(limit, &mut NoRecorder, |run| {
                    stream::receive(&mut half, &mut ring, run)
                });
                assert_eq!(counted.bytes_received, BYTES);
            });
        }
    });
}

/// File, splice and ring endpoints.
fn without_buffers<R: Recorder>(recorder: &mut R) {
    one_way(Tcp, |socket| Spliced::new(socket).unwrap(), recorder);
    let file = || std::fs::File::open("/proc/self/exe").unwrap();
    one_way(|socket| FromFile::new(socket, file(), 0, 3), Tcp, recorder);
    if RingSend::<false>::new(connection().0, None, (3, 20_000), None).is_err() {
        return;
    }
    one_way(
        |socket| RingSend::<false>::new(socket, None, (4, 5_000), None).unwrap(),
        |socket| RingRecv::new(socket, (3, 30_000), false, None).unwrap(),
        recorder,
    );
    one_way(
        |socket| RingZeroCopy::new(socket, 3, None).unwrap(),
        Tcp,
        recorder,
    );
}

// One test: the allocator's switch and the bell belong to the process.
#[test]
fn no_loop_allocates_whatever_is_kept_or_done_around_it() {
    netperf_testkit::watchdog::watch_unit();
    let (mut off, mut kept) = (NoRecorder, LatencyRecorder::new(4));
    assert_eq!(all_loops(&mut off, &mut NoHooks), 10_000);
    assert_eq!(all_loops(&mut kept, &mut NoHooks), 10_000);
    assert_eq!(all_loops(&mut kept, &mut hooks()), 10_000);
    assert_eq!(all_loops(&mut off, &mut numbers(true)), 10_000);
    assert_eq!(all_loops(&mut off, &mut numbers(false)), 10_000);
    let mut nothing = (None::<LatencyRecorder>, PlannedHooks::default());
    assert_eq!(all_loops(&mut nothing.0, &mut nothing.1), 10_000);
    let mut all = (Some(LatencyRecorder::new(4)), hooks());
    assert_eq!(all_loops(&mut all.0, &mut all.1), 10_000);
    assert!(kept.latency().count > 40_000);
    assert_eq!(open_loop(), 10_000);
    assert!(datagrams() > 1000);
    assert_eq!(without_a_copy(), 100);
    all_paths(&mut off);
    all_paths(&mut kept);
    stamped(&mut off);
    stamped(&mut kept);
    open_loop_over_a_connection();
    both_ways();
    without_buffers(&mut off);
    without_buffers(&mut kept);
}
