//! The options of `netperf report`.

use std::path::PathBuf;

use super::help_row;
use crate::args::ReportArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<ReportArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<ReportArgs>] = &[
    Opt::ready(
        'o',
        "file",
        "write the page to this file; - is standard output",
        Action::Value(|a, text| a.page = Some(PathBuf::from(text))),
    )
    .long("output", Group::Output, ValueKind::File)
    .more("The default is report.html. The page is one file without external resources."),
    Opt::without_letter(
        "folder",
        "write every chart as SVG to this folder",
        Action::Value(|a, text| a.svg = Some(PathBuf::from(text))),
    )
    .long("svg", Group::Output, ValueKind::File)
    .more("The folder is created if it does not exist."),
    Opt::without_letter(
        "folder",
        "write every chart as PNG to this folder",
        Action::Value(|a, text| a.png = Some(PathBuf::from(text))),
    )
    .long("png", Group::Output, ValueKind::File)
    .more("The folder is created if it does not exist. Text uses a font of the system."),
    Opt::without_letter(
        "file",
        "write all tables as Markdown; - is standard output",
        Action::Value(|a, text| a.markdown = Some(PathBuf::from(text))),
    )
    .long("markdown", Group::Output, ValueKind::File),
    Opt::without_letter(
        "file",
        "write all numbers as CSV; - is standard output",
        Action::Value(|a, text| a.csv = Some(PathBuf::from(text))),
    )
    .long("csv", Group::Output, ValueKind::File)
    .more(
        "One row per number: the result, the figure, the series, the position on the axis and \
         the value, with their units. Nothing is omitted, in contrast to charts.",
    ),
    OptionSpec {
        kind: ValueKind::Nothing,
        help: "show this help and exit",
        more: "",
        ..help_row()
    },
];
