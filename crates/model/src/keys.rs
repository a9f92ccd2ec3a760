//! The keys of a netserver, with names and roles.

use thiserror::Error;

use crate::secret::{Secret, WeakSecret};

crate::words! {
    /// Purpose of a key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum KeyRole {
        /// A client that measures.
        Measure = "measure",
        /// A coordinator of campaigns; only a netserver with `--agent` serves it.
        Agent = "agent",
    }
}

/// A key of a key file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// Name in logs; empty for the only key of a file without names.
    pub name: String,
    /// Purpose.
    pub role: KeyRole,
    /// The key itself.
    pub secret: Secret,
    /// Limit of simultaneous sessions with this key.
    pub max_sessions: Option<u32>,
}

/// Keys of one file, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRing(Vec<NamedKey>);

/// Error in a key file. It does not repeat the line, which contains a key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadKeyFile {
    /// A key is too short.
    #[error("line {0}: {1}")]
    Weak(usize, WeakSecret),
    /// A file without names has a key that is too short.
    #[error(transparent)]
    Bare(#[from] WeakSecret),
    /// A line has another format.
    #[error("line {0}: expected: name measure|agent key [max-sessions=N]")]
    Format(usize),
    /// Two lines have the same name or the same key.
    #[error("line {0}: an earlier line has this name or this key")]
    Twice(usize),
    /// There are more keys than a proof may be compared with.
    #[error("more than {} keys", KeyRing::MOST)]
    Many,
}

impl KeyRing {
    /// Most keys of a file. Each proof is compared with every key.
    pub const MOST: usize = 64;

    /// Most keys of a campaign beside them.
    pub const MOST_TOKENS: usize = 4096;

    /// Reads a key file. If the second word of its first line is a role, each line is a key:
    /// `name role key [max-sessions=N]`; lines that begin with `#` are comments. Any other file
    /// contains one key and nothing else.
    ///
    /// # Errors
    /// The first error in the file.
    pub fn parse(text: &[u8]) -> Result<Self, BadKeyFile> {
        let lines = lines(text);
        if !lines.first().is_some_and(|(_, line)| has_role(line)) {
            return Ok(Self::bare(Secret::new(text)?));
        }
        let mut keys: Vec<NamedKey> = Vec::new();
        for (number, line) in &lines {
            let key = entry(*number, line)?;
            let is_same = |one: &NamedKey| one.name == key.name || one.secret == key.secret;
            if keys.iter().any(is_same) {
                return Err(BadKeyFile::Twice(*number));
            }
            keys.push(key);
        }
        if keys.len() > Self::MOST {
            return Err(BadKeyFile::Many);
        }
        Ok(Self(keys))
    }

    /// One key without a name.
    #[must_use]
    pub fn bare(secret: Secret) -> Self {
        Self(vec![NamedKey {
            name: String::new(),
            role: KeyRole::Measure,
            secret,
            max_sessions: None,
        }])
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &[NamedKey] {
        &self.0
    }

    /// The key that a client uses: the first one to measure with.
    #[must_use]
    pub fn to_measure(&self) -> Option<&NamedKey> {
        self.0.iter().find(|key| key.role == KeyRole::Measure)
    }

    /// Keys from parts, as many as [`Self::parse`] accepts and those of a campaign; `None` without
    /// any.
    #[must_use]
    pub fn of(keys: Vec<NamedKey>) -> Option<Self> {
        (1..=Self::MOST + Self::MOST_TOKENS)
            .contains(&keys.len())
            .then_some(Self(keys))
    }
}

/// Lines with their numbers, without comments and empty ones.
fn lines(text: &[u8]) -> Vec<(usize, &[u8])> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (1..)
        .zip(lines)
        .filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"))
        .collect()
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = line.split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty())
}

fn role(word: &[u8]) -> Option<KeyRole> {
    KeyRole::named(std::str::from_utf8(word).ok()?)
}

fn has_role(line: &[u8]) -> bool {
    words(line).nth(1).and_then(role).is_some()
}

fn entry(number: usize, line: &[u8]) -> Result<NamedKey, BadKeyFile> {
    let wrong = || BadKeyFile::Format(number);
    let mut words = words(line);
    let mut next = || words.next().ok_or_else(wrong);
    let name = std::str::from_utf8(next()?).map_err(|_| wrong())?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@".contains(letter);
    if name.len() > 64 || !name.chars().all(plain) {
        return Err(wrong());
    }
    let role = role(next()?).ok_or_else(wrong)?;
    let secret = Secret::new(next()?).map_err(|weak| BadKeyFile::Weak(number, weak))?;
    let max_sessions = match words.next() {
        None => None,
        Some(word) => {
            let count = word.strip_prefix(b"max-sessions=").ok_or_else(wrong)?;
            let count = std::str::from_utf8(count)
                .ok()
                .and_then(|text| text.parse().ok());
            Some(count.filter(|count| *count > 0).ok_or_else(wrong)?)
        }
    };
    match words.next() {
        None => Ok(NamedKey {
            name: name.to_owned(),
            role,
            secret,
            max_sessions,
        }),
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_file_with_one_key_and_nothing_else_is_that_key() {
        for text in [
            KEY,
            "another key that is long enough",
            "# a key of one line",
        ] {
            let ring = KeyRing::parse(format!("{text}\n").as_bytes()).unwrap();
            let [only] = ring.keys() else {
                panic!("{ring:?}")
            };
            assert_eq!((only.name.as_str(), only.role), ("", KeyRole::Measure));
            assert_eq!(only.secret.bytes(), text.as_bytes());
        }
    }

    #[test]
    fn each_line_is_a_key_with_its_name_role_and_limit() {
        let text = format!(
            "# keys\n\nci\tmeasure {KEY} max-sessions=2\nfleet agent {KEY}1\nold measure {KEY}2\n"
        );
        let ring = KeyRing::parse(text.as_bytes()).unwrap();
        let read: Vec<_> = ring
            .keys()
            .iter()
            .map(|key| (key.name.as_str(), key.role, key.max_sessions))
            .collect();
        let expected = [
            ("ci", KeyRole::Measure, Some(2)),
            ("fleet", KeyRole::Agent, None),
            ("old", KeyRole::Measure, None),
        ];
        assert_eq!(read, expected);
        assert_eq!(ring.to_measure().map(|key| key.name.as_str()), Some("ci"));
        assert!(!format!("{ring:?}").contains(KEY));
    }

    #[test]
    fn a_wrong_line_is_named_and_not_repeated() {
        let good = format!("ci measure {KEY}");
        for (line, wrong) in [
            (
                "x measure short",
                BadKeyFile::Weak(2, WeakSecret { length: 5 }),
            ),
            (KEY, BadKeyFile::Format(2)),
            (&format!("x other {KEY}"), BadKeyFile::Format(2)),
            (&format!("x\u{1b} measure {KEY}1"), BadKeyFile::Format(2)),
            (
                &format!("x measure {KEY}1 max-sessions=0"),
                BadKeyFile::Format(2),
            ),
            (&format!("x measure {KEY}1 more"), BadKeyFile::Format(2)),
            (&format!("ci agent {KEY}1"), BadKeyFile::Twice(2)),
            (&format!("x agent {KEY}"), BadKeyFile::Twice(2)),
        ] {
            let found = KeyRing::parse(format!("{good}\n{line}\n").as_bytes());
            assert_eq!(found, Err(wrong), "{line}");
            assert!(!found.unwrap_err().to_string().contains(KEY));
        }
        let weak = KeyRing::parse(b"short\n");
        assert_eq!(weak, Err(BadKeyFile::Bare(WeakSecret { length: 5 })));
    }
}
