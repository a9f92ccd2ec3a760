//! The command lines of `netperf compare` and `netperf run`.

use std::path::PathBuf;

use netperf_arguments::group::Group;
use netperf_arguments::kind::{ValueKind, percent};
use netperf_arguments::row::plain_help_row;
use netperf_arguments::table::OptionSpec;

use super::spec::SubcommandSpec;
use crate::entry::Operands;

/// The options of `netperf compare` and `netperf run`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareArgs {
    /// Files and folders of the first set, or the first command line of `netperf`.
    pub first: Vec<String>,
    /// The same of the second.
    pub second: Vec<String>,
    /// `--vary` of `run`: the name and the values of an option that differ, instead of a second
    /// command line.
    pub vary: Option<String>,
    /// `--paired` of `compare`: runs belong together one by one, in the order of their files.
    pub paired: bool,
    /// `--pairs` of `run`: number of runs of each command line; `None` is the default.
    pub pairs: Option<u32>,
    /// `--keep` of `run`: a folder for the results.
    pub keep: Option<PathBuf>,
    /// `--false-alarms`: their probability, as a share; `None` is the default.
    pub chance: Option<f64>,
    /// `--margin`: the largest change that is equivalence, as a share; `None` is the default.
    pub margin: Option<f64>,
    /// `--json`: print a document.
    pub json: bool,
    /// `--markdown`: print a table of Markdown.
    pub markdown: bool,
}

type Opt = OptionSpec<CompareArgs>;

/// Every option of `netperf compare`.
static COMPARE_OPTIONS: &[Opt] = &[
    Opt::named("paired", Group::Statistics)
        .flag(|a| a.paired = true)
        .help("compare the runs in pairs, in the order of their names")
        .more(
            "For runs that alternated: drift affects both runs of a pair. Default if their times show \
             that they alternated, as those of netperf run.",
        ),
    FALSE_ALARMS,
    MARGIN,
    THRESHOLD,
    JSON,
    MARKDOWN,
    plain_help_row(),
];

/// Every option of `netperf run`.
static RUN_OPTIONS: &[Opt] = &[
    Opt::named("vary", Group::Test)
        .takes("name=values", ValueKind::Text)
        .set(|a, text| a.vary = Some(text.to_owned()))
        .help("compare values of one option, such as congestion=cubic,bbr")
        .more(
            "The name is a long name, or a letter, of an option of netperf, which the command \
             does not contain. A command that contains {name} has the values in these places. \
             Every value is compared with the first.",
        ),
    Opt::named("pairs", Group::Test)
        .takes("number", ValueKind::Within(1, 10_000))
        .set(|a, text| a.pairs = text.parse().ok())
        .help("number of runs of each configuration (default 20)")
        .more(
            "The default is 20, enough to detect a change of 2 % if runs differ by 1.2 %. An \
             inconclusive comparison states the number that is needed.",
        ),
    Opt::named("keep", Group::Output)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.keep = Some(PathBuf::from(text)))
        .help("store every result in this folder")
        .more(
            "As a-001.json, b-001.json and so on, for `netperf compare --paired` and `netperf \
             report`.",
        ),
    FALSE_ALARMS,
    MARGIN,
    THRESHOLD,
    JSON,
    MARKDOWN,
    plain_help_row(),
];

const FALSE_ALARMS: Opt = Opt::named("false-alarms", Group::Statistics)
    .takes("percent", ValueKind::Chance)
    .set(|a, text| a.chance = percent(text))
    .help("probability of a false alarm, over all metrics together (default 1%)")
    .more("The default is 1%; a lower value needs more runs.");

const MARGIN: Opt = Opt::named("margin", Group::Statistics)
    .takes("percent", ValueKind::Percent)
    .set(|a, text| a.margin = percent(text))
    .help("largest change that counts as equivalence (default 1%)")
    .more("The default is 1%; with 0 nothing is equivalent.");

const THRESHOLD: Opt = Opt::named("threshold", Group::Statistics)
    .takes("percent", ValueKind::Percent)
    .set(|a, text| a.margin = percent(text))
    .help("the same as --margin, which replaces it");

const JSON: Opt = Opt::named("json", Group::Output)
    .flag(|a| a.json = true)
    .help("print the comparison as JSON");

const MARKDOWN: Opt = Opt::named("markdown", Group::Output)
    .flag(|a| a.markdown = true)
    .help("print the comparison as a Markdown table");

/// `netperf compare`.
pub(super) static COMPARE: SubcommandSpec<CompareArgs, CompareArgs> = SubcommandSpec {
    word: "compare",
    about: "compare two sets of runs",
    table: COMPARE_OPTIONS,
    usage: "Usage: netperf compare A B [options]
       netperf compare A [A ...] vs B [B ...] [options]

Compares two sets of runs of one test and reports for each metric the change,
its confidence interval and a verdict. A and B are files, or folders of files,
from netperf --json, iperf3 -J or flent; each file is a run.

  netperf compare before/ after/
  netperf compare old-*.json vs new-*.json --margin 2%

Verdicts: better; worse; equivalent, if the interval is inside the margin (1 %);
inconclusive otherwise, with the number of runs that is needed.

Exit status: 0 better or equivalent, 4 something got worse, 5 inconclusive.
",
    verbs: Vec::new,
    operands: Operands::Files,
    command: compare,
};

/// `netperf run`.
pub(super) static RUN: SubcommandSpec<CompareArgs, CompareArgs> = SubcommandSpec {
    word: "run",
    about: "run two configurations alternately and compare them",
    table: RUN_OPTIONS,
    usage: "Usage: netperf run [options] -- A-options --vs B-options
       netperf run --vary name=value,value [options] -- netperf-options

Runs two configurations of netperf alternately, A B A B and so on, and compares
them pair by pair. A-options and B-options are complete command lines of
netperf; both can contain `--`. With --vary they differ in one option alone.

  netperf run -- -H db1 -t TCP_RR --vs -H db1 -t TCP_RR -- -D
  netperf run --vary congestion=cubic,bbr --pairs 40 --keep runs -- -H db1 -l 2

Exit status: 0 B is better or equivalent, 4 worse, 5 inconclusive, 1 interrupted
in the first pair; that of a failed run.
",
    verbs: Vec::new,
    operands: Operands::Line(Some(DASHED_VS)),
    command: run,
};

/// The word between two sets of files.
pub(crate) const VS: &str = "vs";
/// The word between two command lines.
const DASHED_VS: &str = "--vs";

fn compare(mut args: CompareArgs, words: Vec<String>) -> Result<CompareArgs, String> {
    let (first, second) = sets(&words)
        .ok_or("netperf compare: two files or folders are needed, or two sets with vs between")?;
    (args.first, args.second) = (first.to_vec(), second.to_vec());
    Ok(args)
}

fn run(mut args: CompareArgs, words: Vec<String>) -> Result<CompareArgs, String> {
    if args.vary.is_some() {
        if words.iter().any(|word| word == DASHED_VS) {
            return Err("netperf run: give --vary or --vs, not both".to_owned());
        }
        args.first = words;
        return Ok(args);
    }
    let (first, second) = split_at_word(&words, DASHED_VS).ok_or(
        "netperf run: two command lines are needed: -- A-options --vs B-options; or --vary",
    )?;
    (args.first, args.second) = (first.to_vec(), second.to_vec());
    Ok(args)
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
    use super::*;
    use crate::programs::subcommand;
    use crate::subcommand::Subcommand;
    use crate::subcommand::testing::{argv, read};

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
