//! A series as the bytes of an appendix (docs/spec/extension.md, "Series").

use std::time::Duration;

use netperf_model::{FlowSeries, Series, SeriesPlan, TcpSample};
use netperf_wire::messages::{Extension, ItemKind};

use crate::paths::NotUnderstood;

/// The version that is written; a series of another one cannot be read.
const VERSION: u8 = 1;
/// Bytes of a sample. A reader skips what a later netserver has behind them.
const SAMPLE: u16 = 104;

/// Asks netserver to watch its connections.
pub(crate) fn ask(extension: &mut Extension, plan: SeriesPlan) {
    let micros = u32::try_from(plan.every.as_micros()).unwrap_or(u32::MAX);
    let value = [micros, plan.flows].map(u32::to_be_bytes);
    extension.push(ItemKind::Series, value.as_flattened());
}

/// Reads the sampling plan of a request.
///
/// # Errors
/// When that cannot be done.
pub(crate) fn asked(extension: &Extension) -> Result<Option<SeriesPlan>, NotUnderstood> {
    let Some(value) = extension.value(ItemKind::Series) else {
        return Ok(None);
    };
    let mut bytes = AppendixReader(value);
    let plan = bytes
        .word()
        .zip(bytes.word())
        .map(|(micros, flows)| SeriesPlan {
            every: Duration::from_micros(micros.into()),
            flows,
        });
    let plan = plan.filter(SeriesPlan::is_possible);
    plan.map(Some).ok_or(NotUnderstood)
}

/// The bytes of a series.
pub(crate) fn encode(series: &Series) -> Vec<u8> {
    let mut bytes = vec![VERSION, 0];
    bytes.extend(SAMPLE.to_be_bytes());
    let started = u64::try_from(series.started.as_nanos()).unwrap_or(u64::MAX);
    bytes.extend(started.to_be_bytes());
    let every = u64::try_from(series.every.as_micros()).unwrap_or(u64::MAX);
    bytes.extend(every.to_be_bytes());
    bytes.extend(count(series.flows.len()));
    for flow in &series.flows {
        bytes.extend(flow.port.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(count(flow.samples.len()));
        for sample in &flow.samples {
            put(&mut bytes, *sample);
        }
    }
    bytes
}

fn count(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes()
}

/// The words of a sample, in the order of the message.
fn words(sample: &mut TcpSample) -> [&mut Option<u32>; 13] {
    [
        &mut sample.round_trip_micros,
        &mut sample.round_trip_variation_micros,
        &mut sample.min_round_trip_micros,
        &mut sample.recv_round_trip_micros,
        &mut sample.congestion_window_segments,
        &mut sample.send_threshold_segments,
        &mut sample.send_segment_bytes,
        &mut sample.in_flight_segments,
        &mut sample.lost_segments,
        &mut sample.retransmitted_segments,
        &mut sample.reordering_segments,
        &mut sample.not_sent_bytes,
        &mut sample.send_window_bytes,
    ]
}

/// The numbers of eight bytes behind the words.
fn longs(sample: &mut TcpSample) -> [&mut Option<u64>; 5] {
    [
        &mut sample.pacing_rate,
        &mut sample.delivery_rate,
        &mut sample.busy_micros,
        &mut sample.window_limited_micros,
        &mut sample.buffer_limited_micros,
    ]
}

fn put(bytes: &mut Vec<u8>, mut sample: TcpSample) {
    bytes.extend(sample.at_micros.to_be_bytes());
    for word in words(&mut sample) {
        bytes.extend(word.unwrap_or(u32::MAX).to_be_bytes());
    }
    bytes.extend([0; 4]);
    for long in longs(&mut sample) {
        bytes.extend(long.unwrap_or(u64::MAX).to_be_bytes());
    }
}

/// The series in these bytes; `None` if they are not one. Memory is reserved only for bytes
/// that are present.
pub(crate) fn decode(bytes: &[u8]) -> Option<Series> {
    let mut bytes = AppendixReader(bytes);
    if bytes.take::<2>()? != [VERSION, 0] {
        return None;
    }
    let size = usize::from(u16::from_be_bytes(bytes.take()?));
    let started = Duration::from_nanos(bytes.long()?);
    let every = Duration::from_micros(bytes.long()?);
    let count = bytes.word()?;
    let mut flows = Vec::new();
    for _ in 0..count {
        let port = u16::from_be_bytes(bytes.take()?);
        bytes.take::<2>()?;
        let length = size.checked_mul(usize::try_from(bytes.word()?).ok()?)?;
        let samples = bytes.part(length)?;
        let known = samples.chunks_exact(size.max(usize::from(SAMPLE)));
        let samples: Option<Vec<TcpSample>> =
            known.map(|sample| get(AppendixReader(sample))).collect();
        flows.push(FlowSeries {
            flow: None,
            port,
            samples: samples?,
        });
    }
    (size >= usize::from(SAMPLE)).then_some(Series {
        started,
        every,
        flows,
    })
}

fn get(mut bytes: AppendixReader<'_>) -> Option<TcpSample> {
    let mut sample = TcpSample {
        at_micros: bytes.long()?,
        ..TcpSample::default()
    };
    for word in words(&mut sample) {
        *word = Some(bytes.word()?).filter(|word| *word != u32::MAX);
    }
    bytes.take::<4>()?;
    for long in longs(&mut sample) {
        *long = Some(bytes.long()?).filter(|long| *long != u64::MAX);
    }
    Some(sample)
}

/// Numbers one after the other.
pub(crate) struct AppendixReader<'a>(pub(crate) &'a [u8]);

impl<'a> AppendixReader<'a> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub(crate) fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    pub(crate) fn part(&mut self, length: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(value: u32) -> TcpSample {
        let long = Some(u64::from(value) << 20);
        TcpSample {
            at_micros: value.into(),
            round_trip_micros: Some(value),
            send_threshold_segments: None,
            send_segment_bytes: Some(value + 1),
            send_window_bytes: Some(value + 2),
            pacing_rate: long,
            buffer_limited_micros: long,
            ..TcpSample::default()
        }
    }

    fn series() -> Series {
        let flow = |port: u16, count: u32| FlowSeries {
            flow: None,
            port,
            samples: (0..count).map(sample).collect(),
        };
        Series {
            started: Duration::from_nanos(1_700_000_000_123_456_789),
            every: Duration::from_millis(100),
            flows: vec![flow(40_001, 3), flow(40_002, 0), flow(40_003, 1)],
        }
    }

    #[test]
    fn a_series_crosses_whole() {
        assert_eq!(decode(&encode(&series())), Some(series()));
        assert_eq!(decode(&encode(&Series::default())), Some(Series::default()));
    }

    #[test]
    fn a_sample_has_the_length_that_is_told() {
        let mut bytes = Vec::new();
        put(&mut bytes, sample(1));
        assert_eq!(bytes.len(), usize::from(SAMPLE));
    }

    #[test]
    fn no_part_of_a_series_is_taken_for_one_and_no_number_of_samples_is_believed() {
        let whole = encode(&series());
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length]), None, "{length}");
        }
        // The count of flows, the first count of samples, and the length of a sample.
        for at in [20, 28] {
            let mut much = whole.clone();
            much[at..at + 4].copy_from_slice(&[0xff; 4]);
            assert_eq!(decode(&much), None);
        }
        for size in [0, 1, 103] {
            let mut short = whole.clone();
            short[2..4].copy_from_slice(&u16::to_be_bytes(size));
            assert_eq!(decode(&short), None);
        }
    }

    #[test]
    fn series_requests_arrive_and_invalid_ones_are_refused() {
        let plan = SeriesPlan {
            every: Duration::from_millis(50),
            flows: 3,
        };
        let mut extension = Extension::default();
        assert_eq!(asked(&extension), Ok(None));
        ask(&mut extension, plan);
        assert_eq!(asked(&extension), Ok(Some(plan)));
        for (every, flows) in [(0, 1), (50, 0), (50, u32::MAX)] {
            let mut extension = Extension::default();
            let every = Duration::from_millis(every);
            ask(&mut extension, SeriesPlan { every, flows });
            assert_eq!(asked(&extension), Err(NotUnderstood));
        }
    }
}
