//! The extension block: what is written is read, and nothing else is taken for one.

use netperf_wire::messages::{Extension, ItemKind, NoRoom, OmniRequest, OmniResponse, Passphrase};
use netperf_wire::{FRAME_LEN, FixedStr, Frame, Header, Message, RequestKind, Stage};
use proptest::prelude::*;

use crate::vectors;

const STAGES: [Stage; 3] = [Stage::Request, Stage::Response, Stage::Results];

/// The place of the block behind a response, and the mark of one.
const AT: usize = 212;
const MARK: [u8; 8] = [0xb5, b'n', b'p', 0, 0xc7, b'r', b's', 0x22];

fn is_extended(stage: Stage, frame: &Frame) -> bool {
    !matches!(Extension::decode(stage, frame), Ok(None))
}

/// A response with these bytes behind it.
fn response_with(block: &[u8]) -> Frame {
    let mut frame = OmniResponse::default().encode(Header::response(RequestKind::Omni));
    frame.as_mut_bytes()[AT..AT + block.len()].copy_from_slice(block);
    frame
}

#[test]
fn no_captured_record_of_stock_programs_is_extended() {
    for name in vectors::names() {
        for record in vectors::records(&name) {
            for stage in STAGES {
                assert!(!is_extended(stage, &record.frame), "{}", record.at);
            }
        }
    }
}

#[test]
fn a_record_of_zeros_or_of_ones_is_not_extended() {
    for byte in [0, u8::MAX] {
        let frame = Frame::from_bytes([byte; FRAME_LEN]);
        assert!(STAGES.iter().all(|stage| !is_extended(*stage, &frame)));
    }
}

#[test]
fn an_echo_of_the_request_is_no_extended_answer() {
    let mut frame = OmniRequest::default().encode(Header::request(RequestKind::Omni));
    Extension::default()
        .encode_over(Stage::Request, &mut frame)
        .unwrap();
    assert!(is_extended(Stage::Request, &frame));
    // The block of a request, at the place of an answer's.
    let block = frame.as_bytes()[208..300].to_vec();
    assert!(!is_extended(Stage::Response, &response_with(&block)));
    assert!(!is_extended(Stage::Results, &frame));
}

#[test]
fn a_mark_with_its_words_reversed_is_none() {
    let mut reversed = MARK;
    for word in reversed.chunks_exact_mut(4) {
        word.reverse();
    }
    assert!(is_extended(
        Stage::Response,
        &response_with(&[&MARK[..], &[1, 0, 0, 0]].concat())
    ));
    assert!(!is_extended(Stage::Response, &response_with(&reversed)));
}

#[test]
fn a_block_of_version_zero_is_none() {
    let block = [&MARK[..], &[0, 0, 0, 0]].concat();
    assert_eq!(
        Extension::decode(Stage::Response, &response_with(&block)),
        Ok(None)
    );
}

#[test]
fn items_that_are_not_known_are_skipped_and_later_versions_are_read() {
    let items = [0xee, 3, 1, 2, 3, 0x03, 1, 4];
    let block = [&MARK[..], &[9, 0, 0, 8], &items].concat();
    let read = Extension::decode(Stage::Response, &response_with(&block));
    let read = read.expect("whole items").expect("a mark");
    assert_eq!(read.value(ItemKind::CpuMethod), Some([4].as_slice()));
    assert_eq!(read.value(ItemKind::Sysname), None);
}

#[test]
fn a_length_beyond_the_record_or_the_block_is_an_error() {
    for tail in [
        &[1, 0, 0xff, 0xff][..],
        &[1, 0, 0, 3, 0x11, 9, 65],
        &[1, 0, 0, 1, 0x11],
    ] {
        let frame = response_with(&[&MARK[..], tail].concat());
        assert!(Extension::decode(Stage::Response, &frame).is_err());
    }
}

#[test]
fn the_message_in_front_of_a_block_keeps_its_bytes() {
    let plain = OmniRequest::default().encode(Header::request(RequestKind::Omni));
    let mut frame = plain.clone();
    let mut extension = Extension::default();
    extension.push(ItemKind::Wants, &[0, 0, 0, 1]);
    extension.encode_over(Stage::Request, &mut frame).unwrap();
    assert_eq!(frame.as_bytes()[..208], plain.as_bytes()[..208]);
}

proptest! {
    #[test]
    fn extension_words_are_read_as_written(
        values in prop::collection::vec((0..ItemKind::ALL.len(), prop::collection::vec(any::<u8>(), 0..20)), 0..40),
        stage in prop::sample::select(STAGES.to_vec()),
    ) {
        let mut written = Extension::default();
        for (kind, value) in &values {
            written.push(ItemKind::ALL[*kind], value);
        }
        let fits = values.iter().all(|(kind, value)| value.len() <= ItemKind::ALL[*kind].space());
        let total: usize = values.iter().map(|(_, value)| value.len() + 2).sum();
        let mut frame = Frame::default();
        match written.encode_over(stage, &mut frame) {
            Ok(()) => {
                prop_assert!(fits);
                let read = Extension::decode(stage, &frame).expect("whole items");
                prop_assert_eq!(read, Some(written));
            }
            Err(NoRoom::Item { kind, length, space }) => {
                prop_assert!(!fits && length > space && space == kind.space());
            }
            Err(NoRoom::Block { length, space }) => {
                prop_assert!(fits && length == total && length > space);
            }
        }
    }

    #[test]
    fn bytes_behind_a_mark_are_read_or_refused(tail in prop::collection::vec(any::<u8>(), 4..400)) {
        let frame = response_with(&[&MARK[..], &tail].concat());
        let decoded = Extension::decode(Stage::Response, &frame);
        prop_assert_eq!(decoded == Ok(None), tail[0] == 0);
    }

    /// A stock client sends the rest of a long passphrase behind its next request, with
    /// its words reversed or not.
    #[test]
    fn no_rest_of_a_passphrase_is_an_extension(
        phrase in prop::collection::vec(1..=u8::MAX, 647),
        cut in 0..647_usize,
        start in prop::option::of(0..8_usize),
        reversed: bool,
    ) {
        let mut phrase = phrase;
        phrase.truncate(cut);
        if let Some(start) = start {
            let block = [0xb5, b'n', b'p', 1, 0xc7, b'r', b's', 0x11];
            for (slot, byte) in phrase.iter_mut().skip(196 + start).zip(block) {
                *slot = byte;
            }
        }
        let message = Passphrase { passphrase: FixedStr::from_bytes_truncated(&phrase) };
        let mut frame = message.encode(Header::request(RequestKind::Omni));
        if reversed {
            for word in frame.as_mut_bytes().chunks_exact_mut(4) {
                word.reverse();
            }
        }
        for stage in STAGES {
            prop_assert!(!is_extended(stage, &frame));
        }
    }
}
