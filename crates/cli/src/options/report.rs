//! The options of `netperf report`.

use std::path::PathBuf;

use super::plain_help_row;
use crate::args::ReportArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<ReportArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<ReportArgs>] = &[
    Opt::lettered('o', "output", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.page = Some(PathBuf::from(text)))
        .help("write the page to this file; - is standard output")
        .more("The default is report.html. The page is one file without external resources."),
    Opt::named("svg", Group::Output)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.svg = Some(PathBuf::from(text)))
        .help("write every chart as SVG to this folder")
        .more("The folder is created if it does not exist."),
    Opt::named("png", Group::Output)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.png = Some(PathBuf::from(text)))
        .help("write every chart as PNG to this folder")
        .more("The folder is created if it does not exist."),
    Opt::named("markdown", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.markdown = Some(PathBuf::from(text)))
        .help("write all tables as Markdown; - is standard output"),
    Opt::named("csv", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.csv = Some(PathBuf::from(text)))
        .help("write all numbers as CSV; - is standard output")
        .more(
            "One row per number: the result, the figure, the series, the position on the axis and \
             the value, with their units. Nothing is omitted, in contrast to charts.",
        ),
    Opt::named("open", Group::Output)
        .flag(|a| a.open = true)
        .help("open the page in the browser (xdg-open)"),
    plain_help_row(),
];
