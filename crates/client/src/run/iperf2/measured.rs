//! Results of both ends of a test of iperf 2, as an iteration of netperf.

use std::os::fd::AsFd as _;
use std::time::Duration;

use netperf_iperf2::messages::ServerReport;
use netperf_iperf2::states::account::DatagramAccount;
use netperf_measure::tcp::tcp_facts;
use netperf_model::figures::whole;
use netperf_model::{
    EndResult, FlowCounts, Flows, Iteration, ProcessCpu, Quality, QualityScope, Tally, TestPlan,
    WorkerThreads,
};
use netperf_os::tcp;
use netperf_transport::socket::congestion;

use crate::run::peer::pair;
use netperf_iperf_client::iperf2::session::{Iperf2Client, Iperf2StreamResult};

/// Counts of one stream: what netperf sent and received.
fn tally(client: &Iperf2Client, result: &Iperf2StreamResult) -> Tally {
    let mut tally = Tally::default();
    if let Some(sent) = result.sent {
        // The server counts the final datagram.
        let last = if client.plan.udp {
            (client.plan.block().max(16), 1)
        } else {
            (0, 0)
        };
        tally.bytes_sent = sent.bytes + u64::try_from(last.0).unwrap_or(0);
        tally.send_calls = sent.calls + last.1;
    }
    if let Some(received) = result.received {
        tally.bytes_received = received.bytes;
        tally.recv_calls = received.calls;
    }
    tally
}

/// Measurements of both ends. That of the server is its report of datagrams.
pub(super) fn iteration(
    plan: &TestPlan,
    client: &Iperf2Client,
    results: &[Iperf2StreamResult],
    cpu: ProcessCpu,
) -> Iteration {
    let elapsed = results
        .iter()
        .flat_map(|result| [result.sent, result.received])
        .flatten()
        .map(|one| one.elapsed)
        .max()
        .unwrap_or_default();
    let elapsed = elapsed.as_secs_f64();
    let only = match client.streams.as_slice() {
        [only] if !client.plan.udp => Some(only),
        _ => None,
    };
    let tcp = only.and_then(|stream| tcp::info(stream.socket.as_fd()).ok());
    let first = client.streams.first().and_then(|stream| stream.tcp);
    Iteration {
        elapsed,
        paused: 0.0,
        local: EndResult {
            elapsed,
            process_cpu: Some(cpu),
            ..local(plan, client, results)
        },
        remote: remote(results),
        segment_size: first.map(|tcp| tcp.snd_mss),
        cipher: None,
        tcp: tcp.map(tcp_facts),
        many: flows(plan, client, results),
        one_way: None,
    }
}

fn local(plan: &TestPlan, client: &Iperf2Client, results: &[Iperf2StreamResult]) -> EndResult {
    let tallies = results.iter().map(|result| tally(client, result));
    let all = tallies.fold(Tally::default(), |all, one| all.plus(&one));
    let udp = client.plan.udp;
    let retransmissions = (!udp && client.plan.direction.client_sends()).then(|| {
        let each = client.streams.iter().map(|stream| {
            let detail = tcp::detail(stream.socket.as_fd()).ok()?;
            detail.total_retrans
        });
        each.sum::<Option<u32>>()
    });
    let received = results.iter().filter_map(|result| result.account.as_ref());
    let received = received.map(|(account, total)| quality(account, *total));
    let received = received.reduce(|all, one| all.beside(&one));
    let quality = received.unwrap_or(Quality {
        sent: all.send_calls,
        scope: QualityScope::Order,
        ..Quality::default()
    });
    let first = client.streams.first().map(|stream| &stream.socket);
    EndResult {
        tally: all,
        retransmissions: retransmissions.flatten(),
        congestion: first.filter(|_| !udp).and_then(congestion),
        worker_threads: plan.many.as_ref().map(|_| WorkerThreads {
            threads: u32::try_from(client.streams.len()).unwrap_or(u32::MAX),
            cpus: Vec::new(),
        }),
        quality: udp.then_some(quality),
        ..EndResult::default()
    }
}

fn quality(account: &DatagramAccount, total: u64) -> Quality {
    Quality {
        received: account.order.arrived,
        expected: total,
        reordered: account.order.out_of_order,
        jitter: whole(account.jitter() * 1000.0),
        ended: total > 0,
        scope: QualityScope::Order,
        ..Quality::default()
    }
}

/// The end of the server; `None` without reports.
fn remote(results: &[Iperf2StreamResult]) -> Option<EndResult> {
    let reports = results.iter().map(|result| result.report.as_ref());
    let reports = reports.collect::<Option<Vec<_>>>()?;
    let each = reports.into_iter().map(reported);
    each.reduce(|all, one| EndResult {
        tally: all.tally.plus(&one.tally),
        elapsed: all.elapsed.max(one.elapsed),
        quality: all
            .quality
            .zip(one.quality)
            .map(|(all, one)| all.beside(&one)),
        ..all
    })
}

/// The report of the server on one flow.
fn reported(report: &ServerReport) -> EndResult {
    let received = report.datagrams.saturating_sub(report.lost);
    EndResult {
        tally: Tally {
            bytes_received: report.bytes,
            recv_calls: received,
            ..Tally::default()
        },
        sends_unknown: true,
        elapsed: Duration::from_micros(report.duration.micros()).as_secs_f64(),
        quality: Some(Quality {
            received,
            expected: report.datagrams,
            reordered: report.out_of_order,
            jitter: report.jitter.micros().saturating_mul(1000),
            ended: true,
            scope: QualityScope::Order,
            ..Quality::default()
        }),
        ..EndResult::default()
    }
}

/// Counts of each flow.
fn flows(plan: &TestPlan, client: &Iperf2Client, results: &[Iperf2StreamResult]) -> Option<Flows> {
    plan.many.as_ref()?;
    let each = results.iter().map(|result| {
        let tally = tally(client, result);
        FlowCounts {
            bytes_sent: tally.bytes_sent,
            bytes_received: tally.bytes_received,
            transactions: 0,
        }
    });
    let mut flows = Flows {
        each: each.collect(),
        setup: client.setup.as_secs_f64(),
        ports: client.streams.iter().map(|one| one.local.port()).collect(),
        ..Flows::default()
    };
    let reports = results.iter().map(|result| result.report.as_ref());
    if let Some(reports) = reports.collect::<Option<Vec<_>>>() {
        let counts = reports.into_iter().map(|report| FlowCounts {
            bytes_received: report.bytes,
            ..FlowCounts::default()
        });
        pair(&mut flows, plan, counts);
    }
    Some(flows)
}
