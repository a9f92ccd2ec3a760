//! Selectors of data paths, which the original does not have: `all` and `?` omit them.

use netperf_model::figures::count;
use netperf_model::{Duplex, IoCounts, Tally};

use crate::selectors::SelectorValue::{End, Run};
use crate::selectors::{Need, SelectorRow, row};
use crate::values::{NOT_MEASURED, Value, text};
use crate::view::{EndView, View};

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static PATHS: &[&[SelectorRow]] = &[
    &[row("{END}_IO_METHOD", ["{End}", "I/O", "Method", ""], "", "%s", Need::Nothing,
        End(|_, end| text(end.plan.io.method.label())),
        "waiting method of {end}: blocking, poll, epoll or uring")],
    &[row("{END}_MESSAGES_PER_CALL", ["{End}", "Messages", "per", "Call"], "messages", "%.2f", Need::Nothing,
        End(|_, end| per_call(end)),
        "messages that a system call moved at {end}, last iteration; with --batch, --segment-offload or --io uring")],
    &[row("{END}_ZEROCOPY_SHARE", ["{End}", "Zero-copy", "Share", ""], "share from 0 to 1", "%.4f", Need::Nothing,
        End(|_, end| share(end)),
        "share of {end}'s sends that were not copied, last iteration; with --zerocopy")],
    &[
        row("BIDIRECTIONAL", ["Both", "Ways", "", ""], "", "%s", Need::Nothing,
            Run(|v| text(v.plan().flow.duplex.map_or("no", Duplex::label))),
            "connections of a bidirectional test: same, separate, or no for a one-way test"),
        row("TLS_CIPHER", ["TLS", "Cipher", "Suite", ""], "", "%s", Need::Nothing,
            Run(cipher),
            "version and cipher suite that encrypted the data, or none"),
    ],
];

/// Encryption of the data of the last iteration.
fn cipher(view: &View<'_>) -> Value {
    let last = view.outcome.iterations.last();
    let cipher = last.and_then(|iteration| iteration.cipher.as_deref());
    text(cipher.unwrap_or("none"))
}

fn counts(end: EndView<'_>) -> Option<IoCounts> {
    end.result?.io
}

fn share(end: EndView<'_>) -> Value {
    let share = counts(end).and_then(|counts| counts.zerocopy_share());
    share.into()
}

fn per_call(end: EndView<'_>) -> Value {
    let messages = |tally: &Tally| tally.send_calls + tally.recv_calls;
    let Some((io, messages)) = counts(end).zip(end.sends(messages)) else {
        return NOT_MEASURED;
    };
    let calls = io.send_calls + io.recv_calls;
    if calls == 0 {
        NOT_MEASURED
    } else {
        Value::Real(count(messages) / count(calls))
    }
}
