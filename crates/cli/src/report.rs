//! The command line of `netperf report`: files and options in any order.

use crate::args::ReportArgs;
use crate::compare::VS;
use crate::options::report::TABLE;
use crate::subcommand::{Subcommand, SubcommandSpec};

/// `netperf report`.
pub(crate) const REPORT: SubcommandSpec<ReportArgs> = SubcommandSpec {
    word: "report",
    about: "create a report from results",
    program: "netperf report",
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
    verbs: &[],
    command: report,
};

fn report(mut args: ReportArgs, files: Vec<String>) -> Result<Subcommand, String> {
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
    Ok(Subcommand::Report(Box::new(args)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;
    use crate::subcommand::subcommand;

    fn argv(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn read(line: &str) -> Subcommand {
        subcommand(&argv(line)).unwrap().unwrap()
    }

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
