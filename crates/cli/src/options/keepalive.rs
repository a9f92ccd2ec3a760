//! The option of both programs about an idle control connection.

use super::span;
use crate::args::{GlobalArgs, ServerArgs};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

const NAME: &str = "control-keepalive";
const WHAT: &str = "probe an idle control connection at this interval (default 15 s)";

pub(super) const NETPERF: OptionSpec<GlobalArgs> = OptionSpec::<GlobalArgs>::named(
    NAME,
    Group::Hosts,
)
.takes("time", ValueKind::Span)
.set(|a, text| a.control_keepalive = span(text))
.help(WHAT)
.more(
    "The control connection is otherwise idle during a test. The TCP keepalive probes keep the \
         connection in the tables of a NAT, and end a run if netserver's host has shown no sign of \
         life for nearly three intervals. Whole seconds; 0 disables probes.",
);

pub(super) const NETSERVER: OptionSpec<ServerArgs> = OptionSpec::<ServerArgs>::named(
    NAME,
    Group::Access,
)
.takes("time", ValueKind::Span)
.set(|a, text| a.control_keepalive = span(text))
.help(WHAT)
.more(
    "A session ends if its client's host has shown no sign of life for nearly three intervals. \
         Whole seconds; 0 disables probes.",
);
