//! The options about what a terminal shows while a test runs, which have names only.

use crate::args::{GlobalArgs, Progress};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<GlobalArgs>;

pub(super) const LIVE: Opt = Opt::named("live", Group::Output)
    .flag(|a| a.show.live = true)
    .help("show the test on the whole terminal while it runs")
    .more(
        "Shows rate, latency (with --latency), retransmissions, local CPU utilisation, the \
         remaining time and each of many flows, as numbers and over time. Drawn on standard error, \
         or on standard output if only that is a terminal; afterwards the terminal is restored and \
         the result printed. q or Ctrl-C ends the test early, with its result. NO_COLOR disables \
         colours.",
    );

pub(super) const PROGRESS: Opt = Opt::named("progress", Group::Output)
    .takes("when", ValueKind::Word(Progress::WORDS))
    .set(|a, text| a.show.progress = Progress::named(text).unwrap_or_default())
    .help("show a progress line on the terminal: auto, never or always")
    .more(
        "On standard error, erased after the test. auto (default) shows it if standard input and \
         error are a terminal and the result goes elsewhere: to a file, to a pipe, or as one JSON \
         document at the end. always shows it whenever standard error is a terminal.",
    );
