//! Numbered datagrams through a network that loses, repeats and delays some of them.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use netperf_engine::due::hooks::{Hooks, PlannedHooks};
use netperf_engine::limit::RunLimit;
use netperf_engine::ring::{Ring, RingLayout};
use netperf_engine::stop::{Ended, Phase, Stop};
use netperf_engine::workload::{LoopContext, stream};
use netperf_measure::recorder::NoRecorder;
use netperf_model::{EndPlan, EndSetup, Quality, Tally};
use netperf_transport::Endpoint;
use netperf_transport::io::batch::Trains;
use netperf_transport::io::{BatchedRecv, BatchedSend};
use netperf_transport::udp::{First, ToPeer, UdpResponder};

/// As many as fit into a socket's buffer at once, so that a slow machine loses none.
const DATAGRAMS: u64 = 100;
const SIZE: u32 = 200;
const PLAIN: Trains = Trains {
    messages: 8,
    segments: false,
};
const CUT: Trains = Trains {
    messages: 2,
    segments: true,
};

/// Goes on whatever happens.
struct NeverStops;

impl Stop for NeverStops {
    fn phase(&self) -> Phase {
        Phase::Running
    }
    fn progress(&self, _: &Tally) {}
    fn interrupted(&mut self, _: &Tally) -> Option<Ended> {
        // A receive that waits for so long waits for nothing.
        Some(Ended::Abandoned)
    }
}

fn hooks(sends: bool) -> PlannedHooks {
    let plan = EndPlan {
        sequence: true,
        ..EndPlan::default()
    };
    let setup = EndSetup {
        send_size: Some(SIZE),
        ..EndSetup::default()
    };
    PlannedHooks::of_end(&plan, &setup, sends)
}

fn ring(size: usize) -> Ring {
    let layout = RingLayout {
        size: u32::try_from(size).unwrap(),
        width: 2,
        align: 8,
        offset: 0,
    };
    Ring::new(layout, None).unwrap()
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let patience = Some(Duration::from_secs(20));
    socket.set_read_timeout(patience).unwrap();
    socket
}

fn send<E: Endpoint>(mut endpoint: E, buffer: usize) -> Quality {
    let limit = RunLimit::at_least(DATAGRAMS * u64::from(SIZE), SIZE);
    let (mut tally, mut hooks) = (Tally::default(), hooks(true));
    let run = LoopContext {
        limit,
        stop: &mut NeverStops,
        tally: &mut tally,
        recorder: &mut NoRecorder,
        hooks: &mut hooks,
    };
    let ended = stream::send(&mut endpoint, &mut ring(buffer), run).unwrap();
    hooks.quality(&tally, ended).unwrap()
}

fn receive<E: Endpoint>(mut endpoint: E, buffer: usize) -> Quality {
    let (mut tally, mut hooks) = (Tally::default(), hooks(false));
    let run = LoopContext {
        limit: RunLimit::NONE,
        stop: &mut NeverStops,
        tally: &mut tally,
        recorder: &mut NoRecorder,
        hooks: &mut hooks,
    };
    let ended = stream::receive(&mut endpoint, &mut ring(buffer), run).unwrap();
    let quality = hooks.quality(&tally, ended).unwrap();
    assert_eq!(tally.recv_calls, quality.received + quality.duplicated);
    quality
}

fn received(socket: UdpSocket, trains: Option<Trains>) -> Quality {
    match trains {
        None => {
            let endpoint = UdpResponder::new(socket.into(), First::default());
            receive(endpoint.unwrap(), 2000)
        }
        Some(trains) => {
            let endpoint = BatchedRecv::new(socket.into(), trains, 2000, false);
            receive(endpoint.unwrap(), trains.recv_buffer(2000))
        }
    }
}

/// Of each twenty one is lost, one comes twice, and one four places later.
fn relay(from: &UdpSocket, to: &UdpSocket) {
    let mut held: Option<(u64, Vec<u8>)> = None;
    for index in 0..DATAGRAMS {
        let mut datagram = vec![0; 2000];
        let length = from.recv(&mut datagram).unwrap();
        assert_eq!(length, usize::try_from(SIZE).unwrap());
        datagram.truncate(length);
        match index % 20 {
            3 => {}
            7 => {
                to.send(&datagram).unwrap();
                to.send(&datagram).unwrap();
            }
            11 => held = Some((index + 4, datagram)),
            _ => drop(to.send(&datagram).unwrap()),
        }
        if held.as_ref().is_some_and(|(until, _)| *until == index) {
            let (_, late) = held.take().unwrap();
            to.send(&late).unwrap();
        }
    }
    to.send(&[]).unwrap();
}

#[test]
fn loss_and_order_are_reported_with_any_number_of_datagrams_in_a_call() {
    netperf_testkit::watchdog::watch_unit();
    for trains in [None, Some(PLAIN), Some(CUT)] {
        let (near, far) = (socket(), socket());
        let forward = socket();
        forward.connect(far.local_addr().unwrap()).unwrap();
        let to = near.local_addr().unwrap().into();
        let size = usize::try_from(SIZE).unwrap();
        let (sent, got) = thread::scope(|scope| {
            let got = scope.spawn(|| received(far, trains));
            scope.spawn(|| relay(&near, &forward));
            let sent = match trains {
                None => send(
                    ToPeer {
                        socket: socket().into(),
                        to,
                    },
                    size,
                ),
                Some(trains) => send(
                    BatchedSend::new(socket().into(), Some(to), trains, size).unwrap(),
                    trains.send_buffer(size),
                ),
            };
            (sent, got.join().unwrap())
        });
        assert_eq!(sent.sent, DATAGRAMS, "{trains:?}");
        let counts = (got.received, got.lost(Some(sent.sent)), got.duplicated);
        assert_eq!(counts, (95, 5, 5), "{trains:?} {got:?}");
        assert_eq!((got.reordered, got.extent), (5, 4), "{trains:?} {got:?}");
        assert_eq!((got.too_late, got.unnumbered, got.ended), (0, 0, true));
        assert!(got.most_variation >= got.mean_variation, "{got:?}");
    }
}
