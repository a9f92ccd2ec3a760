//! The times of numbered requests and their responses, one by one.

use std::collections::BTreeMap;

use netperf_model::{EndResult, Stamp, Stamps};
use serde::{Deserialize, Serialize};

/// When each request and its response left and arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "datagram_times")]
pub struct DatagramTimes {
    /// When the first request was sent, by netperf's clock. The times of each request count from
    /// then, those of netserver by its own clock.
    pub started_unix_seconds: f64,
    /// Requests that arrived at netserver more than once.
    pub duplicate_requests: u64,
    /// Requests that were sent or received and that have no times, because there were too many.
    pub without_times: u64,
    /// The requests, in the order in which they were sent.
    pub each: Vec<DatagramTime>,
}

/// A request and its response. First its number. Then six times in nanoseconds: netperf sent the
/// request, its kernel passed it to the device, netserver's kernel received it; netserver sent the
/// response, its kernel passed it to the device, netperf's kernel received it. Last the types of
/// service with which request and response arrived. Null if it did not arrive or is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "datagram_time")]
pub struct DatagramTime(
    pub u32,
    pub i64,
    pub Option<i64>,
    pub Option<i64>,
    pub Option<i64>,
    pub Option<i64>,
    pub Option<i64>,
    pub Option<u8>,
    pub Option<u8>,
);

impl DatagramTimes {
    /// Those of a run; `None` if requests had no numbers or stamps.
    pub(super) fn of(local: &EndResult, remote: Option<&EndResult>) -> Option<Self> {
        let numbered = |stamps: &&Stamps| stamps.numbered;
        let own = local.stamps.as_ref().filter(numbered)?;
        let far = remote?.stamps.as_ref().filter(numbered)?;
        let begin = own.each.first()?.sending;
        let mut there: BTreeMap<u32, &Stamp> = BTreeMap::new();
        for stamp in &far.each {
            there.entry(stamp.number).or_insert(stamp);
        }
        let row = |stamp: &Stamp| {
            let far = there.get(&stamp.number);
            DatagramTime(
                stamp.number,
                after(begin, stamp.sending).unwrap_or_default(),
                departed(begin, stamp),
                far.and_then(|far| after(begin, first_known([far.arrived, far.received]))),
                far.and_then(|far| after(begin, far.sending)),
                far.and_then(|far| departed(begin, far)),
                after(begin, first_known([stamp.arrived, stamp.received])),
                far.and_then(|far| far.tos),
                stamp.tos,
            )
        };
        Some(Self {
            started_unix_seconds: seconds(begin),
            duplicate_requests: (far.each.len() - there.len()) as u64,
            without_times: u64::from(own.incomplete.max(far.incomplete)),
            each: own.each.iter().map(row).collect(),
        })
    }
}

/// The kernel's time; while it does not stamp yet, that of the receive call.
fn first_known([kernel, call]: [u64; 2]) -> u64 {
    if kernel > 0 { kernel } else { call }
}

/// When a datagram left for the device. A stamp in front of the send call belongs to another one.
fn departed(begin: u64, stamp: &Stamp) -> Option<i64> {
    let is_own = stamp.sending > 0 && stamp.sent >= stamp.sending;
    after(begin, stamp.sent).filter(|_| is_own)
}

/// Nanoseconds from one reading to another; `None` for one that is missing.
fn after(begin: u64, moment: u64) -> Option<i64> {
    let after = moment.wrapping_sub(begin).to_ne_bytes();
    (moment > 0).then(|| i64::from_ne_bytes(after))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "seconds since 1970 to a fraction of a microsecond"
)]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(each: Vec<Stamp>) -> EndResult {
        EndResult {
            stamps: Some(Stamps {
                every: 1,
                numbered: true,
                each,
                ..Stamps::default()
            }),
            ..EndResult::default()
        }
    }

    fn row(
        number: u32,
        (sent, departed): (i64, i64),
        there: Option<(i64, i64)>,
        back: Option<i64>,
    ) -> DatagramTime {
        let (arrived, answered) = there.unzip();
        let tos = there.map(|_| 0xb8);
        DatagramTime(
            number,
            sent,
            Some(departed),
            arrived,
            answered,
            None,
            back,
            tos,
            None,
        )
    }

    #[test]
    fn requests_are_joined_by_number_and_lost_ones_have_nulls() {
        let own = |number, arrived| Stamp {
            number,
            sending: 1000 * u64::from(number),
            sent: 1000 * u64::from(number) + 7,
            arrived,
            received: arrived,
            ..Stamp::default()
        };
        let far = |number: u32, sending| Stamp {
            number,
            arrived: 90_000 + u64::from(number),
            sending,
            tos: Some(0xb8),
            ..Stamp::default()
        };
        let local = end(vec![own(1, 1500), own(2, 0), own(3, 0)]);
        // The second request arrived twice, and its response was lost; the third did not arrive.
        let remote = end(vec![far(2, 91_000), far(1, 90_500), far(2, 0)]);
        let times = DatagramTimes::of(&local, Some(&remote)).unwrap();
        assert_eq!(times.duplicate_requests, 1);
        assert_eq!(
            times.each,
            [
                row(1, (0, 7), Some((89_001, 89_500)), Some(500)),
                row(2, (1000, 1007), Some((89_002, 90_000)), None),
                row(3, (2000, 2007), None, None),
            ]
        );
        assert_eq!(DatagramTimes::of(&local, None), None);
    }
}
