//! Any bytes decode as every message, and encode to the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_wire::messages::{Extension, Page};
use netperf_wire::{FRAME_LEN, Frame, Stage, messages};

fuzz_target!(|bytes: &[u8]| {
    if bytes.len() != FRAME_LEN {
        assert!(Frame::try_from(bytes).is_err());
    }
    let frame = padded(bytes);
    for row in messages::ALL {
        check(row, &frame);
    }
    for stage in [Stage::Request, Stage::Response, Stage::Results] {
        check_extension(stage, &frame);
    }
    if let Ok(Some(page)) = Page::decode(&frame) {
        assert_eq!(Page::decode(&page.encode(frame.header())), Ok(Some(page)));
    }
});

/// A record with these bytes, padded with zeros, so that short inputs are useful.
fn padded(bytes: &[u8]) -> Frame {
    let mut frame = Frame::default();
    for (slot, byte) in frame.as_mut_bytes().iter_mut().zip(bytes) {
        *slot = *byte;
    }
    frame
}

/// A decoded extension encodes and decodes to the same value.
fn check_extension(stage: Stage, frame: &Frame) {
    let Ok(Some(extension)) = Extension::decode(stage, frame) else {
        return;
    };
    let mut again = frame.clone();
    let written = extension.encode_over(stage, &mut again);
    assert_eq!(written, Ok(()));
    assert_eq!(Extension::decode(stage, &again), Ok(Some(extension)));
}

fn check(row: &messages::MessageRow, frame: &Frame) {
    let again = (row.reencode)(frame).expect(row.name);
    assert_eq!(again.as_bytes(), frame.as_bytes(), "{}", row.name);
    let built = (row.rebuild)(frame).expect(row.name);
    let (message, tail) = built.as_bytes().split_at(row.end);
    assert!(frame.as_bytes().starts_with(message), "{}", row.name);
    assert!(tail.iter().all(|byte| *byte == 0), "{}", row.name);
    let values = (row.values)(frame).expect(row.name);
    assert_eq!(values.len(), row.layout.len(), "{}", row.name);
}
