//! The first bytes at the one port: a preamble decodes and encodes to the same bytes, every part
//! of it is recognised, no control message is, and no answer is longer than its cause.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_transport::one_port::{PREAMBLE, Preamble, PreambleKind, begins_preamble};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // A valid beginning, which few inputs have.
    let mut valid = Preamble {
        kind: PreambleKind::Probe,
        token: netperf_model::Token::new([7; netperf_model::Token::BYTES]),
        number: 1,
    }
    .bytes();
    for (slot, byte) in valid.iter_mut().zip(bytes) {
        *slot ^= byte;
    }
    check(&valid);
});

fn check(bytes: &[u8]) {
    let Some(preamble) = Preamble::read(bytes) else {
        return;
    };
    assert_eq!(bytes.len(), PREAMBLE);
    assert_eq!(preamble.bytes(), *bytes);
    for length in 1..=PREAMBLE {
        assert!(begins_preamble(&bytes[..length]), "{length}");
    }
    // The first byte of a control message belongs to the number of its request.
    assert!(!matches!(bytes[0], 0 | 255), "a control message");
    let answer = Preamble {
        kind: PreambleKind::Answer,
        ..preamble
    };
    assert!(answer.bytes().len() <= bytes.len(), "an answer amplifies");
}
