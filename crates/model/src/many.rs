//! Many flows in one process: what is asked for, and what came of it flow by flow.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arrivals::ArrivedAmount;
use crate::catalog::transports::TransportId;
use crate::fields::AsSeconds;
use crate::figures::count;
use crate::io::IoMethod;
use crate::outcome::Tally;
use crate::plan::{Duplex, Flow, TestPlan};

/// Many flows, as requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "many")]
pub struct Many {
    /// Data connections, all open at the same time.
    pub flows: u32,
    /// Time that flows run before they count.
    #[serde(rename = "warmup_seconds", with = "AsSeconds")]
    pub warmup: Duration,
    /// Time that flows run after they counted.
    #[serde(rename = "cooldown_seconds", with = "AsSeconds")]
    pub cooldown: Duration,
    /// Reading of `CLOCK_MONOTONIC` at netperf, nanoseconds, at which all flows begin; at once
    /// without it.
    #[serde(
        rename = "begin_at_nanoseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub begin_at: Option<u64>,
    /// Time between the request to netserver and [`Self::begin_at`], at most.
    #[serde(skip)]
    pub lead: Duration,
    /// netperf's threads.
    pub local: Workers,
    /// netserver's.
    pub remote: Workers,
}

impl Many {
    /// True if only a part of the run counts.
    #[must_use]
    pub const fn has_margins(&self) -> bool {
        !self.warmup.is_zero() || !self.cooldown.is_zero()
    }
}

/// Units for the flow of this index: an even share of the units of all flows.
#[must_use]
pub fn share_of(units: u64, flows: u32, index: u32) -> u64 {
    let flows = u64::from(flows.max(1));
    units / flows + u64::from(u64::from(index) < units % flows)
}

/// Units for the flow of this index in whole messages of `message` units: together they have no
/// more messages than the units of all flows take.
#[must_use]
pub fn share_of_messages(units: u64, message: u32, flows: u32, index: u32) -> u64 {
    let message = u64::from(message.max(1));
    share_of(units.div_ceil(message), flows, index).saturating_mul(message)
}

/// True if netserver serves each flow in a session, which knows the address of the flow.
#[must_use]
pub fn flows_have_sessions(plan: &TestPlan) -> bool {
    plan.many.is_some() && tells_address_of_each(plan.transport, plan.flow)
}

/// True if the ends tell each other the address of each flow: netserver sends datagrams to a socket
/// that only receives, or a flow has a socket file at each end.
pub(crate) fn tells_address_of_each(transport: TransportId, flow: Flow) -> bool {
    let datagrams = FlowCarrier::of(transport) == Some(FlowCarrier::Datagrams);
    let apart = flow.duplex == Some(Duplex::Separate);
    datagrams && (!flow.sends || apart || transport == TransportId::UnixDatagram)
}

/// Carrier of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowCarrier {
    /// A connection whose socket tells what can be done: a thread has many.
    Connections,
    /// A connection that holds back some of what has come, or waits by itself: each has a
    /// thread.
    Threads,
    /// Datagrams, to a socket at netserver for each flow.
    Datagrams,
}

impl FlowCarrier {
    /// The carrier over a transport; `None` where there are no flows.
    #[must_use]
    pub const fn of(transport: TransportId) -> Option<Self> {
        match transport {
            TransportId::Tcp
            | TransportId::IpDefault
            | TransportId::Mptcp
            | TransportId::Sctp
            | TransportId::Dccp
            | TransportId::UnixStream
            | TransportId::UnixSeqPacket
            | TransportId::Vsock
            | TransportId::VsockSeqPacket
            | TransportId::Ktls
            | TransportId::Sdp => Some(Self::Connections),
            TransportId::Tls | TransportId::XtiTcp => Some(Self::Threads),
            TransportId::Udp
            | TransportId::UdpLite
            | TransportId::XtiUdp
            | TransportId::UnixDatagram => Some(Self::Datagrams),
            TransportId::SctpMany
            | TransportId::Llc1
            | TransportId::Llc2
            | TransportId::Packet
            | TransportId::Atm => None,
        }
    }
}

/// True if each flow of an end has a thread: its calls wait by themselves, or a connection for
/// each transaction is more than a socket, and is set up by calls that wait.
#[must_use]
pub fn flows_have_threads(transport: TransportId, connects: bool, method: IoMethod) -> bool {
    const SET_UP: [TransportId; 3] = [TransportId::Sctp, TransportId::Dccp, TransportId::Ktls];
    // poll(2) reports space in the own buffer of a Unix-domain socket, not in that of the other.
    let waits = FlowCarrier::of(transport) == Some(FlowCarrier::Threads)
        || transport == TransportId::UnixDatagram;
    waits || (connects && SET_UP.contains(&transport)) || method == IoMethod::Uring
}

/// Threads for the flows in one program, as requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "workers_wanted")]
pub struct Workers {
    /// Their number; null is one for each CPU, and never more than there are flows.
    pub threads: Option<u32>,
    /// The CPUs they run on, in turn; empty leaves that to the placement.
    pub cpus: Vec<u32>,
    /// The rule of placement on CPUs: spread, pack, near-irq, or node: and a number. Null
    /// leaves it to the scheduler.
    #[serde(rename = "placement", deserialize_with = "crate::fields::known")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub place: Option<Placement>,
}

/// A rule by which threads are placed on CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Placement {
    /// As far from each other as possible: packages in turn, then cores, siblings last.
    Spread,
    /// As close to each other as possible: siblings, then cores of one package.
    Pack,
    /// On the CPUs that take the interrupts of the data's interface.
    NearIrq,
    /// On the CPUs of this NUMA node.
    Node(u32),
}

impl Placement {
    /// The words of the rules that take nothing.
    pub const WORDS: [&'static str; 3] = ["spread", "pack", "near-irq"];

    /// The rule that a word means: one of [`Placement::WORDS`], or `node:` and a number.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "spread" => Some(Self::Spread),
            "pack" => Some(Self::Pack),
            "near-irq" => Some(Self::NearIrq),
            other => other.strip_prefix("node:")?.parse().ok().map(Self::Node),
        }
    }
}

impl From<Placement> for String {
    fn from(rule: Placement) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for Placement {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::named(&word).ok_or(word)
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Spread => f.write_str("spread"),
            Self::Pack => f.write_str("pack"),
            Self::NearIrq => f.write_str("near-irq"),
            Self::Node(node) => write!(f, "node:{node}"),
        }
    }
}

/// The numbers in a list such as `0-3,8`; `None` for anything else.
///
/// The kernel writes lists of CPUs so, too.
#[must_use]
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    /// More than any machine has: a mistyped range must not fill the memory.
    const MOST: usize = 65_536;
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let number = usize::try_from(last.checked_sub(first)?).ok()?;
        if number >= MOST || cpus.len() + number >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The list as text, runs of numbers as ranges.
#[must_use]
pub fn cpu_list_text(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            Some(_) | None => ranges.push((*cpu, *cpu)),
        }
    }
    let text = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

/// netperf's counts of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Bytes handed to the kernel.
    pub bytes_sent: u64,
    /// Bytes got from the kernel.
    pub bytes_received: u64,
    /// Transactions or connections completed.
    pub transactions: u64,
}

impl FlowCounts {
    /// The counts since `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent.saturating_sub(before.bytes_sent),
            bytes_received: self.bytes_received.saturating_sub(before.bytes_received),
            transactions: self.transactions.saturating_sub(before.transactions),
        }
    }

    /// The counts of both.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent + other.bytes_sent,
            bytes_received: self.bytes_received + other.bytes_received,
            transactions: self.transactions + other.transactions,
        }
    }

    /// The work of a test of this kind, by netserver's counts: it receives netperf's data.
    #[must_use]
    pub const fn work_there(&self, flow: Flow) -> u64 {
        if flow.duplex.is_some() {
            self.bytes_sent + self.bytes_received
        } else if flow.counts_transactions() {
            self.transactions
        } else if flow.sends {
            self.bytes_received
        } else {
            self.bytes_sent
        }
    }

    /// The work of a test of this kind: transactions, or the bytes of its direction, or of
    /// both.
    #[must_use]
    pub const fn work(&self, flow: Flow) -> u64 {
        if flow.duplex.is_some() {
            self.bytes_sent + self.bytes_received
        } else if flow.counts_transactions() {
            self.transactions
        } else if flow.sends {
            self.bytes_sent
        } else {
            self.bytes_received
        }
    }
}

/// netserver's counts of one flow, in the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowThere {
    /// Which of netperf's flows it is, from 1, where netserver can tell.
    pub number: Option<u32>,
    /// netperf's port, 0 where there is none.
    pub port: u16,
    /// The counts.
    pub counts: FlowCounts,
}

/// The part of a run that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Its begin, nanoseconds from a moment that is the same in all of netperf's process.
    pub begin_nanos: u64,
    /// Its begin in the last thread by `CLOCK_MONOTONIC` at netperf, nanoseconds.
    pub begin_monotonic: u64,
    /// Its length, seconds.
    pub seconds: f64,
    /// netperf's counts in it.
    pub tally: Tally,
    /// netperf's data that arrived in it; `None` if unknown.
    pub arrived: Option<ArrivedAmount>,
}

/// Threads of one program, in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "threads")]
pub struct WorkerThreads {
    /// Their number.
    pub threads: u32,
    /// The CPU of each; empty if the scheduler chose.
    pub cpus: Vec<u32>,
}

/// Results of many flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Every flow, in the order in which they were opened. What it counted is of the
    /// part of the run that counts.
    pub each: Vec<FlowCounts>,
    /// The part that counts; `None` where that is all.
    pub window: Option<Window>,
    /// From the first connect to the last connection that stood, seconds.
    pub setup: f64,
    /// From the first operation of the first flow to the first of the last, seconds;
    /// `None` when some flow had none.
    pub skew: Option<f64>,
    /// The local port of each flow, in order, 0 where it has none; none in tests that open a
    /// connection each time.
    pub ports: Vec<u16>,
    /// Ports of the connections to netperf, if both directions have connections.
    pub ports_back: Vec<u16>,
    /// netserver's counts of each flow, in the whole run, in the same order; empty if unknown,
    /// or if flows cannot be identified.
    pub there: Vec<FlowCounts>,
    /// Fairness of the flows by netserver's counts; `None` if unknown.
    pub fairness_there: Option<f64>,
}

impl Flows {
    /// Takes in what netserver counted on each flow.
    pub fn pair(&mut self, flow: Flow, there: &[FlowThere]) {
        let work = there.iter().map(|one| one.counts.work_there(flow));
        self.fairness_there = fairness(work);
        self.there = self.paired(&self.ports, there);
    }

    /// Adds netserver's counts if each direction has connections.
    pub fn pair_both(&mut self, flow: Flow, there: &[FlowThere], back: &[FlowThere]) {
        let (there, back) = (
            self.paired(&self.ports, there),
            self.paired(&self.ports_back, back),
        );
        self.there = there
            .iter()
            .zip(&back)
            .map(|(there, back)| there.plus(back))
            .collect();
        // Which of them belong together must be known.
        self.fairness_there = fairness(self.there.iter().map(|counts| counts.work_there(flow)));
    }

    /// netserver's counts in the order of netperf's flows; none where some are missing.
    fn paired(&self, ports: &[u16], there: &[FlowThere]) -> Vec<FlowCounts> {
        let by_number: BTreeMap<u32, FlowCounts> = there
            .iter()
            .filter_map(|one| Some((one.number?, one.counts)))
            .collect();
        let by_port: BTreeMap<u16, FlowCounts> = there
            .iter()
            .filter(|one| one.port > 0)
            .map(|one| (one.port, one.counts))
            .collect();
        let paired: Option<Vec<FlowCounts>> = (1..)
            .zip(ports)
            .map(|(number, port)| {
                by_number
                    .get(&number)
                    .or_else(|| by_port.get(port))
                    .copied()
            })
            .collect();
        paired
            .filter(|paired| paired.len() == self.each.len())
            .unwrap_or_default()
    }

    /// The bytes of each flow that arrived at netserver; `None` unless netperf alone sends, all of
    /// the run counts and netserver's counts are known.
    #[must_use]
    pub fn arrived(&self, flow: Flow) -> Option<Vec<u64>> {
        let is_known = flow.sends && !flow.receives && !flow.connects && self.window.is_none();
        let there = || self.there.iter().map(|counts| counts.bytes_received);
        (is_known && !self.there.is_empty()).then(|| there().collect())
    }

    /// The work of each flow: what arrived at netserver, or netperf's own counts if that is
    /// unknown.
    #[must_use]
    pub fn work(&self, flow: Flow) -> Vec<u64> {
        let own = || self.each.iter().map(|counts| counts.work(flow)).collect();
        self.arrived(flow).unwrap_or_else(own)
    }

    /// Returns true if [`Flows::work`] counts datagrams that were sent, of which some may not have
    /// arrived.
    #[must_use]
    pub fn counts_sent(&self, flow: Flow, reliable: bool) -> bool {
        !reliable && flow.sends && !flow.counts_transactions() && self.arrived(flow).is_none()
    }

    /// Fairness of the flows by their [work](Flows::work).
    #[must_use]
    pub fn fairness(&self, flow: Flow) -> Option<f64> {
        fairness(self.work(flow).into_iter())
    }
}

/// Jain's fairness index: 1 when all flows did the same, 1/n when one did all. `None` when
/// nothing was done.
///
/// R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination
/// for Resource Allocation in Shared Computer Systems, 1984.
#[must_use]
pub fn fairness(each: impl Iterator<Item = u64>) -> Option<f64> {
    let (mut number, mut sum, mut squares) = (0_u64, 0.0, 0.0);
    for work in each {
        let work = count(work);
        number += 1;
        sum += work;
        squares += work * work;
    }
    (squares > 0.0).then(|| sum * sum / (count(number) * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(work: &[u64]) -> Flows {
        let each = work.iter().map(|transactions| FlowCounts {
            transactions: *transactions,
            ..FlowCounts::default()
        });
        Flows {
            each: each.collect(),
            ..Flows::default()
        }
    }

    #[test]
    fn fairness_is_one_for_equals_and_one_in_n_for_a_monopoly() {
        let of = |work: &[u64]| flows(work).fairness(Flow::RR);
        let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-12);
        assert!(close(of(&[5, 5, 5, 5]), 1.0));
        assert!(close(of(&[7, 0, 0, 0]), 0.25));
        assert!(close(of(&[1, 2, 3]), 36.0 / 42.0));
        assert_eq!(of(&[0, 0]), None);
        assert_eq!(flows(&[5, 5]).fairness(Flow::SEND), None);
    }

    #[test]
    fn counts_of_netserver_find_their_flow_by_number_or_by_port_or_not_at_all() {
        let there = |number, port, transactions| FlowThere {
            number,
            port,
            counts: FlowCounts {
                transactions,
                ..FlowCounts::default()
            },
        };
        let mut ours = Flows {
            ports: vec![7, 8],
            ..flows(&[5, 5])
        };
        let done = |flows: &Flows| -> Vec<u64> {
            flows
                .there
                .iter()
                .map(|counts| counts.transactions)
                .collect()
        };
        ours.pair(Flow::RR, &[there(None, 8, 30), there(None, 7, 10)]);
        assert_eq!(done(&ours), [10, 30]);
        assert!(
            ours.fairness_there
                .is_some_and(|index| (index - 0.8).abs() < 1e-12)
        );
        ours.pair(Flow::RR, &[there(Some(2), 0, 4), there(Some(1), 0, 4)]);
        assert_eq!((done(&ours), ours.fairness_there), (vec![4, 4], Some(1.0)));
        // Two connections each.
        ours.ports_back = vec![18, 17];
        let back = [there(None, 17, 1), there(None, 18, 2)];
        ours.pair_both(Flow::RR, &[there(None, 8, 30), there(None, 7, 10)], &back);
        assert_eq!(done(&ours), [12, 31]);
        ours.pair_both(Flow::RR, &[there(None, 8, 30)], &back);
        assert_eq!((done(&ours), ours.fairness_there), (vec![], None));
        // Sockets without a port, and a port that was translated on the way.
        for port in [0, 9] {
            ours.pair(Flow::RR, &[there(None, port, 4), there(None, 7, 4)]);
            assert_eq!((done(&ours), ours.fairness_there), (vec![], Some(1.0)));
        }
    }

    #[test]
    fn the_shares_of_all_flows_are_the_whole() {
        for (units, flows) in [(10, 3), (3, 10), (64, 64), (0, 5)] {
            let share = |index| share_of(units, flows, index);
            assert_eq!((0..flows).map(share).sum::<u64>(), units);
            assert!((0..flows).all(|index| share(0) - share(index) <= 1));
        }
    }

    #[test]
    fn shares_in_whole_messages_are_the_messages_of_one_flow() {
        for (units, message, flows) in [(1000, 100, 3), (1000, 300, 7), (0, 10, 2), (5, 10, 4)] {
            let share = |index| share_of_messages(units, message, flows, index);
            let all: u64 = (0..flows).map(share).sum();
            assert_eq!(all, units.next_multiple_of(message.into()));
        }
    }

    #[test]
    fn a_list_of_cpus_reads_back_as_it_was_written() {
        for text in ["0", "0-3", "0-3,8", "5,3,1"] {
            assert_eq!(cpu_list_text(&cpu_list(text).unwrap()), text);
        }
        assert_eq!(cpu_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        for wrong in ["", "a", "3-1", "0-", "1,,2", "0-4294967295"] {
            assert_eq!(cpu_list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_placement_is_named_by_the_word_it_prints() {
        for word in Placement::WORDS.into_iter().chain(["node:1"]) {
            assert_eq!(Placement::named(word).unwrap().to_string(), word);
        }
        assert_eq!(Placement::named("node:"), None);
        assert_eq!(Placement::named("near"), None);
    }
}
