//! Keys of control connections, and the file that lists them.

use std::fmt;

use thiserror::Error;
use zeroize::Zeroizing;

/// A secret; `Debug` does not tell it, and its memory is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

/// A key that is too easily found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a key of {length} bytes is too short, it takes {}: make one with openssl rand -hex 32",
    Secret::SHORTEST
)]
pub struct WeakSecret {
    /// Its bytes.
    pub length: usize,
}

impl Secret {
    /// The fewest bytes of a key. An eavesdropper can try keys offline.
    pub const SHORTEST: usize = 16;

    /// The key in a file or a variable: its bytes without blanks around them, so that a
    /// newline at the end makes no difference.
    ///
    /// # Errors
    /// When it is too short.
    pub fn new(text: &[u8]) -> Result<Self, WeakSecret> {
        let secret = text.trim_ascii();
        if secret.len() < Self::SHORTEST {
            return Err(WeakSecret {
                length: secret.len(),
            });
        }
        Ok(Self(Zeroizing::new(secret.to_vec())))
    }

    /// Returns true if a generator may have made it, with at least 128 bits: 32 or more hexadecimal
    /// digits, 22 or more characters of base64, or bytes that are not text. Words and sentences
    /// are not.
    #[must_use]
    pub fn is_generated(&self) -> bool {
        let bytes: &[u8] = &self.0;
        let mut seen = [false; 256];
        for &byte in bytes {
            if let Some(one) = seen.get_mut(usize::from(byte)) {
                *one = true;
            }
        }
        let different = seen.iter().filter(|one| **one).count();
        let has = |class: fn(&u8) -> bool| bytes.iter().any(class);
        if bytes.iter().all(u8::is_ascii_hexdigit) {
            return bytes.len() >= 32 && different >= 8;
        }
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte);
        if bytes.iter().all(is_base64) {
            let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
            return bytes.len() >= 22 && different >= 12 && mixed && has(u8::is_ascii_digit);
        }
        std::str::from_utf8(bytes).is_err() && different >= 12
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its bytes as hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(base16ct::lower::encode_string(&self.0))
    }

    /// The key of such digits.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        let bytes = Zeroizing::new(base16ct::mixed::decode_vec(digits).ok()?);
        (bytes.len() >= Self::SHORTEST).then_some(Self(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The text of a passphrase, like a [`Secret`].
#[derive(Clone, PartialEq, Eq)]
pub struct PassphraseText(Zeroizing<String>);

impl PassphraseText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for PassphraseText {
    fn from(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }
}

impl fmt::Debug for PassphraseText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PassphraseText")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_keys_are_told_from_words() {
        let generated: [&[u8]; 5] = [
            b"0123456789abcdef0123456789abcdef",
            b"8f1c2b7d9e0a4536b1c8d7e2f3a49560",
            b"q83vEjRWeJCrze8SNFZ4kA==",
            b"Jp3xLw0Zq7TnVb2KcR5yHd8F",
            b"\xff\xfe\x01\x02\x03\x04\x05\x06\x07\x08\x09\x10\x11\x12\x13\x14",
        ];
        for key in generated {
            assert!(Secret::new(key).unwrap().is_generated(), "{key:?}");
        }
        for key in [
            "correct horse battery staple",
            "correct-horse-battery-staple-1",
            "Passwort-fuer-den-Messplatz",
            "0123456789abcdef",
            "deadbeefdeadbeefdeadbeefdead",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "Grüße aus dem Keller, Raum 17",
        ] {
            assert!(
                !Secret::new(key.as_bytes()).unwrap().is_generated(),
                "{key}"
            );
        }
    }

    #[test]
    fn a_newline_at_the_end_makes_no_difference_and_a_short_key_is_refused() {
        let key = Secret::new(b"0123456789abcdef\n").unwrap();
        assert_eq!(key, Secret::new(b"0123456789abcdef").unwrap());
        assert_eq!(Secret::from_hex(&key.to_hex()), Some(key.clone()));
        assert_eq!(format!("{key:?}"), "Secret");
        assert_eq!(
            Secret::new(b"0123456789abcde\n"),
            Err(WeakSecret { length: 15 })
        );
        for digits in ["", "00", "zz", &"0".repeat(31), &"+f".repeat(16)] {
            assert_eq!(Secret::from_hex(digits), None, "{digits}");
        }
    }
}
