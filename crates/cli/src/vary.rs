//! `netperf run --vary`: a value of an option in a command line.

use netperf_arguments::getopt::Argument;
use netperf_arguments::table::{OptionSpec, by_letter};
use netperf_model::TestId;

use crate::options::{global, of_suite};

/// A command line of netperf, for this test, with a value of the option `name`: a long name, a
/// letter, or a name that stands between braces in the command.
///
/// # Errors
/// A line for a letter that names no option with a value, or more than one.
pub fn varied(
    command: &[String],
    name: &str,
    value: &str,
    test: TestId,
) -> Result<Vec<String>, String> {
    let place = format!("{{{name}}}");
    if command.iter().any(|word| word.contains(&place)) {
        let put = |word: &String| word.replace(&place, value);
        return Ok(command.iter().map(put).collect());
    }
    let mut words = command.to_vec();
    let mut letters = name.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        words.insert(0, format!("--{name}={value}"));
        return Ok(words);
    };
    let behind = of_suite(test.row().suite).and_then(|suite| argument(suite.table, letter));
    let word = format!("-{letter}{value}");
    match (argument(global::table(), letter), behind) {
        (Some(Argument::Required), None) => words.insert(0, word),
        (None, Some(Argument::Required)) => {
            let dashes = words.iter().position(|word| word == "--");
            let at = dashes.unwrap_or_else(|| {
                words.push("--".to_owned());
                words.len() - 1
            });
            words.insert(at + 1, word);
        }
        (Some(_), Some(_)) => {
            return Err(format!(
                "-{letter} is an option before and after `--`: give its long name, or write \
                 -{letter} {place} in the command"
            ));
        }
        (Some(_), None) | (None, Some(_) | None) => {
            return Err(format!(
                "{} has no option -{letter} with a value",
                test.row().name
            ));
        }
    }
    Ok(words)
}

/// The argument of a letter; `None` if the table does not have it.
fn argument<A>(table: &[OptionSpec<A>], letter: char) -> Option<Argument> {
    by_letter(table, letter).map(|row| row.action.argument())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str, name: &str, value: &str) -> Result<String, String> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        varied(&words, name, value, TestId::TcpStream).map(|words| words.join(" "))
    }

    #[test]
    fn a_value_goes_where_its_option_belongs() {
        for (command, name, value, all) in [
            (
                "-H h -- -D",
                "congestion",
                "bbr",
                "--congestion=bbr -H h -- -D",
            ),
            ("-H h -- -D", "m", "64K", "-H h -- -m64K -D"),
            ("-H h", "m", "1K", "-H h -- -m1K"),
            ("-H h", "y", "3", "-y3 -H h"),
            ("-H h -- -s {size},{size}", "size", "1M", "-H h -- -s 1M,1M"),
            ("-l {l} -- -m 1", "l", "3", "-l 3 -- -m 1"),
        ] {
            assert_eq!(of(command, name, value).as_deref(), Ok(all));
        }
    }

    #[test]
    fn a_letter_of_no_option_or_of_two_is_refused() {
        for letter in ["s", "l", "D"] {
            let said = of("", letter, "1").unwrap_err();
            assert!(said.contains("before and after"), "{said}");
        }
        let said = of("", "9", "1").unwrap_err();
        assert_eq!(said, "TCP_STREAM has no option -9 with a value");
    }
}
