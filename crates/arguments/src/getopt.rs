//! Short options as GNU `getopt(3)` reads them.
//!
//! Letters may be combined (`-cC`). An argument is attached (`-tTCP_RR`) or is the next word,
//! whatever that is. Words that are not options are skipped, and `--` ends the options. A
//! longer word with two leading dashes is a long option, which the original does not have. The
//! caller interprets its name and takes its argument with [`Getopt::next_if`].

/// Argument of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    Nothing,
    /// The rest of its word, or the next word.
    Required,
    /// The next word if that begins with a digit; never the rest of its word.
    NextIfNumber,
    /// The next word unless that begins with `-`; never the rest of its word.
    NextUnlessDash,
}

/// One thing found on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetoptStep<'a> {
    /// A known letter, with its argument if it has one.
    Option(char, Option<&'a str>),
    /// A letter that is not known.
    Unknown(char),
    /// A letter whose argument is missing.
    MissingArgument(char),
    /// The text behind the two dashes of a long option.
    Long(&'a str),
}

impl GetoptStep<'_> {
    /// The line `getopt` prints for this step; `None` for a good one.
    pub fn complaint(self, program: &str) -> Option<String> {
        match self {
            GetoptStep::Option(..) | GetoptStep::Long(_) => None,
            GetoptStep::Unknown(letter) => Some(format!("{program}: invalid option -- '{letter}'")),
            GetoptStep::MissingArgument(letter) => Some(format!(
                "{program}: option requires an argument -- '{letter}'"
            )),
        }
    }
}

/// Walks through words, one option letter at a time.
#[derive(Debug)]
pub struct Getopt<'a> {
    words: &'a [String],
    cluster: &'a str,
    skipped: Vec<&'a str>,
}

impl<'a> Getopt<'a> {
    /// Starts at the first of `words`, which follow the program's name.
    pub const fn new(words: &'a [String]) -> Self {
        Self {
            words,
            cluster: "",
            skipped: Vec::new(),
        }
    }

    /// The words so far that are neither options nor arguments of one.
    pub fn skipped(&self) -> &[&'a str] {
        &self.skipped
    }

    /// The words behind the `--` that ended the options; empty when there was none.
    pub const fn rest(&self) -> &'a [String] {
        self.words
    }

    /// The next step; `None` at the end of the options.
    pub fn step(&mut self, kind: impl Fn(char) -> Option<Argument>) -> Option<GetoptStep<'a>> {
        if self.cluster.is_empty() {
            let text = self.next_word()?;
            if let Some(long) = text.strip_prefix('-') {
                return Some(GetoptStep::Long(long));
            }
            self.cluster = text;
        }
        let mut letters = self.cluster.chars();
        let letter = letters.next()?;
        self.cluster = letters.as_str();
        let Some(kind) = kind(letter) else {
            return Some(GetoptStep::Unknown(letter));
        };
        Some(match kind {
            Argument::Nothing => GetoptStep::Option(letter, None),
            Argument::Required => self.required(letter),
            Argument::NextIfNumber => GetoptStep::Option(
                letter,
                self.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit())),
            ),
            Argument::NextUnlessDash => {
                GetoptStep::Option(letter, self.next_if(|word| !word.starts_with('-')))
            }
        })
    }

    /// The text behind the first dash of the next word that is one option or more.
    fn next_word(&mut self) -> Option<&'a str> {
        loop {
            let (word, rest) = self.words.split_first()?;
            self.words = rest;
            if word == "--" {
                return None;
            }
            match word.strip_prefix('-') {
                Some(text) if !text.is_empty() => return Some(text),
                Some(_) | None => self.skipped.push(word),
            }
        }
    }

    fn required(&mut self, letter: char) -> GetoptStep<'a> {
        if !self.cluster.is_empty() {
            return GetoptStep::Option(letter, Some(std::mem::take(&mut self.cluster)));
        }
        match self.next_if(|_| true) {
            Some(word) => GetoptStep::Option(letter, Some(word)),
            None => GetoptStep::MissingArgument(letter),
        }
    }

    /// Takes the next word if `wanted`; inside a cluster there is no next word yet.
    pub fn next_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        if !self.cluster.is_empty() {
            return None;
        }
        let (word, rest) = self.words.split_first()?;
        if !wanted(word) {
            return None;
        }
        self.words = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(words: &[&str]) -> (String, Vec<String>) {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut getopt = Getopt::new(&words);
        let mut seen = Vec::new();
        let kind = |letter| match letter {
            'a' | 'b' => Some(Argument::Nothing),
            't' => Some(Argument::Required),
            'c' => Some(Argument::NextIfNumber),
            'k' => Some(Argument::NextUnlessDash),
            _ => None,
        };
        while let Some(step) = getopt.step(kind) {
            seen.push(match step {
                GetoptStep::Option(letter, None) => letter.to_string(),
                GetoptStep::Option(letter, Some(word)) => format!("{letter}={word}"),
                GetoptStep::Unknown(letter) => format!("{letter}?"),
                GetoptStep::MissingArgument(letter) => format!("{letter}!"),
                GetoptStep::Long(text) => format!("<{text}>"),
            });
        }
        (seen.join(" "), getopt.rest().to_vec())
    }

    #[test]
    fn letters_cluster_and_arguments_attach() {
        assert_eq!(walk(&["-abtx", "-ty", "-t", "z"]).0, "a b t=x t=y t=z");
    }

    #[test]
    fn words_that_are_not_options_are_skipped() {
        assert_eq!(walk(&["foo", "-a", "-", "bar", "-b", ""]).0, "a b");
    }

    #[test]
    fn two_dashes_end_the_options_and_leave_the_rest() {
        let (seen, rest) = walk(&["-a", "--", "-b", "--", "x"]);
        assert_eq!(seen, "a");
        assert_eq!(rest, ["-b", "--", "x"]);
    }

    #[test]
    fn a_required_argument_takes_even_two_dashes() {
        let (seen, rest) = walk(&["-t", "--", "-b"]);
        assert_eq!(seen, "t=-- b");
        assert!(rest.is_empty());
    }

    #[test]
    fn a_required_argument_at_the_end_is_missing() {
        assert_eq!(walk(&["-a", "-t"]).0, "a t!");
    }

    #[test]
    fn a_calibration_rate_is_only_taken_from_the_next_word() {
        assert_eq!(walk(&["-c", "100.5", "-a"]).0, "c=100.5 a");
        assert_eq!(walk(&["-c", "foo", "-c", "-1"]).0, "c c 1?");
        assert_eq!(walk(&["-c1"]).0, "c 1?");
        assert_eq!(walk(&["-ca", "7", "-ac", "7"]).0, "c a a c=7");
    }

    #[test]
    fn a_selection_is_any_word_without_a_dash() {
        assert_eq!(walk(&["-k", "X,Y", "-k", "-a", "-k", ""]).0, "k=X,Y k a k=");
        assert_eq!(walk(&["-k", "--", "-a"]).0, "k");
    }

    #[test]
    fn a_long_option_is_a_word_of_its_own_unless_an_argument_is_due() {
        assert_eq!(walk(&["-a", "--ab=c", "--t", "x"]).0, "a <ab=c> <t>");
        assert_eq!(walk(&["-t", "--ab", "-a--ab"]).0, "t=--ab a -? -? a b");
    }

    #[test]
    fn complaints_are_those_of_getopt() {
        assert_eq!(
            GetoptStep::Unknown('Q').complaint("netperf").as_deref(),
            Some("netperf: invalid option -- 'Q'")
        );
        assert_eq!(
            GetoptStep::MissingArgument('t')
                .complaint("./np")
                .as_deref(),
            Some("./np: option requires an argument -- 't'")
        );
    }
}
