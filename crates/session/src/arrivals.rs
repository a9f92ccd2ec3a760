//! netserver's counts of arrivals and readings of its clock in messages
//! (docs/spec/extension.md, "Arrivals").

use netperf_model::{ArrivalSample, Arrivals};
use netperf_wire::messages::{Extension, HeaderOnly, ItemKind};
use netperf_wire::{Frame, Header, Message, RequestKind, Stage};

use crate::error::SessionError;
use crate::extension;
use crate::series::AppendixReader;

/// The version that is written; arrivals of another one cannot be read.
const VERSION: u8 = 1;
/// Bytes of a sample. A reader skips what a later netserver has behind them.
const SAMPLE: u16 = 16;

/// The bytes of arrivals.
pub(crate) fn encode(arrivals: &Arrivals) -> Vec<u8> {
    let samples = &arrivals.samples;
    let mut bytes = vec![VERSION, 0];
    bytes.extend(SAMPLE.to_be_bytes());
    bytes.extend(
        u32::try_from(samples.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    for sample in samples {
        bytes.extend(sample.nanos.to_be_bytes());
        bytes.extend(sample.bytes.to_be_bytes());
    }
    bytes
}

/// The arrivals in these bytes; `None` where they are none, or not in order.
pub(crate) fn decode(bytes: &[u8]) -> Option<Arrivals> {
    let mut bytes = AppendixReader(bytes);
    if bytes.take::<2>()? != [VERSION, 0] {
        return None;
    }
    let size = usize::from(u16::from_be_bytes(bytes.take()?));
    let length = size.checked_mul(usize::try_from(bytes.word()?).ok()?)?;
    if size < usize::from(SAMPLE) {
        return None;
    }
    let samples = bytes.part(length)?.chunks_exact(size);
    let samples: Option<Vec<_>> = samples.map(|sample| get(AppendixReader(sample))).collect();
    let samples = samples?;
    let ordered = samples.is_sorted_by_key(|sample| sample.nanos)
        && samples.is_sorted_by_key(|sample| sample.bytes);
    ordered.then_some(Arrivals { samples })
}

fn get(mut bytes: AppendixReader<'_>) -> Option<ArrivalSample> {
    Some(ArrivalSample {
        nanos: bytes.long()?,
        bytes: bytes.long()?,
    })
}

/// The request for a reading of netserver's clock.
pub(crate) fn clock_request() -> Result<Frame, SessionError> {
    let mut asked = Extension::default();
    asked.push(ItemKind::Clock, &[]);
    let mut frame = HeaderOnly.encode(Header::request(RequestKind::CpuCalibrate));
    asked.encode_over(Stage::Request, &mut frame)?;
    Ok(frame)
}

/// Adds a reading of the clock to an answer.
pub(crate) fn tell_clock(nanos: u64, frame: &mut Frame) {
    let mut told = Extension::default();
    told.push(ItemKind::Clock, &nanos.to_be_bytes());
    extension::append(&told, Stage::Response, frame);
}

/// The reading in an answer; `None` if it has none.
pub(crate) fn clock(frame: &Frame) -> Option<u64> {
    let told = Extension::decode(Stage::Response, frame).ok().flatten()?;
    let value = told.value(ItemKind::Clock)?;
    <[u8; 8]>::try_from(value).ok().map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals() -> Arrivals {
        let sample = |at: u64| ArrivalSample {
            nanos: at << 40,
            bytes: at << 50,
        };
        Arrivals {
            samples: (1..4).map(sample).collect(),
        }
    }

    #[test]
    fn arrivals_cross_whole() {
        assert_eq!(decode(&encode(&arrivals())), Some(arrivals()));
        let none = Arrivals::default();
        assert_eq!(decode(&encode(&none)), Some(none));
    }

    #[test]
    fn no_part_of_arrivals_and_no_disorder_is_taken_for_some() {
        let whole = encode(&arrivals());
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length]), None, "{length}");
        }
        let mut much = whole.clone();
        much[4..8].copy_from_slice(&[0xff; 4]);
        assert_eq!(decode(&much), None);
        let mut short = whole;
        short[2..4].copy_from_slice(&[0, 15]);
        assert_eq!(decode(&short), None);
        let mut back = arrivals();
        back.samples.reverse();
        assert_eq!(decode(&encode(&back)), None);
    }

    #[test]
    fn a_reading_of_the_clock_crosses_whole() {
        let mut frame = HeaderOnly.encode(Header::response(RequestKind::CpuCalibrate));
        assert_eq!(clock(&frame), None);
        tell_clock(u64::MAX - 1, &mut frame);
        assert_eq!(clock(&frame), Some(u64::MAX - 1));
    }
}
