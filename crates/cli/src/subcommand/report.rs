//! The command line of `netperf report`: files and options in any order.

use std::path::PathBuf;

use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::row::plain_help_row;
use netperf_arguments::table::OptionSpec;

use super::compare::VS;
use super::spec::SubcommandSpec;
use crate::entry::Operands;

/// The options of `netperf report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportArgs {
    /// Sets of files and folders with results, in order.
    pub sets: Vec<Vec<String>>,
    /// `-o`: where the page goes.
    pub page: Option<PathBuf>,
    /// `--svg`: a folder for charts.
    pub svg: Option<PathBuf>,
    /// `--png`: a folder for charts.
    pub png: Option<PathBuf>,
    /// `--markdown`: where the tables go.
    pub markdown: Option<PathBuf>,
    /// `--csv`: where the numbers go.
    pub csv: Option<PathBuf>,
    /// `--open`: open the page.
    pub open: bool,
}

type Opt = OptionSpec<ReportArgs>;

/// Every option.
static TABLE: &[OptionSpec<ReportArgs>] = &[
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
            "One row per number: the result, the metric, the series, the position on the axis and \
             the value, with their units. Nothing is omitted, in contrast to charts.",
        ),
    Opt::named("open", Group::Output)
        .flag(|a| a.open = true)
        .help("open the page in the browser (xdg-open)"),
    plain_help_row(),
];

/// `netperf report`.
pub(super) static REPORT: SubcommandSpec<ReportArgs, ReportArgs> = SubcommandSpec {
    word: "report",
    about: "create a report from results",
    table: TABLE,
    usage: "Usage: netperf report A [B ...] [options]
       netperf report A [A ...] vs B [B ...] [options]

Creates an HTML report with charts from results of netperf --json and
--json-stream, iperf3 -J and flent. The report is one self-contained file.
A and B are files or folders of files, and sets of runs as in netperf compare:
the first set of each test is compared with the others.

  netperf report result.json -o report.html
  netperf report before.json after.json --svg charts --markdown result.md
  netperf report before/ after/
  netperf report old-*.json vs new-*.json
",
    verbs: Vec::new,
    operands: Operands::Files,
    command: report,
};

fn report(mut args: ReportArgs, files: Vec<String>) -> Result<ReportArgs, String> {
    if files.is_empty() {
        return Err("netperf report: no file to report".to_owned());
    }
    args.sets = match files.iter().any(|word| word == VS) {
        true => files.split(|word| word == VS).map(<[_]>::to_vec).collect(),
        false => files.into_iter().map(|word| vec![word]).collect(),
    };
    if args.sets.iter().any(Vec::is_empty) {
        return Err("netperf report: a set without a file in front of or behind vs".to_owned());
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;
    use crate::programs::subcommand;
    use crate::subcommand::Subcommand;
    use crate::subcommand::testing::{argv, read};

    fn made(line: &str) -> ReportArgs {
        let Subcommand::Report(args) = read(line) else {
            panic!("{line}");
        };
        *args
    }

    #[test]
    fn files_and_options_stand_in_any_order() {
        let args = made("netperf report a.json -o page.html b.json --csv=all.csv -- -c.json");
        assert_eq!(args.sets, [["a.json"], ["b.json"], ["-c.json"]]);
        assert_eq!(args.page.as_deref(), Some(Path::new("page.html")));
        assert_eq!(args.csv.as_deref(), Some(Path::new("all.csv")));
    }

    #[test]
    fn sets_of_several_files_have_vs_between_them() {
        let args = made("netperf report a b vs c vs d -o page.html");
        assert_eq!(args.sets, [&["a", "b"][..], &["c"], &["d"]]);
    }

    #[test]
    fn a_command_line_without_a_file_is_an_error_and_help_is_not() {
        for (line, exit) in [
            ("netperf report", 2),
            ("netperf report -x", 2),
            ("netperf report vs a", 2),
            ("netperf report a vs", 2),
            ("netperf report --help", 0),
            ("netperf report -h", 0),
        ] {
            let Subcommand::Usage(usage) = read(line) else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, exit, "{line}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest_right_one() {
        let argv = ["netperf", "report", "--markdwon", "x"].map(OsString::from);
        let error = subcommand(&argv).unwrap().unwrap_err();
        assert_eq!(error.exit(), 2);
        assert!(error.to_string().contains("--markdown"), "{error}");
    }

    #[test]
    fn no_other_command_line_is_a_subcommand() {
        for line in ["netperf", "netperf -t TCP_STREAM report", "netperf reports"] {
            assert!(subcommand(&argv(line)).is_none(), "{line}");
        }
    }
}
