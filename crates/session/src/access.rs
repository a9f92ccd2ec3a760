//! Records about access: the greeting before an encrypted connection, and refusals
//! (docs/spec/extension.md).

use netperf_model::Denied;
use netperf_model::escape::is_unprintable;
use netperf_wire::messages::{Extension, HeaderOnly, ItemKind};
use netperf_wire::{Frame, Header, Message, RemoteErrno, RequestKind, Stage};

use crate::error::SessionError;
use crate::extension::append;

/// The one way to an encrypted connection that there is.
const VERSION: u8 = 1;

/// netperf's first record where it has a key: whether netserver has one, too. A stock one
/// takes it for a question about its CPU.
#[must_use]
pub fn greeting() -> Frame {
    let frame = HeaderOnly.encode(Header::request(RequestKind::CpuCalibrate));
    with_word(frame, Stage::Request)
}

/// True for a greeting record.
#[must_use]
pub fn is_greeting(frame: &Frame) -> bool {
    frame.request() == RequestKind::CpuCalibrate && says_word(frame, Stage::Request)
}

/// Returns true if a first message asks why netserver does not serve the client.
#[must_use]
pub fn wants_reason(frame: &Frame) -> bool {
    crate::extension::wants_reason(frame)
}

/// netserver's answer where it has a key: the next byte, in either direction, is one of TLS.
#[must_use]
pub fn answer() -> Frame {
    let frame = HeaderOnly.encode(Header::response(RequestKind::CpuCalibrate));
    with_word(frame, Stage::Response)
}

/// True for an answer record.
///
/// # Errors
/// When netserver refuses the client.
pub fn is_answer(frame: &Frame) -> Result<bool, SessionError> {
    match refusal(frame) {
        Some(refused) => Err(refused),
        None => Ok(frame.errno().is_ok() && says_word(frame, Stage::Response)),
    }
}

fn with_word(mut frame: Frame, stage: Stage) -> Frame {
    let mut extension = Extension::default();
    extension.push(ItemKind::Secure, &[VERSION]);
    append(&extension, stage, &mut frame);
    frame
}

fn says_word(frame: &Frame, stage: Stage) -> bool {
    let extension = Extension::decode(stage, frame).ok().flatten();
    let says = |extension: Extension| extension.value(ItemKind::Secure) == Some(&[VERSION]);
    extension.is_some_and(says)
}

/// The record that refuses a client, or what it asks for: its number for every client, its
/// text for one of ours. It answers any request, and may be there before that.
#[must_use]
pub fn refuse(kind: RequestKind, denied: &Denied) -> Frame {
    let header = Header::response(kind).with_errno(RemoteErrno(denied.errno()));
    refusal_record(header, &denied.to_string())
}

/// A refusal with this text, of which a part is lost where it is long.
pub(crate) fn refusal_record(header: Header, text: &str) -> Frame {
    let mut frame = HeaderOnly.encode(header);
    let mut extension = Extension::default();
    extension.push_optional(ItemKind::Refusal, text.as_bytes());
    append(&extension, Stage::Response, &mut frame);
    frame
}

/// The text of a refusal; `None` for any other record.
pub(crate) fn refusal(frame: &Frame) -> Option<SessionError> {
    if frame.errno().is_ok() {
        return None;
    }
    let extension = Extension::decode(Stage::Response, frame).ok().flatten()?;
    let text = extension.value(ItemKind::Refusal)?;
    let text: String = String::from_utf8_lossy(text)
        .chars()
        .filter(|letter| !is_unprintable(*letter))
        .collect();
    Some(SessionError::Denied(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_and_its_answer_are_told_from_each_other_and_from_a_calibration() {
        let plain = HeaderOnly.encode(Header::request(RequestKind::CpuCalibrate));
        assert!(is_greeting(&greeting()));
        assert!(!is_greeting(&answer()) && !is_greeting(&plain));
        assert_eq!(is_answer(&answer()), Ok(true));
        assert_eq!(is_answer(&greeting()), Ok(false));
        assert_eq!(is_answer(&plain), Ok(false));
    }

    #[test]
    fn a_refusal_is_one_line_whatever_the_peer_puts_into_it() {
        let denied = Denied::Sessions(7, None);
        let frame = refuse(RequestKind::Omni, &denied);
        assert_eq!(frame.errno(), RemoteErrno(87));
        assert_eq!(
            refusal(&frame),
            Some(SessionError::Denied(denied.to_string()))
        );
        let mut hostile = Extension::default();
        hostile.push(ItemKind::Refusal, b"no\n\x1b[2Jmore");
        let mut frame = frame;
        hostile.encode_over(Stage::Response, &mut frame).unwrap();
        assert_eq!(
            is_answer(&frame),
            Err(SessionError::Denied("no[2Jmore".to_owned()))
        );
    }
}
