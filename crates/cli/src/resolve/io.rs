//! I/O options of each end.

use netperf_arguments::args::{IoArgs, OnePortArg, SeriesArgs};
use netperf_model::{Duplex, EndPlan, Flow, IoPlan, SeriesPlan, SocketPlan};

use super::ends::{PlannedEnd, positive};

/// An end with what the options about data paths say of it.
pub(super) fn with_paths(args: &IoArgs, flow: Flow, which: PlannedEnd, end: EndPlan) -> EndPlan {
    let (sends, receives) = which.choose((flow.sends, flow.receives), (flow.receives, flow.sends));
    let method = which.of(&args.method);
    let io = IoPlan {
        method: method.flatten().unwrap_or_default(),
        // In a test without data the plan says that it cannot be.
        zerocopy: args.zerocopy && (sends || !receives),
        discard: args.discard && (receives || !sends),
        batch: positive(which.of(&args.batch)).filter(|batch| *batch > 1),
        segments: which.of(&args.segments).unwrap_or(false),
        splice: args.splice && (receives || !sends),
    };
    let typed = which.choose(&args.settings, &args.remote_settings);
    let socket = SocketPlan {
        settings: end.socket.settings.with_all(typed),
        ..end.socket
    };
    EndPlan {
        socket,
        io,
        auto_io: method == Some(None),
        sequence: args.sequence,
        one_port: args.one_port == Some(OnePortArg::On),
        duplex: flow.duplex == Some(Duplex::Same),
        ..end
    }
}

/// Time series recorded by an end, if any.
pub(super) fn series(args: &SeriesArgs, which: PlannedEnd) -> Option<SeriesPlan> {
    let every = which.of(&args.every).filter(|every| !every.is_zero())?;
    Some(SeriesPlan {
        every,
        flows: args.flows.unwrap_or(SeriesPlan::FLOWS),
    })
}
