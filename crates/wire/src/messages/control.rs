//! Requests that are not tests, and their answers (control-protocol.md 2.3 and 2.4).

use super::message;
use crate::codec::DecodeError;
use crate::frame::{Frame, HEADER_LEN};
use crate::layout::{FieldLayout, Message, Values};
use crate::text::FixedStr;

message! {
    /// The passphrase, in the clear. It is not answered.
    pub struct Passphrase ends 656 {
        /// At most 647 bytes and a NUL.
        8 => passphrase: FixedStr<648>,
    }
}

message! {
    /// The answer to CPU_CALIBRATE.
    pub struct CpuCalibrateReply ends 16 {
        /// Calibration rate; on Linux clock ticks per second.
        8 => cpu_rate: f32,
        /// Processors that are online.
        12 => num_cpus: i32,
    }
}

message! {
    /// The answer to SYSINFO.
    pub struct SysInfoReply ends 656 {
        /// Raw text: four words, each behind a comma.
        8 => text: FixedStr<648>,
    }
}

impl SysInfoReply {
    /// The answer of every 2.7 server.
    #[must_use]
    pub fn placeholder() -> Self {
        Self {
            text: FixedStr::from_str_truncated(",Deprecated,Deprecated,Deprecated,Deprecated"),
        }
    }
}

/// A record in which only words 0 and 1 matter: DEBUG_ON, DEBUG_OFF, CPU_CALIBRATE,
/// SYSINFO and unknown requests, the answers to debug and unknown requests, and every
/// answer that reports an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderOnly;

impl Message for HeaderOnly {
    const NAME: &'static str = "HeaderOnly";
    const LAYOUT: &'static [FieldLayout] = &[];
    const END: usize = HEADER_LEN;

    fn decode(_: &Frame) -> Result<Self, DecodeError> {
        Ok(Self)
    }

    fn encode_over(&self, _: &mut Frame) {}

    fn values(&self) -> Values {
        Vec::new()
    }
}
