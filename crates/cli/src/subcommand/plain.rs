//! Words of a command line that are not options.

use netperf_arguments::long::OtherTables;

/// Keeps the words that are not options.
#[derive(Debug, Default)]
pub(crate) struct PlainWords(pub(crate) Vec<String>);

impl OtherTables for PlainWords {
    fn plain(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|&word| word.to_owned()));
    }
}
