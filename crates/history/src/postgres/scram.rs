//! The proof of a password without telling it: SCRAM-SHA-256 (RFC 5802, RFC 7677) as
//! PostgreSQL has it (its manual, 55.3 SASL Authentication), without channel binding.

use std::num::NonZeroU32;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{hmac, pbkdf2};

/// The name of the mechanism.
pub(super) const MECHANISM: &str = "SCRAM-SHA-256";
/// That there is no channel to bind to.
const NO_BINDING: &str = "n,,";
/// The most rounds of hashing that a server may ask for: some seconds.
const MOST_ROUNDS: u32 = 10_000_000;

type Key = [u8; SHA256_OUTPUT_LEN];

/// A proof that has begun.
#[derive(Debug)]
pub(super) struct Scram {
    bare: String,
    nonce: String,
}

/// What the server must have signed to prove that it knows the password, too.
#[derive(Debug)]
pub(super) struct Expected {
    key: hmac::Key,
    text: String,
}

impl Scram {
    /// Begins with a fresh nonce; `None` when the system has no random bytes.
    pub(super) fn begin() -> Option<Self> {
        let mut bytes = [0; 18];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self::with("", &encoded(&bytes)))
    }

    /// The name stays empty: the server has it from the first message of all.
    fn with(name: &str, nonce: &str) -> Self {
        Self {
            bare: format!("n={name},r={nonce}"),
            nonce: nonce.to_owned(),
        }
    }

    /// What the client says first.
    pub(super) fn first(&self) -> String {
        format!("{NO_BINDING}{}", self.bare)
    }

    /// What it says to the server's challenge, and what must be answered; `None` for a
    /// challenge that makes no sense.
    pub(super) fn answer(&self, challenge: &str, password: &str) -> Option<(String, Expected)> {
        let field = |name: &str| {
            let mut fields = challenge.split(',');
            fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
        };
        let nonce = field("r").filter(|nonce| {
            nonce.len() > self.nonce.len() && nonce.starts_with(self.nonce.as_str())
        })?;
        let salt = decoded(field("s")?)?;
        let rounds: NonZeroU32 = field("i")?.parse().ok()?;
        if rounds.get() > MOST_ROUNDS {
            return None;
        }
        let mut salted: Key = [0; SHA256_OUTPUT_LEN];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, rounds, &salt, password.as_bytes(), &mut salted);
        let client = signed(&salted, b"Client Key");
        let stored = digest(&SHA256, &client);
        let last = format!("c={},r={nonce}", encoded(NO_BINDING.as_bytes()));
        let whole = format!("{},{challenge},{last}", self.bare);
        let signature = signed(stored.as_ref(), whole.as_bytes());
        let proof: Vec<u8> = client.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        let server = signed(&salted, b"Server Key");
        let key = hmac::Key::new(hmac::HMAC_SHA256, &server);
        let expected = Expected { key, text: whole };
        Some((format!("{last},p={}", encoded(&proof)), expected))
    }
}

impl Expected {
    /// Whether the server's last words prove that it knows the password.
    pub(super) fn is_met(&self, last: &str) -> bool {
        let proof = last.strip_prefix("v=").and_then(decoded);
        proof.is_some_and(|proof| hmac::verify(&self.key, self.text.as_bytes(), &proof).is_ok())
    }
}

fn signed(key: &[u8], text: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text).as_ref().to_vec()
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 (RFC 4648, 4).
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let whole = (0..3).fold(0_u32, |all, at| {
            all << 8 | u32::from(group.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            let six = whole >> (18 - 6 * at) & 63;
            let letter = usize::try_from(six).ok().and_then(|six| LETTERS.get(six));
            let letter = letter.filter(|_| at <= group.len());
            text.push(letter.map_or('=', |letter| char::from(*letter)));
        }
    }
    text
}

/// The other way round; `None` for what is not Base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    if text.len() % 4 != 0 {
        return None;
    }
    let plain = text.trim_end_matches('=');
    if text.len() - plain.len() > 2 {
        return None;
    }
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for letter in plain.bytes() {
        let six = LETTERS.iter().position(|known| *known == letter)?;
        bits = bits << 6 | u32::try_from(six).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 255).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_comes_out() {
        // RFC 7677, 3.
        let scram = Scram::with("user", "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let challenge = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                         s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let (last, expected) = scram.answer(challenge, "pencil").unwrap();
        assert_eq!(
            last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(expected.is_met("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!expected.is_met("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!expected.is_met("e=other-error"));
    }

    #[test]
    fn a_challenge_that_does_not_go_on_from_ours_is_none() {
        let scram = Scram::with("", "abc");
        for challenge in [
            "r=abc,s=QQ==,i=1",
            "r=xyzabc,s=QQ==,i=1",
            "r=abcd,s=Q,i=1",
            "r=abcd,s=QQ==,i=0",
            "r=abcd,s=QQ==,i=4000000000",
            "r=abcd,s=QQ==",
            "",
        ] {
            assert!(scram.answer(challenge, "x").is_none(), "{challenge}");
        }
        assert!(scram.answer("r=abcd,s=QQ==,i=1", "x").is_some());
    }

    #[test]
    fn base64_goes_there_and_back() {
        for length in 0..40_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(41)).collect();
            assert_eq!(decoded(&encoded(&bytes)), Some(bytes));
        }
        assert_eq!(encoded(b"fooba"), "Zm9vYmE=");
        assert_eq!(decoded("Zm9v!mE="), None);
    }
}
