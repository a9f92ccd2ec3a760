//! Command lines without the passphrase, for reports and messages.

use netperf_arguments::getopt::{Getopt, GetoptStep};
use netperf_arguments::table::{ValueShape, by_letter, by_name};

use crate::options::global;
use crate::parse::asked_test::in_any_suite;

/// Name of the option with the passphrase.
const PASSPHRASE: &str = "passphrase";
/// Replacement of the passphrase. Its length does not depend on that of the passphrase.
const MASK: &str = "***";

/// Copies the words behind the program's name and masks the values of the passphrase.
#[must_use]
pub fn masked_words(words: &[String]) -> Vec<String> {
    let mut masked = words.to_vec();
    let mut rest = words;
    let mut is_global = true;
    while !rest.is_empty() {
        let mut getopt = Getopt::new(rest);
        while let Some(value) = next_passphrase(&mut getopt, is_global) {
            // The value is the end of the last word that was read.
            let at = words.len() - getopt.rest().len() - 1;
            if let Some(word) = masked.get_mut(at) {
                word.truncate(word.len() - value.len());
                word.push_str(MASK);
            }
        }
        rest = getopt.rest();
        is_global = false;
    }
    masked
}

/// The next value of the option; `None` at the end of the options. Behind `--` only the long
/// form is a global option.
fn next_passphrase<'a>(getopt: &mut Getopt<'a>, is_global: bool) -> Option<&'a str> {
    let table = global::table();
    let row = |letter| by_letter(table, letter).filter(|_| is_global);
    loop {
        match getopt.step(|letter| row(letter).map(|row| row.action.argument()))? {
            GetoptStep::Option(letter, Some(value))
                if row(letter).is_some_and(|row| row.long == PASSPHRASE) =>
            {
                return Some(value);
            }
            GetoptStep::Long(text) => {
                if let Some(value) = long_value(text, getopt) {
                    return Some(value);
                }
            }
            GetoptStep::Option(..) | GetoptStep::Unknown(_) | GetoptStep::MissingArgument(_) => {}
        }
    }
}

/// The value of the option in its long form. Passes over the values of others.
fn long_value<'a>(text: &'a str, getopt: &mut Getopt<'a>) -> Option<&'a str> {
    let (name, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let own = by_name(global::table(), name).map(|row| row.shape());
    let shape: ValueShape = own.or_else(|| in_any_suite(name).map(|row| row.shape()))?;
    let value = shape.word("", name, attached, getopt).ok().flatten();
    value.filter(|_| name == PASSPHRASE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_passphrase_is_masked_in_each_form_of_its_option() {
        for (typed, shown) in [
            ("-Z secret -t TCP_RR", "-Z *** -t TCP_RR"),
            ("-Zsecret -H secret", "-Z*** -H secret"),
            ("-dNZsecret", "-dNZ***"),
            ("-dZ secret secret", "-dZ *** secret"),
            ("-Z -- -l 1", "-Z *** -l 1"),
            ("-Z --json -j", "-Z *** -j"),
            ("--passphrase secret -j", "--passphrase *** -j"),
            ("--passphrase=a=b -j", "--passphrase=*** -j"),
            ("-Z a --passphrase b -Z c", "-Z *** --passphrase *** -Z ***"),
            ("-- --passphrase b -Z c", "-- --passphrase *** -Z c"),
            ("-- -m -- --passphrase=b", "-- -m -- --passphrase=***"),
            ("-H -Z secret", "-H -Z secret"),
            ("--host -Z -Z secret", "--host -Z -Z ***"),
            ("-- -k THROUGHPUT", "-- -k THROUGHPUT"),
            ("-Z", "-Z"),
        ] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(masked_words(&words).join(" "), shown, "{typed}");
        }
        assert!(masked_words(&[]).is_empty());
        let words = ["-Z", "\u{e4}\u{e4} b"].map(str::to_owned);
        assert_eq!(masked_words(&words), ["-Z", "***"]);
    }
}
