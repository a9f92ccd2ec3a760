//! Data, transport, length and repetitions of a test.

use std::time::Duration;

use netperf_arguments::args::{Args, GlobalArgs, SocketKindArg, TestArgs};
use netperf_arguments::command::CliError;
use netperf_model::{
    ConfidencePlan, Flow, LOCAL_PORTS, Limit, SocketKind, Suite, TestId, TransportId,
};

/// Default length of a test.
const DEFAULT_LENGTH: Duration = Duration::from_secs(10);
/// Request and response of tests below the network layer unless `-r` says otherwise.
const FRAME_SIZES: (i32, i32) = (100, 200);
/// Iterations with `-I` and no `-i`: fewest, most.
const DEFAULT_ITERATIONS: (u32, u32) = (3, 10);
/// Width of the confidence interval in percent if none was ever given.
const DEFAULT_WIDTH: f64 = 5.0;

/// Limit of the test.
///
/// DG_STREAM and DLCL_STREAM do not count: with an amount, they run until a signal.
pub(super) fn limit(args: &Args, test: TestId, flow: Flow) -> Limit {
    let messages = args.test.messages.unwrap_or(0);
    if let Some(messages) = u64::try_from(messages).ok().filter(|count| *count > 0) {
        return if flow.counts_transactions() {
            Limit::Units(messages)
        } else {
            Limit::Messages(messages)
        };
    }
    let limit = args.global.length.unwrap_or(Limit::Time(DEFAULT_LENGTH));
    match limit {
        Limit::Units(_) if matches!(test, TestId::DgStream | TestId::DlclStream) => {
            Limit::UntilStopped
        }
        Limit::Time(_) | Limit::Units(_) | Limit::Messages(_) | Limit::UntilStopped => limit,
    }
}

/// Rejects an amount of nothing, which would run until a signal.
pub(super) fn check_length(args: &Args) -> Result<(), CliError> {
    if args.global.count && args.global.length == Some(Limit::UntilStopped) {
        return Err(CliError::NoAmount {
            program: args.program.clone(),
        });
    }
    Ok(())
}

/// Seconds, unless there are none or fewer.
pub(super) fn positive_seconds(seconds: Option<i32>) -> Option<Duration> {
    let seconds = u64::try_from(seconds?).ok()?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// Direction of data.
///
/// Only OMNI itself considers `-d` and the implications of `-m`, `-M` and `-r`; its whole suite
/// supports a connection for each operation.
pub(super) fn flow(test: TestId, args: &TestArgs) -> Flow {
    let usual = test.row().flow;
    if test.row().suite != Suite::Omni {
        return usual;
    }
    if test != TestId::Omni {
        return Flow {
            connects: usual.connects || args.connect,
            ..usual
        };
    }
    let direction = args.direction.unwrap_or(args.implied);
    let asked = Flow {
        sends: direction.sends,
        receives: direction.receives,
        connects: direction.connects || args.connect,
        duplex: None,
    };
    if asked.sends || asked.receives || asked.connects {
        asked
    } else {
        usual
    }
}

/// The same with data both ways at once, where that is asked for.
pub(super) fn both_ways(flow: Flow, args: &GlobalArgs) -> Flow {
    match args.bidirectional {
        None => flow,
        Some(over) => Flow {
            connects: flow.connects,
            ..Flow::both_ways(over)
        },
    }
}

/// Request and response size. Tests of connections alone have them only to repeat them
/// in their result.
pub(super) fn request_response(
    test: TestId,
    flow: Flow,
    args: &TestArgs,
) -> (Option<u32>, Option<u32>) {
    if !flow.is_request_response() && !test.counts_connections() {
        return (None, None);
    }
    let usual = match test.row().suite {
        Suite::Dlpi | Suite::Hippi => FRAME_SIZES,
        Suite::Omni
        | Suite::Sockets
        | Suite::Unix
        | Suite::Sctp
        | Suite::Sdp
        | Suite::Xti
        | Suite::Fore
        | Suite::Control => (1, 1),
    };
    let size = |typed: Option<i32>, usual| Some(u32::try_from(typed.unwrap_or(usual)).unwrap_or(0));
    (size(args.request.0, usual.0), size(args.request.1, usual.1))
}

/// Returns true if a host is reached by vsock(7).
fn is_vsock(host: &str) -> bool {
    host.starts_with("vsock:")
}

/// Transport of the data.
pub(super) fn transport(all: &Args, test: TestId) -> Result<TransportId, CliError> {
    let (program, args) = (&all.program, &all.test);
    let over_vsock = all.global.remote.host.as_deref().is_some_and(is_vsock);
    // Nothing else leads to such a host.
    let usual = if test == TestId::Omni && over_vsock && args.remote.host.is_none() {
        TransportId::Vsock
    } else {
        test.row().transport
    };
    let unsupported = |wanted: &str| CliError::Transport {
        program: program.clone(),
        wanted: wanted.to_owned(),
    };
    let asked = match args.transport.protocol.as_deref() {
        None => usual,
        Some(name) => match TransportId::from_option(name) {
            Some(id) => id,
            None => TransportId::IpDefault,
        },
    };
    // No particular protocol says nothing about the kind of socket.
    let kind = match &args.transport.kind {
        Some(SocketKindArg::Stream) => SocketKind::Stream,
        Some(SocketKindArg::Datagram) => SocketKind::Datagram,
        Some(SocketKindArg::SeqPacket) => SocketKind::SeqPacket,
        Some(SocketKindArg::Unknown(word)) => {
            return Err(CliError::SocketKind {
                program: program.clone(),
                word: word.clone(),
            });
        }
        None if asked == TransportId::IpDefault => usual.row().kind,
        None => asked.row().kind,
    };
    match (asked, kind) {
        // A datagram socket without a protocol is UDP, says ip(7).
        (TransportId::IpDefault, SocketKind::Datagram) => Ok(TransportId::Udp),
        (TransportId::Tcp, SocketKind::Datagram) if args.transport.protocol.is_none() => {
            Ok(TransportId::Udp)
        }
        _ => asked.with_kind(kind).ok_or_else(|| {
            let kind = kind.label().to_ascii_lowercase();
            unsupported(&format!("{} with {kind} sockets", asked.row().label))
        }),
    }
}

/// The local ports of connection tests, where any were given.
pub(super) fn port_range(args: &TestArgs) -> Option<(u16, u16)> {
    if args.port_range == (None, None) {
        return None;
    }
    let port = |typed: Option<i32>, usual: u16| {
        let port = typed.unwrap_or(usual.into()).clamp(0, u16::MAX.into());
        u16::try_from(port).unwrap_or_default()
    };
    Some((
        port(args.port_range.0, LOCAL_PORTS.0),
        port(args.port_range.1, LOCAL_PORTS.1),
    ))
}

/// Confidence as asked for by `-i` and `-I`; `None` with neither.
pub(super) fn confidence(args: &GlobalArgs) -> Option<ConfidencePlan> {
    let level = args.confidence.level?;
    let (min_iterations, max_iterations) = args
        .iterations
        .map_or(DEFAULT_ITERATIONS, |typed| (typed.min, typed.max));
    Some(ConfidencePlan {
        level,
        width: args.confidence.width.unwrap_or(DEFAULT_WIDTH) / 100.0,
        min_iterations,
        max_iterations,
        result_only: args.result_only,
    })
}

/// Interval of interim results. In the original the sign selects a clock policy; here every
/// interval is kept exactly.
pub(super) fn interim(global: &GlobalArgs) -> Option<Duration> {
    let seconds = global.interim?.abs();
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|interval| !interval.is_zero())
}
