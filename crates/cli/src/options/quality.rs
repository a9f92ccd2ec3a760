//! The options about what becomes of single datagrams on their way.

use crate::args::GlobalArgs;
use crate::group::Group;
use crate::kind::Kind;
use crate::table::{Action, Row};

type Opt = Row<GlobalArgs>;

pub(super) const SEQUENCE: Opt = Opt::without_letter(
    "",
    "number datagrams: loss, duplicates, order, jitter",
    Action::Flag(|a| a.io.sequence = true),
)
.long("sequence", Group::Test, Kind::Nothing)
.more(
    "In stream tests over UDP, UDP-Lite, DCCP and Unix-domain datagrams. Each begins with \
     24 bytes that hold its number and when it was sent. The receiver counts what is lost, \
     comes twice or late, and follows the jitter: UDP_LOST, UDP_DUPLICATED, UDP_REORDERED, \
     UDP_JITTER_USEC and further selectors, --json, and -v 2 show it. Both ends must be of \
     this program.",
);
