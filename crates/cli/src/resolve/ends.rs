//! Parameters of each end.

use std::path::PathBuf;
use std::time::Duration;

use netperf_arguments::args::{Args, GlobalArgs, PerEnd, TestArgs};
use netperf_model::plan::TouchPlan;
use netperf_model::{
    CpuMethod, CpuPlan, EndPlan, PacePlan, PlacePlan, RingPlan, Routing, Setting, Settings,
    SocketPlan, Suite, TestId,
};

use crate::parse::asked_test::test_of;

/// Alignment of buffers unless an option says otherwise.
const ALIGNMENT: i32 = 8;
/// Interval of pacing when only the burst was given.
const PACE_INTERVAL: Duration = Duration::from_millis(1);

/// Which end is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlannedEnd {
    /// netperf's.
    Local,
    /// netserver's.
    Remote,
}

impl PlannedEnd {
    /// The value of this end.
    pub(super) fn choose<T>(self, local: T, remote: T) -> T {
        match self {
            Self::Local => local,
            Self::Remote => remote,
        }
    }

    /// The value that was typed for this end.
    pub(super) fn of<T: Clone>(self, ends: &PerEnd<T>) -> Option<T> {
        self.choose(&ends.local, &ends.remote).clone()
    }
}

/// An end.
pub(super) fn end(args: &Args, which: PlannedEnd) -> EndPlan {
    let (global, typed) = (&args.global, &args.test);
    let align = which.choose(&global.align, &global.remote_align);
    let offset = which.choose(&global.offset, &global.remote_offset);
    EndPlan {
        socket: socket(args, which),
        // netserver is asked for as many buffers as netperf; there is no option for its own
        // number.
        send: RingPlan {
            size: positive(which.of(&typed.send_size)),
            width: positive(typed.send_width).or(positive(global.width.send)),
            align: alignment(align.send),
            offset: size(offset.send).unwrap_or(0),
        },
        recv: RingPlan {
            size: positive(which.of(&typed.recv_size)),
            width: positive(global.width.recv),
            align: alignment(align.recv),
            offset: size(offset.recv).unwrap_or(0),
        },
        cpu: cpu(global, which),
        bind: size(global.bind.as_ref().and_then(|ends| which.of(ends))),
        fill: which.of(&global.fill).map(PathBuf::from),
        pace: pace(
            which.of(&global.pace_burst),
            which.of(&global.pace_interval),
        ),
        touch: touch(which.choose(global.touch, global.remote_touch)),
        copy_avoidance: typed.copy_avoidance,
        place: place(typed, which),
        ..EndPlan::default()
    }
}

fn socket(args: &Args, which: PlannedEnd) -> SocketPlan {
    let (global, typed) = (&args.global, &args.test);
    let buffers = which.choose(&typed.buffers, &typed.remote_buffers);
    let both = SocketPlan {
        send_buffer: size(buffers.send),
        recv_buffer: size(buffers.recv),
        keepalive: global.keepalive,
        priority: non_negative(which.of(&global.priority)),
        tos: which.of(&global.tos).flatten(),
        congestion: which.of(&typed.congestion),
        connected_datagram: which.choose(typed.connected, typed.remote_connected),
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
    };
    match which {
        PlannedEnd::Local => SocketPlan {
            debug: typed.debug,
            segment_size: positive(typed.segment_size),
            multicast_ttl: typed.multicast_ttl.and_then(|ttl| u8::try_from(ttl).ok()),
            settings: pacing_rate(typed.pacing_rate),
            tls_cipher: global.tls_cipher.clone(),
            ..both
        },
        PlannedEnd::Remote => SocketPlan {
            // Requests of the older tests have no field for keep-alive.
            keepalive: both.keepalive
                && test_of(global).is_some_and(|test| test.row().suite == Suite::Omni),
            packet_info: typed.packet_info,
            defer_accept: typed.defer_accept,
            ..both
        },
    }
}

/// The rate that netperf's kernel paces its sockets at.
fn pacing_rate(typed: Option<i32>) -> Settings {
    let rate = positive(typed);
    let none = Settings::default();
    rate.map_or(none, |rate| none.with(Setting::PacingRate, rate))
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

/// Parameters of addresses below the network layer and of Unix-domain sockets.
fn place(typed: &TestArgs, which: PlannedEnd) -> PlacePlan {
    let windows = which.choose(&typed.windows, &typed.remote_windows);
    let directory = typed.directory.as_ref();
    PlacePlan {
        directory: which.choose(directory.map(PathBuf::from), None),
        device: which.of(&typed.device),
        unit: non_negative(which.of(&typed.unit)),
        sap: typed.sap.and_then(|sap| u8::try_from(sap).ok()),
        window: positive(windows.send),
        recv_window: positive(windows.recv),
    }
}

/// An alignment; 0 means none, and what is no power of two is raised to one.
fn alignment(typed: Option<i32>) -> u32 {
    size(Some(typed.unwrap_or(ALIGNMENT)))
        .unwrap_or(1)
        .next_power_of_two()
}

/// A measurement, or a method for the test that only prints its rate.
fn cpu(global: &GlobalArgs, which: PlannedEnd) -> Option<CpuPlan> {
    let arg = which.choose(&global.cpu, &global.remote_cpu);
    let calibration = which.choose(TestId::LocCpu, TestId::RemCpu);
    let calibrates = test_of(global) == Some(calibration);
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
