//! Connections and flows that the server opens to the client (`-d`, `-r`).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use netperf_engine::iperf2::{Arrived, PATIENCE, Transfer, TransferEnd, receive_datagrams};
use netperf_iperf2::states::flow::{DatagramFlow, FlowAction, FlowStage};
use netperf_measure::clock;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan};
use netperf_os::io::{Source, recv_from, send_back};
use netperf_os::net::addresses;
use netperf_os::wait::{Interest, ready};
use netperf_os::without::{self, set_patience};
use netperf_os::{Domain, Protocol, Socket, Type};
use netperf_program::iperf2::{ShownCounts, own_address};
use netperf_program::threads::{join, spawn};

use super::forward::receive;
use super::{Iperf2Failure, Iperf2SocketOptions, Iperf2StreamResult, failed, receive_time};

/// Time for the server to connect or to begin, behind that of the client's own test.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// The same if an amount ends the client's test.
const CONNECT_TIME_OF_AMOUNT: Duration = Duration::from_secs(10);
/// Time without a datagram that ends a flow of the server.
const SILENCE: Duration = Duration::from_secs(10);
/// Time in which final datagrams are answered.
const LINGER: Duration = Duration::from_millis(500);

/// A flow of the server's own.
struct BackFlow {
    /// Place in the order in which the flows began.
    place: usize,
    flow: DatagramFlow,
    counts: Arc<ShownCounts>,
    end: TransferEnd,
}

impl BackFlow {
    /// Takes a datagram.
    fn take(&mut self, bytes: &[u8], now: u64) -> FlowAction {
        let action = self.flow.take(bytes, now);
        self.counts.begin();
        self.counts.take(&self.flow.account);
        if action == FlowAction::Finished {
            self.counts.end(self.duration());
        }
        action
    }

    /// The time is over in which the server may send.
    fn overrun(&mut self) {
        if self.flow.stage == FlowStage::Receiving {
            self.end = TransferEnd::Overrun;
        }
    }

    fn duration(&self) -> Duration {
        Duration::from_micros(self.flow.account.duration())
    }

    fn result(&self) -> Iperf2StreamResult {
        let account = self.flow.account;
        self.counts.end(self.duration());
        Iperf2StreamResult {
            received: Some(Transfer {
                bytes: account.bytes,
                calls: account.order.arrived,
                elapsed: self.duration(),
                end: self.end,
            }),
            account: Some((account, account.order.highest)),
            ..Iperf2StreamResult::default()
        }
    }
}

/// Flows by their address.
type BackFlows = HashMap<SocketAddr, BackFlow>;

/// A connection or flow that the server has opened.
#[derive(Clone, Debug)]
pub struct BackStream {
    /// Number of the descriptor.
    pub descriptor: i32,
    /// Own address.
    pub local: SocketAddr,
    /// Address of the server.
    pub remote: SocketAddr,
    /// Counts of received data.
    pub received: Arc<ShownCounts>,
}

/// Port to which the server connects.
#[derive(Debug)]
pub(super) struct BackListener {
    socket: Socket,
    /// The server.
    remote: IpAddr,
    options: Iperf2SocketOptions,
    /// Streams in the order in which they began.
    opened: Mutex<Vec<BackStream>>,
}

/// A socket at this port.
fn bound(
    plan: &Iperf2Plan,
    options: &Iperf2SocketOptions,
    remote: SocketAddr,
    port: u16,
) -> io::Result<Socket> {
    let any: IpAddr = if remote.is_ipv6() {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    let at = SocketAddr::new(any, port);
    let (kind, protocol) = if plan.udp {
        (Type::DGRAM, Protocol::UDP)
    } else {
        (Type::STREAM, Protocol::TCP)
    };
    let socket = Socket::new(Domain::for_address(at), kind, Some(protocol))?;
    if !plan.udp {
        without::share_port(&socket, true);
    }
    if let Some(window) = options.window {
        socket.set_recv_buffer_size(window)?;
    }
    socket.bind(&at.into())?;
    Ok(socket)
}

impl BackListener {
    /// Opens the listener or datagram socket. If the default port for datagrams is in use, the
    /// client takes a free one and names it to the server in the header. The original shares the
    /// port; if the server has it, the original client receives its own datagrams.
    ///
    /// # Errors
    /// Whatever bind(2) or listen(2) reports.
    pub(super) fn open(
        plan: &Iperf2Plan,
        options: &Iperf2SocketOptions,
        remote: SocketAddr,
    ) -> io::Result<Self> {
        let port = plan.listen_port.unwrap_or(plan.port);
        let socket = match bound(plan, options, remote, port) {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && plan.udp
                    && plan.listen_port.is_none() =>
            {
                bound(plan, options, remote, 0)
            }
            socket => socket,
        }?;
        if !plan.udp {
            socket.listen(128)?;
        }
        set_patience(socket.as_fd(), Some(PATIENCE))?;
        Ok(Self {
            socket,
            remote: remote.ip().to_canonical(),
            options: options.clone(),
            opened: Mutex::default(),
        })
    }

    /// Its port.
    pub(super) fn port(&self) -> Option<u16> {
        addresses(&self.socket).0.map(|own| own.port())
    }

    /// The listener or datagram socket.
    pub(super) const fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Streams that the server has opened so far.
    pub(super) fn opened(&self) -> Vec<BackStream> {
        let opened = self.opened.lock();
        opened.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a stream that the server has opened.
    fn note(
        &self,
        plan: &Iperf2Plan,
        socket: &Socket,
        (local, remote): (SocketAddr, SocketAddr),
    ) -> Arc<ShownCounts> {
        let received = Arc::new(self.options.received_counts(plan));
        let stream = BackStream {
            descriptor: socket.as_raw_fd(),
            local,
            remote,
            received: Arc::clone(&received),
        };
        let opened = self.opened.lock();
        opened.unwrap_or_else(PoisonError::into_inner).push(stream);
        received
    }

    /// Receives everything that the server sends. There is a result for each of its streams, in the
    /// order in which they began.
    pub(super) fn run(
        &self,
        plan: &Iperf2Plan,
        stop: &AtomicBool,
    ) -> Result<Vec<Iperf2StreamResult>, Iperf2Failure> {
        let results = if plan.udp {
            self.datagrams(plan, stop)
        } else {
            self.connections(plan, stop)
        };
        results.map_err(failed("read"))
    }

    /// Time until the server connects.
    fn patience(plan: &Iperf2Plan) -> Duration {
        match (plan.direction, plan.amount) {
            (Iperf2Direction::Tradeoff, _) if plan.to_end_of_input => Duration::from_secs(3600),
            (_, Iperf2Amount::Time(time)) => time.saturating_add(CONNECT_TIME),
            (Iperf2Direction::Tradeoff, Iperf2Amount::Bytes(_)) => Duration::from_secs(3600),
            (_, Iperf2Amount::Bytes(_)) => CONNECT_TIME_OF_AMOUNT,
        }
    }

    fn connections(
        &self,
        plan: &Iperf2Plan,
        stop: &AtomicBool,
    ) -> io::Result<Vec<Iperf2StreamResult>> {
        let until = clock::now().plus(Self::patience(plan));
        let mut accepted = Vec::new();
        let wanted = usize::try_from(plan.streams.max(1)).unwrap_or(1);
        let is_stopped = || stop.load(Ordering::Relaxed);
        while accepted.len() < wanted && !until.left().is_zero() && !is_stopped() {
            if !ready(
                self.socket.as_fd(),
                Interest::Read,
                until.left().min(PATIENCE),
            )? {
                continue;
            }
            let (connection, peer) = self.socket.accept()?;
            let Some(peer) = peer.as_socket() else {
                continue;
            };
            // Only the server is expected.
            if peer.ip().to_canonical() == self.remote {
                set_patience(connection.as_fd(), Some(PATIENCE))?;
                let ends = (addresses(&connection).0.unwrap_or(peer), peer);
                let counts = self.note(plan, &connection, ends);
                accepted.push((connection, counts));
            }
        }
        if accepted.is_empty() {
            return Err(io::Error::other("the server did not connect back"));
        }
        let transfers: Vec<io::Result<Transfer>> = std::thread::scope(|scope| {
            let streams = accepted.iter();
            let threads: Vec<_> = streams
                .map(|(connection, counts)| {
                    spawn(scope, move || receive(plan, connection, counts, stop))
                })
                .collect();
            let joined = threads.into_iter().map(|one| one.and_then(join));
            joined.collect()
        });
        let result_of = |transfer: io::Result<Transfer>| {
            Ok(Iperf2StreamResult {
                received: Some(transfer?),
                ..Iperf2StreamResult::default()
            })
        };
        transfers.into_iter().map(result_of).collect()
    }

    fn datagrams(
        &self,
        plan: &Iperf2Plan,
        stop: &AtomicBool,
    ) -> io::Result<Vec<Iperf2StreamResult>> {
        let mut flows: BackFlows = HashMap::new();
        let source = std::cell::RefCell::new(Source::unknown());
        let (mut buf, begun) = (vec![0; 65_536], clock::now());
        let (mut last, patience) = (begun, Self::patience(plan));
        let until = begun.plus(patience.saturating_add(receive_time(plan)));
        let wanted = usize::try_from(plan.streams.max(1)).unwrap_or(1);
        let fd = self.socket.as_fd();
        receive_datagrams(
            &mut buf,
            stop,
            |buf| recv_from(fd, buf, &mut source.borrow_mut()),
            |arrived| {
                if until.left().is_zero() {
                    for one in flows.values_mut() {
                        one.overrun();
                    }
                    return ControlFlow::Break(());
                }
                let over = |flows: &BackFlows| {
                    let finished = flows.values();
                    let finished = finished.filter(|one| one.flow.stage != FlowStage::Receiving);
                    finished.count() >= wanted
                };
                let Arrived::Datagram(bytes, now) = arrived else {
                    let limit = match (flows.is_empty(), over(&flows)) {
                        (true, _) => patience,
                        (false, true) => LINGER,
                        (false, false) => SILENCE,
                    };
                    return if last.elapsed() >= limit {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    };
                };
                let source = source.borrow();
                let Some(address) = source.address() else {
                    return ControlFlow::Continue(());
                };
                if address.ip().to_canonical() != self.remote {
                    return ControlFlow::Continue(());
                }
                last = clock::now();
                let place = flows.len();
                if !flows.contains_key(&address) && place < wanted {
                    if let Some(Ok(mut flow)) = DatagramFlow::begin(bytes) {
                        flow.enhanced = self.options.enhanced;
                        let ends = (own_address(&self.socket, address), address);
                        let counts = self.note(plan, &self.socket, ends);
                        flows.insert(
                            address,
                            BackFlow {
                                place,
                                flow,
                                counts,
                                end: TransferEnd::Complete,
                            },
                        );
                    }
                }
                if let Some(back) = flows.get_mut(&address) {
                    let action = back.take(bytes, now);
                    if matches!(action, FlowAction::Finished | FlowAction::Repeated) {
                        if let Some(report) = back.flow.report(bytes) {
                            // A lost report is asked for again.
                            let _lost = send_back(fd, &report, &source);
                        }
                    }
                }
                ControlFlow::Continue(())
            },
        )?;
        if flows.is_empty() {
            return Err(io::Error::other("the server did not send back"));
        }
        let mut flows: Vec<BackFlow> = flows.into_values().collect();
        flows.sort_by_key(|back| back.place);
        Ok(flows.iter().map(BackFlow::result).collect())
    }
}
