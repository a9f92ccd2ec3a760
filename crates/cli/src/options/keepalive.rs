//! The option of both programs about an idle control connection.

use std::time::Duration;

use crate::args::{GlobalArgs, ServerArgs};
use crate::group::Group;
use crate::kind::Kind;
use crate::table::{Action, Row};

const NAME: &str = "control-keepalive";
const WHAT: &str = "probe an idle control connection this often, every 15 s unless given";

pub(super) const NETPERF: Row<GlobalArgs> = Row::<GlobalArgs>::without_letter(
    "time",
    WHAT,
    Action::Value(|a, text| a.control_keepalive = seconds(text)),
)
.long(NAME, Group::Hosts, Kind::Span)
.more(
    "While a test runs nothing else is said there. The probes, of TCP, have a NAT remember the \
     connection, and end a run whose netserver's host has shown no sign of life for nearly three \
     times as long. Whole seconds; 0 sends none.",
);

pub(super) const NETSERVER: Row<ServerArgs> = Row::<ServerArgs>::without_letter(
    "time",
    WHAT,
    Action::Value(|a, text| a.control_keepalive = seconds(text)),
)
.long(NAME, Group::Access, Kind::Span)
.more(
    "A session ends when its client's host has shown no sign of life for nearly three times as \
     long. Whole seconds; 0 sends none.",
);

/// The long form gives seconds, with a fraction.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}
