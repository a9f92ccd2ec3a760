//! The command line of `netperf sweep`, and its file.

#[cfg(feature = "files")]
use toml::de::{DeTable, DeValue};

use std::path::PathBuf;

use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::row::plain_help_row;
use netperf_arguments::table::OptionSpec;

use super::spec::SubcommandSpec;
use crate::entry::Operands;

/// The options of `netperf sweep`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepArgs {
    /// `-o`: the folder.
    pub folder: Option<PathBuf>,
    /// `--plan`: a file with the rest.
    pub file: Option<PathBuf>,
    /// The plan; empty to continue an existing sweep.
    pub plan: SweepWords,
}

/// Plan of a sweep, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepWords {
    /// Arguments of `netperf`, with placeholders.
    pub command: Vec<String>,
    /// `--over`: names and values.
    pub over: Vec<String>,
    /// `--repeat`: how often; `None` is once.
    pub repeat: Option<u32>,
}

type Opt = OptionSpec<SweepArgs>;

/// Every option.
static TABLE: &[Opt] = &[
    Opt::lettered('o', "output", Group::Output)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.folder = Some(PathBuf::from(text)))
        .help("folder for results, table and report; an existing sweep in it is resumed")
        .more(
            "An interrupted sweep is resumed if it is started again with the same folder; the rest \
             of the command line can be omitted.",
        ),
    Opt::named("over", Group::Test)
        .takes("name=values", ValueKind::Text)
        .set(|a, text| a.plan.over.push(text.to_owned()))
        .help("values to insert for {name}; can be given several times")
        .more(
            "Values separated by commas: words, numbers, or ranges such as 64..64K*2 (each twice \
             the previous one) and 0..100+25. The first --over is the axis of the curve, and each \
             combination of the others has a line.",
        ),
    Opt::named("repeat", Group::Test)
        .takes("number", ValueKind::Within(1, 1000))
        .set(|a, text| a.plan.repeat = text.parse().ok())
        .help("number of runs of each point")
        .more(
            "The default is 1. All points run once, then all again, so that drift affects all of \
             them. A completed sweep can be continued with a larger number.",
        ),
    Opt::named("plan", Group::Test)
        .takes("file", ValueKind::File)
        .set(|a, text| a.file = Some(PathBuf::from(text)))
        .help("read the command and the options above from a TOML file")
        .more("Its keys are command and over, lists of texts, and repeat."),
    plain_help_row(),
];

/// `netperf sweep`.
pub(super) static SWEEP: SubcommandSpec<SweepArgs, SweepArgs> = SubcommandSpec {
    word: "sweep",
    about: "measure a curve",
    table: TABLE,
    usage: "\
Usage: netperf sweep -o folder --over name=values [options] -- netperf-options
       netperf sweep -o folder --plan file
       netperf sweep -o folder

Measures a curve: runs netperf once for every value, which replaces {name} in
its options, stores every result, and creates one table and one report of all.
The third form resumes an interrupted sweep.

  netperf sweep -o sizes --over m=64..64K*2 -- -H db1 -l 5 -- -m {m}
  netperf sweep -o rr --over b=0,1..64*2 --over t=TCP_RR,UDP_RR --repeat 5 -- \\
      -H db1 -t {t} -l 2 -j -- -b {b}

Exit status: 0 every run succeeded, 1 a run failed or the sweep was interrupted,
2 the command line is invalid, the folder contains another sweep, or a sweep is
running in it.
",
    verbs: Vec::new,
    operands: Operands::Line(None),
    command: sweep,
};

fn sweep(mut args: SweepArgs, words: Vec<String>) -> Result<SweepArgs, String> {
    if args.folder.is_none() {
        return Err("netperf sweep: a folder for the results is required (-o)".to_owned());
    }
    let own = !args.plan.over.is_empty() || args.plan.repeat.is_some() || !words.is_empty();
    if args.file.is_some() && own {
        let line =
            "netperf sweep: --plan has everything: leave out --over, --repeat and the command";
        return Err(line.to_owned());
    }
    if words.is_empty() != args.plan.over.is_empty() {
        let line = "netperf sweep: both --over and a command are needed: netperf sweep -o folder --over \
                    m=1K,64K -- -H host -- -m {m}";
        return Err(line.to_owned());
    }
    args.plan.command = words;
    Ok(args)
}

/// Reads a plan file (`--plan`).
///
/// # Errors
/// A line that names the problem.
#[cfg(feature = "files")]
pub fn sweep_file(text: &str) -> Result<SweepWords, String> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if let Some(error) = errors.first() {
        let message = error.message().lines().next().unwrap_or_default();
        return Err(format!("this is not TOML: {message}"));
    }
    let mut words = SweepWords::default();
    for (key, value) in table.get_ref() {
        let value = value.get_ref();
        match key.get_ref().as_ref() {
            "command" => words.command = texts("command", value)?,
            "over" => words.over = texts("over", value)?,
            "repeat" => words.repeat = Some(repeat(value)?),
            other => {
                return Err(format!(
                    "there is no key {other}: there are command, over and repeat"
                ));
            }
        }
    }
    if words.command.is_empty() || words.over.is_empty() {
        return Err("it has to have the keys command and over".to_owned());
    }
    Ok(words)
}

#[cfg(feature = "files")]
fn texts(key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let wrong = || format!("{key} is a list of texts such as [\"m=1K,64K\"]");
    let DeValue::Array(values) = value else {
        return Err(wrong());
    };
    let text = |value: &toml::Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    };
    values
        .iter()
        .map(text)
        .collect::<Option<_>>()
        .ok_or_else(wrong)
}

#[cfg(feature = "files")]
fn repeat(value: &DeValue<'_>) -> Result<u32, String> {
    let number: Option<u32> = if let DeValue::Integer(number) = value {
        number.to_string().parse().ok()
    } else {
        None
    };
    let fits = number.filter(|number| (1..=1000).contains(number));
    fits.ok_or_else(|| "repeat is a whole number from 1 to 1000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::testing::read;

    fn swept(line: &str) -> SweepArgs {
        let Subcommand::Sweep(args) = read(line) else {
            panic!("{line}");
        };
        *args
    }

    #[test]
    fn a_command_stands_behind_the_dashes_and_may_have_its_own() {
        let line = "netperf sweep -o d --over m=1,2 --over=b=3 --repeat 2 -- -H h -- -m {m} -b {b}";
        let args = swept(line);
        assert_eq!(args.plan.over, ["m=1,2", "b=3"]);
        assert_eq!(args.plan.repeat, Some(2));
        assert_eq!(
            args.plan.command,
            ["-H", "h", "--", "-m", "{m}", "-b", "{b}"]
        );
        let resumed = swept("netperf sweep --output d");
        assert!(resumed.plan.command.is_empty());
    }

    #[test]
    fn sweep_names_missing_words_and_its_usage() {
        for words in [
            "",
            " --over m=1 -- -- -m {m}",
            " -o d --over m=1",
            " -o d -- -m {m}",
            " -o d --plan f --repeat 2",
        ] {
            let line = format!("netperf sweep{words}");
            let Subcommand::Usage(usage) = read(&line) else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, 2, "{line}");
        }
    }

    #[test]
    fn a_file_has_the_same_words() {
        let text =
            "command = [\"-H\", \"h\", \"--\", \"-m\", \"{m}\"]\nover = [\"m=1,2\"]\nrepeat = 3\n";
        let words = sweep_file(text).unwrap();
        assert_eq!(words.over, ["m=1,2"]);
        assert_eq!((words.repeat, words.command.len()), (Some(3), 5));
        for (text, why) in [
            ("command = 1", "list of texts"),
            ("repeat = 0", "from 1 to 1000"),
            ("repeat = \"2\"", "from 1 to 1000"),
            ("over = [\"m=1\"]", "has to have"),
            ("ovr = []", "no key ovr"),
            ("=", "not TOML"),
        ] {
            let said = sweep_file(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
