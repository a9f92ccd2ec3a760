//! Parts of transaction times: in the stack of each end, and on the wire each way.
//!
//! Four moments at each end split a transaction: just before the send call, when the kernel
//! handed the packet to the device, when it got one from the device, and just behind the
//! receive call. What lies between two moments of one end takes one clock. What lies between
//! the ends takes the offset of the clocks, which is estimated as NTP does (RFC 5905,
//! section 8), with the bound that goes with it.

mod device;
mod offset;

use offset::OffsetLine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fields::AsFinite;
use crate::outcome::{Iteration, Warning};
use crate::plan::TestPlan;
use crate::words::words;

words! {
    /// Source of timestamps.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Stamper {
        /// The kernel.
        #[default]
        Kernel = "software",
        /// The network device, by its clock.
        Device = "hardware",
    }
}

impl Stamper {
    /// Feature that a host needs for it.
    #[must_use]
    pub const fn feature(self) -> crate::io::Feature {
        match self {
            Self::Kernel => crate::io::Feature::Timestamps,
            Self::Device => crate::io::Feature::DeviceStamps,
        }
    }
}

/// Timestamps of a transaction by the clock of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStamp {
    /// It sent the packet.
    pub sent: u64,
    /// It received the packet.
    pub arrived: u64,
}

/// The moments of one transaction at one end, nanoseconds since 1970 by the clock of
/// that end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Flow of the transaction: netperf's port if there are many flows, else 0.
    pub flow: u32,
    /// Which transaction of the flow, from 1: the same one has the same number at both ends.
    pub number: u32,
    /// Just behind the previous receive call of netperf; 0 at netserver, which does not tell.
    pub begun: u64,
    /// Just before the send call.
    pub sending: u64,
    /// The kernel handed the packet to the device.
    pub sent: u64,
    /// The kernel got the packet from the device.
    pub arrived: u64,
    /// Just behind the receive call.
    pub received: u64,
    /// Timestamps of the device, if it stamps.
    pub device: Option<DeviceStamp>,
}

/// Timestamps of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// One transaction in so many was looked at, in the end.
    pub every: u32,
    /// Transactions that were looked at, but of which a moment is missing.
    pub incomplete: u32,
    /// Transactions, in order, one flow after the other.
    pub each: Vec<Stamp>,
}

impl Stamps {
    /// Largest number of sampled transactions.
    const MOST: u32 = 8192;
    /// The least that a flow of many samples.
    const LEAST: u32 = 8;

    /// Largest number of sampled transactions of each of so many flows.
    #[must_use]
    pub fn most(flows: u32) -> u32 {
        (Self::MOST / flows.max(1)).max(Self::LEAST)
    }

    /// Adds the transactions of other flows.
    pub fn add(&mut self, other: Self) {
        self.every = self.every.max(other.every);
        self.incomplete = self.incomplete.saturating_add(other.incomplete);
        self.each.extend(other.each);
        self.each.sort_by_key(Stamp::key);
    }
}

impl Stamp {
    /// Place among the transactions of an end.
    const fn key(&self) -> (u32, u32) {
        (self.flow, self.number)
    }
}

words! {
    /// A part of a transaction.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Part {
        /// From netperf's previous receive call to its send call: its own time.
        ClientTurn = "netperf between transactions",
        /// From netperf's send call to its device.
        ClientSend = "netperf's stack, sending",
        /// From netperf's device to netserver's.
        WireThere = "wire to netserver",
        /// From netserver's device to behind its receive call.
        ServerReceive = "netserver's stack, receiving",
        /// From there to its send call.
        ServerTurn = "netserver's answer",
        /// From netserver's send call to its device.
        ServerSend = "netserver's stack, sending",
        /// From netserver's device to netperf's.
        WireBack = "wire to netperf",
        /// From netperf's device to behind its receive call.
        ClientReceive = "netperf's stack, receiving",
    }
}

/// Time of a part of transactions. On the wire it can be below 0 by the error of the clock
/// offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename = "part")]
pub struct Spread {
    /// The shortest.
    #[serde(rename = "min_nanoseconds", with = "AsFinite")]
    pub min: f64,
    /// The mean.
    #[serde(rename = "mean_nanoseconds", with = "AsFinite")]
    pub mean: f64,
    /// The median.
    #[serde(rename = "median_nanoseconds", with = "AsFinite")]
    pub median: f64,
    /// The 99th percentile.
    #[serde(rename = "p99_nanoseconds", with = "AsFinite")]
    pub p99: f64,
    /// The longest.
    #[serde(rename = "max_nanoseconds", with = "AsFinite")]
    pub max: f64,
}

/// Offset of netserver's clock from netperf's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockOffset {
    /// At the middle of the run, nanoseconds.
    pub nanos: i64,
    /// It is not further from the truth than this, nanoseconds, as long as the clocks run
    /// evenly: no line lies within the bounds of all exchanges that is further from it.
    pub error: f64,
    /// Relative speed of netserver's clock, parts per billion; `None` if it cannot be told from
    /// 0.
    pub drift: Option<f64>,
    /// The drift is not further from the truth than this, or no more than this where it
    /// cannot be told, parts per billion.
    pub drift_error: f64,
}

/// Parts of transaction times over a run.
#[derive(Clone, Debug, PartialEq)]
pub struct OneWay {
    /// Transactions that both ends saw whole.
    pub transactions: usize,
    /// Those that an end looked at and that could not be used.
    pub discarded: usize,
    /// One transaction in so many was looked at, in the end.
    pub every: u32,
    /// The clocks.
    pub clock: ClockOffset,
    /// The parts, in the order of [`Part::ALL`].
    pub parts: [Spread; 8],
    /// With timestamps of devices: the largest errors of the clocks of netperf's and of
    /// netserver's device against the clock of their system, nanoseconds. The times of the
    /// stacks have these errors.
    pub devices: Option<[f64; 2]>,
}

/// One transaction that both ends saw: differences of moments, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Pair {
    client: Stamp,
    server: Stamp,
    /// When, since the first one.
    at: f64,
    /// On the wire, both ways together.
    delay: i64,
    /// netserver's clock ahead of netperf's, if both ways took the same; in halves, so that
    /// nothing is rounded.
    twice_offset: i128,
}

/// `later - earlier` of two clocks' readings.
const fn between(earlier: u64, later: u64) -> i128 {
    later as i128 - earlier as i128
}

impl Pair {
    /// `None` where a clock was set meanwhile, or the numbers are of two transactions.
    /// Moments may seem to be in the wrong order by as much as `slack` says.
    fn of(client: Stamp, server: Stamp, first: u64, slack: u64) -> Option<Self> {
        let ordered = |earlier: u64, later: u64| earlier <= later.saturating_add(slack);
        let forward = client.begun <= client.sending
            && ordered(client.sending, client.sent)
            && ordered(client.sent, client.arrived)
            && ordered(client.arrived, client.received)
            && ordered(server.arrived, server.received)
            && ordered(server.received, server.sending)
            && ordered(server.sending, server.sent);
        forward.then(|| Self::new(client, server, first)).flatten()
    }

    /// `None` where less than nothing was spent on the wire.
    fn new(client: Stamp, server: Stamp, first: u64) -> Option<Self> {
        let there = between(client.sent, server.arrived);
        let back = between(server.sent, client.arrived);
        let delay = i64::try_from(there + back).ok()?;
        (delay >= 0).then_some(Self {
            client,
            server,
            at: real(between(first, client.sent)),
            delay,
            twice_offset: there - back,
        })
    }

    /// Half the delay: the offset that this pair tells is no further from the truth.
    fn error(&self) -> f64 {
        real(self.delay.into()) / 2.0
    }

    /// The offset it tells, from `base`.
    fn offset(&self, base: i64) -> f64 {
        real(self.twice_offset - 2 * i128::from(base)) / 2.0
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "differences of a run, not of eras"
)]
const fn real(nanos: i128) -> f64 {
    nanos as f64
}

/// Warning for a run with timestamps in which no transaction has those of both ends.
#[must_use]
pub fn doubt(plan: &TestPlan, runs: &[Iteration]) -> Option<Warning> {
    let unknown = plan.local.stamps.is_some() && runs.iter().any(|run| run.one_way.is_none());
    unknown.then(|| {
        Warning::Imprecise(
            "--timestamps: no transaction has the timestamps of both ends: the parts of its time \
             are unknown"
                .to_owned(),
        )
    })
}

impl OneWay {
    /// Parts of the transactions in the timestamps of both ends; `None` if both ends observed
    /// none completely.
    #[must_use]
    pub fn of(client: &Stamps, server: &Stamps) -> Option<Self> {
        Self::with(client, server, 0)
    }

    /// The same where devices stamped.
    #[must_use]
    pub fn by_devices(client: &Stamps, server: &Stamps) -> Option<Self> {
        let (client, own) = device::in_system_time(client)?;
        let (server, other) = device::in_system_time(server)?;
        let mut all = Self::with(&client, &server, whole(own + other).unsigned_abs())?;
        all.clock.error += own + other;
        all.devices = Some([own, other]);
        Some(all)
    }

    fn with(client: &Stamps, server: &Stamps, slack: u64) -> Option<Self> {
        let first = client.each.iter().map(|stamp| stamp.sent).min()?;
        let mut others = server.each.iter().peekable();
        let mut pairs = Vec::new();
        let mut looked_at = 0;
        for own in &client.each {
            while others.next_if(|other| other.key() < own.key()).is_some() {}
            let Some(other) = others.next_if(|other| other.key() == own.key()) else {
                continue;
            };
            looked_at += 1;
            pairs.extend(Pair::of(*own, *other, first, slack));
        }
        in_time(&mut pairs);
        let best = best(&pairs)?;
        let base = i64::try_from(best.twice_offset.div_euclid(2)).ok()?;
        let line = OffsetLine::through(&pairs, base)?;
        let incomplete = usize::try_from(client.incomplete.max(server.incomplete)).unwrap_or(0);
        Some(Self {
            transactions: pairs.len(),
            discarded: looked_at - pairs.len() + incomplete,
            every: client.every.max(server.every),
            clock: line.clock(base),
            parts: Part::ALL.map(|part| {
                let times = pairs.iter().map(|pair| took(pair, part, &line, base));
                spread(times.collect())
            }),
            devices: None,
        })
    }

    /// Length of a part.
    #[must_use]
    pub fn part(&self, part: Part) -> Spread {
        let at = Part::ALL.iter().position(|other| *other == part);
        at.and_then(|at| self.parts.get(at).copied())
            .unwrap_or_default()
    }
}

/// Sorts the pairs of many flows by time.
fn in_time(pairs: &mut [Pair]) {
    pairs.sort_by(|one, other| one.at.total_cmp(&other.at));
}

/// The pair with the shortest time on the wire: the least of it can have been waiting.
fn best<'p>(pairs: impl IntoIterator<Item = &'p Pair>) -> Option<&'p Pair> {
    pairs.into_iter().min_by_key(|pair| pair.delay)
}

#[expect(clippy::cast_possible_truncation, reason = "rounded, and saturating")]
fn whole(nanos: f64) -> i64 {
    nanos.round() as i64
}

/// Length of a part of a transaction.
fn took(pair: &Pair, part: Part, line: &OffsetLine, base: i64) -> f64 {
    let (client, server) = (&pair.client, &pair.server);
    let over = |nanos: i128, sign: f64| real(nanos) - sign * line.offset_at(pair.at);
    let base = i128::from(base);
    match part {
        Part::ClientTurn => real(between(client.begun, client.sending)),
        Part::ClientSend => real(between(client.sending, client.sent)),
        Part::WireThere => over(between(client.sent, server.arrived) - base, 1.0),
        Part::ServerReceive => real(between(server.arrived, server.received)),
        Part::ServerTurn => real(between(server.received, server.sending)),
        Part::ServerSend => real(between(server.sending, server.sent)),
        Part::WireBack => over(between(server.sent, client.arrived) + base, -1.0),
        Part::ClientReceive => real(between(client.arrived, client.received)),
    }
}

fn spread(mut times: Vec<f64>) -> Spread {
    times.sort_by(f64::total_cmp);
    let count = times.len();
    let quantile = |hundredths: usize| {
        let rank = (count * hundredths).div_ceil(100).max(1);
        times.get(rank - 1).copied().unwrap_or_default()
    };
    Spread {
        min: quantile(0),
        mean: times.iter().sum::<f64>() / crate::figures::count(count.max(1) as u64),
        median: quantile(50),
        p99: quantile(99),
        max: quantile(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transactions a millisecond apart, each with stack times of 1, 2, 3 and 4 µs, an
    /// answer of 5 µs, and the given times on the wire; netserver's clock is ahead by what
    /// `clock` says for the true time.
    fn seen(wire: &[(u64, u64)], clock: impl Fn(u64) -> i64) -> (Stamps, Stamps) {
        const ERA: u64 = 1_700_000_000_000_000_000;
        let ahead = |time: u64| (ERA + time).checked_add_signed(clock(time)).unwrap();
        let (mut client, mut server) = (Stamps::default(), Stamps::default());
        for (number, (there, back)) in (1..).zip(wire) {
            let start = u64::from(number) * 1_000_000;
            let arrived = start + 1_000 + there;
            let answered = arrived + 2_000 + 5_000 + 3_000;
            client.each.push(Stamp {
                flow: 0,
                number,
                begun: ERA + start - 600,
                sending: ERA + start,
                sent: ERA + start + 1_000,
                arrived: ERA + answered + back,
                received: ERA + answered + back + 4_000,
                device: None,
            });
            server.each.push(Stamp {
                flow: 0,
                number,
                begun: 0,
                arrived: ahead(arrived),
                received: ahead(arrived + 2_000),
                sending: ahead(arrived + 7_000),
                sent: ahead(answered),
                device: None,
            });
        }
        (client, server)
    }

    /// Both ways mostly wait, differently, and once in a while do not.
    fn busy() -> Vec<(u64, u64)> {
        let wait = |index: u64, most: u64| (index * 7919) % most;
        (0..200)
            .map(|index| {
                (
                    30_000 + wait(index, 90_000),
                    30_000 + wait(index + 3, 40_000),
                )
            })
            .collect()
    }

    fn close(a: f64, b: f64, within: f64) {
        assert!((a - b).abs() <= within, "{a} is not {b}");
    }

    #[test]
    fn an_offset_of_the_clocks_is_found_within_its_error() {
        for ahead in [0, 1, -250_000, 3_600_000_000_000, -86_400_000_000_001] {
            let (client, server) = seen(&busy(), |_| ahead);
            let all = OneWay::of(&client, &server).unwrap();
            let found = all.clock;
            close(real((found.nanos - ahead).into()), 0.0, found.error);
            assert!(found.error < 40_000.0, "{found:?}");
            assert_eq!(found.drift, None);
            assert_eq!((all.transactions, all.discarded), (200, 0));
        }
    }

    #[test]
    fn a_wire_that_takes_the_same_both_ways_is_split_exactly() {
        let (client, server) = seen(&[(30_000, 30_000); 5], |_| 777_777);
        let all = OneWay::of(&client, &server).unwrap();
        let took = Part::ALL.map(|part| all.part(part).mean);
        let truth = [
            600.0, 1_000.0, 30_000.0, 2_000.0, 5_000.0, 3_000.0, 30_000.0, 4_000.0,
        ];
        for (took, truth) in took.into_iter().zip(truth) {
            close(took, truth, 1.0);
        }
        assert_eq!(all.clock.nanos, 777_777);
    }

    #[test]
    fn the_transactions_of_many_flows_are_paired_and_follow_one_clock() {
        let drifting = |time: u64| 2_000_000 + i64::try_from(time / 2_000).unwrap();
        let (client, server) = seen(&[(10_000, 10_000); 200], drifting);
        // Every second transaction is of the other flow, and numbers begin anew in each.
        let of_flows = |stamps: Stamps, ports: [u32; 2]| {
            let mut all = Stamps::default();
            for (other, port) in (0..).zip(ports) {
                let own = stamps.each.iter().filter(|stamp| stamp.number % 2 == other);
                let each = (1..).zip(own).map(|(number, stamp)| Stamp {
                    flow: port,
                    number,
                    ..*stamp
                });
                all.add(Stamps {
                    every: other + 1,
                    incomplete: 1,
                    each: each.collect(),
                });
            }
            all
        };
        let one = OneWay::of(&client, &server).unwrap();
        let client = of_flows(client, [40_001, 40_000]);
        let all = OneWay::of(&client, &of_flows(server.clone(), [40_001, 40_000])).unwrap();
        assert_eq!((all.clock, all.parts), (one.clock, one.parts));
        assert_eq!((all.transactions, all.discarded, all.every), (200, 2, 2));
        let translated = of_flows(server, [50_001, 50_000]);
        assert_eq!(OneWay::of(&client, &translated), None);
        assert_eq!([1, 3, 5000].map(Stamps::most), [8192, 2730, 8]);
    }

    #[test]
    fn a_wait_in_one_direction_is_seen_in_that_direction() {
        let mut wire = vec![(30_000, 30_000); 50];
        for transaction in wire.iter_mut().skip(1).step_by(2) {
            transaction.0 += 400_000;
        }
        let (client, server) = seen(&wire, |_| -5_000_000);
        let all = OneWay::of(&client, &server).unwrap();
        close(all.part(Part::WireThere).max, 430_000.0, 1.0);
        close(all.part(Part::WireThere).min, 30_000.0, 1.0);
        close(all.part(Part::WireBack).max, 30_000.0, 1.0);
    }

    #[test]
    fn a_clock_that_runs_faster_is_followed() {
        // 500 parts per million, over a fifth of a second: 100 µs.
        let drifting = |time: u64| 2_000_000 + i64::try_from(time / 2_000).unwrap();
        let (client, server) = seen(&[(10_000, 10_000); 200], drifting);
        let all = OneWay::of(&client, &server).unwrap();
        let drift = all.clock.drift.expect("a drift");
        close(drift, 500_000.0, all.clock.drift_error);
        close(all.part(Part::WireThere).max, 10_000.0, 200.0);
        close(all.part(Part::WireBack).min, 10_000.0, 200.0);
        close(real(all.clock.nanos.into()), 2_050_500.0, all.clock.error);
    }

    #[test]
    fn the_offset_is_bounded_by_all_exchanges_together() {
        // No exchange is fast both ways: each alone leaves 100 microseconds.
        let wire: Vec<(u64, u64)> = (0..200)
            .map(|index| {
                if index % 2 == 0 {
                    (10_000, 190_000)
                } else {
                    (190_000, 10_000)
                }
            })
            .collect();
        for ahead in [0, -3_000_000, 5_000_000_000_123] {
            let (client, server) = seen(&wire, |_| ahead);
            let found = OneWay::of(&client, &server).unwrap().clock;
            close(real((found.nanos - ahead).into()), 0.0, 20.0);
            assert!((10_000.0..10_200.0).contains(&found.error), "{found:?}");
            assert_eq!(found.drift, None);
            // 20 microseconds in a fifth of a second.
            close(found.drift_error, 100_000.0, 2000.0);
        }
    }

    #[test]
    fn a_clock_that_was_set_during_the_run_makes_the_bound_wider() {
        let step = |time: u64| if time > 100_000_000 { 70_000 } else { 0 };
        let (client, server) = seen(&[(10_000, 10_000); 200], step);
        let found = OneWay::of(&client, &server).unwrap().clock;
        assert!(found.error > 10_000.0, "{found:?}");
        let (first, later) = (
            real(found.nanos.into()),
            real((found.nanos - 70_000).into()),
        );
        assert!(first.abs().min(later.abs()) <= 70_000.0, "{found:?}");
    }

    /// Numbers without a pattern, below a limit.
    fn scattered(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    #[test]
    fn the_true_offset_lies_within_the_bound() {
        for seed in 0..200 {
            let mut number = scattered(seed);
            let exchanges = 1 + number(60);
            let wire: Vec<(u64, u64)> = (0..exchanges)
                .map(|_| (1_000 + number(400_000), 1_000 + number(400_000)))
                .collect();
            let ahead = i64::try_from(number(1_000_000_000)).unwrap();
            let drift = i64::try_from(number(400_000)).unwrap() - 200_000;
            let truth = |time: u64| ahead + i64::try_from(time).unwrap() * drift / 1_000_000_000;
            let (client, server) = seen(&wire, truth);
            let found = OneWay::of(&client, &server).unwrap().clock;
            let middle = 1_001_000 + (exchanges - 1) * 500_000;
            let off = real((found.nanos - truth(middle)).into());
            close(off, 0.0, found.error + 2.0);
            let drifted = found.drift.unwrap_or(0.0) - real(drift.into());
            close(drifted, 0.0, found.drift_error + 50.0);
        }
    }

    #[test]
    fn only_what_both_ends_saw_whole_is_used() {
        let (mut client, mut server) = seen(&busy(), |_| 0);
        client.each.remove(10);
        server.each.truncate(150);
        server.each.remove(20);
        // A clock was set back in the middle of one.
        client.each[30].received = 0;
        server.incomplete = 4;
        let all = OneWay::of(&client, &server).unwrap();
        assert_eq!((all.transactions, all.discarded), (147, 5));
        server.each.clear();
        assert_eq!(OneWay::of(&client, &server), None);
    }
}
