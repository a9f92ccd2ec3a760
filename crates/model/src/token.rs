//! Token that ties data at the port of the control connection to a session.

use std::fmt;
use std::hash::{Hash, Hasher};

/// 128 random bits that one test's data begins with; `Debug` does not tell them.
#[derive(Clone, Copy)]
pub struct Token([u8; Self::BYTES]);

impl Token {
    /// Its length.
    pub const BYTES: usize = 16;

    /// The token of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl PartialEq for Token {
    /// Compares in a time that does not tell how much of a guess is right.
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        let differing = pairs.fold(0, |differing, (a, b)| differing | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

impl Eq for Token {}

impl Hash for Token {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_equal_to_itself_alone_and_is_not_printed() {
        let token = Token::new([7; Token::BYTES]);
        assert_eq!(token, token);
        for at in 0..Token::BYTES {
            let mut bytes = *token.bytes();
            bytes[at] ^= 1;
            assert_ne!(token, Token::new(bytes));
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
