//! Command lines in the grammar of getopt_long(3), and numbers in that of strtod(3).

use std::fmt;

/// Argument of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesValue {
    /// No value.
    No,
    /// A value: attached, or the next word.
    Yes,
    /// A value only if it is attached with `=`.
    Optional,
}

/// The names of an option.
#[derive(Clone, Copy, Debug)]
pub struct OptionNames<'a, R> {
    /// Its letter.
    pub letter: Option<char>,
    /// Its long name.
    pub long: Option<&'a str>,
    /// Its long name may be shortened, and counts where others are.
    pub shortens: bool,
    /// Its argument.
    pub takes: TakesValue,
    /// Its meaning. Names of the same option are equal.
    pub option: R,
}

/// A part of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandWord<R> {
    /// An option.
    Option {
        /// Its meaning.
        option: R,
        /// Its name with dashes, in full.
        name: String,
        /// Its value.
        value: Option<String>,
    },
    /// A word that belongs to no option.
    Operand(String),
}

/// An option that cannot be read. The text is that of the C library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GetoptError {
    /// No option has this long name.
    Unknown(String),
    /// Several options begin so.
    Ambiguous(String, Vec<String>),
    /// No option has this letter.
    UnknownLetter(char),
    /// The value of a long name is missing.
    NoValue(String),
    /// The value of a letter is missing.
    NoValueOfLetter(char),
    /// The option takes no value.
    Value(String),
}

impl fmt::Display for GetoptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "unrecognized option '--{name}'"),
            Self::Ambiguous(name, names) => {
                write!(f, "option '--{name}' is ambiguous; possibilities:")?;
                names.iter().try_for_each(|name| write!(f, " '--{name}'"))
            }
            Self::UnknownLetter(letter) => write!(f, "invalid option -- '{letter}'"),
            Self::NoValue(name) => write!(f, "option '--{name}' requires an argument"),
            Self::NoValueOfLetter(letter) => {
                write!(f, "option requires an argument -- '{letter}'")
            }
            Self::Value(name) => write!(f, "option '--{name}' doesn't allow an argument"),
        }
    }
}

/// Reads the words behind argv\[0\]: letters together, values attached or apart, unambiguous
/// beginnings of long names, and `--` before the last operands. Reading goes on behind an option that
/// cannot be read.
#[must_use]
pub fn getopt<R: Copy + PartialEq>(
    words: &[String],
    table: &[OptionNames<'_, R>],
) -> Vec<Result<CommandWord<R>, GetoptError>> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            found.extend(words.map(|word| Ok(CommandWord::Operand(word.clone()))));
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            found.push(long_option(long, &mut words, table));
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            letter_options(letters, &mut words, table, &mut found);
        } else {
            found.push(Ok(CommandWord::Operand(word.clone())));
        }
    }
    found
}

fn long_option<'w, R: Copy + PartialEq>(
    typed: &str,
    words: &mut impl Iterator<Item = &'w String>,
    table: &[OptionNames<'_, R>],
) -> Result<CommandWord<R>, GetoptError> {
    let (name, attached) = match typed.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (typed, None),
    };
    let (row, name) = long_row(name, table)?;
    let value = match (row.takes, attached) {
        (TakesValue::No, Some(_)) => return Err(GetoptError::Value(name.to_owned())),
        (TakesValue::Yes, None) => {
            let next = words.next().cloned();
            Some(next.ok_or_else(|| GetoptError::NoValue(name.to_owned()))?)
        }
        (_, attached) => attached,
    };
    let (option, name) = (row.option, format!("--{name}"));
    Ok(CommandWord::Option {
        option,
        name,
        value,
    })
}

/// The option of a long name, or of the beginning of one.
fn long_row<'t, 'a, R: Copy + PartialEq>(
    typed: &str,
    table: &'t [OptionNames<'a, R>],
) -> Result<(&'t OptionNames<'a, R>, &'a str), GetoptError> {
    let named = || table.iter().filter_map(|row| Some((row, row.long?)));
    if let Some(exact) = named().find(|(_, name)| *name == typed) {
        return Ok(exact);
    }
    let begun = || named().filter(|(row, name)| row.shortens && name.starts_with(typed));
    let first = begun().next();
    let first = first.ok_or_else(|| GetoptError::Unknown(typed.to_owned()))?;
    if begun().all(|(row, _)| row.option == first.0.option) {
        return Ok(first);
    }
    let names = begun().map(|(_, name)| name.to_owned()).collect();
    Err(GetoptError::Ambiguous(typed.to_owned(), names))
}

fn letter_options<'w, R: Copy>(
    letters: &str,
    words: &mut impl Iterator<Item = &'w String>,
    table: &[OptionNames<'_, R>],
    found: &mut Vec<Result<CommandWord<R>, GetoptError>>,
) {
    for (at, letter) in letters.char_indices() {
        let Some(row) = table.iter().find(|row| row.letter == Some(letter)) else {
            found.push(Err(GetoptError::UnknownLetter(letter)));
            continue;
        };
        let read = |value| CommandWord::Option {
            option: row.option,
            name: format!("-{letter}"),
            value,
        };
        if row.takes != TakesValue::Yes {
            found.push(Ok(read(None)));
            continue;
        }
        let behind = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        let value = match behind {
            "" => words.next().cloned(),
            behind => Some(behind.to_owned()),
        };
        let value = value.ok_or(GetoptError::NoValueOfLetter(letter));
        found.push(value.map(|value| read(Some(value))));
        return;
    }
}

/// The decimal number with which a text begins, and what follows it.
#[must_use]
pub fn leading_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let digits = |from: usize| {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = sign + digits(sign);
    let mut count = end - sign;
    if text.get(end..)?.starts_with('.') {
        let fraction = digits(end + 1);
        count += fraction;
        end += 1 + fraction;
    }
    if count == 0 {
        return None;
    }
    if text.get(end..)?.starts_with(['e', 'E']) {
        let signed = text.get(end + 1..)?.starts_with(['+', '-']);
        let from = end + 1 + usize::from(signed);
        let exponent = digits(from);
        if exponent > 0 {
            end = from + exponent;
        }
    }
    let number = text.get(..end)?.parse().ok()?;
    Some((number, text.get(end..)?))
}

/// A whole number as strtoul(3) reads it: `0x` hexadecimal, `0` octal, decimal.
#[must_use]
pub fn number_of_any_base(text: &str) -> Option<u32> {
    let (digits, base) = if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        (digits, 16)
    } else if text.len() > 1 && text.starts_with('0') {
        (text, 8)
    } else {
        (text, 10)
    };
    u32::from_str_radix(digits, base).ok()
}

/// A host, and the interface behind `%`. An address of IPv6 keeps its scope.
#[must_use]
pub fn host_and_device(text: &str) -> (String, Option<String>) {
    match text.split_once('%') {
        Some((host, device)) if !host.contains(':') => {
            let device = Some(device).filter(|device| !device.is_empty());
            (host.to_owned(), device.map(str::to_owned))
        }
        _ => (text.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[OptionNames<'_, u8>] = &[
        names(Some('v'), "verbose", TakesValue::No, 1),
        names(None, "version", TakesValue::No, 2),
        names(Some('l'), "length", TakesValue::Yes, 3),
        names(Some('b'), "bitrate", TakesValue::Yes, 4),
        names(None, "bandwidth", TakesValue::Yes, 4),
        names(None, "stamps", TakesValue::Optional, 5),
    ];

    const fn names(
        letter: Option<char>,
        long: &str,
        takes: TakesValue,
        option: u8,
    ) -> OptionNames<'_, u8> {
        OptionNames {
            letter,
            long: Some(long),
            shortens: true,
            takes,
            option,
        }
    }

    fn read(line: &str) -> Result<Vec<(u8, Option<String>)>, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let found: Result<Vec<_>, _> = getopt(&words, TABLE).into_iter().collect();
        let found = found.map_err(|error| error.to_string())?;
        let pairs = found.into_iter().map(|word| match word {
            CommandWord::Option { option, value, .. } => (option, value),
            CommandWord::Operand(word) => (0, Some(word)),
        });
        Ok(pairs.collect())
    }

    #[test]
    fn getopt_reads_letters_names_and_their_beginnings() {
        let value = |text: &str| Some(text.to_owned());
        assert_eq!(read("-vl5").unwrap(), [(1, None), (3, value("5"))]);
        assert_eq!(
            read("--le 5 --len=6").unwrap(),
            [(3, value("5")), (3, value("6"))]
        );
        assert_eq!(read("--b 1").unwrap(), [(4, value("1"))]);
        assert_eq!(read("--st x").unwrap(), [(5, None), (0, value("x"))]);
        assert_eq!(
            read("--stamps=x -").unwrap(),
            [(5, value("x")), (0, value("-"))]
        );
        assert_eq!(read("-- -v").unwrap(), [(0, value("-v"))]);
    }

    #[test]
    fn getopt_names_options_that_cannot_be_read_as_the_c_library() {
        for (line, text) in [
            (
                "--ver",
                "option '--ver' is ambiguous; possibilities: '--verbose' '--version'",
            ),
            ("--bogus", "unrecognized option '--bogus'"),
            (
                "--verbose=1",
                "option '--verbose' doesn't allow an argument",
            ),
            ("--len", "option '--length' requires an argument"),
            ("-x", "invalid option -- 'x'"),
            ("-vl", "option requires an argument -- 'l'"),
        ] {
            assert_eq!(read(line).unwrap_err(), text, "{line}");
        }
    }

    #[test]
    fn getopt_goes_on_behind_an_option_that_cannot_be_read() {
        let words = ["-xl", "5x", "--bogus=1", "-v"].map(str::to_owned);
        let found = getopt(&words, TABLE);
        let length = CommandWord::Option {
            option: 3,
            name: "-l".to_owned(),
            value: Some("5x".to_owned()),
        };
        assert_eq!(found[0], Err(GetoptError::UnknownLetter('x')));
        assert_eq!(found[1], Ok(length));
        assert_eq!(found[2], Err(GetoptError::Unknown("bogus".to_owned())));
        assert!(found[3].is_ok() && found.len() == 4);
    }

    #[test]
    fn leading_number_ends_where_the_number_does() {
        for (text, number, rest) in [
            ("12s", 12.0, "s"),
            (" 1.5K", 1.5, "K"),
            ("1e3", 1000.0, ""),
            ("1e", 1.0, "e"),
            (".5", 0.5, ""),
            ("5.", 5.0, ""),
            ("-3x", -3.0, "x"),
        ] {
            assert_eq!(leading_number(text), Some((number, rest)), "{text}");
        }
        for text in ["", "abc", "-", ".", "e5"] {
            assert_eq!(leading_number(text), None, "{text}");
        }
    }
}
