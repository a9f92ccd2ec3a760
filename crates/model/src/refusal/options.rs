//! Options that are no features, and the tests in which nothing comes of them but a wait
//! without an end.

use super::{Refusal, TCP};
use crate::catalog::transports::TransportId;
use crate::plan::{Duplex, Limit, TestPlan};

/// An option, the plans in which it has no place, and why.
struct OptionRow {
    option: &'static str,
    is: fn(&TestPlan) -> bool,
    why: &'static str,
}

const OPTIONS: &[OptionRow] = &[
    OptionRow {
        option: "--defer-accept (-- -a)",
        is: |plan| {
            let silent = plan.flow.receives && !plan.flow.sends;
            let apart = plan.flow.duplex == Some(Duplex::Separate);
            let asked = plan.remote.socket.defer_accept && TCP.contains(&plan.transport);
            asked && (silent || apart)
        },
        why: "netserver would wait for data, and netperf sends none over a connection on \
              which netserver sends: leave it out",
    },
    OptionRow {
        option: "--request-size (-- -r)",
        is: |plan| {
            let exchanges = plan.flow.connects || !plan.transport.row().reliable;
            plan.response == Some(0) && matches!(plan.limit, Limit::Units(_)) && exchanges
        },
        why: "a response of no bytes never comes, and nothing else ends this test: give a \
              byte or more, or a time",
    },
    OptionRow {
        option: "--no-control (-N)",
        is: |plan| plan.control.is_none() && FILES.contains(&plan.transport),
        why: "over this transport only netserver knows the address of its socket: leave it out",
    },
];

/// Transports whose addresses only netserver knows.
const FILES: &[TransportId] = &[
    TransportId::UnixStream,
    TransportId::UnixDatagram,
    TransportId::Vsock,
];

pub(super) fn check(plan: &TestPlan) -> Result<(), Refusal> {
    match OPTIONS.iter().find(|row| (row.is)(plan)) {
        Some(row) => Err(Refusal {
            option: row.option,
            why: row.why.into(),
        }),
        None => Ok(()),
    }
}
