//! The options of `netperf compare` and `netperf run`.

use std::path::PathBuf;

use super::plain_help_row;
use crate::args::{CompareArgs, VersusArgs};
use crate::group::Group;
use crate::kind::{ValueKind, percent};
use crate::table::OptionSpec;

/// The rows of how sets are compared, for arguments that have [`crate::args::ComparisonArgs`].
macro_rules! comparison {
    ($args:ty, $($own:expr),* $(,)?) => {
        &[
            $($own,)*
            OptionSpec::<$args>::named("false-alarms", Group::Statistics)
                .takes("percent", ValueKind::Percent)
                .set(|a, text| a.comparison.chance = percent(text))
                .help("probability of a false alarm, over all figures together")
                .more("The default is 1%; a lower value needs more runs."),
            OptionSpec::<$args>::named("threshold", Group::Statistics)
                .takes("percent", ValueKind::Percent)
                .set(|a, text| a.comparison.threshold = percent(text))
                .help("smallest relevant change")
                .more("The default is 0.5%; 0 accepts every significant change."),
            OptionSpec::<$args>::named("json", Group::Output)
                .flag(|a| a.comparison.json = true)
                .help("print the comparison as JSON"),
            OptionSpec::<$args>::named("markdown", Group::Output)
                .flag(|a| a.comparison.markdown = true)
                .help("print the comparison as a Markdown table"),
            plain_help_row(),
        ]
    };
}

/// Every option of `netperf compare`.
pub(crate) static COMPARE: &[OptionSpec<CompareArgs>] = comparison![
    CompareArgs,
    OptionSpec::<CompareArgs>::named("paired", Group::Statistics)
        .flag(|a| a.paired = true)
        .help("compare the runs in pairs, in the order of their names")
        .more("For runs that alternated: drift affects both runs of a pair."),
];

/// Every option of `netperf run`.
pub(crate) static VERSUS: &[OptionSpec<VersusArgs>] = comparison![
    VersusArgs,
    OptionSpec::<VersusArgs>::named("pairs", Group::Test)
        .takes("number", ValueKind::Within(1, 10_000))
        .set(|a, text| a.pairs = text.parse().ok())
        .help("number of runs of each configuration")
        .more("The default is 20, enough to detect a change of 2 % if runs differ by 1.2 %."),
    OptionSpec::<VersusArgs>::named("keep", Group::Output)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.keep = Some(PathBuf::from(text)))
        .help("store every result in this folder")
        .more(
            "As a-001.json, b-001.json and so on, for `netperf compare --paired` and `netperf \
             report`."
        ),
];
