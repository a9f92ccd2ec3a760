//! The options of `netperf sweep`.

use std::path::PathBuf;

use super::help_row;
use crate::args::SweepArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionRow};

type Opt = OptionRow<SweepArgs>;

/// Every option.
pub(crate) static SWEEP: &[Opt] = &[
    Opt::ready(
        'o',
        "folder",
        "where results, table and page go, and what was done already is found",
        Action::Value(|a, text| a.folder = Some(PathBuf::from(text))),
    )
    .long("output", Group::Output, ValueKind::File)
    .more(
        "A sweep that was ended goes on where it was when it is started again with the same \
         folder; the rest of the command line need not be repeated.",
    ),
    Opt::without_letter(
        "name=values",
        "what to vary: values stand in place of {name}; may be given several times",
        Action::Value(|a, text| a.plan.over.push(text.to_owned())),
    )
    .long("over", Group::Test, ValueKind::Text)
    .more(
        "Values with commas between: words, numbers, or ranges such as 64..64K*2 (each twice \
         the one before) and 0..100+25. The first is the axis of the curve, and each \
         combination of the others has a line.",
    ),
    Opt::without_letter(
        "number",
        "how often each point is measured",
        Action::Value(|a, text| a.plan.repeat = text.parse().ok()),
    )
    .long("repeat", Group::Test, ValueKind::Within(1, 1000))
    .more(
        "Once unless given. All points once, then all once more: what drifts hits all of them. \
         A sweep that is done can be started again with a larger number.",
    ),
    Opt::without_letter(
        "file",
        "read the command and the options above from a file of TOML",
        Action::Value(|a, text| a.file = Some(PathBuf::from(text))),
    )
    .long("plan", Group::Test, ValueKind::File)
    .more("Its keys are command and over, lists of texts, and repeat."),
    OptionRow {
        kind: ValueKind::Nothing,
        help: "show this help and exit",
        more: "",
        ..help_row()
    },
];
