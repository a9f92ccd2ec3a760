//! What the report does not print yet, or will not print as the original did.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "most exclusions have nothing to do at each place"
)]

use crate::cells::Cells;
use Exclusion::{
    CutOff, Histogram, HostFacts, Interim, Iterations, Latency, NoDirty, NoIntervals, NotPlanned,
    NulLetter, Refused, Uninitialised,
};

/// A part of a transcript that is left out of the comparison, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusion {
    /// Interim results are printed while the test runs, not by the report.
    Interim,
    /// Histograms are not kept yet.
    Histogram,
    /// Times of single operations are not kept yet: we print -1.
    Latency,
    /// The original prints `Deprecated`; we print `unknown` until facts about
    /// the hosts are collected.
    HostFacts,
    /// The original prints memory it never wrote to.
    Uninitialised,
    /// Builds without dirty data say so, and show -1 for netperf's counts.
    NoDirty,
    /// Builds without intervals say so.
    NoIntervals,
    /// The command line refuses options whose work is not done yet; the run is
    /// compared without them.
    Refused,
    /// The original prints a NUL byte for the method of a peer it never asked;
    /// we print `U` in titles.
    NulLetter,
    /// The whole transcript: the same byte cuts off the rest of the line.
    CutOff,
    /// The whole transcript: the mean of the demands is not the demand of the
    /// means, and the single iterations are not in it.
    Iterations,
    /// The whole transcript: its values are those of refused options.
    NotPlanned,
}

impl Exclusion {
    /// Whether nothing of the transcript can be compared.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, CutOff | Iterations | NotPlanned)
    }

    /// The global options that the command line must not see.
    pub(crate) fn refused(self) -> &'static [&'static str] {
        match self {
            Interim => &["-D"],
            Refused => &["-b", "-w", "-k", "-K", "-j"],
            _ => &[],
        }
    }

    /// The text without the lines of this part.
    pub(crate) fn cut(self, text: &str) -> String {
        match self {
            Interim => lines(text, |line| !is_interim(line)),
            Histogram => without_histogram(text),
            NulLetter => text.replace('\0', "U"),
            NoDirty => lines(text, |line| line != "I don't know how to get dirty.\n"),
            NoIntervals => lines(text, |line| !line.starts_with("Packet ")),
            _ => text.to_owned(),
        }
    }
}

fn lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    let all = text.split_inclusive('\n');
    all.filter(|line| keep(line)).collect()
}

fn is_interim(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').collect();
    let csv = matches!(fields[..], [_, unit, _, _] if unit.ends_with("/s"));
    csv || line.starts_with("Interim result: ") || line.starts_with("NETPERF_")
}

/// From the empty lines in front of the heading to the total.
fn without_histogram(text: &str) -> String {
    let Some(heading) = text.find("Histogram of ") else {
        return text.to_owned();
    };
    let title = text[heading..].lines().next().unwrap_or("");
    // The one-way TCP tests put two empty lines in front.
    let two = title.contains("time spent in") && title.ends_with('.');
    let before = &text[..heading - if two { 2 } else { 1 }];
    let total = text[heading..].find("HIST_TOTAL:").expect("a total") + heading;
    let end = text[total..].find('\n').expect("a line end") + total + 1;
    format!("{before}{}", &text[end..])
}

/// Puts our values where the original's are left out.
pub(crate) fn edit(cells: &mut Cells, left_out: &[Exclusion]) {
    for cell in cells.all() {
        let (Some(row), Some(value)) = (cell.row, &mut cell.value) else {
            continue;
        };
        for part in left_out {
            if let Some(ours) = replacement(*part, row.name, value) {
                ours.clone_into(value);
            }
        }
    }
}

fn replacement(part: Exclusion, name: &str, value: &str) -> Option<&'static str> {
    match (part, name) {
        (Latency, "RT_LATENCY") => None,
        (Latency, "MEAN_LATENCY" | "STDDEV_LATENCY") => Some("-1.00"),
        (Latency, _) => name.ends_with("_LATENCY").then_some("-1"),
        (HostFacts, _) => (value == "Deprecated").then_some("unknown"),
        (Uninitialised, _) => name.starts_with("REMOTE_CPU_PERCENT").then_some("0.00"),
        (NoDirty, _) => (name.contains("DIRTY") || name.contains("CLEAN")).then_some("0"),
        _ => None,
    }
}

/// Every exclusion in force.
#[rustfmt::skip]
pub(crate) static EXCLUSIONS: &[(&str, &[Exclusion])] = &[
    ("N-nul-method-O--git", &[CutOff]),
    ("N-nul-method-o--git", &[CutOff]),
    ("N-omni-k-all--git", &[Latency, HostFacts]),
    ("N-rr-cpu--git", &[NulLetter]),
    ("N-rr-v2--git", &[Histogram]),
    ("align-offset--git", &[Histogram]),
    ("align-offset-rr-v2--git", &[Histogram]),
    ("conf-i-then-demo--git", &[Interim]),
    ("conf-unmet-rr-cpu--git", &[Iterations]),
    ("cpu-both-v2-tcp_rr--git", &[Histogram]),
    ("cpu-both-v2-tcp_stream--git", &[Histogram]),
    ("cpu-local-omni--git", &[Uninitialised]),
    ("demo-P0--git", &[Interim]),
    ("demo-cc--git", &[Interim]),
    ("demo-crr--git", &[Interim]),
    ("demo-csv--deb", &[Interim]),
    ("demo-csv--git", &[Interim]),
    ("demo-empty-first--git", &[Interim]),
    ("demo-f-M--git", &[Interim]),
    ("demo-human-rr--git", &[Interim]),
    ("demo-human-stream--deb", &[Interim]),
    ("demo-human-stream--git", &[Interim]),
    ("demo-keyval--deb", &[Interim]),
    ("demo-keyval--git", &[Interim]),
    ("demo-longer-than-test--git", &[Interim]),
    ("demo-maerts--git", &[Interim]),
    ("demo-negative-interval--git", &[Interim]),
    ("demo-omni-human--git", &[Interim]),
    ("demo-rr-f-k--git", &[Interim]),
    ("demo-sendfile-no-final-line--git", &[Interim]),
    ("demo-udp-rr--git", &[Interim]),
    ("demo-udp-stream--git", &[Interim]),
    ("demo-units-guess--git", &[Interim]),
    ("dirty-k-K--git", &[NotPlanned]),
    ("dirty-not-compiled--deb", &[Refused, NoDirty]),
    ("dirty-not-compiled-K--deb", &[Refused, NoDirty]),
    ("intervals-b-only--git", &[NotPlanned]),
    ("intervals-not-compiled--deb", &[Refused, NoIntervals]),
    ("intervals-remote-sender--git", &[NotPlanned]),
    ("intervals-rr--git", &[Refused]),
    ("intervals-stream--git", &[Refused]),
    ("intervals-udp-stream--git", &[Refused]),
    ("intervals-w-sec--git", &[NotPlanned]),
    ("intervals-w-usec--git", &[NotPlanned]),
    ("j-classic-no-effect--git", &[Refused]),
    ("j-verbosity-2--git", &[Histogram, Refused]),
    ("noheaders-v2-tcp_rr--git", &[Histogram]),
    ("noheaders-v2-tcp_stream--git", &[Histogram]),
    ("omni-O-all-rr--git", &[Latency, HostFacts, Uninitialised]),
    ("omni-O-all-stream--deb", &[Latency, HostFacts, Uninitialised, NoDirty]),
    ("omni-file-latency-needs-j--git", &[Latency, Refused]),
    ("omni-k-ALL-case--git", &[Latency, HostFacts, Uninitialised]),
    ("omni-k-all-crr--git", &[Latency, HostFacts, Uninitialised]),
    ("omni-k-all-maerts--git", &[Latency, HostFacts]),
    ("omni-k-all-rr--deb", &[Latency, HostFacts, Uninitialised, NoDirty]),
    ("omni-k-all-rr-cpu--git", &[Latency, HostFacts]),
    ("omni-k-all-stream--git", &[Latency, HostFacts, Uninitialised]),
    ("omni-k-all-udp-stream--git", &[Latency, HostFacts, Uninitialised]),
    ("omni-latency-list--deb", &[Latency]),
    ("omni-latency-list--git", &[Latency]),
    ("omni-latency-stream--git", &[Latency]),
    ("omni-o-all-rr--git", &[Latency, HostFacts, Uninitialised]),
    ("omni-o-all-stream--deb", &[Latency, HostFacts, Uninitialised, NoDirty]),
    ("opt-M-maerts-second--git", &[Histogram]),
    ("opt-M-stream--git", &[Histogram]),
    ("opt-b-burst-v2--git", &[Histogram]),
    ("opt-b-cc-v2-warning--git", &[Histogram]),
    ("opt-e-timeout-D--deb", &[Interim]),
    ("opt-e-timeout-D--git", &[Interim]),
    ("opt-e-timeout-no-D--git", &[Interim]),
    ("opt-r-v2--git", &[Histogram]),
    ("units-rr-k-v2--git", &[Histogram]),
    ("units-rr-unknown-v2--git", &[Histogram]),
    ("verbosity-2-omni--git", &[Histogram]),
    ("verbosity-2-omni-cc--git", &[Histogram]),
    ("verbosity-2-omni-crr--git", &[Histogram]),
    ("verbosity-2-omni-rr--git", &[Histogram]),
    ("verbosity-2-omni-stream-recv--git", &[Histogram]),
    ("verbosity-2-tcp_cc--git", &[Histogram]),
    ("verbosity-2-tcp_crr--git", &[Histogram]),
    ("verbosity-2-tcp_maerts--git", &[Histogram]),
    ("verbosity-2-tcp_rr--git", &[Histogram]),
    ("verbosity-2-tcp_sendfile--git", &[Histogram]),
    ("verbosity-2-tcp_stream--git", &[Histogram]),
    ("verbosity-2-udp_rr--git", &[Histogram]),
    ("verbosity-2-udp_stream--git", &[Histogram]),
    ("verbosity-3-tcp_rr--git", &[Histogram]),
    ("verbosity-3-tcp_stream--git", &[Histogram]),
    ("verbosity-3-udp_stream--git", &[Histogram]),
];
