//! The command line of `netperf report`: files and options in any order.

use std::ffi::OsString;

use crate::args::ReportArgs;
use crate::command::{CliError, Notice, Stream, Usage};
use crate::help;
use crate::long::{Elsewhere, Problem, misuse};
use crate::options::report::TABLE;
use crate::table::{Ending, Halt, OnComplaint, Reader, Shape};

/// What `netperf report` is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportCommand {
    /// Make a report.
    Make(Box<ReportArgs>),
    /// Print help.
    Usage(Usage),
}

/// What it is called in messages.
const PROGRAM: &str = "netperf report";

/// Whether argv asks for a report: its first word is `report`. No test is called so, and
/// the original has nothing to do with words that are no options.
#[must_use]
pub fn is_report(argv: &[OsString]) -> bool {
    argv.get(1).is_some_and(|word| word == "report")
}

/// Reads the command line of `netperf report`, argv\[0\] and `report` included.
///
/// # Errors
///
/// When a word is no text, or an option's name or value is wrong.
pub fn report(argv: &[OsString]) -> Result<ReportCommand, CliError> {
    let words = crate::words(argv, PROGRAM)?;
    let words = words.get(2..).unwrap_or_default();
    let mut args = ReportArgs::default();
    let mut reader = Reader {
        table: TABLE,
        program: PROGRAM,
        on_complaint: OnComplaint::Stop,
        elsewhere: Files::default(),
    };
    match reader.read(words, &mut args, &mut Vec::new()) {
        Ending::Done(behind) => {
            args.files = reader.elsewhere.0;
            args.files.extend_from_slice(behind);
        }
        Ending::Halted(_) => return Ok(ReportCommand::Usage(asked())),
        Ending::Complaint(line) => return Ok(ReportCommand::Usage(wrong(&line))),
        Ending::Failed(error) => return Err(error),
    }
    if args.files.is_empty() {
        let line = format!("{PROGRAM}: no file to report");
        return Ok(ReportCommand::Usage(wrong(&line)));
    }
    Ok(ReportCommand::Make(Box::new(args)))
}

/// There are no other options; words that are none are files.
#[derive(Debug, Default)]
struct Files(Vec<String>);

impl Elsewhere for Files {
    fn shape(&self, _name: &str) -> Option<Shape> {
        None
    }

    fn take(
        &mut self,
        _program: &str,
        _name: &str,
        _word: Option<&str>,
        _notices: &mut Vec<Notice>,
    ) -> Result<Option<Halt>, CliError> {
        Ok(None)
    }

    fn plain(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|&word| word.to_owned()));
    }

    fn unknown(&self, program: &str, name: &str, own: Vec<&'static str>) -> CliError {
        misuse(program, name, Problem::unknown(name, own))
    }
}

fn asked() -> Usage {
    Usage {
        stream: Stream::Stdout,
        text: help::report(),
        exit: 0,
    }
}

fn wrong(line: &str) -> Usage {
    Usage {
        stream: Stream::Stderr,
        text: format!("{line}\n`netperf report --help` shows what it takes.\n"),
        exit: 2,
    }
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
