//! Token with which a client authenticates to a server with users: name, password and time,
//! encrypted with the server's RSA key.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

/// Bytes of a SHA-256 digest.
const DIGEST: usize = 32;

/// Longest token that is read, characters: that of an RSA key of 16384 bits.
const LONGEST_TOKEN: usize = 2732;

/// Padding of an encrypted token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenPadding {
    /// PKCS #1 version 1.5, of iperf3 up to 3.16.
    Pkcs1,
    /// OAEP, the default of iperf3 from 3.17 on.
    Oaep,
}

/// The text of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Name of the user.
    pub user: String,
    /// Password.
    pub password: Zeroizing<String>,
    /// When the token was made, seconds since the epoch.
    pub seconds: i64,
}

impl std::fmt::Debug for Credentials {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({:?}, {})", self.user, self.seconds)
    }
}

impl Credentials {
    /// The text that is encrypted.
    #[must_use]
    pub fn text(&self) -> Zeroizing<String> {
        let (user, password, seconds) = (&self.user, &*self.password, self.seconds);
        Zeroizing::new(format!("user: {user}\npwd:  {password}\nts:   {seconds}"))
    }

    /// Reads a decrypted text. Neither name nor time has a line feed.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (user, rest) = text.strip_prefix("user: ")?.split_once("\npwd:  ")?;
        let (password, seconds) = rest.rsplit_once("\nts:   ")?;
        if user.is_empty() || user.contains('\n') {
            return None;
        }
        Some(Self {
            user: user.to_owned(),
            password: Zeroizing::new(password.to_owned()),
            seconds: seconds.trim_end_matches(['\n', '\0']).parse().ok()?,
        })
    }

    /// The text whose SHA-256 digest the file of users has.
    #[must_use]
    pub fn hashed_text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{{{}}}{}", self.user, &*self.password))
    }
}

/// Base64 (RFC 4648) with padding. Bits behind the last byte are passed over, as OpenSSL does.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// An encrypted token as the parameters carry it: base64.
#[must_use]
pub fn token(encrypted: &[u8]) -> String {
    BASE64.encode(encrypted)
}

/// The encrypted bytes of a token; `None` if it is not base64, or longer than a token can be.
#[must_use]
pub fn token_bytes(token: &str) -> Option<Vec<u8>> {
    if token.is_empty() || token.len() > LONGEST_TOKEN {
        return None;
    }
    BASE64.decode(token).ok()
}

/// The users of a server, from lines `name,digest`: the SHA-256 digest of `{name}password` in
/// hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizedUsers(Vec<(String, [u8; DIGEST])>);

/// A problem of a file of users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsersError {
    /// A line that is none of a user.
    #[error("line {0} is not a user: write NAME,SHA256, with the digest of {{NAME}}PASSWORD")]
    Line(usize),
    /// No line.
    #[error("the file has no user: write lines NAME,SHA256, with the digest of {{NAME}}PASSWORD")]
    Empty,
}

impl AuthorizedUsers {
    /// Reads the lines. Empty ones and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// The first line that has no name and digest.
    pub fn read(text: &str) -> Result<Self, UsersError> {
        let mut users = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                users.push(user(line).ok_or(UsersError::Line(number))?);
            }
        }
        if users.is_empty() {
            return Err(UsersError::Empty);
        }
        Ok(Self(users))
    }

    /// The digest of a user; the first line of the name counts.
    #[must_use]
    pub fn digest(&self, name: &str) -> Option<&[u8; DIGEST]> {
        let user = self.0.iter().find(|(user, _)| user == name);
        user.map(|(_, digest)| digest)
    }
}

fn user(line: &str) -> Option<(String, [u8; DIGEST])> {
    let (name, hex) = line.rsplit_once(',')?;
    let (name, hex) = (name.trim(), hex.trim());
    let mut digest = [0; DIGEST];
    let is_whole = base16ct::mixed::decode(hex, &mut digest).ok()?.len() == DIGEST;
    (is_whole && !name.is_empty()).then(|| (name.to_owned(), digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(user: &str, password: &str) -> Credentials {
        Credentials {
            user: user.to_owned(),
            password: Zeroizing::new(password.to_owned()),
            seconds: 1_795_255_872,
        }
    }

    #[test]
    fn credentials_have_the_text_of_the_original() {
        let credentials = credentials("user1", "secret");
        let text = credentials.text();
        assert_eq!(*text, "user: user1\npwd:  secret\nts:   1795255872");
        assert_eq!(*credentials.hashed_text(), "{user1}secret");
        assert_eq!(Credentials::read(text.as_bytes()), Some(credentials));
    }

    #[test]
    fn credentials_keep_any_password_and_are_not_shown() {
        for password in ["", " a b ", "a\nts:   5\npwd:  x", "ü,{}"] {
            let credentials = credentials("a user", password);
            let read = Credentials::read(credentials.text().as_bytes());
            assert_eq!(read.as_ref(), Some(&credentials));
        }
        let shown = format!("{:?}", credentials("user1", "hidden"));
        assert!(!shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn credentials_of_another_form_are_none() {
        for text in [
            &b""[..],
            b"user: a",
            b"user: a\npwd:  b",
            b"user: a\npwd:  b\nts:   x",
            b"user: a\npwd:  b\nts:   99999999999999999999",
            b"user: \npwd:  b\nts:   1",
            b"user: a\nb\npwd:  c\nts:   1",
            b"user: \xff\npwd:  b\nts:   1",
        ] {
            assert_eq!(Credentials::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn token_is_base64_and_read_back() {
        for (bytes, text) in [
            (&b"f"[..], "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (&[0xfb, 0xff, 0xfe], "+//+"),
        ] {
            assert_eq!(token(bytes), text);
            assert_eq!(token_bytes(text).as_deref(), Some(bytes));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(token_bytes(&token(&all)), Some(all));
    }

    #[test]
    fn token_of_other_letters_or_lengths_is_none() {
        let long = "A".repeat(LONGEST_TOKEN + 4);
        for text in [
            "", "A", "=", "====", "A===", "Zg=", "Zg==Zg==", "Z g=", "Zm9ü", &long,
        ] {
            assert_eq!(token_bytes(text), None, "{text}");
        }
        assert!(token_bytes(&"A".repeat(LONGEST_TOKEN)).is_some());
    }

    #[test]
    fn users_are_lines_with_a_digest() {
        let hex = "0aFf".repeat(16);
        let text = format!(
            "# comment\n\n user1 , {hex} \r\na,b,{hex}\nuser1,{}\n",
            "1".repeat(64)
        );
        let users = AuthorizedUsers::read(&text).unwrap();
        let digest = users.digest("user1").unwrap();
        assert_eq!(digest[..2], [0x0a, 0xff]);
        assert_eq!(users.digest("a,b"), Some(digest));
        assert_eq!(users.digest("user2"), None);
    }

    #[test]
    fn users_of_another_form_are_named_by_their_line() {
        for line in [
            "user1",
            "user1,",
            "user1,00",
            &format!(",{}", "0".repeat(64)),
        ] {
            let read = AuthorizedUsers::read(&format!("# users\n{line}\n"));
            assert_eq!(read, Err(UsersError::Line(2)), "{line}");
        }
        for digest in ["+1".repeat(32), "ü".repeat(32), "xy".repeat(32)] {
            let read = AuthorizedUsers::read(&format!("user1,{digest}"));
            assert_eq!(read, Err(UsersError::Line(1)), "{digest}");
        }
        assert_eq!(AuthorizedUsers::read("# none\n"), Err(UsersError::Empty));
    }
}
