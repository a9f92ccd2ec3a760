//! The command line of `netperf sweep`, and its file.

use std::ffi::OsString;

#[cfg(feature = "files")]
use toml::de::{DeTable, DeValue};

use crate::args::SweepArgs;
#[cfg(feature = "files")]
use crate::args::SweepWords;
use crate::command::{CliError, Usage};
use crate::help;
use crate::options::sweep::SWEEP;
use crate::subcommand::{Subcommand, Words};

/// Parsed command line of `netperf sweep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepCommand {
    /// Sweep.
    Sweep(Box<SweepArgs>),
    /// Print help.
    Usage(Usage),
}

/// `netperf sweep`.
pub(crate) const COMMAND: Subcommand<SweepArgs> = Subcommand {
    word: "sweep",
    about: "measure a curve",
    program: "netperf sweep",
    table: SWEEP,
    help: help::sweep,
};

/// Returns true if argv asks for a sweep.
#[must_use]
pub fn is_sweep(argv: &[OsString]) -> bool {
    COMMAND.is_asked(argv)
}

/// Reads the command line of `netperf sweep`, argv\[0\] and `sweep` included.
///
/// # Errors
///
/// When a word is no text, or an option's name or value is wrong.
pub fn sweep(argv: &[OsString]) -> Result<SweepCommand, CliError> {
    let (mut args, words) = match COMMAND.read(argv)? {
        Words::Read(args, words) => (args, words),
        Words::Usage(usage) => return Ok(SweepCommand::Usage(usage)),
    };
    if args.folder.is_none() {
        let line = "netperf sweep: a folder for the results is required (-o)";
        return Ok(SweepCommand::Usage(COMMAND.wrong(line)));
    }
    let own = !args.plan.over.is_empty() || args.plan.repeat.is_some() || !words.is_empty();
    if args.file.is_some() && own {
        let line =
            "netperf sweep: --plan has everything: leave out --over, --repeat and the command";
        return Ok(SweepCommand::Usage(COMMAND.wrong(line)));
    }
    if words.is_empty() != args.plan.over.is_empty() {
        let line = "netperf sweep: it takes --over and a command: netperf sweep -o folder --over \
                    m=1K,64K -- -H host -- -m {m}";
        return Ok(SweepCommand::Usage(COMMAND.wrong(line)));
    }
    args.plan.command = words;
    Ok(SweepCommand::Sweep(Box::new(args)))
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

    fn read(line: &str) -> SweepCommand {
        let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert!(is_sweep(&argv));
        sweep(&argv).unwrap()
    }

    fn swept(line: &str) -> SweepArgs {
        match read(line) {
            SweepCommand::Sweep(args) => *args,
            SweepCommand::Usage(usage) => panic!("{}", usage.text),
        }
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
    fn what_is_missing_is_answered_with_what_it_takes() {
        for words in [
            "",
            " --over m=1 -- -- -m {m}",
            " -o d --over m=1",
            " -o d -- -m {m}",
            " -o d --plan f --repeat 2",
        ] {
            let line = format!("netperf sweep{words}");
            let SweepCommand::Usage(usage) = read(&line) else {
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
