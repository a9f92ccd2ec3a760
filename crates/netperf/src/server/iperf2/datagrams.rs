//! All flows of datagrams at a port: one thread receives, and each flow that netserver sends has
//! a thread of its own.

mod sender;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_engine::iperf2::{Arrived, PATIENCE, Transfer, receive_datagrams, take_credit};
use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, Duplex, Flow, Policy, SessionLoad, Tally, TransportId};
use netperf_os::io::{Source, recv_from, send_back, set_patience};
use netperf_os::{Socket, wait};
use netperf_session::iperf2::BackTime;
use netperf_session::iperf2::flow::{DatagramFlow, FlowAction, FlowSending, LINGER};

use self::sender::FlowSender;
use super::worker::flow_line;
use super::{longest, may_send_datagrams, permitted};
use crate::output::out;
use crate::server::record::{Ran, SessionEnd, SessionRecord};

/// Largest datagram.
const MOST: usize = 65_536;
/// Most flows at a time. Their table has a fixed size for an unproven source.
const MOST_FLOWS: usize = 1000;
/// Pause between the end of a flow and that of a tradeoff test in the other direction.
const TRADEOFF_PAUSE: Duration = Duration::from_millis(250);

/// Serves a socket until the listener is gone.
pub(in crate::server) fn serve(socket: Socket, args: &ServerArgs) {
    let policy = args.policy();
    if set_patience(socket.as_fd(), Some(PATIENCE)).is_err() {
        return;
    }
    let socket = Arc::new(socket);
    let mut server = DatagramServer {
        socket: Arc::clone(&socket),
        policy,
        flows: HashMap::with_capacity(MOST_FLOWS),
        looked: clock::now(),
    };
    let (mut buf, stop) = (vec![0; MOST], AtomicBool::new(false));
    let source = std::cell::RefCell::new(Source::unknown());
    // An error means that the socket is broken: the listener starts another process.
    let _broken = receive_datagrams(
        &mut buf,
        &stop,
        |buf| recv_from(socket.as_fd(), buf, &mut source.borrow_mut()),
        |arrived| {
            if let Arrived::Datagram(bytes, now) = arrived {
                server.take(bytes, &source.borrow(), now);
            }
            server.look()
        },
    );
}

/// Flows of a socket.
struct DatagramServer {
    socket: Arc<Socket>,
    policy: Policy,
    flows: HashMap<SocketAddr, ServedFlow>,
    /// Time of the last look at all flows.
    looked: Moment,
}

/// A flow and its place in time.
struct ServedFlow {
    flow: DatagramFlow,
    since: Moment,
    last: Moment,
    source: Source,
    /// Bytes that have arrived, which limit what is sent to an unproven address.
    arrived: Arc<AtomicU64>,
    /// True if the address is proven or permitted.
    permitted: bool,
    sender: Option<JoinHandle<io::Result<Transfer>>>,
    /// When a tradeoff test begins.
    back_at: Option<Moment>,
    sent: Option<Transfer>,
    ended: Option<SessionEnd>,
}

impl ServedFlow {
    /// True if datagrams are counted.
    const fn receives(&self) -> bool {
        !matches!(self.flow.sending, Some(FlowSending::Reverse(_)))
    }

    /// True if both directions are complete.
    fn is_over(&self) -> bool {
        self.sender.is_none() && self.back_at.is_none() && self.ended.is_some()
    }
}

impl DatagramServer {
    /// Takes a datagram.
    fn take(&mut self, bytes: &[u8], source: &Source, now: u64) {
        let Some(address) = source.address() else {
            return;
        };
        let is_new = match self.flows.get(&address) {
            None => true,
            Some(served) => served.is_over() && served.flow.gives_way_to(bytes),
        };
        if is_new && !self.begin(bytes, source, address) {
            return;
        }
        let Some(served) = self.flows.get_mut(&address) else {
            return;
        };
        served.last = clock::now();
        let length = u64::try_from(bytes.len()).unwrap_or_default();
        served.arrived.fetch_add(length, Ordering::Relaxed);
        if !served.receives() {
            return;
        }
        match served.flow.take(bytes, now) {
            FlowAction::Counted | FlowAction::Ignored => return,
            FlowAction::Finished => {
                served.ended = Some(SessionEnd::Finished);
                if let Some(FlowSending::Back(BackTime::After, ..)) = served.flow.sending {
                    served.back_at = Some(served.last.plus(TRADEOFF_PAUSE));
                }
            }
            FlowAction::Repeated => {}
        }
        if let Some(report) = served.flow.report(bytes) {
            let length = u64::try_from(report.len()).unwrap_or_default();
            // What the report uses is not there for other datagrams, and they share what there is.
            if !served.permitted && !take_credit(&served.arrived, length, 0) {
                return;
            }
            // A lost report is asked for again.
            let _lost = send_back(self.socket.as_fd(), &report, source);
        }
        if served.is_over() && served.flow.reports <= 1 {
            self.looked = clock::now().minus(PATIENCE);
        }
    }

    /// Begins a flow. Returns false if the datagram begins none.
    fn begin(&mut self, bytes: &[u8], source: &Source, address: SocketAddr) -> bool {
        /// `EPROTO`.
        const PROTOCOL: i32 = 71;
        let flow = match DatagramFlow::begin(bytes) {
            None => return false,
            Some(Ok(flow)) => flow,
            Some(Err(_)) => {
                tell(address, &[SessionRecord::Refused(PROTOCOL)]);
                return false;
            }
        };
        if let Err(denied) = self.admit(address.ip(), &flow) {
            tell(address, &[SessionRecord::denied(&denied)]);
            return false;
        }
        let now = clock::now();
        let mut served = ServedFlow {
            flow,
            since: now,
            last: now,
            source: source.clone(),
            arrived: Arc::default(),
            permitted: may_send_datagrams(&self.policy, address.ip()),
            sender: None,
            back_at: None,
            sent: None,
            ended: None,
        };
        match served.flow.sending {
            Some(FlowSending::Reverse(_) | FlowSending::Both(_)) => {
                self.start_sender(&mut served, address);
            }
            Some(FlowSending::Back(BackTime::Now, ..)) => self.start_sender(&mut served, address),
            Some(FlowSending::Back(BackTime::After, ..)) | None => {}
        }
        if let Some(before) = self.flows.insert(address, served) {
            self.report(address, &before);
        }
        true
    }

    /// Checks policy and limits.
    fn admit(&mut self, address: IpAddr, flow: &DatagramFlow) -> Result<(), Denied> {
        let address = address.to_canonical();
        if !self.policy.admits(Some(address)) {
            return Err(Denied::Network);
        }
        self.policy.permit_transport(TransportId::Udp)?;
        if let Some(sending) = &flow.sending {
            let (FlowSending::Reverse(order)
            | FlowSending::Both(order)
            | FlowSending::Back(_, _, order)) = sending;
            permitted(&self.policy, *order)?;
            let is_reverse = matches!(sending, FlowSending::Reverse(_));
            if is_reverse && !may_send_datagrams(&self.policy, address) {
                return Err(Denied::DataPeerUnknown);
            }
            let senders = self.flows.values().filter(|one| one.sender.is_some());
            let most = self.policy.limits.threads;
            if senders.count() >= usize::try_from(most).unwrap_or(usize::MAX) {
                return Err(Denied::Threads(most));
            }
        }
        let limits = &self.policy.limits;
        let source = limits.source(Some(address));
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let running = || self.flows.iter().filter(|(_, one)| !one.is_over());
        let own =
            running().filter(|(other, _)| limits.source(Some(other.ip().to_canonical())) == source);
        let load = SessionLoad {
            all: number(running().count()),
            of_peer: number(own.count()),
            until_end: None,
            until_peer_end: None,
        };
        self.policy.admit(Some(address), load)?;
        if self.flows.len() >= MOST_FLOWS {
            self.make_place()?;
        }
        Ok(())
    }

    /// Removes the flow with the fewest datagrams, of those without a second one.
    fn make_place(&mut self) -> Result<(), Denied> {
        let single = |one: &ServedFlow| one.sender.is_none() && one.flow.account.order.arrived <= 1;
        let over = self.flows.iter().find(|(_, one)| one.is_over());
        let oldest = self.flows.iter().filter(|(_, one)| single(one));
        let oldest = oldest.min_by_key(|(_, one)| one.since);
        let Some(address) = over.or(oldest).map(|(address, _)| *address) else {
            let most = u32::try_from(MOST_FLOWS).unwrap_or(u32::MAX);
            return Err(Denied::Sessions(most, None));
        };
        self.flows.remove(&address);
        Ok(())
    }

    /// Starts the thread that sends for a flow.
    fn start_sender(&self, served: &mut ServedFlow, address: SocketAddr) {
        let Some(sending) = served.flow.sending else {
            return;
        };
        let credit = (!served.permitted).then(|| Arc::clone(&served.arrived));
        let sender = FlowSender {
            socket: Arc::clone(&self.socket),
            source: served.source.clone(),
            address,
            policy: self.policy.clone(),
            credit,
        };
        let builder = std::thread::Builder::new().name("iperf2 flow".to_owned());
        match builder.spawn(move || sender.run(sending)) {
            Ok(handle) => served.sender = Some(handle),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(-1);
                tell(address, &[SessionRecord::Failed(errno)]);
                served.ended = Some(SessionEnd::Broken);
            }
        }
    }

    /// Looks at all flows from time to time: starts, ends and reports them.
    fn look(&mut self) -> ControlFlow<()> {
        if self.looked.elapsed() < PATIENCE {
            return ControlFlow::Continue(());
        }
        self.looked = clock::now();
        // The listener is gone.
        if wait::is_hung_up(io::stdout().as_fd()).unwrap_or(true) {
            return ControlFlow::Break(());
        }
        let addresses: Vec<SocketAddr> = self.flows.keys().copied().collect();
        for address in addresses {
            let Some(mut served) = self.flows.remove(&address) else {
                continue;
            };
            if self.stays(&mut served, address) {
                self.flows.insert(address, served);
            }
        }
        ControlFlow::Continue(())
    }

    /// Advances a flow. Returns false if it is over and no longer remembered.
    fn stays(&self, served: &mut ServedFlow, address: SocketAddr) -> bool {
        if served.sender.as_ref().is_some_and(JoinHandle::is_finished) {
            let result = served.sender.take().map(JoinHandle::join);
            served.sent = result.and_then(Result::ok).and_then(Result::ok);
            if served.ended.is_none() && !served.receives() {
                served.ended = Some(SessionEnd::Finished);
            }
        }
        if served.back_at.is_some_and(|at| at.left().is_zero()) {
            served.back_at = None;
            self.start_sender(served, address);
        }
        let silent = served.last.elapsed();
        let receiving = served.receives() && served.ended.is_none();
        let too_long = served.since.elapsed() >= longest(&self.policy) + LINGER;
        if receiving && (silent >= served.flow.idle_time() || too_long) {
            served.ended = Some(SessionEnd::Silent);
        }
        if !served.is_over() || silent < LINGER {
            return true;
        }
        self.report(address, served);
        false
    }

    /// Reports a flow that is over.
    fn report(&self, address: SocketAddr, served: &ServedFlow) {
        let account = &served.flow.account;
        let flow = match (served.receives(), served.flow.sending) {
            (false, _) => Flow::RECEIVE,
            (true, Some(_)) => Flow::both_ways(Duplex::Same),
            (true, None) => Flow::SEND,
        };
        let received = Duration::from_micros(account.duration());
        let sent = served.sent.map_or(Duration::ZERO, |one| one.elapsed);
        let ran = Ran {
            transport: TransportId::Udp,
            flow,
            tally: Tally {
                bytes_sent: served.sent.map_or(0, |one| one.bytes),
                bytes_received: account.all_bytes,
                ..Tally::default()
            },
            elapsed: received.max(sent).as_secs_f64(),
        };
        let ended = served.ended.unwrap_or(SessionEnd::Silent);
        tell(
            address,
            &[SessionRecord::Ran(ran), SessionRecord::Ended(ended)],
        );
    }
}

/// Writes a line for the listener.
fn tell(address: SocketAddr, records: &[SessionRecord]) {
    let canonical = SocketAddr::new(address.ip().to_canonical(), address.port());
    out(&flow_line(canonical, records));
}
