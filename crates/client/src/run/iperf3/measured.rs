//! Results of both ends of a test of iperf3, as an iteration of netperf.

use netperf_iperf3::figures::{StreamFigures, StreamInfo, Totals};
use netperf_iperf3::messages::{Results, StreamResults};
use netperf_model::figures::whole;
use netperf_model::{
    EndResult, FlowCounts, Flows, Iteration, ProcessCpu, Quality, QualityScope, Tally, TestPlan,
    TransportId, WorkerThreads,
};

use crate::run::peer::pair;
use netperf_iperf_client::iperf3::Tested;

/// Longest time by which the server's part of a test exceeds the client's, seconds: beyond it
/// the server's time cannot be right.
const LATE: f64 = 30.0;

/// A stream at both ends.
#[derive(Clone, Copy)]
struct StreamEnds<'a> {
    info: &'a StreamInfo,
    own: &'a StreamFigures,
    peer: Option<&'a StreamResults>,
}

/// Measurements of both ends; `None` if no data could move.
pub(super) fn iteration(plan: &TestPlan, tested: &Tested, tally: Tally) -> Option<Iteration> {
    let totals = tested.totals.as_ref()?;
    let peer = tested.peer.as_deref();
    let streams: Vec<StreamEnds<'_>> = tested
        .infos
        .iter()
        .zip(&totals.streams)
        .map(|(info, own)| StreamEnds {
            info,
            own,
            peer: peer.and_then(|peer| peer.of(info.id)),
        })
        .collect();
    let udp = plan.transport == TransportId::Udp;
    let (segment_size, tcp) = (totals.tcp.map(|tcp| tcp.send_segment_bytes), totals.tcp);
    Some(Iteration {
        elapsed: elapsed(totals, &streams),
        paused: 0.0,
        local: local(plan, &streams, totals, tally),
        remote: peer.map(|peer| remote(&streams, peer, tested.warning.is_none(), udp)),
        segment_size,
        cipher: None,
        tcp: tcp.filter(|_| streams.len() == 1),
        many: flows(plan, tested, &streams),
        one_way: None,
    })
}

/// Length of the run: to the last byte at the end that receives.
fn elapsed(totals: &Totals, streams: &[StreamEnds<'_>]) -> f64 {
    let there = streams
        .iter()
        .filter(|stream| stream.info.sends)
        .filter_map(|stream| stream.peer)
        .map(StreamResults::seconds);
    let there = there.filter(|time| *time <= totals.seconds + LATE);
    there.fold(received_until(totals, streams), f64::max)
}

/// Length of the run at this end: to the last byte that arrived.
fn received_until(totals: &Totals, streams: &[StreamEnds<'_>]) -> f64 {
    let ends = streams.iter().zip(&totals.ends);
    let arrivals = ends.filter(|(stream, _)| !stream.info.sends);
    arrivals.fold(totals.seconds, |last, (_, end)| last.max(*end))
}

fn sum(streams: &[StreamEnds<'_>], of: impl Fn(&StreamEnds<'_>) -> Option<u64>) -> Option<u64> {
    let mut each = streams.iter().map(of).peekable();
    each.peek()?;
    each.sum()
}

fn retransmissions(segments: Option<u64>) -> Option<u32> {
    segments.and_then(|segments| u32::try_from(segments).ok())
}

/// Those streams over which the client sends, or receives.
fn of_way<'a>(streams: &'a [StreamEnds<'a>], sends: bool) -> Vec<StreamEnds<'a>> {
    let chosen = streams.iter().filter(|stream| stream.info.sends == sends);
    chosen.copied().collect()
}

const fn process_cpu([total, user, system]: [f64; 3]) -> ProcessCpu {
    ProcessCpu {
        total,
        user,
        system,
    }
}

fn local(plan: &TestPlan, streams: &[StreamEnds<'_>], totals: &Totals, tally: Tally) -> EndResult {
    let udp = plan.transport == TransportId::Udp;
    let (out, back) = (of_way(streams, true), of_way(streams, false));
    let threads = u32::try_from(streams.len()).unwrap_or(u32::MAX);
    let quality = udp.then(|| {
        let sent = sum(&out, |stream| Some(stream.own.packets)).unwrap_or(0);
        let received = back.iter().map(|stream| received(stream.own));
        with_sent(received.reduce(|all, one| all.beside(&one)), sent)
    });
    EndResult {
        tally,
        elapsed: received_until(totals, streams),
        process_cpu: Some(process_cpu(totals.cpu)),
        retransmissions: retransmissions(sum(&out, |stream| stream.own.retransmits)),
        congestion: totals.congestion.clone(),
        worker_threads: plan.many.as_ref().map(|_| WorkerThreads {
            threads,
            cpus: Vec::new(),
        }),
        quality,
        ..EndResult::default()
    }
}

/// The account of a stream that the client received.
fn received(own: &StreamFigures) -> Quality {
    Quality {
        received: own.packets.saturating_sub(own.lost),
        expected: own.packets,
        reordered: own.out_of_order,
        jitter: whole(own.jitter * 1e9),
        scope: QualityScope::Order,
        ..Quality::default()
    }
}

/// The account of a stream that the server received. It does not tell of the order.
fn received_there(peer: &StreamResults) -> Quality {
    Quality {
        received: peer.packets.saturating_sub(peer.errors),
        expected: peer.packets,
        jitter: whole(peer.jitter * 1e9),
        scope: QualityScope::Loss,
        ..Quality::default()
    }
}

fn with_sent(received: Option<Quality>, sent: u64) -> Quality {
    Quality {
        sent,
        ..received.unwrap_or(Quality {
            scope: QualityScope::Loss,
            ..Quality::default()
        })
    }
}

fn remote(streams: &[StreamEnds<'_>], peer: &Results, knows_cpu: bool, udp: bool) -> EndResult {
    let (out, back) = (of_way(streams, true), of_way(streams, false));
    let bytes = |of: &[StreamEnds<'_>]| {
        let all = of.iter().filter_map(|stream| stream.peer);
        all.map(|peer| peer.bytes).sum::<u64>()
    };
    let mut tally = Tally {
        bytes_sent: bytes(&back),
        bytes_received: bytes(&out),
        ..Tally::default()
    };
    let quality = udp.then(|| {
        let sent = sum(&back, |stream| Some(stream.peer?.packets)).unwrap_or(0);
        let received = out.iter().filter_map(|stream| stream.peer);
        let received = received.map(received_there);
        with_sent(received.reduce(|all, one| all.beside(&one)), sent)
    });
    if let Some(quality) = &quality {
        tally.send_calls = quality.sent;
        tally.recv_calls = quality.received;
    }
    let times = streams.iter().filter_map(|stream| stream.peer);
    let times = times.map(StreamResults::seconds);
    EndResult {
        tally,
        calls_unknown: !udp,
        failed_sends_unknown: true,
        elapsed: times.fold(0.0, f64::max),
        process_cpu: knows_cpu.then(|| process_cpu(peer.cpu)),
        retransmissions: retransmissions(
            sum(&back, |stream| stream.peer?.retransmits).filter(|_| !udp),
        ),
        congestion: peer.congestion.clone(),
        quality,
        ..EndResult::default()
    }
}

/// Counts of each flow: of a stream, or of one each way.
fn flows(plan: &TestPlan, tested: &Tested, streams: &[StreamEnds<'_>]) -> Option<Flows> {
    plan.many.as_ref()?;
    let (out, back) = (of_way(streams, true), of_way(streams, false));
    let own = |stream: Option<&StreamEnds<'_>>| stream.map_or(0, |stream| stream.own.bytes);
    let there = |stream: Option<&StreamEnds<'_>>| {
        let peer = stream.and_then(|stream| stream.peer);
        peer.map_or(0, |peer| peer.bytes)
    };
    let counts = (0..out.len().max(back.len())).map(|index| {
        let (sent, received) = (out.get(index), back.get(index));
        let here = FlowCounts {
            bytes_sent: own(sent),
            bytes_received: own(received),
            transactions: 0,
        };
        let there = FlowCounts {
            bytes_sent: there(received),
            bytes_received: there(sent),
            transactions: 0,
        };
        (here, there)
    });
    let (each, there): (Vec<_>, Vec<_>) = counts.unzip();
    let port = |stream: &StreamEnds<'_>| stream.info.local.map_or(0, |at| at.port());
    let (first, second) = if out.is_empty() {
        (&back, &out)
    } else {
        (&out, &back)
    };
    let mut flows = Flows {
        each,
        setup: tested.setup.as_secs_f64(),
        ports: first.iter().map(port).collect(),
        ports_back: second.iter().map(port).collect(),
        ..Flows::default()
    };
    if tested.peer.is_some() {
        pair(&mut flows, plan, there.into_iter());
    }
    Some(flows)
}
