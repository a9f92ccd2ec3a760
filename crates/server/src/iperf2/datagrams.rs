//! All flows of datagrams at a port: one thread receives, and each flow that netserver sends has
//! a separate thread.

mod sender;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::log::{DENIED, Flood};
use netperf_daemon::record::{SessionEnd, SessionRecord};
use netperf_engine::iperf2::{Arrived, PATIENCE, receive_datagrams};
use netperf_iperf2::states::BackTime;
use netperf_iperf2::states::flow::{DatagramFlow, FlowAction, FlowSending, LINGER};
use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, Policy, TransportId};
use netperf_os::io::{Source, is_no_progress, recv_from, recv_now, send_back};
use netperf_os::without::set_patience;
use netperf_os::{Socket, wait};
use netperf_program::iperf2::own_address;
use netperf_program::output::{err, out};

use self::sender::FlowSender;
use super::alone::{Iperf2Board, ShownFlow};
use super::flow_table::{FlowTable, ServedFlow};
use super::limits::{longest, may_send_datagrams, permitted};
use super::worker::flow_line;
use crate::proofs::ProofSource;
use crate::start_rates::StartRates;

/// Largest datagram.
pub(super) const MOST: usize = 65_536;
/// Pause between the end of a flow and that of a tradeoff test in the other direction.
const TRADEOFF_PAUSE: Duration = Duration::from_millis(250);
/// Time for the senders to end with the process.
const STOP_TIME: Duration = Duration::from_millis(500);

/// Serves a socket until the listener is gone or ends the process.
pub(crate) fn serve(socket: Socket, args: &ServerArgs) {
    let never = AtomicBool::new(false);
    serve_shown(socket, args.policy(), None, &never);
}

/// Serves a socket until it is stopped, or until the listener of a server that does not print is
/// gone.
pub(crate) fn serve_shown(
    socket: Socket,
    policy: Policy,
    shown: Option<Arc<Iperf2Board>>,
    stop: &AtomicBool,
) {
    if set_patience(socket.as_fd(), Some(PATIENCE)).is_err() {
        return;
    }
    let socket = Arc::new(socket);
    let mut server = DatagramServer {
        socket: Arc::clone(&socket),
        policy,
        flows: FlowTable::new(),
        starts: StartRates::default(),
        stop: Arc::default(),
        looked: clock::now(),
        shown,
        refusals: Flood::default(),
    };
    let mut buf = vec![0; MOST];
    let source = std::cell::RefCell::new(Source::unknown());
    // An error means that the socket is broken: the listener starts another process.
    let _broken = receive_datagrams(
        &mut buf,
        stop,
        |buf| recv_from(socket.as_fd(), buf, &mut source.borrow_mut()),
        |arrived| {
            if let Arrived::Datagram(bytes, now) = arrived {
                server.take(bytes, &source.borrow(), now);
            }
            server.look()
        },
    );
    server.end();
}

/// True if the listener is gone or has ended its side of the records.
fn is_to_end() -> bool {
    match recv_now(io::stdout().as_fd(), &mut [0]) {
        Ok(count) => count == 0,
        Err(error) => !is_no_progress(&error),
    }
}

/// Flows of a socket.
struct DatagramServer {
    socket: Arc<Socket>,
    policy: Policy,
    flows: FlowTable,
    starts: StartRates,
    /// Ends the senders.
    stop: Arc<AtomicBool>,
    /// Time of the last look at all flows.
    looked: Moment,
    shown: Option<Arc<Iperf2Board>>,
    /// Rate limiter of lines about refused flows, for a server that prints.
    refusals: Flood,
}

impl DatagramServer {
    /// Takes a datagram.
    fn take(&mut self, bytes: &[u8], source: &Source, now: u64) {
        let Some(address) = source.address() else {
            return;
        };
        let known = self.flows.get(&address);
        let known = known.filter(|served| !served.is_over() || !served.flow.gives_way_to(bytes));
        let goes_on = match known.map(ServedFlow::becomes_established) {
            None => self.begin(bytes, source, address),
            Some(true) => self.establish(address),
            Some(false) => true,
        };
        if !goes_on {
            return;
        }
        let Some(served) = self.flows.get_mut(&address) else {
            return;
        };
        served.last = clock::now();
        let length = u64::try_from(bytes.len()).unwrap_or_default();
        served.credit.add(length);
        if !served.receives() {
            return;
        }
        let action = served.flow.take(bytes, now);
        if let Some(shown) = &served.shown {
            shown.took(&served.flow.account);
        }
        match action {
            FlowAction::Counted | FlowAction::Ignored => return,
            FlowAction::Finished => {
                served.ended = Some(SessionEnd::Finished);
                served.show_end();
                if let Some(FlowSending::Back(BackTime::After, ..)) = served.flow.sending {
                    served.back_at = Some(served.last.plus(TRADEOFF_PAUSE));
                }
            }
            FlowAction::Repeated => {}
        }
        if let Some(report) = served.flow.report(bytes) {
            let length = u64::try_from(report.len()).unwrap_or_default();
            // Credit of the report is not available to other datagrams, which share the rest.
            if served.permitted || served.credit.take(length, 0) {
                // A lost report is asked for again.
                let _lost = send_back(self.socket.as_fd(), &report, source);
            }
        }
        if served.is_over() && served.flow.reports <= 1 {
            self.looked = clock::now().minus(PATIENCE);
        }
        self.flows.recount(&address);
    }

    /// Begins a flow. Returns false if the datagram begins none.
    fn begin(&mut self, bytes: &[u8], source: &Source, address: SocketAddr) -> bool {
        /// `EPROTO`.
        const PROTOCOL: i32 = 71;
        let flow = match DatagramFlow::begin(bytes) {
            None => return false,
            Some(Ok(flow)) => flow,
            Some(Err(_)) => {
                let broken = SessionRecord::Ended(SessionEnd::Broken);
                self.tell(address, &[SessionRecord::Refused(PROTOCOL), broken]);
                return false;
            }
        };
        let admitted = self.admit(address.ip(), &flow);
        match admitted.and_then(|()| self.flows.make_place()) {
            Ok(Some((other, over))) => self.tell(other, &over.records()),
            Ok(None) => {}
            Err(denied) => {
                self.refuse(address, &denied);
                return false;
            }
        }
        let network = self.policy.limits.source(Some(address.ip()));
        let is_permitted = may_send_datagrams(&self.policy, address.ip());
        let served = ServedFlow::new(flow, source.clone(), network, is_permitted);
        let sends_now = match served.flow.sending {
            Some(FlowSending::Reverse(_) | FlowSending::Both(_)) => true,
            Some(FlowSending::Back(when, ..)) => when == BackTime::Now,
            None => false,
        };
        if let Some(before) = self.flows.insert(address, served) {
            self.tell(address, &before.records());
        }
        if !sends_now {
            self.show(address);
            return true;
        }
        let begins = self.establish(address);
        if begins {
            self.show(address);
            self.start_sender(address);
        }
        begins
    }

    /// Shows a flow that begins, if the server prints.
    fn show(&mut self, address: SocketAddr) {
        let (Some(board), Some(served)) = (&self.shown, self.flows.get_mut(&address)) else {
            return;
        };
        let own = own_address(&self.socket, address);
        let client = SocketAddr::new(address.ip().to_canonical(), address.port());
        let ends = (own, client);
        served.flow.enhanced |= board.args().enhanced;
        let shown = ShownFlow::begin(board, ends, &self.socket, &served.flow);
        served.shown = Some(shown);
    }

    /// Checks policy and limits.
    fn admit(&self, address: IpAddr, flow: &DatagramFlow) -> Result<(), Denied> {
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
        }
        self.count(address, flow.sending.is_some())
    }

    /// Checks the number of flows.
    fn count(&self, address: IpAddr, sends: bool) -> Result<(), Denied> {
        let limits = &self.policy.limits;
        let network = limits.source(Some(address));
        self.policy.admit(Some(address), self.flows.load(network))?;
        self.flows.permit(network, sends, limits)
    }

    /// Counts a flow from its second datagram on: nothing else distinguishes it from those of
    /// forged sources. Returns false if it is refused.
    fn establish(&mut self, address: SocketAddr) -> bool {
        let sends = self.flows.get(&address);
        let sends = sends.is_some_and(|served| served.flow.sending.is_some());
        let ip = address.ip().to_canonical();
        let source = ProofSource(self.policy.limits.source(Some(ip)));
        let counted = self.count(ip, sends).and_then(|()| {
            let rate = self.policy.limits.session_rate;
            self.starts.count(source, rate, clock::now())
        });
        if let Err(denied) = counted {
            self.flows.remove(&address);
            self.refuse(address, &denied);
            return false;
        }
        self.flows.establish(&address);
        true
    }

    /// Starts the thread that sends for a flow.
    fn start_sender(&mut self, address: SocketAddr) {
        let sending = self.flows.get(&address).and_then(|one| one.flow.sending);
        let Some(sending) = sending else {
            return;
        };
        let begins = if matches!(sending, FlowSending::Back(..)) {
            self.flows.begin_back(&address)
        } else {
            clock::now()
        };
        let Some(served) = self.flows.get_mut(&address) else {
            return;
        };
        let credit = (!served.permitted).then(|| Arc::clone(&served.credit));
        let sender = FlowSender {
            socket: Arc::clone(&self.socket),
            source: served.source.clone(),
            address,
            policy: self.policy.clone(),
            credit,
            begins,
            stop: Arc::clone(&self.stop),
            counts: served
                .shown
                .as_ref()
                .and_then(|shown| shown.sent.clone())
                .unwrap_or_default(),
            board: self.shown.clone(),
            header: served.flow.header.as_ref().map(|one| one.header.clone()),
        };
        let builder = std::thread::Builder::new().name("iperf2 flow".to_owned());
        match builder.spawn(move || sender.run(sending)) {
            Ok(handle) => served.sender = Some(handle),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(-1);
                served.ended = Some(SessionEnd::Broken);
                served.show_end();
                served.show_sent();
                self.tell(address, &[SessionRecord::Failed(errno)]);
            }
        }
    }

    /// Looks at all flows from time to time: starts, ends and reports them.
    fn look(&mut self) -> ControlFlow<()> {
        if self.looked.elapsed() < PATIENCE {
            return ControlFlow::Continue(());
        }
        self.looked = clock::now();
        if let Some(left_out) = self.refusals.over() {
            err(&format!("iperf: {left_out} further flows were refused\n"));
        }
        if self.shown.is_none() && is_to_end() {
            return ControlFlow::Break(());
        }
        for address in self.flows.addresses() {
            if self.stays(address) {
                self.flows.recount(&address);
            } else if let Some(served) = self.flows.remove(&address) {
                self.tell(address, &served.records());
            }
        }
        ControlFlow::Continue(())
    }

    /// Advances a flow. Returns false if it is over and no longer remembered.
    fn stays(&mut self, address: SocketAddr) -> bool {
        let longest = longest(&self.policy);
        let Some(served) = self.flows.get_mut(&address) else {
            return false;
        };
        take_result(served);
        if served.back_at.is_some_and(|at| at.left().is_zero()) {
            served.back_at = None;
            self.start_sender(address);
            return true;
        }
        let silent = served.last.elapsed();
        let receiving = served.receives() && served.ended.is_none();
        let too_long = served.age() >= longest + LINGER;
        if receiving && (silent >= served.flow.idle_time() || too_long) {
            served.ended = Some(SessionEnd::Silent);
            served.show_end();
        }
        !served.is_over() || silent < LINGER
    }

    /// Ends all flows with their records.
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for address in self.flows.addresses() {
            if let Some(served) = self.flows.get_mut(&address) {
                served.show_end();
            }
        }
        let until = clock::now().plus(STOP_TIME);
        let mut left = self.flows.addresses();
        while !left.is_empty() {
            left.retain(|address| {
                let Some(served) = self.flows.get_mut(address) else {
                    return false;
                };
                take_result(served);
                served.sender.is_some() && !until.left().is_zero()
            });
            wait::sleep(PATIENCE / 10);
        }
        for address in self.flows.addresses() {
            if let Some(served) = self.flows.remove(&address) {
                self.tell(address, &served.records());
            }
        }
    }

    /// Refuses a flow.
    fn refuse(&mut self, address: SocketAddr, denied: &Denied) {
        if self.shown.is_some() {
            // Each datagram of a forged source is refused.
            if self.refusals.admit(DENIED) {
                let client = SocketAddr::new(address.ip().to_canonical(), address.port());
                err(&format!("iperf: {client}: {denied}\n"));
            }
            return;
        }
        let broken = SessionRecord::Ended(SessionEnd::Broken);
        self.tell(address, &[SessionRecord::denied(denied), broken]);
    }

    /// Writes a line for the listener. A server that prints has none.
    fn tell(&self, address: SocketAddr, records: &[SessionRecord]) {
        if self.shown.is_none() {
            let canonical = SocketAddr::new(address.ip().to_canonical(), address.port());
            out(&flow_line(canonical, records));
        }
    }
}

/// Takes the result of a sender that has ended.
fn take_result(served: &mut ServedFlow) {
    if served.sender.as_ref().is_some_and(JoinHandle::is_finished) {
        let result = served.sender.take().map(JoinHandle::join);
        served.sent = result.and_then(Result::ok).and_then(Result::ok);
        served.show_sent();
        if served.ended.is_none() && !served.receives() {
            served.ended = Some(SessionEnd::Finished);
        }
    }
}
