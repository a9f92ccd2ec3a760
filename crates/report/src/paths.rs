//! Selectors that the original does not have: how each end moved its bytes.
//!
//! They count wherever names are read; `all` and `?`, which scripts know, leave them out.

use netperf_model::figures::count;
use netperf_model::{Duplex, EndPlan, IoCounts};

use crate::selectors::{Need, Selector, row};
use crate::values::{NOT_MEASURED, Value, text};
use crate::view::{EndView, View};

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static PATHS: &[Selector] = &[
    row("LOCAL_IO_METHOD", ["Local", "I/O", "Method", ""], "", "%s", Need::Nothing,
        |v| method(&v.plan().local),
        "waiting method of netperf: blocking, poll, epoll or uring"),
    row("REMOTE_IO_METHOD", ["Remote", "I/O", "Method", ""], "", "%s", Need::Nothing,
        |v| method(&v.plan().remote),
        "waiting method of netserver: blocking, poll, epoll or uring"),
    row("LOCAL_MESSAGES_PER_CALL", ["Local", "Messages", "per", "Call"], "messages", "%.2f", Need::Nothing,
        |v| per_call(v.local()),
        "messages that a system call moved at netperf, last iteration; with --batch, --segment-offload or --io uring"),
    row("REMOTE_MESSAGES_PER_CALL", ["Remote", "Messages", "per", "Call"], "messages", "%.2f", Need::Nothing,
        |v| per_call(v.remote()),
        "messages that a system call moved at netserver, last iteration; with --batch, --segment-offload or --io uring"),
    row("LOCAL_ZEROCOPY_SHARE", ["Local", "Zero-copy", "Share", ""], "share from 0 to 1", "%.4f", Need::Nothing,
        |v| share(v.local()),
        "share of netperf's sends that were not copied, last iteration; with --zerocopy"),
    row("REMOTE_ZEROCOPY_SHARE", ["Remote", "Zero-copy", "Share", ""], "share from 0 to 1", "%.4f", Need::Nothing,
        |v| share(v.remote()),
        "share of netserver's sends that were not copied, last iteration; with --zerocopy"),
    row("BIDIRECTIONAL", ["Both", "Ways", "", ""], "", "%s", Need::Nothing,
        |v| text(v.plan().flow.duplex.map_or("no", Duplex::label)),
        "connections of a bidirectional test: same, separate, or no for a one-way test"),
    row("TLS_CIPHER", ["TLS", "Cipher", "Suite", ""], "", "%s", Need::Nothing,
        cipher,
        "version and cipher suite that encrypted the data, or none"),
];

/// Encryption of the data of the last iteration.
fn cipher(view: &View<'_>) -> Value {
    let last = view.outcome.iterations.last();
    let cipher = last.and_then(|iteration| iteration.cipher.as_deref());
    text(cipher.unwrap_or("none"))
}

fn method(end: &EndPlan) -> Value {
    text(end.io.method.label())
}

fn counts(end: EndView<'_>) -> Option<IoCounts> {
    end.result?.io
}

fn share(end: EndView<'_>) -> Value {
    let share = counts(end).and_then(|counts| counts.zerocopy_share());
    share.map_or(NOT_MEASURED, Value::Real)
}

fn per_call(end: EndView<'_>) -> Value {
    let Some((io, result)) = counts(end).zip(end.result) else {
        return NOT_MEASURED;
    };
    let calls = io.send_calls + io.recv_calls;
    let messages = result.tally.send_calls + result.tally.recv_calls;
    if calls == 0 {
        NOT_MEASURED
    } else {
        Value::Real(count(messages) / count(calls))
    }
}
