//! The times of probes: what they say of each direction, of the sender itself, and of the classes
//! with which they arrived.

use netperf_stats::moments;
use serde::{Deserialize, Serialize};

use crate::distribution::TimeDistribution;
use crate::distribution::rank;
use crate::loss::DirectionLoss;

/// A sent datagram: when it was sent, and when the kernel passed it to the device, if that is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentAt {
    /// Nanoseconds.
    pub at: i64,
    /// Nanoseconds.
    pub departed: Option<i64>,
}

/// A probe and its response, in nanoseconds since the first one of its set was sent; times of
/// netserver are by its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathProbe {
    /// Its number, from 1, without gaps.
    pub number: u32,
    /// The request.
    pub request: SentAt,
    /// The request arrived at netserver.
    pub arrived: Option<i64>,
    /// The response.
    pub response: Option<SentAt>,
    /// The response arrived at netperf.
    pub returned: Option<i64>,
    /// Type of service with which the request arrived.
    pub tos_up: Option<u8>,
    /// Type of service with which the response arrived.
    pub tos_down: Option<u8>,
}

/// Seconds from one reading to another.
#[expect(clippy::cast_precision_loss, reason = "times of a check")]
fn seconds(from: i64, to: i64) -> f64 {
    to.wrapping_sub(from) as f64 / 1e9
}

impl PathProbe {
    /// Time to netserver, by two clocks.
    #[must_use]
    pub fn up(&self) -> Option<f64> {
        Some(seconds(self.request.at, self.arrived?))
    }

    /// Time from netserver, by two clocks.
    #[must_use]
    pub fn down(&self) -> Option<f64> {
        Some(seconds(self.response?.at, self.returned?))
    }

    /// Both ways together: the clocks cancel out.
    #[must_use]
    pub fn path(&self) -> Option<f64> {
        Some(self.up()? + self.down()?)
    }

    /// Time of netserver between both.
    #[must_use]
    pub fn server(&self) -> Option<f64> {
        Some(seconds(self.arrived?, self.response?.at))
    }

    /// From the request to the arrival of the response.
    #[must_use]
    pub fn round_trip(&self) -> Option<f64> {
        Some(seconds(self.request.at, self.returned?))
    }

    /// From the request to the device of this host.
    #[must_use]
    pub fn own_queue(&self) -> Option<f64> {
        Some(seconds(self.request.at, self.request.departed?))
    }

    /// From the response to the device of netserver's host.
    #[must_use]
    pub fn far_queue(&self) -> Option<f64> {
        let response = self.response?;
        Some(seconds(response.at, response.departed?))
    }
}

/// The probes of a class in a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSet {
    /// When the first one was sent, seconds since 1970.
    pub began: f64,
    /// Time from one to the next, seconds.
    pub interval: f64,
    /// The probes, in the order in which they were sent.
    pub each: Vec<PathProbe>,
    /// Requests that arrived more than once. `None` if unknown.
    pub duplicates: Option<usize>,
}

/// Delays of probes behind their due times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeLateness {
    /// Probes that were sent more than an interval after they were due.
    pub late: usize,
    /// All of them.
    pub sent: usize,
    /// The 99th percentile of the lateness.
    pub p99_seconds: f64,
    /// The greatest.
    pub max_seconds: f64,
}

impl ProbeLateness {
    /// Share of late probes from which figures are no longer those of the path.
    const DEGRADED: f64 = 0.01;

    /// Adds the lateness of other probes: the worst of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            late: self.late + other.late,
            sent: self.sent + other.sent,
            p99_seconds: self.p99_seconds.max(other.p99_seconds),
            max_seconds: self.max_seconds.max(other.max_seconds),
        }
    }

    /// Why the figures are degraded, if they are.
    #[must_use]
    pub fn degraded(&self) -> Option<String> {
        let is_degraded = moments::count(self.late) > Self::DEGRADED * moments::count(self.sent);
        is_degraded.then(|| {
            format!(
                "this host sent {} of {} probes late, by up to {:.0} ms: it was busy or stopped, and \
                 the latencies contain that",
                self.late,
                self.sent,
                self.max_seconds * 1e3
            )
        })
    }
}

/// Variation of the delay of a direction, each metric by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayJitter {
    /// Interarrival jitter at the end (RFC 3550, section 6.4.1).
    pub rfc3550_seconds: f64,
    /// The median of the magnitude of the difference of successive delays (IPDV, RFC 3393).
    pub ipdv_p50_seconds: f64,
    /// The 95th percentile of it.
    pub ipdv_p95_seconds: f64,
    /// The 99th percentile of it.
    pub ipdv_p99_seconds: f64,
}

impl DelayJitter {
    /// Of the delays of successive probes, `None` for a lost one; `None` with fewer than two.
    #[must_use]
    pub fn of(delays: &[Option<f64>]) -> Option<Self> {
        let known: Vec<f64> = delays.iter().flatten().copied().collect();
        let differences = known.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let rfc3550 = differences.fold(0.0, |jitter, difference| {
            jitter + (difference - jitter) / 16.0
        });
        // IPDV is of pairs that both arrived.
        let pairs = delays.windows(2).filter_map(|pair| match pair {
            [Some(one), Some(next)] => Some((next - one).abs()),
            _ => None,
        });
        let ipdv = TimeDistribution::of(pairs)?;
        Some(Self {
            rfc3550_seconds: rfc3550,
            ipdv_p50_seconds: ipdv.p50_seconds,
            ipdv_p95_seconds: ipdv.p95_seconds,
            ipdv_p99_seconds: ipdv.p99_seconds,
        })
    }
}

/// Codepoints of a direction, as sent and as received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DscpFate {
    /// "kept", "bleached", "remapped", or "unknown".
    pub fate: String,
    /// The codepoint that was sent.
    pub sent: u8,
    /// The codepoint of most arrivals. Null if none is known.
    pub arrived: Option<u8>,
    /// Arrivals with the ECN codepoints Not-ECT, ECT(1), ECT(0) and CE.
    pub ecn: [usize; 4],
}

impl DscpFate {
    /// Of the types of service with which probes of one arrived.
    #[must_use]
    pub fn of(sent: u8, arrived: impl IntoIterator<Item = u8>) -> Self {
        let mut ecn = [0; 4];
        let mut codepoints = [0_usize; 64];
        for tos in arrived {
            if let Some(count) = ecn.get_mut(usize::from(tos & 3)) {
                *count += 1;
            }
            if let Some(count) = codepoints.get_mut(usize::from(tos >> 2)) {
                *count += 1;
            }
        }
        let sent = sent >> 2;
        let most = (0_u8..).zip(codepoints).max_by_key(|(_, count)| *count);
        let arrived = most.filter(|(_, count)| *count > 0).map(|(code, _)| code);
        let fate = match arrived {
            None => "unknown",
            Some(code) if code == sent => "kept",
            Some(0) => "bleached",
            Some(_) => "remapped",
        };
        Self {
            fate: fate.to_owned(),
            sent,
            arrived,
            ecn,
        }
    }
}

/// Error of a calculation with times, seconds.
const ROUNDING: f64 = 1e-6;

impl ProbeSet {
    /// When a probe was due, seconds since the first one was sent: on the schedule that the earliest
    /// of them fits.
    fn due(&self, index: usize, origin: f64) -> f64 {
        origin + moments::count(index) * self.interval
    }

    /// The origin of the schedule: no probe is sent before it is due.
    fn origin(&self) -> f64 {
        let each = self.each.iter().enumerate();
        let early = each.map(|(index, probe)| {
            seconds(0, probe.request.at) - moments::count(index) * self.interval
        });
        early.fold(0.0, f64::min)
    }

    /// Delays of this host in sending them.
    #[must_use]
    pub fn lateness(&self) -> ProbeLateness {
        let origin = self.origin();
        let late = |(index, probe): (usize, &PathProbe)| {
            (seconds(0, probe.request.at) - self.due(index, origin)).max(0.0)
        };
        let mut all: Vec<f64> = self.each.iter().enumerate().map(late).collect();
        let most = self.interval + ROUNDING;
        let count = all.iter().filter(|late| **late > most).count();
        all.sort_by(f64::total_cmp);
        ProbeLateness {
            late: count,
            sent: all.len(),
            p99_seconds: all.get(rank(all.len(), 99.0)).copied().unwrap_or(0.0),
            max_seconds: all.last().copied().unwrap_or(0.0),
        }
    }

    /// The round trips with their times since 1970, from when each probe was due: what held it up in
    /// this host is part of them.
    #[must_use]
    pub fn round_trips(&self) -> Vec<(f64, Option<f64>)> {
        let origin = self.origin();
        let each = self.each.iter().enumerate().map(|(index, probe)| {
            let due = self.due(index, origin);
            let took = probe.returned.map(|returned| seconds(0, returned) - due);
            (self.began + due, took)
        });
        each.collect()
    }

    /// The probes that were due from this time since 1970 on, and before the other.
    #[must_use]
    pub fn between(&self, from: f64, to: f64) -> Self {
        let origin = self.origin();
        let within = |index: &usize| {
            let due = self.began + self.due(*index, origin);
            due >= from && due < to
        };
        let first = (0..self.each.len()).find(within).unwrap_or(self.each.len());
        let each: Vec<PathProbe> = (first..self.each.len())
            .filter(within)
            .filter_map(|index| self.each.get(index).copied())
            .collect();
        // Times stay those of the whole set; so does its schedule.
        let shift = moments::count(first) * self.interval;
        let moved = |probe: PathProbe| probe.earlier(shift);
        Self {
            began: self.began + shift,
            interval: self.interval,
            each: each.into_iter().map(moved).collect(),
            duplicates: self.duplicates,
        }
    }

    /// Loss on the way to netserver.
    #[must_use]
    pub fn loss_up(&self) -> DirectionLoss {
        let arrivals: Vec<Option<i64>> = self.each.iter().map(|probe| probe.arrived).collect();
        DirectionLoss::of(&arrivals, self.duplicates)
    }

    /// Loss on the way back, of the requests that arrived and were answered.
    #[must_use]
    pub fn loss_down(&self) -> DirectionLoss {
        let answered = self.each.iter().filter(|probe| probe.response.is_some());
        let arrivals: Vec<Option<i64>> = answered.map(|probe| probe.returned).collect();
        DirectionLoss::of(&arrivals, None)
    }

    /// A part of the time of each probe.
    pub fn parts(&self, part: fn(&PathProbe) -> Option<f64>) -> impl Iterator<Item = f64> + '_ {
        self.each.iter().filter_map(part)
    }

    /// DelayJitter of a direction.
    #[must_use]
    pub fn jitter(&self, part: fn(&PathProbe) -> Option<f64>) -> Option<DelayJitter> {
        let delays: Vec<Option<f64>> = self.each.iter().map(part).collect();
        DelayJitter::of(&delays)
    }

    /// Codepoints as received at netserver, and back at netperf.
    #[must_use]
    pub fn dscp(&self, tos: u8) -> [DscpFate; 2] {
        let up = self.each.iter().filter_map(|probe| probe.tos_up);
        let down = self.each.iter().filter_map(|probe| probe.tos_down);
        [DscpFate::of(tos, up), DscpFate::of(tos, down)]
    }
}

impl PathProbe {
    /// The same with all times earlier by so many seconds.
    #[expect(clippy::cast_possible_truncation, reason = "times of a check")]
    fn earlier(self, by: f64) -> Self {
        let by = (by * 1e9).round() as i64;
        let moved = |at: i64| at.wrapping_sub(by);
        let sent = |sent: SentAt| SentAt {
            at: moved(sent.at),
            departed: sent.departed.map(moved),
        };
        Self {
            request: sent(self.request),
            arrived: self.arrived.map(moved),
            response: self.response.map(sent),
            returned: self.returned.map(moved),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A probe each 10 ms; netserver's clock is a day ahead.
    fn probe(number: u32, up: i64, down: i64) -> PathProbe {
        const DAY: i64 = 86_400_000 * MS;
        let at = i64::from(number - 1) * 10 * MS;
        let sent = |at: i64| SentAt {
            at,
            departed: Some(at + MS / 10),
        };
        PathProbe {
            number,
            request: sent(at),
            arrived: Some(at + up + DAY),
            response: Some(sent(at + up + DAY + MS / 2)),
            returned: Some(at + up + MS / 2 + down),
            tos_up: Some(0xb8),
            tos_down: Some(0),
        }
    }

    fn set(each: Vec<PathProbe>) -> ProbeSet {
        ProbeSet {
            began: 1000.0,
            interval: 0.01,
            each,
            duplicates: Some(0),
        }
    }

    #[test]
    fn the_parts_of_a_probe_are_its_round_trip_whatever_the_clocks_say() {
        let one = probe(3, 7 * MS, 20 * MS);
        let parts = one.up().unwrap() + one.server().unwrap() + one.down().unwrap();
        assert!((parts - one.round_trip().unwrap()).abs() < 1e-6);
        assert!((one.round_trip().unwrap() - 0.0275).abs() < 1e-12);
        assert_eq!(one.own_queue(), Some(0.0001));
        assert_eq!(one.far_queue(), Some(0.0001));
    }

    #[test]
    fn loss_belongs_to_the_direction_in_which_a_probe_was_lost() {
        let mut each: Vec<PathProbe> = (1..=10).map(|number| probe(number, MS, MS)).collect();
        (each[2].arrived, each[2].response, each[2].returned) = (None, None, None);
        each[5].returned = None;
        each[6].returned = None;
        let set = set(each);
        let (up, down) = (set.loss_up(), set.loss_down());
        assert_eq!((up.sent, up.lost, down.sent, down.lost), (10, 1, 9, 2));
    }

    #[test]
    fn probes_of_a_stopped_host_are_late_and_their_latency_counts_from_when_they_were_due() {
        let mut each: Vec<PathProbe> = (1..=100).map(|number| probe(number, MS, MS)).collect();
        // Stopped for 300 ms: probes 51 to 80 leave together.
        for one in &mut each[50..80] {
            *one = PathProbe {
                request: SentAt {
                    at: 800 * MS,
                    departed: None,
                },
                returned: Some(802 * MS),
                ..*one
            };
        }
        let set = set(each);
        let lateness = set.lateness();
        // The last of them is late by its interval, and no more.
        assert_eq!((lateness.late, lateness.sent), (29, 100));
        assert!((lateness.max_seconds - 0.3).abs() < 1e-9);
        assert!(lateness.degraded().unwrap().contains("29 of 100"));
        let (at, took) = set.round_trips()[50];
        assert!((at - 1000.5).abs() < 1e-9 && (took.unwrap() - 0.302).abs() < 1e-9);
        let punctual = super::ProbeSet {
            each: set.each[..50].to_vec(),
            ..set
        };
        assert_eq!(punctual.lateness().degraded(), None);
    }

    #[test]
    fn a_part_of_a_set_keeps_its_schedule_and_its_times() {
        let each: Vec<PathProbe> = (1..=100).map(|number| probe(number, 2 * MS, MS)).collect();
        let whole = set(each);
        let part = whole.between(1000.195, 1000.5);
        assert_eq!(part.each.len(), 30);
        assert_eq!(part.each[0].number, 21);
        assert!((part.began - 1000.2).abs() < 1e-9);
        assert!((part.parts(PathProbe::round_trip).next().unwrap() - 0.0035).abs() < 1e-9);
        assert_eq!(part.lateness().late, 0);
        assert_eq!(whole.between(2000.0, 3000.0).each.len(), 0);
    }

    #[test]
    fn jitter_is_named_and_leaves_out_pairs_with_a_lost_probe() {
        let jitter =
            DelayJitter::of(&[Some(0.0), Some(0.016), None, Some(0.5), Some(0.484)]).unwrap();
        assert!((jitter.ipdv_p50_seconds - 0.016).abs() < 1e-12);
        assert!((jitter.ipdv_p99_seconds - 0.016).abs() < 1e-12);
        // RFC 3550 by hand: 0.001, then 0.001 + (0.484 - 0.001) / 16, then towards 0.016.
        let second = 0.001 + (0.484 - 0.001) / 16.0;
        let third = second + (0.016 - second) / 16.0;
        assert!((jitter.rfc3550_seconds - third).abs() < 1e-12);
        assert_eq!(DelayJitter::of(&[Some(0.0), None]), None);
    }

    #[test]
    fn a_codepoint_is_kept_bleached_remapped_or_unknown() {
        let fate = |arrived: &[u8]| DscpFate::of(0xb8, arrived.iter().copied());
        assert_eq!(fate(&[0xb8, 0xb9, 0]).fate, "kept");
        assert_eq!(fate(&[0xb8, 0xb9, 0]).ecn, [2, 1, 0, 0]);
        assert_eq!(fate(&[0, 3]).fate, "bleached");
        assert_eq!(fate(&[0x28, 0x28, 0xb8]).fate, "remapped");
        assert_eq!(fate(&[]).fate, "unknown");
        let set = set(vec![probe(1, MS, MS)]);
        let [up, down] = set.dscp(0xb8);
        assert_eq!((up.fate.as_str(), down.fate.as_str()), ("kept", "bleached"));
    }
}
