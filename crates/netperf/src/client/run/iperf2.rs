//! An iteration against a server of iperf 2 (`--iperf2`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_engine::iperf2::TransferEnd;
use netperf_model::figures::whole;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan, Iperf2Rate};
use netperf_model::{
    Agreed, EndResult, EndSetup, Hosts, Iteration, Limit, Quality, RateUnit, Tally, TestPlan,
    TransportId,
};
use netperf_os::{alarm, wait};
use netperf_session::iperf2::account::DatagramAccount;
use netperf_wire::iperf2::ServerReport;

use super::{IterationResult, TestRun, tcp_facts};
use crate::client::hosts::socket_address;
use crate::iperf2::{Iperf2Client, Iperf2SocketOptions, Iperf2StreamResult};
use crate::output::{Failure, system_text};

/// Longest time until a signal is noticed.
const LOOK: Duration = Duration::from_millis(20);

/// The reason for which a result is none.
fn incomplete(result: &Iperf2StreamResult) -> Option<&'static str> {
    let ends = [&result.sent, &result.received].into_iter().flatten();
    let is_cut = |end: TransferEnd| matches!(end, TransferEnd::Closed | TransferEnd::Stalled);
    if ends.map(|one| one.end).any(is_cut) && !alarm::stopped_by_user() {
        return Some("the server ended the test early, or took no data");
    }
    let unreported = "no report arrived; is it a server for UDP (-u)?";
    result.unreported.then_some(unreported)
}

impl TestRun<'_> {
    /// Runs an iteration.
    pub(super) fn once_with_iperf2(&self, hosts: &Hosts) -> Result<IterationResult, Failure> {
        let plan = self.plan();
        let server = hosts.remote.name.clone();
        let remote = socket_address(&hosts.remote, hosts.remote.port);
        let test = iperf2_plan(plan, remote.port(), remote.is_ipv6())?;
        let size = |size: Option<u32>| size.and_then(|size| usize::try_from(size).ok());
        let options = Iperf2SocketOptions {
            window: size(plan.local.socket.send_buffer),
            no_delay: plan.local.socket.nodelay,
            segment: plan
                .local
                .socket
                .segment_size
                .and_then(|size| i32::try_from(size).ok()),
            ..Iperf2SocketOptions::default()
        };
        let failed = |failure: crate::iperf2::Iperf2Failure| {
            let text = system_text(&failure.error);
            Failure::failed(format_args!(
                "iperf 2 at {server} port {}: {}: {text}",
                remote.port(),
                failure.step
            ))
        };
        wait_for(plan.wait);
        let client = Iperf2Client::open(&test, &options, remote).map_err(failed)?;
        let stop = AtomicBool::new(false);
        let mut results = client.run(&stop, |_, is_over| {
            while !is_over() {
                if alarm::stopped_by_user() {
                    stop.store(true, Ordering::Relaxed);
                }
                wait::sleep(LOOK);
            }
        });
        let result = results.swap_remove(0).map_err(failed)?;
        if let Some(why) = incomplete(&result) {
            return Err(Failure::failed(format_args!(
                "iperf 2 at {server} port {}: {why}",
                remote.port()
            )));
        }
        let length = u32::try_from(test.block()).ok();
        let sends = test.direction.client_sends();
        let socket = client.streams.first().map(|stream| &stream.socket);
        let buffer = |size: Option<std::io::Result<usize>>| u32::try_from(size?.ok()?).ok();
        let local = EndSetup {
            send_buffer: buffer(socket.map(|socket| socket.send_buffer_size())),
            recv_buffer: buffer(socket.map(|socket| socket.recv_buffer_size())),
            send_size: length.filter(|_| sends),
            recv_size: length.filter(|_| !sends),
            nodelay: options.no_delay,
            priority: -1,
            tos: -1,
            ..EndSetup::default()
        };
        let tcp = client.streams.first().and_then(|stream| stream.tcp);
        Ok(IterationResult {
            agreed: Agreed {
                local,
                remote: None,
                data_port: remote.port().into(),
                remote_cpu: false,
            },
            iteration: Iteration {
                segment_size: tcp.map(|tcp| tcp.snd_mss),
                tcp: tcp.map(tcp_facts).filter(|_| plan.dump_tcp_info),
                ..iteration(&result)
            },
            stopped: stop.load(Ordering::Relaxed),
            discarded: false,
            fell_back: false,
            held_back: None,
            unasked: 0,
        })
    }
}

/// The pause before the traffic.
fn wait_for(pause: Duration) {
    if !pause.is_zero() {
        wait::sleep(pause);
    }
}

/// The test of iperf 2 that a plan asks for.
fn iperf2_plan(plan: &TestPlan, port: u16, ipv6: bool) -> Result<Iperf2Plan, Failure> {
    let udp = plan.transport == TransportId::Udp;
    if !udp && plan.transport != TransportId::Tcp {
        let line = "--iperf2: iperf 2 has only TCP and UDP";
        return Err(Failure::unsupported(line));
    }
    let flow = plan.flow;
    let one_way = !flow.counts_transactions() && !flow.connects;
    let direction = match (flow.sends, flow.receives) {
        (true, false) if one_way => Iperf2Direction::Forward,
        (false, true) if one_way => Iperf2Direction::Reverse,
        _ => {
            let line = "--iperf2: iperf 2 has only streams: TCP_STREAM, TCP_MAERTS and UDP_STREAM";
            return Err(Failure::unsupported(line));
        }
    };
    let amount = match plan.limit {
        Limit::Time(time) => Iperf2Amount::Time(time),
        Limit::Units(bytes) => Iperf2Amount::Bytes(bytes),
        Limit::Messages(_) | Limit::UntilStopped => {
            let line = "--iperf2: a test takes a time or an amount of bytes (-l)";
            return Err(Failure::unsupported(line));
        }
    };
    let length = plan
        .local
        .send
        .size
        .and_then(|size| usize::try_from(size).ok());
    let rate = plan.local.rate.as_ref().or(plan.remote.rate.as_ref());
    let rate = rate.map(|rate| match rate.unit {
        RateUnit::Bits => Iperf2Rate::Bits(whole(rate.per_second)),
        RateUnit::Packets | RateUnit::Transactions => Iperf2Rate::Packets(whole(rate.per_second)),
    });
    let plan = Iperf2Plan {
        udp,
        port,
        direction,
        amount,
        length,
        streams: 1,
        rate,
        ipv6,
        ..Iperf2Plan::default()
    };
    match plan.not_in_header() {
        Some(line) => Err(Failure::unsupported(format_args!("--iperf2: {line}"))),
        None => Ok(plan),
    }
}

/// Measurements of both ends. That of the server is its report of datagrams.
fn iteration(result: &Iperf2StreamResult) -> Iteration {
    let (sent, received) = (result.sent, result.received);
    let elapsed = [sent, received].into_iter().flatten();
    let elapsed = elapsed.map(|one| one.elapsed).max().unwrap_or_default();
    let count = |transfer: Option<netperf_engine::iperf2::Transfer>| {
        transfer.map_or((0, 0), |one| (one.bytes, one.calls))
    };
    let ((bytes_sent, send_calls), (bytes_received, recv_calls)) = (count(sent), count(received));
    let local = EndResult {
        tally: Tally {
            bytes_sent,
            bytes_received,
            send_calls,
            recv_calls,
            ..Tally::default()
        },
        elapsed: elapsed.as_secs_f64(),
        quality: result
            .account
            .map(|(account, total)| quality(&account, total)),
        ..EndResult::default()
    };
    Iteration {
        elapsed: elapsed.as_secs_f64(),
        paused: 0.0,
        local,
        remote: result.report.as_ref().map(reported),
        segment_size: None,
        cipher: None,
        tcp: None,
        many: None,
        one_way: None,
    }
}

fn quality(account: &DatagramAccount, total: u64) -> Quality {
    Quality {
        received: account.order.arrived,
        expected: total,
        reordered: account.order.out_of_order,
        jitter: whole(account.jitter() * 1000.0),
        ended: total > 0,
        ..Quality::default()
    }
}

/// netserver's end: the report of the server.
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
            ..Quality::default()
        }),
        ..EndResult::default()
    }
}
