//! The options of `netperf compare` and `netperf run`.

use std::path::PathBuf;

use super::plain_help_row;
use crate::args::CompareArgs;
use crate::group::Group;
use crate::kind::{ValueKind, percent};
use crate::table::OptionSpec;

type Opt = OptionSpec<CompareArgs>;

/// Every option of `netperf compare`.
pub(crate) static COMPARE: &[Opt] = &[
    Opt::named("paired", Group::Statistics)
        .flag(|a| a.paired = true)
        .help("compare the runs in pairs, in the order of their names")
        .more("For runs that alternated: drift affects both runs of a pair."),
    FALSE_ALARMS,
    MARGIN,
    THRESHOLD,
    JSON,
    MARKDOWN,
    plain_help_row(),
];

/// Every option of `netperf run`.
pub(crate) static RUN: &[Opt] = &[
    Opt::named("vary", Group::Test)
        .takes("name=values", ValueKind::Text)
        .set(|a, text| a.vary = Some(text.to_owned()))
        .help("compare values of one option, such as congestion=cubic,bbr")
        .more(
            "The name is a long name, or a letter, of an option of netperf, which the command \
             does not contain. A command that contains {name} has the values in these places. \
             Every value is compared with the first.",
        ),
    Opt::named("pairs", Group::Test)
        .takes("number", ValueKind::Within(1, 10_000))
        .set(|a, text| a.pairs = text.parse().ok())
        .help("number of runs of each configuration (default 20)")
        .more(
            "The default is 20, enough to detect a change of 2 % if runs differ by 1.2 %. An \
             inconclusive comparison states the number that is needed.",
        ),
    Opt::named("keep", Group::Output)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.keep = Some(PathBuf::from(text)))
        .help("store every result in this folder")
        .more(
            "As a-001.json, b-001.json and so on, for `netperf compare --paired` and `netperf \
             report`.",
        ),
    FALSE_ALARMS,
    MARGIN,
    THRESHOLD,
    JSON,
    MARKDOWN,
    plain_help_row(),
];

const FALSE_ALARMS: Opt = Opt::named("false-alarms", Group::Statistics)
    .takes("percent", ValueKind::Chance)
    .set(|a, text| a.chance = percent(text))
    .help("probability of a false alarm, over all figures together (default 1%)")
    .more("The default is 1%; a lower value needs more runs.");

const MARGIN: Opt = Opt::named("margin", Group::Statistics)
    .takes("percent", ValueKind::Percent)
    .set(|a, text| a.margin = percent(text))
    .help("largest change that counts as equivalence (default 1%)")
    .more("The default is 1%; with 0 nothing is equivalent.");

const THRESHOLD: Opt = Opt::named("threshold", Group::Statistics)
    .takes("percent", ValueKind::Percent)
    .set(|a, text| a.margin = percent(text))
    .help("the same as --margin, which replaces it");

const JSON: Opt = Opt::named("json", Group::Output)
    .flag(|a| a.json = true)
    .help("print the comparison as JSON");

const MARKDOWN: Opt = Opt::named("markdown", Group::Output)
    .flag(|a| a.markdown = true)
    .help("print the comparison as a Markdown table");
