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
    /// Type of service with which a numbered datagram arrived, if the kernel tells.
    pub tos: Option<u8>,
}

/// Timestamps of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// One transaction in so many was looked at, in the end.
    pub every: u32,
    /// Transactions that were looked at, but of which a moment is missing.
    pub incomplete: u32,
    /// The datagrams carry the numbers of the requests: each has a stamp, in the order in which
    /// they were sent, at netserver in the order in which they arrived, and 0 for a moment that
    /// did not come.
    pub numbered: bool,
    /// Transactions, in order, one flow after the other.
    pub each: Vec<Stamp>,
}

impl Stamps {
    /// Largest number of sampled transactions.
    const MOST: u32 = 8192;
    /// The least that a flow of many samples.
    const LEAST: u32 = 8;

    /// Largest number of numbered datagrams of a run; later ones count as incomplete.
    pub const MOST_NUMBERED: usize = 65_536;
    /// Bytes of their numbers.
    pub const NUMBER_BYTES: u8 = 8;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    let numbered = |run: &Iteration| run.local.stamps.as_ref().is_some_and(|own| own.numbered);
    let none = |run: &Iteration| run.one_way.is_none() && !numbered(run);
    let unknown = plan.local.stamps.is_some() && runs.iter().any(none);
    unknown.then(|| {
        Warning::Imprecise(
            "--timestamps: no transaction has the timestamps of client and server: the parts of its time \
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
mod tests;
