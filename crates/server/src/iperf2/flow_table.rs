//! Flows of datagrams by the address of their source, and how many each network has.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use netperf_daemon::record::{Ran, SessionEnd, SessionRecord};
use netperf_engine::iperf2::{Credit, Transfer};
use netperf_iperf2::states::flow::{DatagramFlow, FlowSending};
use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, Duplex, Flow, Limits, Network, SessionLoad, Tally, TransportId};
use netperf_os::io::Source;
use netperf_program::iperf2::FLOW_GAP;

use super::alone::ShownFlow;
use crate::session_limit::leaves_seats;

/// Most flows at a time. Their table has a fixed size, because nothing proves a source.
const MOST_FLOWS: usize = 1000;

/// Flows and senders of a network, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FlowLoad {
    flows: u32,
    /// Flows for which netserver sends.
    senders: u32,
}

/// A flow and its place in time.
pub(super) struct ServedFlow {
    pub(super) flow: DatagramFlow,
    since: Moment,
    pub(super) last: Moment,
    pub(super) source: Source,
    /// Bytes and datagrams that have arrived: the limit for an unproven address.
    pub(super) credit: Arc<Credit>,
    /// True if the address is proven or permitted.
    pub(super) permitted: bool,
    pub(super) sender: Option<JoinHandle<io::Result<Transfer>>>,
    /// When a tradeoff test begins.
    pub(super) back_at: Option<Moment>,
    /// When netserver's own flow begins.
    back_begins: Option<Moment>,
    pub(super) sent: Option<Transfer>,
    pub(super) ended: Option<SessionEnd>,
    /// False for a flow of a single datagram, which gives way to others and does not count.
    established: bool,
    network: Option<Network>,
    counted: FlowLoad,
    /// Its rows, at a server that prints.
    pub(super) shown: Option<ShownFlow>,
}

impl ServedFlow {
    /// A flow that begins now. `network` is what it is counted by.
    pub(super) fn new(
        flow: DatagramFlow,
        source: Source,
        network: Option<Network>,
        permitted: bool,
    ) -> Self {
        let now = clock::now();
        Self {
            flow,
            since: now,
            last: now,
            source,
            credit: Arc::default(),
            permitted,
            sender: None,
            back_at: None,
            back_begins: None,
            sent: None,
            ended: None,
            established: false,
            network,
            counted: FlowLoad::default(),
            shown: None,
        }
    }

    /// Time since its begin.
    pub(super) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// True if datagrams are counted.
    pub(super) const fn receives(&self) -> bool {
        !matches!(self.flow.sending, Some(FlowSending::Reverse(_)))
    }

    /// Shows the end of the client's direction.
    pub(super) fn show_end(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.end(&self.flow.account);
        }
    }

    /// Shows the end of the server's direction.
    pub(super) fn show_sent(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.sent(self.sent.as_ref());
        }
    }

    /// True if both directions are complete.
    pub(super) fn is_over(&self) -> bool {
        self.sender.is_none() && self.back_at.is_none() && self.ended.is_some()
    }

    /// True if the datagram that has just arrived is its second one.
    pub(super) const fn becomes_established(&self) -> bool {
        !self.established && self.flow.account.order.arrived == 1
    }

    fn load(&self) -> FlowLoad {
        let counts = self.established && !self.is_over();
        FlowLoad {
            flows: counts.into(),
            senders: (counts && self.flow.sending.is_some()).into(),
        }
    }

    /// Records of the flow for the log. One that has not ended has no record of its end.
    pub(super) fn records(&self) -> Vec<SessionRecord> {
        let account = &self.flow.account;
        let flow = match (self.receives(), self.flow.sending) {
            (false, _) => Flow::RECEIVE,
            (true, Some(_)) => Flow::both_ways(Duplex::Same),
            (true, None) => Flow::SEND,
        };
        let received = Duration::from_micros(account.duration());
        let sent = self.sent.map_or(Duration::ZERO, |one| one.elapsed);
        let ran = Ran {
            transport: TransportId::Udp,
            flow,
            tally: Tally {
                bytes_sent: self.sent.map_or(0, |one| one.bytes),
                bytes_received: account.all_bytes,
                ..Tally::default()
            },
            elapsed: received.max(sent).as_secs_f64(),
        };
        let ended = self.ended.map(SessionRecord::Ended);
        [SessionRecord::Ran(ran)].into_iter().chain(ended).collect()
    }
}

/// All flows.
pub(super) struct FlowTable {
    flows: HashMap<SocketAddr, ServedFlow>,
    networks: HashMap<Option<Network>, FlowLoad>,
    all: FlowLoad,
    /// Flows in the order of their begin; those of a single datagram are among them.
    begun: VecDeque<(SocketAddr, Moment)>,
}

impl FlowTable {
    pub(super) fn new() -> Self {
        Self {
            flows: HashMap::with_capacity(MOST_FLOWS),
            networks: HashMap::new(),
            all: FlowLoad::default(),
            begun: VecDeque::new(),
        }
    }

    pub(super) fn get(&self, address: &SocketAddr) -> Option<&ServedFlow> {
        self.flows.get(address)
    }

    /// A flow to change. [`Self::recount`] follows if the flow may be over then.
    pub(super) fn get_mut(&mut self, address: &SocketAddr) -> Option<&mut ServedFlow> {
        self.flows.get_mut(address)
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.flows.keys().copied().collect()
    }

    /// The moment at which a flow of netserver's own begins, for that of a client: flows to one host
    /// begin apart.
    pub(super) fn begin_back(&mut self, address: &SocketAddr) -> Moment {
        let to_host = self
            .flows
            .iter()
            .filter(|(other, _)| other.ip() == address.ip());
        let last = to_host.filter_map(|(_, other)| other.back_begins).max();
        let now = clock::now();
        let begins = last.map_or(now, |last| now.max(last.plus(FLOW_GAP)));
        if let Some(served) = self.flows.get_mut(address) {
            served.back_begins = Some(begins);
        }
        begins
    }

    /// Number of flows that count, in total and of a network.
    pub(super) fn load(&self, network: Option<Network>) -> SessionLoad {
        let own = self.networks.get(&network).copied().unwrap_or_default();
        SessionLoad {
            all: self.all.flows,
            of_peer: own.flows,
            until_end: None,
            until_peer_end: None,
        }
    }

    /// Checks that a network may have another flow, and one that sends: it leaves at least as
    /// many places as it has.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub(super) fn permit(
        &self,
        network: Option<Network>,
        sends: bool,
        limits: &Limits,
    ) -> Result<(), Denied> {
        let load = self.load(network);
        let most = u32::try_from(MOST_FLOWS).unwrap_or(u32::MAX);
        if limits.peer_sessions.is_none() && !leaves_seats(load, most) {
            return Err(Denied::PeerSessions(load.of_peer, None));
        }
        let own = self.networks.get(&network).copied().unwrap_or_default();
        let senders = SessionLoad {
            all: self.all.senders,
            of_peer: own.senders,
            ..load
        };
        if sends && !leaves_seats(senders, limits.threads) {
            return Err(Denied::Threads(limits.threads));
        }
        Ok(())
    }

    /// Adds a flow. Returns the one that its source had before.
    pub(super) fn insert(&mut self, address: SocketAddr, served: ServedFlow) -> Option<ServedFlow> {
        if self.begun.len() >= 2 * MOST_FLOWS {
            let flows = &self.flows;
            self.begun.retain(|(address, since)| {
                let one = flows.get(address);
                one.is_some_and(|one| !one.established && one.since == *since)
            });
        }
        self.begun.push_back((address, served.since));
        let before = self.remove(&address);
        self.flows.insert(address, served);
        before
    }

    pub(super) fn remove(&mut self, address: &SocketAddr) -> Option<ServedFlow> {
        self.count(address, |_| FlowLoad::default());
        self.flows.remove(address)
    }

    /// Counts a flow from now on.
    pub(super) fn establish(&mut self, address: &SocketAddr) {
        if let Some(served) = self.flows.get_mut(address) {
            served.established = true;
        }
        self.recount(address);
    }

    /// Counts a flow as it is now.
    pub(super) fn recount(&mut self, address: &SocketAddr) {
        self.count(address, ServedFlow::load);
    }

    fn count(&mut self, address: &SocketAddr, load: impl FnOnce(&ServedFlow) -> FlowLoad) {
        let Some(served) = self.flows.get_mut(address) else {
            return;
        };
        let load = load(served);
        let before = std::mem::replace(&mut served.counted, load);
        if before == load {
            return;
        }
        let changed = |all: FlowLoad| FlowLoad {
            flows: all.flows.saturating_sub(before.flows) + load.flows,
            senders: all.senders.saturating_sub(before.senders) + load.senders,
        };
        self.all = changed(self.all);
        let own = self.networks.entry(served.network).or_default();
        *own = changed(*own);
        if *own == FlowLoad::default() {
            self.networks.remove(&served.network);
        }
    }

    /// Makes a place for another flow: the oldest one of a single datagram gives way, or one that
    /// is over. Returns the latter.
    ///
    /// # Errors
    /// The reason for a refusal, if all flows go on.
    pub(super) fn make_place(&mut self) -> Result<Option<(SocketAddr, ServedFlow)>, Denied> {
        if self.flows.len() < MOST_FLOWS {
            return Ok(None);
        }
        while let Some((address, since)) = self.begun.pop_front() {
            let one = self.flows.get(&address);
            if one.is_some_and(|one| !one.established && one.since == since) {
                self.remove(&address);
                return Ok(None);
            }
        }
        let over = self.flows.iter().find(|(_, one)| one.is_over());
        let over = over.map(|(address, _)| *address);
        let removed = over.and_then(|address| Some((address, self.remove(&address)?)));
        let most = u32::try_from(MOST_FLOWS).unwrap_or(u32::MAX);
        removed.map(Some).ok_or(Denied::Sessions(most, None))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use super::*;

    /// A datagram with this number, without a header.
    fn datagram(number: u8) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[3] = number;
        bytes
    }

    fn flow() -> DatagramFlow {
        DatagramFlow::begin(&datagram(1)).unwrap().unwrap()
    }

    /// Begins and establishes flows of an address until one is refused.
    fn fill(table: &mut FlowTable, ip: IpAddr, bits: u8) -> usize {
        let limits = Limits {
            source_bits: bits,
            ..Limits::default()
        };
        let network = limits.source(Some(ip));
        let ports = 1..=u16::MAX;
        let begun = ports.take_while(|port| {
            let address = SocketAddr::new(ip, *port);
            let permitted = table.permit(network, false, &limits).is_ok();
            if permitted && table.make_place().is_ok() {
                let served = ServedFlow::new(flow(), Source::unknown(), network, false);
                table.insert(address, served);
                table.establish(&address);
            }
            permitted
        });
        begun.count()
    }

    #[test]
    fn threat_model_a_network_leaves_as_many_flows_to_others_as_it_has() {
        let mut table = FlowTable::new();
        let v4 = |last| IpAddr::from(Ipv4Addr::new(192, 0, 2, last));
        assert_eq!(fill(&mut table, v4(1), 64), MOST_FLOWS / 2);
        assert_eq!(fill(&mut table, v4(2), 64), MOST_FLOWS / 4);
        // All addresses of an IPv6 link are one source, unless the setting says otherwise.
        let v6 = |last| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
        assert_eq!(fill(&mut table, v6(1), 64), MOST_FLOWS / 8);
        assert_eq!(fill(&mut table, v6(2), 64), 0);
        assert!(fill(&mut table, v6(2), 128) > 0);
    }

    #[test]
    fn flows_to_one_host_begin_apart() {
        let mut table = FlowTable::new();
        let addresses = [(1, 1), (1, 2), (1, 3), (2, 1)].map(|(last, port)| {
            let address = SocketAddr::from(([192, 0, 2, last], port));
            let served = ServedFlow::new(flow(), Source::unknown(), None, false);
            table.insert(address, served);
            address
        });
        let before = clock::now();
        let [first, second, third, other] = addresses.map(|address| table.begin_back(&address));
        assert!(second.since(first) >= FLOW_GAP && third.since(second) >= FLOW_GAP);
        assert!(first.since(before) <= before.elapsed() && other.since(before) <= before.elapsed());
    }

    #[test]
    fn flows_of_single_datagrams_do_not_count_and_give_way() {
        let mut table = FlowTable::new();
        let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
        for port in 1..=u16::MAX {
            assert!(table.make_place().is_ok());
            let served = ServedFlow::new(flow(), Source::unknown(), None, false);
            table.insert(SocketAddr::new(ip, port), served);
            assert!(table.flows.len() <= MOST_FLOWS && table.begun.len() <= 2 * MOST_FLOWS);
        }
        assert_eq!(table.load(None), SessionLoad::default());
        assert!(table.get(&SocketAddr::new(ip, u16::MAX)).is_some());
    }

    #[test]
    fn flows_that_are_over_do_not_count_and_make_room() {
        let mut table = FlowTable::new();
        let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
        for port in 1..=1000 {
            let address = SocketAddr::new(ip, port);
            table.insert(
                address,
                ServedFlow::new(flow(), Source::unknown(), None, false),
            );
            table.establish(&address);
        }
        assert!(matches!(table.make_place(), Err(Denied::Sessions(1000, _))));
        let first = SocketAddr::new(ip, 1);
        table.get_mut(&first).unwrap().ended = Some(SessionEnd::Finished);
        table.recount(&first);
        assert_eq!(table.load(None).of_peer, 999);
        let (address, served) = table.make_place().unwrap().unwrap();
        assert_eq!(address, first);
        let ended = SessionRecord::Ended(SessionEnd::Finished);
        assert_eq!(served.records().last(), Some(&ended));
    }
}
