//! Records of access at both ends: no record panics, a record is at most one of greeting and
//! question, the reason of a refusal is one line, and only a record with the error number of a
//! refusal is one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_session::access;
use netperf_wire::{FRAME_LEN, Frame, RequestKind};

fuzz_target!(|bytes: &[u8]| {
    let (kind, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    // Few inputs are valid records: some are changed from one.
    let valid = match kind % 4 {
        0 => [0; FRAME_LEN],
        1 => *access::greeting().as_bytes(),
        2 => *access::answer().as_bytes(),
        _ => {
            let denied = netperf_model::Denied::Network;
            *access::refuse(RequestKind::CpuCalibrate, &denied).as_bytes()
        }
    };
    let mut record = valid;
    for (slot, byte) in record.iter_mut().zip(bytes) {
        *slot ^= byte;
    }
    check(&Frame::from_bytes(record));
});

fn check(frame: &Frame) {
    let of_key = access::is_greeting(frame);
    if of_key || access::wants_reason(frame) {
        assert_eq!(frame.request(), RequestKind::CpuCalibrate);
    }
    match access::is_answer(frame) {
        Ok(true) => assert!(frame.errno().is_ok() && !of_key),
        Ok(false) => {}
        Err(refused) => {
            assert!(!frame.errno().is_ok(), "a refusal without a number");
            let line = refused.to_string();
            assert!(!line.contains(char::is_control), "{line:?}");
            assert!(line.len() <= 2 * FRAME_LEN, "{} bytes", line.len());
        }
    }
}
