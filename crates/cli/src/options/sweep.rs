//! The options of `netperf sweep`.

use std::path::PathBuf;

use super::help_row;
use crate::args::SweepArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<SweepArgs>;

/// Every option.
pub(crate) static SWEEP: &[Opt] = &[
    Opt::ready(
        'o',
        "folder",
        "folder for results, table and report; an existing sweep in it is resumed",
        Action::Value(|a, text| a.folder = Some(PathBuf::from(text))),
    )
    .long("output", Group::Output, ValueKind::File)
    .more(
        "An interrupted sweep is resumed if it is started again with the same folder; the rest \
         of the command line can be omitted.",
    ),
    Opt::without_letter(
        "name=values",
        "values to insert for {name}; can be given several times",
        Action::Value(|a, text| a.plan.over.push(text.to_owned())),
    )
    .long("over", Group::Test, ValueKind::Text)
    .more(
        "Values separated by commas: words, numbers, or ranges such as 64..64K*2 (each twice the \
         previous one) and 0..100+25. The first --over is the axis of the curve, and each \
         combination of the others has a line.",
    ),
    Opt::without_letter(
        "number",
        "number of runs of each point",
        Action::Value(|a, text| a.plan.repeat = text.parse().ok()),
    )
    .long("repeat", Group::Test, ValueKind::Within(1, 1000))
    .more(
        "The default is 1. All points run once, then all again, so that drift affects all of \
         them. A completed sweep can be continued with a larger number.",
    ),
    Opt::without_letter(
        "file",
        "read the command and the options above from a TOML file",
        Action::Value(|a, text| a.file = Some(PathBuf::from(text))),
    )
    .long("plan", Group::Test, ValueKind::File)
    .more("Its keys are command and over, lists of texts, and repeat."),
    OptionSpec {
        kind: ValueKind::Nothing,
        help: "show this help and exit",
        more: "",
        ..help_row()
    },
];
