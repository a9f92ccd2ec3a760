//! The test of iperf 2 that a plan asks for.

use std::time::Duration;

use netperf_iperf2::options::Iperf2Args;
use netperf_model::figures::whole;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan, Iperf2Rate, MOST_STREAMS};
use netperf_model::{IperfShape, Limit, RateUnit, TestPlan, TransportId};
use netperf_program::output::Failure;

use netperf_iperf_client::iperf2::session::Iperf2SocketOptions;

/// Longest time of a test: the header of a client has 32 bits for it, in hundredths of a second.
const LONGEST: Duration = Duration::from_secs(21_474_836);

fn unsupported(line: impl std::fmt::Display) -> Failure {
    Failure::unsupported(format_args!("--iperf2: {line}"))
}

/// Options of the sockets of a plan.
pub(super) fn socket_options(plan: &TestPlan) -> Iperf2SocketOptions {
    let socket = &plan.local.socket;
    Iperf2SocketOptions {
        window: socket
            .send_buffer
            .and_then(|size| usize::try_from(size).ok()),
        no_delay: socket.nodelay,
        segment: socket
            .segment_size
            .and_then(|size| i32::try_from(size).ok()),
        congestion: socket.congestion.clone(),
        bind: None,
        enhanced: false,
        ..Iperf2SocketOptions::default()
    }
}

/// The command line of iperf 2 whose lines are printed.
pub(super) fn lines(
    plan: &TestPlan,
    test: &Iperf2Plan,
    options: &Iperf2SocketOptions,
    shape: IperfShape,
) -> Iperf2Args {
    Iperf2Args {
        host: plan.remote_data.host.clone(),
        plan: test.clone(),
        window: options.window,
        no_delay: options.no_delay,
        segment: options.segment,
        congestion: options.congestion.clone(),
        interval: plan.interim,
        csv: shape == IperfShape::Iperf2Csv,
        ..Iperf2Args::default()
    }
}

fn direction(plan: &TestPlan) -> Result<Iperf2Direction, Failure> {
    let flow = plan.flow;
    let one_way = !flow.counts_transactions() && !flow.connects;
    match (flow.sends, flow.receives) {
        (true, false) if one_way => Ok(Iperf2Direction::Forward),
        (false, true) if one_way => Ok(Iperf2Direction::Reverse),
        _ => Err(unsupported(
            "iperf 2 has only streams: TCP_STREAM, TCP_MAERTS and UDP_STREAM",
        )),
    }
}

/// The amount of each stream.
fn amount(plan: &TestPlan, streams: u32) -> Result<Iperf2Amount, Failure> {
    match plan.limit {
        Limit::Time(time) if time > LONGEST => Err(unsupported(format_args!(
            "{} s: a test of iperf 2 takes {} s at most",
            time.as_secs(),
            LONGEST.as_secs()
        ))),
        Limit::Time(time) => Ok(Iperf2Amount::Time(time)),
        Limit::Units(bytes) => Ok(Iperf2Amount::Bytes(bytes.div_ceil(streams.into()))),
        Limit::Messages(_) | Limit::UntilStopped => Err(unsupported(
            "a test takes a time or an amount of bytes (-l)",
        )),
    }
}

/// The test of iperf 2 that a plan asks for.
pub(super) fn iperf2_plan(plan: &TestPlan, port: u16, ipv6: bool) -> Result<Iperf2Plan, Failure> {
    let udp = plan.transport == TransportId::Udp;
    if !udp && plan.transport != TransportId::Tcp {
        return Err(unsupported("iperf 2 has only TCP and UDP"));
    }
    let direction = direction(plan)?;
    let streams = plan.many.as_ref().map_or(1, |many| many.flows).max(1);
    if streams > MOST_STREAMS {
        return Err(unsupported(format_args!(
            "{streams} flows: iperf 2 has {MOST_STREAMS} at most"
        )));
    }
    let length = plan
        .local
        .send
        .size
        .and_then(|size| usize::try_from(size).ok());
    let rate = plan.local.rate.as_ref().or(plan.remote.rate.as_ref());
    let rate = rate.map(|rate| {
        let each = whole(rate.per_second / f64::from(streams)).max(1);
        match rate.unit {
            RateUnit::Bits => Iperf2Rate::Bits(each),
            RateUnit::Packets | RateUnit::Transactions => Iperf2Rate::Packets(each),
        }
    });
    let plan = Iperf2Plan {
        udp,
        port,
        direction,
        amount: amount(plan, streams)?,
        length,
        streams,
        rate,
        ipv6,
        ..Iperf2Plan::default()
    };
    match plan.not_in_header() {
        Some(line) => Err(unsupported(line)),
        None => Ok(plan),
    }
}
