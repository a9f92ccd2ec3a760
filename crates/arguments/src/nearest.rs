//! Wrong words: how they are repeated, and the words that may have been meant.

use crate::foreign;

/// Characters of a wrong word that are repeated.
pub const SHOWN: usize = 60;

/// Names suggested at most.
pub const SUGGESTIONS: usize = 4;

/// A word as it can stand in one line.
pub fn shown(word: &str) -> String {
    let mut text: String = word
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if word.chars().nth(SHOWN).is_some() {
        text.push_str("...");
    }
    text
}

/// The names that a wrong one may have been meant to be, best first.
pub fn near_names(wrong: &str, mut names: Vec<&'static str>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    let wrong = wrong.to_ascii_lowercase().replace('_', "-");
    let known = foreign::NAMES
        .iter()
        .filter(|(_, ours)| names.contains(ours));
    let known: Vec<(&str, &str)> = known.copied().collect();
    let ours_for = |wrong: &str| -> Vec<String> {
        let same = known.iter().filter(|(theirs, _)| *theirs == wrong);
        same.map(|(_, ours)| (*ours).to_owned()).collect()
    };
    let same = ours_for(&wrong);
    if !same.is_empty() {
        return same;
    }
    let longer = names.iter().filter(|name| name.starts_with(&wrong));
    let longer: Vec<String> = longer
        .take(SUGGESTIONS)
        .map(|&name| name.to_owned())
        .collect();
    if !wrong.is_empty() && !longer.is_empty() {
        return longer;
    }
    let aliases: Vec<&str> = names
        .iter()
        .copied()
        .flat_map(foreign::aliases_of)
        .collect();
    names.extend(aliases);
    if let Some(near) = nearest(&wrong, names) {
        return vec![near];
    }
    let theirs = nearest(&wrong, known.iter().map(|(theirs, _)| *theirs));
    theirs.map_or_else(Vec::new, |theirs| ours_for(&theirs))
}

/// The one of `words` that takes the fewest changes to get to, if they are few.
pub fn nearest<'w>(wrong: &str, words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    // The words are short; a long one is not a slip of the fingers, and comparing
    // takes time that grows with it.
    if wrong.len() > SHOWN {
        return None;
    }
    let wrong = wrong.to_ascii_lowercase();
    let distance = |word: &str| strsim::damerau_levenshtein(&wrong, &word.to_ascii_lowercase());
    let begins_alike = |word: &str| {
        let first = |text: &str| {
            text.chars()
                .next()
                .map(|letter| letter.to_ascii_lowercase())
        };
        first(word) == first(&wrong)
    };
    let (changes, word) = words
        .into_iter()
        .map(|word| (distance(word), word))
        .min_by_key(|(changes, word)| (*changes, !begins_alike(word)))?;
    // More changes than letters to keep is another word.
    let few = changes <= 1.max(wrong.len() / 3) && changes < wrong.chars().count();
    let like = few && (changes == 1 || begins_alike(word));
    like.then(|| word.to_owned())
}
