//! Parameters of each end.

use std::path::PathBuf;
use std::time::Duration;

use netperf_model::plan::TouchPlan;
use netperf_model::{
    CpuMethod, CpuPlan, EndPlan, PacePlan, PlacePlan, RingPlan, Routing, Setting, Settings,
    SocketPlan, Suite, TestId,
};

use crate::args::{Args, CpuArg, PerDirection};
use crate::parse;

/// Alignment of buffers unless an option says otherwise.
const ALIGNMENT: i32 = 8;
/// Interval of pacing when only the burst was given.
const PACE_INTERVAL: Duration = Duration::from_millis(1);

/// netperf's end.
pub(super) fn local(args: &Args) -> EndPlan {
    let (global, typed) = (&args.global, &args.test);
    let socket = SocketPlan {
        keepalive: global.keepalive,
        debug: typed.debug,
        segment_size: positive(typed.segment_size),
        priority: non_negative(global.priority.local),
        tos: global.tos.local.flatten(),
        congestion: typed.congestion.local.clone(),
        connected_datagram: typed.connected,
        multicast_ttl: typed.multicast_ttl.and_then(|ttl| u8::try_from(ttl).ok()),
        settings: pacing_rate(typed.pacing_rate),
        tls_cipher: global.tls_cipher.clone(),
        ..common(args, &typed.buffers)
    };
    EndPlan {
        socket,
        send: RingPlan {
            size: positive(typed.send_size.local),
            ..send_ring(args, &global.align, &global.offset)
        },
        recv: RingPlan {
            size: positive(typed.recv_size.local),
            ..recv_ring(args, &global.align, &global.offset)
        },
        cpu: cpu(args, global.cpu, TestId::LocCpu),
        bind: bind(args, |ends| ends.local),
        fill: global.fill.local.as_ref().map(PathBuf::from),
        pace: pace(global.pace_burst.local, global.pace_interval.local),
        touch: touch(global.touch),
        copy_avoidance: typed.copy_avoidance,
        place: PlacePlan {
            directory: typed.directory.as_ref().map(PathBuf::from),
            device: typed.device.local.clone(),
            unit: non_negative(typed.unit.local),
            ..place(args, &typed.windows)
        },
        ..EndPlan::default()
    }
}

/// The rate that netperf's kernel paces its sockets at.
fn pacing_rate(typed: Option<i32>) -> Settings {
    let rate = positive(typed);
    let none = Settings::default();
    rate.map_or(none, |rate| none.with(Setting::PacingRate, rate))
}

/// netserver's end.
pub(super) fn remote(args: &Args) -> EndPlan {
    let (global, typed) = (&args.global, &args.test);
    // Requests of the older tests have no field for keep-alive.
    let omni = parse::test_of(global)
        .map(TestId::row)
        .is_some_and(|row| row.suite == Suite::Omni);
    let socket = SocketPlan {
        keepalive: global.keepalive && omni,
        priority: non_negative(global.priority.remote),
        tos: global.tos.remote.flatten(),
        congestion: typed.congestion.remote.clone(),
        packet_info: typed.packet_info,
        defer_accept: typed.defer_accept,
        connected_datagram: typed.remote_connected,
        ..common(args, &typed.remote_buffers)
    };
    EndPlan {
        socket,
        send: RingPlan {
            size: positive(typed.send_size.remote),
            ..send_ring(args, &global.remote_align, &global.remote_offset)
        },
        recv: RingPlan {
            size: positive(typed.recv_size.remote),
            ..recv_ring(args, &global.remote_align, &global.remote_offset)
        },
        cpu: cpu(args, global.remote_cpu, TestId::RemCpu),
        bind: bind(args, |ends| ends.remote),
        fill: global.fill.remote.as_ref().map(PathBuf::from),
        pace: pace(global.pace_burst.remote, global.pace_interval.remote),
        touch: touch(global.remote_touch),
        copy_avoidance: typed.copy_avoidance,
        place: PlacePlan {
            device: typed.device.remote.clone(),
            unit: non_negative(typed.unit.remote),
            ..place(args, &typed.remote_windows)
        },
        ..EndPlan::default()
    }
}

/// netserver's end when there is no netserver: what could only have been asked of one is gone.
pub(super) fn unreachable(end: EndPlan) -> EndPlan {
    let plain = RingPlan::default();
    EndPlan {
        socket: SocketPlan::default(),
        send: RingPlan {
            align: plain.align,
            offset: plain.offset,
            ..end.send
        },
        recv: RingPlan {
            align: plain.align,
            offset: plain.offset,
            ..end.recv
        },
        cpu: None,
        ..end
    }
}

/// Socket options that one letter sets at both ends.
fn common(args: &Args, buffers: &PerDirection<i32>) -> SocketPlan {
    let typed = &args.test;
    SocketPlan {
        send_buffer: size(buffers.send),
        recv_buffer: size(buffers.recv),
        nodelay: typed.nodelay,
        cork: typed.cork,
        routing: match typed.routing {
            Some(0) => Routing::DirectOnly,
            Some(_) | None => Routing::Routed,
        },
        fast_open: typed.fast_open,
        no_fragmentation: typed.no_fragmentation,
        non_blocking: typed.non_blocking,
        ..SocketPlan::default()
    }
}

/// Address parameters common to both ends, and the windows of one.
fn place(args: &Args, windows: &PerDirection<i32>) -> PlacePlan {
    PlacePlan {
        sap: args.test.sap.and_then(|sap| u8::try_from(sap).ok()),
        window: positive(windows.send),
        recv_window: positive(windows.recv),
        ..PlacePlan::default()
    }
}

/// The send ring without its size. netserver is asked for as many buffers as
/// netperf; there is no option for its own number.
fn send_ring(args: &Args, align: &PerDirection<i32>, offset: &PerDirection<i32>) -> RingPlan {
    RingPlan {
        size: None,
        width: positive(args.test.send_width).or(positive(args.global.width.send)),
        align: alignment(align.send),
        offset: size(offset.send).unwrap_or(0),
    }
}

/// The receive ring without its size.
fn recv_ring(args: &Args, align: &PerDirection<i32>, offset: &PerDirection<i32>) -> RingPlan {
    RingPlan {
        size: None,
        width: positive(args.global.width.recv),
        align: alignment(align.recv),
        offset: size(offset.recv).unwrap_or(0),
    }
}

/// An alignment; 0 means none, and what is no power of two is raised to one.
fn alignment(typed: Option<i32>) -> u32 {
    size(Some(typed.unwrap_or(ALIGNMENT)))
        .unwrap_or(1)
        .next_power_of_two()
}

/// A measurement, or a method for the test that only prints its rate.
fn cpu(args: &Args, arg: CpuArg, calibration: TestId) -> Option<CpuPlan> {
    let global = &args.global;
    let calibrates = parse::test_of(global) == Some(calibration);
    let wanted = arg.wanted || (global.cpu_method.is_some() && calibrates);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the request has 32 bits for the rate"
    )]
    let rate = arg.rate.map(|rate| rate as f32);
    wanted.then_some(CpuPlan {
        rate,
        method: global.cpu_method.unwrap_or(CpuMethod::ProcStat),
    })
}

fn bind(args: &Args, end: fn(&crate::PerEnd<i32>) -> Option<i32>) -> Option<u32> {
    size(end(args.global.bind.as_ref()?))
}

/// An interval without a burst does not pace but is still shown.
fn pace(burst: Option<i32>, interval: Option<Duration>) -> Option<PacePlan> {
    let interval = interval.filter(|interval| !interval.is_zero());
    match positive(burst) {
        Some(burst) => Some(PacePlan {
            burst,
            interval: interval.unwrap_or(PACE_INTERVAL),
        }),
        None => interval.map(|interval| PacePlan { burst: 0, interval }),
    }
}

fn touch((dirty, clean): (Option<i32>, Option<i32>)) -> TouchPlan {
    TouchPlan {
        dirty: size(dirty).unwrap_or(0),
        clean: size(clean).unwrap_or(0),
    }
}

/// A value of 0 or more.
pub(super) fn size(typed: Option<i32>) -> Option<u32> {
    u32::try_from(typed?).ok()
}

/// A value above 0; 0 is the default.
pub(super) fn positive(typed: Option<i32>) -> Option<u32> {
    size(typed).filter(|&value| value > 0)
}

fn non_negative(typed: Option<i32>) -> Option<i32> {
    typed.filter(|&value| value >= 0)
}
