//! The command lines of `netperf compare` and `netperf run`.

use crate::args::CompareArgs;
use crate::options::compare as options;
use crate::subcommand::{Subcommand, SubcommandSpec};

/// `netperf compare`.
pub(crate) const COMPARE: SubcommandSpec<CompareArgs> = SubcommandSpec {
    word: "compare",
    about: "compare two sets of runs",
    program: "netperf compare",
    table: options::COMPARE,
    usage: "Usage: netperf compare A B [options]
       netperf compare A [A ...] vs B [B ...] [options]

Compares two sets of runs of one test and reports for each figure the change,
its confidence interval and a verdict. A and B are files, or folders of files,
from netperf --json, iperf3 -J or flent; each file is a run.

  netperf compare before/ after/
  netperf compare old-*.json vs new-*.json --margin 2%

Verdicts: better; worse; equivalent, if the interval is inside the margin (1 %);
inconclusive otherwise, with the number of runs that is needed.

Exit status: 0 better or equivalent, 4 something got worse, 5 inconclusive.
",
    verbs: &[],
    command: compare,
};

/// `netperf run`.
pub(crate) const RUN: SubcommandSpec<CompareArgs> = SubcommandSpec {
    word: "run",
    about: "run two configurations alternately and compare them",
    program: "netperf run",
    table: options::RUN,
    usage: "Usage: netperf run [options] -- A-options --vs B-options
       netperf run --vary name=value,value [options] -- netperf-options

Runs two configurations of netperf alternately, A B A B and so on, and compares
them pair by pair. A-options and B-options are complete command lines of
netperf; both can contain `--`. With --vary they differ in one option alone.

  netperf run -- -H db1 -t TCP_RR --vs -H db1 -t TCP_RR -- -D
  netperf run --vary congestion=cubic,bbr --pairs 40 --keep runs -- -H db1 -l 2

Exit status: 0 B is better or equivalent, 4 worse, 5 inconclusive; that of a
failed run.
",
    verbs: &[],
    command: run,
};

/// The word between two sets of files.
pub(crate) const VS: &str = "vs";
/// The word between two command lines.
pub const DASHED_VS: &str = "--vs";

fn compare(mut args: CompareArgs, words: Vec<String>) -> Result<Subcommand, String> {
    let (first, second) = sets(&words)
        .ok_or("netperf compare: two files or folders are needed, or two sets with vs between")?;
    (args.first, args.second) = (first.to_vec(), second.to_vec());
    Ok(Subcommand::Compare(Box::new(args)))
}

fn run(mut args: CompareArgs, words: Vec<String>) -> Result<Subcommand, String> {
    if args.vary.is_some() {
        if words.iter().any(|word| word == DASHED_VS) {
            return Err("netperf run: give --vary or --vs, not both".to_owned());
        }
        args.first = words;
        return Ok(Subcommand::Run(Box::new(args)));
    }
    let (first, second) = split_at_word(&words, DASHED_VS).ok_or(
        "netperf run: two command lines are needed: -- A-options --vs B-options; or --vary",
    )?;
    (args.first, args.second) = (first.to_vec(), second.to_vec());
    Ok(Subcommand::Run(Box::new(args)))
}

/// Two words, or the words on both sides of `vs`.
fn sets(words: &[String]) -> Option<(&[String], &[String])> {
    let (first, second) = split_at_word(words, VS).or_else(|| {
        let (first, second) = words.split_at_checked(1)?;
        (second.len() == 1).then_some((first, second))
    })?;
    let both = !first.is_empty() && !second.is_empty() && !second.iter().any(|word| word == VS);
    both.then_some((first, second))
}

fn split_at_word<'w>(words: &'w [String], word: &str) -> Option<(&'w [String], &'w [String])> {
    let at = words.iter().position(|other| other == word)?;
    Some((words.get(..at)?, words.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::subcommand::subcommand;

    fn argv(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn read(line: &str) -> Subcommand {
        subcommand(&argv(line)).unwrap().unwrap()
    }

    fn compared(line: &str) -> CompareArgs {
        let Subcommand::Compare(args) = read(line) else {
            panic!("{line}");
        };
        *args
    }

    #[test]
    fn two_words_are_two_sets_and_vs_stands_between_more() {
        let args = compared("netperf compare a --paired b --margin 2%");
        assert_eq!(
            (args.first, args.second),
            (vec!["a".into()], vec!["b".into()])
        );
        assert!(args.paired);
        assert_eq!(args.margin, Some(0.02));
        let args = compared("netperf compare a b --threshold 3%");
        assert_eq!(args.margin, Some(0.03));
        let args = compared("netperf compare a b vs c --false-alarms=5");
        assert_eq!(args.first, ["a", "b"]);
        assert_eq!(args.second, ["c"]);
        assert_eq!(args.chance, Some(0.05));
    }

    #[test]
    fn compare_answers_other_words_with_its_usage() {
        for words in ["", " a", " a b c", " a vs", " vs b", " a vs b vs c"] {
            let line = format!("netperf compare{words}");
            let Subcommand::Usage(usage) = read(&line) else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, 2, "{line}");
        }
        let error = subcommand(&argv("netperf compare a b --threshold 200%"))
            .unwrap()
            .unwrap_err();
        assert!(error.to_string().contains("from 0 to 100"), "{error}");
        // An interval that leaves out everything has no width, and one that leaves out nothing
        // has no ends.
        for chance in ["0", "100", "51%", "1e-300"] {
            let line = format!("netperf compare a b --false-alarms {chance}");
            let error = subcommand(&argv(&line)).unwrap().unwrap_err();
            assert!(error.to_string().contains("50 at most"), "{error}");
        }
    }

    #[test]
    fn two_command_lines_may_have_dashes_of_their_own() {
        let line = "netperf run --pairs 7 -- -t TCP_RR -- -D --vs -t TCP_RR -- -r 2,2";
        let Subcommand::Run(args) = read(line) else {
            panic!("{line}");
        };
        assert_eq!(args.pairs, Some(7));
        assert_eq!(args.first, ["-t", "TCP_RR", "--", "-D"]);
        assert_eq!(args.second, ["-t", "TCP_RR", "--", "-r", "2,2"]);
        let Subcommand::Run(args) = read("netperf run --vary m=1,2 -- -l 1 -- -D") else {
            panic!("one command line is enough");
        };
        assert_eq!((args.vary, args.second), (Some("m=1,2".to_owned()), vec![]));
        assert_eq!(args.first, ["-l", "1", "--", "-D"]);
        let Subcommand::Usage(usage) = read("netperf run --vary m=1,2 -- -l 1 --vs -l 2") else {
            panic!("both --vary and --vs");
        };
        assert_eq!(usage.exit, 2);
        let Subcommand::Usage(usage) = read("netperf run -- -l 1") else {
            panic!("there is no second command line");
        };
        assert_eq!(usage.exit, 2);
    }
}
