//! From the plan of netperf to the parameters of iperf3.

use std::net::SocketAddr;

use netperf_iperf3::defaults::{BLOCK, DATAGRAM, VERSION};
use netperf_iperf3::messages::{MOST_STREAMS, PACING_TIMER, Parameters, Protocol, StreamDirection};
use netperf_model::figures::whole;
use netperf_model::{Duplex, IperfShape, Limit, RatePlan, RateUnit, TestPlan, TransportId};
use netperf_program::output::Failure;

use netperf_iperf_client::iperf3::{INTERVAL, Iperf3Plan};

/// Largest block, bytes.
const MOST_BLOCK: u32 = 1 << 20;
/// Largest datagram, bytes.
const MOST_DATAGRAM: u32 = 65_507;
/// Smallest datagram: its header.
const LEAST_DATAGRAM: u32 = 16;
/// Longest time, seconds.
const MOST_TIME: f64 = 86_400.0;

fn unsupported(line: impl std::fmt::Display) -> Failure {
    Failure::unsupported(format_args!("--iperf3: {line}"))
}

/// Direction of a plan.
fn direction(plan: &TestPlan) -> Result<StreamDirection, Failure> {
    let flow = plan.flow;
    let bulk = !flow.counts_transactions() && !flow.connects;
    match (flow.sends, flow.receives, flow.duplex) {
        (true, true, Some(Duplex::Separate)) if bulk => Ok(StreamDirection::Both),
        (true, true, Some(Duplex::Same)) => Err(unsupported(
            "iperf3 has a connection for each direction: give --bidirectional separate",
        )),
        (true, false, None) if bulk => Ok(StreamDirection::Forward),
        (false, true, None) if bulk => Ok(StreamDirection::Reverse),
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

/// The test of iperf3 that a plan asks for.
pub(super) fn iperf3_plan(
    plan: &TestPlan,
    remote: SocketAddr,
    shape: Option<IperfShape>,
) -> Result<Iperf3Plan, Failure> {
    let udp = plan.transport == TransportId::Udp;
    if !udp && plan.transport != TransportId::Tcp {
        return Err(unsupported("only TCP and UDP"));
    }
    let direction = direction(plan)?;
    let streams = plan.many.as_ref().map_or(1, |many| many.flows);
    if streams > MOST_STREAMS {
        return Err(unsupported(format_args!(
            "{streams} flows: iperf3 has {MOST_STREAMS} at most"
        )));
    }
    let (mut time, mut num, mut blockcount) = (0.0, 0, 0);
    match plan.limit {
        Limit::Time(limit) if limit.as_secs_f64() > MOST_TIME => {
            return Err(unsupported(format_args!(
                "{} s: a test of iperf3 takes {MOST_TIME} s at most",
                limit.as_secs_f64()
            )));
        }
        Limit::Time(limit) => time = limit.as_secs_f64(),
        Limit::Units(amount) => num = amount,
        Limit::Messages(messages) => blockcount = messages,
        Limit::UntilStopped => {}
    }
    let length = length(plan, udp)?;
    let assumed = length.unwrap_or(if udp { DATAGRAM } else { BLOCK });
    let asked = plan.local.rate.as_ref().or(plan.remote.rate.as_ref());
    let socket = &plan.local.socket;
    let parameters = Parameters {
        protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
        time,
        num,
        blockcount,
        mss: socket.segment_size,
        nodelay: socket.nodelay,
        parallel: streams.max(1),
        direction,
        window: socket.send_buffer,
        len: length.unwrap_or(if udp { 0 } else { BLOCK }),
        bandwidth: rate(asked, streams, assumed),
        pacing_timer: PACING_TIMER,
        congestion: socket.congestion.clone(),
        counters_64bit: udp,
        client_version: VERSION.to_owned(),
        ..Parameters::default()
    };
    Ok(Iperf3Plan {
        host: host(remote),
        port: Some(remote.port().to_string()),
        family: None,
        bind: None,
        device: None,
        send_timeout: None,
        receive_timeout: None,
        debug: false,
        own_port: None,
        connect_timeout: None,
        file: None,
        user: None,
        interval: match (shape, plan.interim) {
            (None, _) => 0.0,
            (Some(_), interim) => interim.map_or(INTERVAL, |interim| interim.as_secs_f64()),
        },
        parameters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planned::plan;

    fn asked(words: &str) -> Result<Parameters, String> {
        let plan = plan(&format!("netperf --iperf3 -H a {words}"));
        let remote = SocketAddr::from(([192, 0, 2, 1], 5201));
        let asked = iperf3_plan(&plan, remote, None);
        asked
            .map(|asked| asked.parameters)
            .map_err(|failure| failure.stderr)
    }

    #[test]
    fn options_of_netperf_are_those_of_iperf3() {
        let tcp = asked("-l 3 --flows 4 --rate 80M -- -m 8K -s 64K -D").unwrap();
        assert_eq!((tcp.time, tcp.parallel, tcp.len), (3.0, 4, 8192));
        assert_eq!((tcp.bandwidth, tcp.window), (20_000_000, Some(65_536)));
        assert!(tcp.nodelay);
        assert_eq!(
            (tcp.protocol, tcp.direction),
            (Protocol::Tcp, StreamDirection::Forward)
        );
        let udp = asked("--udp -l -1000").unwrap();
        assert_eq!(
            (udp.protocol, udp.num, udp.time),
            (Protocol::Udp, 1000, 0.0)
        );
        // The rate of iperf3, unless another one is given.
        assert_eq!((udp.bandwidth, udp.len), (1_048_576, 0));
        let direction = |words| asked(words).unwrap().direction;
        assert_eq!(direction("--reverse"), StreamDirection::Reverse);
        assert_eq!(direction("--bidirectional separate"), StreamDirection::Both);
    }

    #[test]
    fn options_that_iperf3_lacks_are_one_line() {
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
