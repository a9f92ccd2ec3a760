//! Requests to netserver in a test without one (`-N`).

use netperf_arguments::args::Args;
use netperf_model::in_force::Substitution;
use netperf_model::plan::TouchPlan;
use netperf_model::{EndPlan, Flow, IoPlan, RingPlan};

use super::ends::{self, PlannedEnd};
use super::io;

/// A request to netserver.
struct RemoteRequest {
    /// Long options, without their dashes; none if no letter asks for it.
    options: &'static [&'static str],
    /// Name in messages.
    name: &'static str,
    /// True if netserver is asked for what netperf's end, the first, is not.
    asked: fn(local: &EndPlan, remote: &EndPlan) -> bool,
}

const fn request(
    name: &'static str,
    options: &'static [&'static str],
    asked: fn(&EndPlan, &EndPlan) -> bool,
) -> RemoteRequest {
    RemoteRequest {
        options,
        name,
        asked,
    }
}

/// True if one end is asked for something, and the other is not asked for the same.
fn other<T: PartialEq>(local: &Option<T>, remote: &Option<T>) -> bool {
    remote.is_some() && local != remote
}

static REQUESTS: &[RemoteRequest] = &[
    request("-T (--bind-cpu)", &["bind-cpu"], |l, r| {
        other(&l.bind, &r.bind)
    }),
    request("-C (--remote-cpu)", &["remote-cpu"], |_, r| r.cpu.is_some()),
    request(
        "-S (--remote-socket-buffer)",
        &["remote-socket-buffer"],
        |_, r| r.socket.send_buffer.or(r.socket.recv_buffer).is_some(),
    ),
    request("-y (--priority)", &["priority"], |l, r| {
        other(&l.socket.priority, &r.socket.priority)
    }),
    request("-Y (--dscp)", &["tos", "dscp"], |l, r| {
        other(&l.socket.tos, &r.socket.tos)
    }),
    request("-K (--congestion)", &["congestion"], |l, r| {
        other(&l.socket.congestion, &r.socket.congestion)
    }),
    request("-a (--defer-accept)", &["defer-accept"], |_, r| {
        r.socket.defer_accept
    }),
    request("-B (--packet-info)", &["packet-info"], |_, r| {
        r.socket.packet_info
    }),
    request("-N (--remote-connected)", &["remote-connected"], |_, r| {
        r.socket.connected_datagram
    }),
    request("-F (--fill-file)", &["fill-file"], |l, r| {
        other(&l.fill, &r.fill)
    }),
    request("-b (--pace)", &["pace"], |l, r| other(&l.pace, &r.pace)),
    request("-A (--remote-align)", &["remote-align"], |_, r| {
        let plain = RingPlan::default().align;
        [r.send.align, r.recv.align] != [plain, plain]
    }),
    request("-O (--remote-offset)", &["remote-offset"], |_, r| {
        [r.send.offset, r.recv.offset] != [0, 0]
    }),
    request("-K (--remote-dirty)", &["remote-dirty"], |_, r| {
        r.touch != TouchPlan::default()
    }),
    request("--series", &[], |l, r| other(&l.series, &r.series)),
    request("an option of data paths (--io ...)", &[], |l, r| {
        r.io != l.io && r.io != IoPlan::default()
    }),
    request("an option of data sockets (--mark ...)", &[], |l, r| {
        let of_netperf = l.socket.settings;
        let mut asked = r.socket.settings.iter();
        asked.any(|(setting, value)| of_netperf.value(setting) != Some(value))
    }),
];

/// Requests of a command line to a netserver that the test does not have.
pub(super) fn requests(args: &Args, flow: Flow) -> Vec<Substitution> {
    let end = |which| {
        let end = io::with_paths(&args.global.io, flow, which, ends::end(args, which));
        EndPlan {
            series: io::series(&args.global.series, which),
            ..end
        }
    };
    let (local, remote) = (end(PlannedEnd::Local), end(PlannedEnd::Remote));
    let asked = REQUESTS
        .iter()
        .filter(|request| (request.asked)(&local, &remote));
    asked
        .map(|request| Substitution {
            options: request.options,
            known: true,
            text: format!(
                "{} at netserver: not in force, because -N (--no-control) has no netserver",
                request.name
            ),
        })
        .collect()
}
