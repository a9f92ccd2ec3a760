//! The options of `netperf sweep`.

use std::path::PathBuf;

use super::plain_help_row;
use crate::args::SweepArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<SweepArgs>;

/// Every option.
pub(crate) static SWEEP: &[Opt] = &[
    Opt::lettered('o', "output", Group::Output)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.folder = Some(PathBuf::from(text)))
        .help("folder for results, table and report; an existing sweep in it is resumed")
        .more(
            "An interrupted sweep is resumed if it is started again with the same folder; the rest \
             of the command line can be omitted.",
        ),
    Opt::named("over", Group::Test)
        .takes("name=values", ValueKind::Text)
        .set(|a, text| a.plan.over.push(text.to_owned()))
        .help("values to insert for {name}; can be given several times")
        .more(
            "Values separated by commas: words, numbers, or ranges such as 64..64K*2 (each twice \
             the previous one) and 0..100+25. The first --over is the axis of the curve, and each \
             combination of the others has a line.",
        ),
    Opt::named("repeat", Group::Test)
        .takes("number", ValueKind::Within(1, 1000))
        .set(|a, text| a.plan.repeat = text.parse().ok())
        .help("number of runs of each point")
        .more(
            "The default is 1. All points run once, then all again, so that drift affects all of \
             them. A completed sweep can be continued with a larger number.",
        ),
    Opt::named("plan", Group::Test)
        .takes("file", ValueKind::File)
        .set(|a, text| a.file = Some(PathBuf::from(text)))
        .help("read the command and the options above from a TOML file")
        .more("Its keys are command and over, lists of texts, and repeat."),
    plain_help_row(),
];
