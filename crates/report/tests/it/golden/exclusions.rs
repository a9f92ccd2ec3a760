//! What the report will not print as the original did.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "most exclusions have nothing to do at each place"
)]

use netperf_model::{Suite, TestId};
use netperf_report::fmt::{Arg, printf};
use netperf_report::format::classic::rows::{self, ClassicRow};

use super::cells::Cells;
use super::scan::{Read, scan};
use Exclusion::{
    Corrected, CutOff, Fails, HostFacts, NoDirty, NoIntervals, NulLetter, Overflow, Uninitialised,
};

/// A part of a transcript that is left out of the comparison, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusion {
    /// The original prints `Deprecated` for facts about the hosts. Most of ours may be
    /// any text, that one too; security frameworks and their modes have their own words.
    HostFacts,
    /// The original prints memory it never wrote to.
    Uninitialised,
    /// The throughput of DG_STREAM beyond 2^31 bytes, and what follows from it.
    Overflow,
    /// Builds without dirty data say so, and show -1 for netperf's counts.
    NoDirty,
    /// Builds without intervals say so.
    NoIntervals,
    /// The run fails behind the banner, which alone is compared.
    Fails,
    /// The original contradicts itself, its manual or the kernel behind the banner, which alone is
    /// compared.
    Corrected,
    /// The original prints a NUL byte for the method of a peer it never asked;
    /// we print `U` in titles.
    NulLetter,
    /// The same byte cuts off the rest of the line; the comparison ends there.
    CutOff,
}

impl Exclusion {
    /// The text without the lines of this part.
    pub(crate) fn cut(self, text: &str) -> String {
        match self {
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

/// Puts our values where the original's are left out.
pub(crate) fn edit(cells: &mut Cells, left_out: &[Exclusion]) {
    for cell in cells.all() {
        let (Some(row), Some(value)) = (cell.row, &mut cell.value) else {
            continue;
        };
        for part in left_out {
            if let Some(ours) = replacement(*part, &row.name, value) {
                ours.clone_into(value);
            }
        }
    }
}

fn replacement(part: Exclusion, name: &str, value: &str) -> Option<&'static str> {
    match (part, name) {
        (HostFacts, _) => {
            let ours = name.ends_with("_SECURITY_TYPE") || name.ends_with("_SECURITY_ENABLED");
            (ours && value == "Deprecated").then_some("unknown")
        }
        (Uninitialised, _) => name.starts_with("REMOTE_CPU_PERCENT").then_some("0.00"),
        (NoDirty, _) => (name.contains("DIRTY") || name.contains("CLEAN")).then_some("0"),
        _ => None,
    }
}

/// Columns, by row, that the original fills with what was never written to or computed.
type Undefined = &'static [(ClassicRow, &'static [usize])];

/// The undefined columns of a Unix-domain test.
pub(crate) fn undefined(test: TestId, left_out: &[Exclusion]) -> Undefined {
    let has = |part| test.row().suite == Suite::Unix && left_out.contains(&part);
    match (has(Uninitialised), has(Overflow)) {
        (false, false) => &[],
        (true, false) => &[(rows::X1C, &[8]), (rows::C1C, &[9])],
        (false, true) => &[(rows::D1, &[5]), (rows::D2, &[3]), (rows::V0, &[0])],
        (true, true) => &[(rows::D1C, &[5, 7]), (rows::D2C, &[3, 5])],
    }
}

/// The text with 0 in the undefined columns.
pub(crate) fn masked(undefined: Undefined, text: &str) -> String {
    let masked = |line: &str| {
        let row = undefined.iter().find_map(|(row, columns)| {
            let figures = scan(row.template, line.strip_suffix('\n')?)?;
            Some((row, columns, figures))
        });
        let Some((row, columns, figures)) = row else {
            return line.to_owned();
        };
        let args: Vec<Arg<'_>> = figures.iter().map(Read::arg).collect();
        let zero = |(at, arg)| match columns.contains(&at) {
            true => Arg::Float(0.0),
            false => arg,
        };
        let args: Vec<Arg<'_>> = args.into_iter().enumerate().map(zero).collect();
        printf(row.template, &args) + "\n"
    };
    text.split_inclusive('\n').map(masked).collect()
}

/// Every exclusion in force.
#[rustfmt::skip]
pub(crate) static EXCLUSIONS: &[(&str, &[Exclusion])] = &[
    ("N-cc--git", &[Fails]),
    ("N-connection-refused--git", &[Fails]),
    ("N-nul-method-O--git", &[CutOff]),
    ("N-nul-method-o--git", &[CutOff]),
    ("N-omni-k-all--git", &[HostFacts]),
    ("N-rr-cpu--git", &[NulLetter]),
    ("N-sendfile--git", &[Fails]),
    ("conf-sendfile-defect--git", &[Fails]),
    ("demo-cc--git", &[Corrected]),
    ("omni-output-end-stops--git", &[Corrected]),
    ("omni-t-dgram--git", &[Corrected]),
    ("omni-unknown-in-list-o--git", &[Corrected]),
    ("opt-C-cork--git", &[Corrected]),
    ("verbosity-2-stream_rr--git", &[Corrected]),
    ("cpu-local-omni--git", &[Uninitialised]),
    ("dirty-not-compiled--deb", &[NoDirty]),
    ("dirty-not-compiled-K--deb", &[NoDirty]),
    ("err-udp-message-too-long--deb", &[Fails]),
    ("err-udp-message-too-long--git", &[Fails]),
    ("err-udp-rr-message-too-long--git", &[Fails]),
    ("fill-F-missing--git", &[Fails]),
    ("intervals-not-compiled--deb", &[NoIntervals]),
    ("omni-O-all-rr--git", &[HostFacts, Uninitialised]),
    ("omni-O-all-stream--deb", &[HostFacts, Uninitialised, NoDirty]),
    ("omni-k-ALL-case--git", &[HostFacts, Uninitialised]),
    ("omni-k-all-crr--git", &[HostFacts, Uninitialised]),
    ("omni-k-all-maerts--git", &[HostFacts]),
    ("omni-k-all-rr--deb", &[HostFacts, Uninitialised, NoDirty]),
    ("omni-k-all-rr-cpu--git", &[HostFacts]),
    ("omni-k-all-stream--git", &[HostFacts, Uninitialised]),
    ("omni-k-all-udp-stream--git", &[HostFacts, Uninitialised]),
    ("omni-o-all-rr--git", &[HostFacts, Uninitialised]),
    ("omni-o-all-stream--deb", &[HostFacts, Uninitialised, NoDirty]),
    ("opt-F-fastopen--git", &[Fails]),
    ("passphrase-mismatch--git", &[Fails]),
    ("passphrase-missing--git", &[Fails]),
    ("sendfile-F-missing--git", &[Fails]),
    ("sendfile-F-too-small--deb", &[Fails]),
    ("sendfile-F-too-small--git", &[Fails]),
    ("err-sctp-unknown-option--git", &[Fails]),
    ("omni-T-dccp-no-kernel--git", &[Fails]),
    ("omni-T-sctp-no-kernel--git", &[Fails]),
    ("test-sctp_rr-no-kernel-support--git", &[Fails]),
    ("test-sctp_rr_many-no-kernel-support--git", &[Fails]),
    ("test-sctp_stream-no-kernel-support--git", &[Fails]),
    ("test-sctp_stream_many-no-kernel-support--git", &[Fails]),
    ("cpu-both-dg_stream--git", &[Uninitialised, Overflow]),
    ("cpu-both-stream_rr--git", &[Uninitialised]),
    ("cpu-both-stream_stream--git", &[Uninitialised]),
    ("noheaders-dg_stream--git", &[Overflow]),
    ("unix-stream-cpu-v2--git", &[Uninitialised]),
    ("verbosity-0-dg_stream--git", &[Overflow]),
];
