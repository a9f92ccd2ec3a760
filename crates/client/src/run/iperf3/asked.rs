//! The test of iperf3 that a plan asks for.

use std::net::SocketAddr;

use netperf_iperf3::defaults::{BLOCK, DATAGRAM};
use netperf_iperf3::options::{Iperf3Client, Iperf3Common};
use netperf_model::figures::whole;
use netperf_model::{Duplex, IperfShape, Limit, RatePlan, RateUnit, TestPlan, TransportId};
use netperf_program::output::Failure;

/// Largest block, bytes.
const MOST_BLOCK: u32 = 1 << 20;
/// Largest datagram, bytes.
const MOST_DATAGRAM: u32 = 65_507;
/// Smallest datagram: its header.
const LEAST_DATAGRAM: u32 = 16;
/// Most streams in each direction.
const MOST_STREAMS: u32 = 128;
/// Longest time, seconds.
const MOST_TIME: f64 = 86_400.0;

fn unsupported(line: impl std::fmt::Display) -> Failure {
    Failure::unsupported(format_args!("--iperf3: {line}"))
}

/// Direction of a plan: reverse, and both ways.
fn direction(plan: &TestPlan) -> Result<(bool, bool), Failure> {
    let flow = plan.flow;
    let bulk = !flow.counts_transactions() && !flow.connects;
    match (flow.sends, flow.receives, flow.duplex) {
        (true, true, Some(Duplex::Separate)) if bulk => Ok((false, true)),
        (true, true, Some(Duplex::Same)) => Err(unsupported(
            "iperf3 has a connection for each direction: give --bidirectional separate",
        )),
        (true, false, None) if bulk => Ok((false, false)),
        (false, true, None) if bulk => Ok((true, false)),
        _ => Err(unsupported(
            "iperf3 has only streams: TCP_STREAM, TCP_MAERTS and UDP_STREAM",
        )),
    }
}

/// Length of blocks or datagrams; `None` leaves it to the path.
fn length(plan: &TestPlan, udp: bool) -> Result<Option<u32>, Failure> {
    let Some(size) = plan.local.send.size else {
        return Ok(None);
    };
    let (least, most) = if udp {
        (LEAST_DATAGRAM, MOST_DATAGRAM)
    } else {
        (1, MOST_BLOCK)
    };
    if (least..=most).contains(&size) {
        Ok(Some(size))
    } else {
        Err(unsupported(format_args!(
            "{size} bytes per send: iperf3 takes {least} to {most} bytes"
        )))
    }
}

/// Bits per second of each stream; 0 for no limit.
fn rate(rate: Option<&RatePlan>, streams: u32, length: u32) -> u64 {
    let each = rate.map(|rate| {
        let bits = match rate.unit {
            RateUnit::Bits => 1.0,
            RateUnit::Packets | RateUnit::Transactions => f64::from(length) * 8.0,
        };
        rate.per_second * bits / f64::from(streams.max(1))
    });
    // 0 is no limit.
    each.map_or(0, |each| whole(each).max(1))
}

/// An address, with its scope if it has one.
fn host(remote: SocketAddr) -> String {
    match remote {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        SocketAddr::V4(_) | SocketAddr::V6(_) => remote.ip().to_string(),
    }
}

/// The command line of iperf3 that asks for a test.
pub(super) fn args(
    plan: &TestPlan,
    remote: SocketAddr,
    shape: Option<IperfShape>,
) -> Result<Iperf3Client, Failure> {
    let udp = plan.transport == TransportId::Udp;
    if !udp && plan.transport != TransportId::Tcp {
        return Err(unsupported("only TCP and UDP"));
    }
    let (reverse, bidirectional) = direction(plan)?;
    let streams = plan.many.as_ref().map_or(1, |many| many.flows);
    if streams > MOST_STREAMS {
        return Err(unsupported(format_args!(
            "{streams} flows: iperf3 has {MOST_STREAMS} at most"
        )));
    }
    let (mut time, mut bytes, mut blocks) = (None, None, None);
    match plan.limit {
        Limit::Time(limit) if limit.as_secs_f64() > MOST_TIME => {
            return Err(unsupported(format_args!(
                "{} s: a test of iperf3 takes {MOST_TIME} s at most",
                limit.as_secs_f64()
            )));
        }
        Limit::Time(limit) => time = Some(limit.as_secs_f64()),
        Limit::Units(amount) => bytes = Some(amount),
        Limit::Messages(messages) => blocks = Some(messages),
        Limit::UntilStopped => time = Some(0.0),
    }
    let length = length(plan, udp)?;
    let assumed = length.unwrap_or(if udp { DATAGRAM } else { BLOCK });
    let asked = plan.local.rate.as_ref().or(plan.remote.rate.as_ref());
    let socket = &plan.local.socket;
    let interval = match (shape, plan.interim) {
        (None, _) => Some(0.0),
        (Some(_), interim) => interim.map(|interim| interim.as_secs_f64()),
    };
    Ok(Iperf3Client {
        common: Iperf3Common {
            port: Some(remote.port().to_string()),
            interval,
            json: shape == Some(IperfShape::Iperf3Json),
            ..Iperf3Common::default()
        },
        host: host(remote),
        udp,
        time,
        bytes,
        blocks,
        length: length.or((!udp).then_some(BLOCK)),
        rate: Some((rate(asked, streams, assumed), 0)),
        parallel: streams,
        reverse,
        bidirectional,
        window: socket.send_buffer,
        segment: socket.segment_size,
        no_delay: socket.nodelay,
        congestion: socket.congestion.clone(),
        counters_64bit: udp,
        ..Iperf3Client::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planned::plan;

    fn asked(words: &str) -> Result<Iperf3Client, String> {
        let plan = plan(&format!("netperf --iperf3 -H a {words}"));
        let remote = SocketAddr::from(([192, 0, 2, 1], 5201));
        args(&plan, remote, None).map_err(|failure| failure.stderr)
    }

    #[test]
    fn options_of_netperf_are_those_of_iperf3() {
        let tcp = asked("-l 3 --flows 4 --rate 80M -- -m 8K -s 64K -D").unwrap();
        assert_eq!(
            (tcp.time, tcp.parallel, tcp.length),
            (Some(3.0), 4, Some(8192))
        );
        assert_eq!(
            (tcp.rate, tcp.window),
            (Some((20_000_000, 0)), Some(65_536))
        );
        assert!(tcp.no_delay && !tcp.udp && !tcp.reverse);
        let udp = asked("--udp -l -1000").unwrap();
        assert_eq!((udp.udp, udp.bytes), (true, Some(1000)));
        // The rate of iperf3, unless another one is given.
        assert_eq!(udp.rate, Some((1_048_576, 0)));
        assert!(asked("--reverse").unwrap().reverse);
        assert!(asked("--bidirectional separate").unwrap().bidirectional);
    }

    #[test]
    fn what_iperf3_cannot_be_asked_for_is_one_line() {
        for (words, line) in [
            ("-t TCP_RR", "iperf3 has only streams"),
            ("--flows 129", "129 flows: iperf3 has 128 at most"),
            ("-- -m 2M", "2097152 bytes per send"),
            (
                "--udp -- -m 8",
                "8 bytes per send: iperf3 takes 16 to 65507 bytes",
            ),
            ("-l 100000", "a test of iperf3 takes 86400 s at most"),
            ("--bidirectional same", "give --bidirectional separate"),
        ] {
            let text = asked(words).expect_err(words);
            assert!(text.contains(line), "{words}: {text}");
        }
    }
}
