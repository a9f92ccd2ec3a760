//! The option of both programs about an idle control connection.

use std::time::Duration;

use crate::args::{GlobalArgs, ServerArgs};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionRow};

const NAME: &str = "control-keepalive";
const WHAT: &str = "probe an idle control connection this often, every 15 s unless given";

pub(super) const NETPERF: OptionRow<GlobalArgs> = OptionRow::<GlobalArgs>::without_letter(
    "time",
    WHAT,
    Action::Value(|a, text| a.control_keepalive = seconds(text)),
)
.long(NAME, Group::Hosts, ValueKind::Span)
.more(
    "While a test runs nothing else is said there. The probes, of TCP, have a NAT remember the \
     connection, and end a run whose netserver's host has shown no sign of life for nearly three \
     times as long. Whole seconds; 0 sends none.",
);

pub(super) const NETSERVER: OptionRow<ServerArgs> = OptionRow::<ServerArgs>::without_letter(
    "time",
    WHAT,
    Action::Value(|a, text| a.control_keepalive = seconds(text)),
)
.long(NAME, Group::Access, ValueKind::Span)
.more(
    "A session ends when its client's host has shown no sign of life for nearly three times as \
     long. Whole seconds; 0 sends none.",
);

/// The long form gives seconds, with a fraction.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}
