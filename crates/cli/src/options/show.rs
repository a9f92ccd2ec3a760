//! The options about what a terminal shows while a test runs, which have names only.

use crate::args::{GlobalArgs, Progress};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionRow};

type Opt = OptionRow<GlobalArgs>;

pub(super) const LIVE: Opt = Opt::without_letter(
    "",
    "show the test on the whole terminal while it runs",
    Action::Flag(|a| a.show.live = true),
)
.long("live", Group::Output, ValueKind::Nothing)
.more(
    "Rate, latency (with --latency), retransmissions, CPU utilisation here, the time left \
     and, of many flows, each: as numbers and as lines over time. Drawn on standard error, or \
     on standard output where that alone is a terminal; when the test is over the terminal is \
     as it was, and the result printed as ever. q or Ctrl-C end the test early, with its \
     result. Without colour where NO_COLOR is set.",
);

pub(super) const PROGRESS: Opt = Opt::without_letter(
    "when",
    "a line of progress on the terminal: auto, never or always",
    Action::Value(|a, text| a.show.progress = progress(text)),
)
.long(
    "progress",
    Group::Output,
    ValueKind::Word(&["auto", "never", "always"]),
)
.more(
    "On standard error, and erased when the test is over. auto, which is what happens unless \
     asked otherwise, shows it where standard input and error are a terminal and the result \
     goes elsewhere: to a file, to a pipe, or to the end as one JSON document. always shows \
     it where standard error is a terminal.",
);

fn progress(text: &str) -> Progress {
    match text {
        "never" => Progress::Never,
        "always" => Progress::Always,
        _ => Progress::Auto,
    }
}
