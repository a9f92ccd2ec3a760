//! The options of `netperf compare` and `netperf run`.

use std::path::PathBuf;

use super::help_row;
use crate::args::{CompareArgs, ComparisonArgs, VersusArgs};
use crate::group::Group;
use crate::kind::{ValueKind, percent};
use crate::table::{Action, OptionSpec};

/// The rows of how sets are compared, for arguments that have [`ComparisonArgs`].
macro_rules! comparison {
    ($args:ty, $($own:expr),* $(,)?) => {
        &[
            $($own,)*
            OptionSpec::<$args>::without_letter(
                "percent",
                "probability of a false alarm, over all figures together",
                Action::Value(|a, text| {
                    let of: &mut ComparisonArgs = &mut a.comparison;
                    of.chance = percent(text);
                }),
            )
            .long("false-alarms", Group::Statistics, ValueKind::Percent)
            .more("The default is 1%; a lower value needs more runs."),
            OptionSpec::<$args>::without_letter(
                "percent",
                "smallest relevant change",
                Action::Value(|a, text| a.comparison.threshold = percent(text)),
            )
            .long("threshold", Group::Statistics, ValueKind::Percent)
            .more("The default is 0.5%; 0 accepts every significant change."),
            OptionSpec::<$args>::without_letter(
                "",
                "print the comparison as JSON",
                Action::Flag(|a| a.comparison.json = true),
            )
            .long("json", Group::Output, ValueKind::Nothing),
            OptionSpec::<$args>::without_letter(
                "",
                "print the comparison as a Markdown table",
                Action::Flag(|a| a.comparison.markdown = true),
            )
            .long("markdown", Group::Output, ValueKind::Nothing),
            OptionSpec {
                kind: ValueKind::Nothing,
                help: "show this help and exit",
                more: "",
                ..help_row()
            },
        ]
    };
}

/// Every option of `netperf compare`.
pub(crate) static COMPARE: &[OptionSpec<CompareArgs>] = comparison![
    CompareArgs,
    OptionSpec::<CompareArgs>::without_letter(
        "",
        "compare the runs in pairs, in the order of their names",
        Action::Flag(|a| a.paired = true),
    )
    .long("paired", Group::Statistics, ValueKind::Nothing)
    .more("For runs that alternated: drift affects both runs of a pair."),
];

/// Every option of `netperf run`.
pub(crate) static VERSUS: &[OptionSpec<VersusArgs>] = comparison![
    VersusArgs,
    OptionSpec::<VersusArgs>::without_letter(
        "number",
        "number of runs of each configuration",
        Action::Value(|a, text| a.pairs = text.parse().ok()),
    )
    .long("pairs", Group::Test, ValueKind::Within(1, 10_000))
    .more("The default is 20, enough to detect a change of 2 % if runs differ by 1.2 %."),
    OptionSpec::<VersusArgs>::without_letter(
        "folder",
        "store every result in this folder",
        Action::Value(|a, text| a.keep = Some(PathBuf::from(text))),
    )
    .long("keep", Group::Output, ValueKind::File)
    .more(
        "As a-001.json, b-001.json and so on, for `netperf compare --paired` and `netperf report`."
    ),
];
