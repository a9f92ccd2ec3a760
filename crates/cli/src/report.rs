//! The command line of `netperf report`: files and options in any order.

use std::ffi::OsString;

use crate::args::ReportArgs;
use crate::command::{CliError, Usage};
use crate::help;
use crate::options::report::TABLE;
use crate::subcommand::{Subcommand, Words};

/// Parsed command line of `netperf report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportCommand {
    /// Make a report.
    Make(Box<ReportArgs>),
    /// Print help.
    Usage(Usage),
}

/// `netperf report`.
pub(crate) const COMMAND: Subcommand<ReportArgs> = Subcommand {
    word: "report",
    about: "create a report from results",
    program: "netperf report",
    table: TABLE,
    help: help::report,
};

/// Returns true if argv asks for a report.
#[must_use]
pub fn is_report(argv: &[OsString]) -> bool {
    COMMAND.is_asked(argv)
}

/// Reads the command line of `netperf report`, argv\[0\] and `report` included.
///
/// # Errors
///
/// When a word is no text, or an option's name or value is wrong.
pub fn report(argv: &[OsString]) -> Result<ReportCommand, CliError> {
    let (mut args, files) = match COMMAND.read(argv)? {
        Words::Read(args, files) => (args, files),
        Words::Usage(usage) => return Ok(ReportCommand::Usage(usage)),
    };
    if files.is_empty() {
        let line = "netperf report: no file to report";
        return Ok(ReportCommand::Usage(COMMAND.wrong(line)));
    }
    args.files = files;
    Ok(ReportCommand::Make(Box::new(args)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(line: &str) -> ReportCommand {
        let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert!(is_report(&argv));
        report(&argv).unwrap()
    }

    fn made(line: &str) -> ReportArgs {
        match read(line) {
            ReportCommand::Make(args) => *args,
            ReportCommand::Usage(usage) => panic!("{}", usage.text),
        }
    }

    #[test]
    fn files_and_options_stand_in_any_order() {
        let args = made("netperf report a.json -o page.html b.json --csv=all.csv -- -c.json");
        assert_eq!(args.files, ["a.json", "b.json", "-c.json"]);
        assert_eq!(args.page.as_deref(), Some(Path::new("page.html")));
        assert_eq!(args.csv.as_deref(), Some(Path::new("all.csv")));
    }

    #[test]
    fn a_command_line_without_a_file_is_an_error_and_help_is_not() {
        for (line, exit) in [
            ("netperf report", 2),
            ("netperf report -x", 2),
            ("netperf report --help", 0),
            ("netperf report -h", 0),
        ] {
            let ReportCommand::Usage(usage) = read(line) else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, exit, "{line}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest_right_one() {
        let argv = ["netperf", "report", "--markdwon", "x"].map(OsString::from);
        let error = report(&argv).unwrap_err();
        assert_eq!(error.exit(), 2);
        assert!(error.to_string().contains("--markdown"), "{error}");
    }

    #[test]
    fn no_other_command_line_is_a_report() {
        for line in ["netperf", "netperf -t TCP_STREAM report", "netperf reports"] {
            let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(!is_report(&argv), "{line}");
        }
    }
}
