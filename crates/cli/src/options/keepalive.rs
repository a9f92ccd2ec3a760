//! The option of both programs about an idle control connection.

use std::time::Duration;

use crate::args::{GlobalArgs, ServerArgs};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

const NAME: &str = "control-keepalive";
const WHAT: &str = "probe an idle control connection at this interval (default 15 s)";

pub(super) const NETPERF: OptionSpec<GlobalArgs> = OptionSpec::<GlobalArgs>::without_letter(
    "time",
    WHAT,
    Action::Value(|a, text| a.control_keepalive = seconds(text)),
)
.long(NAME, Group::Hosts, ValueKind::Span)
.more(
    "The control connection is otherwise idle during a test. The TCP keepalive probes keep the \
     connection in the tables of a NAT, and end a run if netserver's host has shown no sign of \
     life for nearly three intervals. Whole seconds; 0 disables probes.",
);

pub(super) const NETSERVER: OptionSpec<ServerArgs> = OptionSpec::<ServerArgs>::without_letter(
    "time",
    WHAT,
    Action::Value(|a, text| a.control_keepalive = seconds(text)),
)
.long(NAME, Group::Access, ValueKind::Span)
.more(
    "A session ends if its client's host has shown no sign of life for nearly three intervals. \
     Whole seconds; 0 disables probes.",
);

/// The long form gives seconds, with a fraction.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}
