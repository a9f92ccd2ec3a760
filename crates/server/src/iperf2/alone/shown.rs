//! Connections and flows as the board sees them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netperf_engine::iperf2::{Transfer, TransferEnd};
use netperf_iperf2::messages::{ClientHeader, ServerReport, UpperFlags};
use netperf_iperf2::rows::{ConnectingHead, DirectionKind, figures_of, is_one_host};
use netperf_iperf2::states::SendOrder;
use netperf_iperf2::states::account::DatagramAccount;
use netperf_iperf2::states::flow::{DatagramFlow, FlowSending};
use netperf_model::iperf2::BLOCK;
use netperf_os::Socket;
use netperf_os::net::addresses;
use netperf_program::iperf2::ShownCounts;
use netperf_program::output::out;

use super::board::{AcceptedStream, Iperf2Board, ShownDirection, StreamLine};

/// A connection of a client.
pub(crate) struct ShownConnection<'a> {
    pub(crate) board: &'a Iperf2Board,
    pub(crate) stop: &'a AtomicBool,
    /// Its number, once it has a line.
    pub(crate) number: Option<u32>,
    /// Remarks on its line, instead of those on its direction.
    pub(crate) remarks: String,
    /// Its place among the streams of its client until it begins.
    pub(crate) accepted: Option<AcceptedStream<'a>>,
}

/// The type of service that a header asks for.
fn type_of_service(header: Option<&ClientHeader>) -> u8 {
    let extension = header.and_then(|header| header.extension);
    extension.map_or(0, |one| u8::try_from(one.tos).unwrap_or_default())
}

/// True if both ends have one clock: they are one host, or the client says that its clock and that
/// of the server are the same (`--trip-times`).
fn has_one_clock(header: Option<&ClientHeader>, own: SocketAddr, client: SocketAddr) -> bool {
    let upper = header.map(ClientHeader::upper).unwrap_or_default();
    upper.contains(UpperFlags::TRIP_TIMES) || is_one_host(own, client)
}

/// Counters of both directions.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    pub(crate) received: Arc<ShownCounts>,
    pub(crate) sent: Arc<ShownCounts>,
}

impl ShownConnection<'_> {
    /// Data begins to move: to the server, from it, or both; `back` is the connection over which
    /// the server sends, if that is a separate one.
    pub(crate) fn begin(
        &mut self,
        control: &Socket,
        header: &[u8],
        (receives, sends): (bool, bool),
        back: Option<&Socket>,
    ) -> ConnectionCounts {
        let (Some(own), Some(client)) = addresses(control) else {
            return ConnectionCounts::default();
        };
        let header = ClientHeader::decode(header).ok();
        let header = header.as_ref();
        let way = match (receives, sends && back.is_none()) {
            _ if !self.remarks.is_empty() => &self.remarks,
            (true, true) => " (full-duplex)",
            (false, true) => " (reverse)",
            (_, false) => "",
        };
        let number = self.number.unwrap_or_else(|| {
            self.board.connected(&StreamLine {
                ends: (own, client),
                way,
                is_back: false,
                header,
                socket: control,
            })
        });
        self.number = Some(number);
        let mut counts = ConnectionCounts::default();
        let direction = |number, is_marked, (own, client), kind| ShownDirection {
            number,
            is_marked,
            own,
            client,
            kind,
            is_enhanced: self.board.is_enhanced(header),
            has_one_clock: has_one_clock(header, own, client),
            is_pair: receives && sends && back.is_none(),
        };
        if receives {
            let upper = header.map(ClientHeader::upper).unwrap_or_default();
            let kind = if upper.contains(UpperFlags::TRIP_TIMES) {
                DirectionKind::ReceivesBlocks
            } else {
                DirectionKind::Receives
            };
            let direction = direction(number, false, (own, client), kind);
            counts.received = self.board.begin(direction, None);
        }
        if sends {
            let sent = match back {
                None => {
                    let direction =
                        direction(number, receives, (own, client), DirectionKind::Sends);
                    Some(self.board.begin(direction, Some(control)))
                }
                Some(back) => self.begin_back(back, header, &direction),
            };
            counts.sent = sent.unwrap_or_default();
        }
        self.accepted = None;
        counts
    }

    /// The server begins to send over a separate connection.
    fn begin_back(
        &self,
        back: &Socket,
        header: Option<&ClientHeader>,
        direction: &dyn Fn(u32, bool, (SocketAddr, SocketAddr), DirectionKind) -> ShownDirection,
    ) -> Option<Arc<ShownCounts>> {
        let (Some(own), Some(client)) = addresses(back) else {
            return None;
        };
        self.head_of_back(back, header, client);
        let number = self.board.connected(&StreamLine {
            ends: (own, client),
            way: " (reverse)",
            is_back: true,
            header,
            socket: back,
        });
        let direction = direction(number, true, (own, client), DirectionKind::Sends);
        Some(self.board.begin(direction, Some(back)))
    }

    /// The head of a connection back.
    fn head_of_back(&self, back: &Socket, header: Option<&ClientHeader>, client: SocketAddr) {
        if !self.board.args().shows_heads() {
            return;
        }
        let block = header.map_or(0, |header| header.buffer_len);
        let block = usize::try_from(block).ok().filter(|block| *block > 0);
        let size = back.send_buffer_size().unwrap_or_default();
        let size = u64::try_from(size).unwrap_or_default();
        let head = ConnectingHead {
            args: self.board.args(),
            host: &self.board.args().shown(client),
            port: client.port(),
            streams: 1,
            process: std::process::id(),
            block: block.unwrap_or(BLOCK),
            rate: None,
            tos: type_of_service(header),
            settings: "",
            window: &figures_of(self.board.args().unit).window("TCP window size", size, None),
        };
        out(&head.text());
    }

    /// Both directions have ended; one that failed has no transfer.
    pub(crate) fn end(&self, counts: &ConnectionCounts, [sent, received]: [Option<Transfer>; 2]) {
        self.board.end(&counts.received, received.as_ref());
        self.board.end(&counts.sent, sent.as_ref());
    }
}

/// A flow of datagrams.
pub(crate) struct ShownFlow {
    board: Arc<Iperf2Board>,
    received: Option<Arc<ShownCounts>>,
    /// Counters of what the server sends.
    pub(crate) sent: Option<Arc<ShownCounts>>,
    /// The server sends on a separate flow, which is not over.
    has_back: bool,
}

impl ShownFlow {
    /// A flow begins.
    pub(crate) fn begin(
        board: &Arc<Iperf2Board>,
        (own, client): (SocketAddr, SocketAddr),
        socket: &Socket,
        flow: &DatagramFlow,
    ) -> Self {
        let (way, receives, sends) = match flow.sending {
            Some(FlowSending::Reverse(_)) => (" (reverse) (no-udp-fin)", false, true),
            Some(FlowSending::Both(_)) => (" (full-duplex) (no-udp-fin)", true, true),
            Some(FlowSending::Back(..)) | None => ("", true, false),
        };
        let header = flow.header.as_ref().map(|one| &one.header);
        let number = board.connected(&StreamLine {
            ends: (own, client),
            way,
            is_back: false,
            header,
            socket,
        });
        let direction = |is_marked, kind| ShownDirection {
            number,
            is_marked,
            own,
            client,
            kind,
            is_enhanced: board.is_enhanced(header),
            has_one_clock: has_one_clock(header, own, client),
            is_pair: receives && sends,
        };
        let begin = |direction| board.begin(direction, None);
        let received = receives.then(|| begin(direction(false, DirectionKind::ReceivesDatagrams)));
        let sent = sends.then(|| begin(direction(receives, DirectionKind::SendsDatagrams)));
        let has_back = matches!(flow.sending, Some(FlowSending::Back(..)));
        if has_back {
            board.awaits_back(true);
        }
        Self {
            board: Arc::clone(board),
            received,
            sent,
            has_back,
        }
    }

    /// A datagram of the client was counted.
    pub(crate) fn took(&self, account: &DatagramAccount) {
        if let Some(received) = &self.received {
            received.take(account);
        }
    }

    /// The client's direction has ended.
    pub(crate) fn end(&mut self, account: &DatagramAccount) {
        if let Some(received) = self.received.take() {
            let transfer = Transfer {
                bytes: account.bytes,
                calls: account.order.arrived,
                elapsed: Duration::from_micros(account.duration()),
                end: TransferEnd::Complete,
            };
            self.board.end(&received, Some(&transfer));
        }
    }

    /// The server's direction has ended; one that failed has no transfer.
    pub(crate) fn sent(&mut self, transfer: Option<&Transfer>) {
        if let Some(sent) = self.sent.take() {
            self.board.end(&sent, transfer);
        }
        if std::mem::take(&mut self.has_back) {
            self.board.awaits_back(false);
        }
    }
}

/// Datagrams of the server to a port that a client has named.
pub(crate) struct ShownBack {
    board: Arc<Iperf2Board>,
    number: u32,
    counts: Arc<ShownCounts>,
    has_one_clock: bool,
}

impl ShownBack {
    /// They begin. `header` is that of the client's own flow.
    pub(crate) fn begin(
        board: Arc<Iperf2Board>,
        socket: &Socket,
        order: &SendOrder,
        header: Option<&ClientHeader>,
    ) -> Option<Self> {
        let (Some(own), Some(client)) = addresses(socket) else {
            return None;
        };
        if board.args().shows_heads() {
            let size = socket.send_buffer_size().unwrap_or_default();
            let size = u64::try_from(size).unwrap_or_default();
            let head = ConnectingHead {
                args: board.args(),
                host: &board.args().shown(client),
                port: client.port(),
                streams: 1,
                process: std::process::id(),
                block: order.block,
                rate: order.rate,
                tos: type_of_service(header),
                settings: "",
                window: &figures_of(board.args().unit).window("UDP buffer size", size, None),
            };
            out(&head.text());
        }
        let number = board.connected(&StreamLine {
            ends: (own, client),
            way: " (reverse)",
            is_back: true,
            header,
            socket,
        });
        let has_one_clock = has_one_clock(header, own, client);
        let direction = ShownDirection {
            number,
            is_marked: true,
            own,
            client,
            kind: DirectionKind::SendsDatagrams,
            is_enhanced: board.is_enhanced(header),
            has_one_clock,
            is_pair: false,
        };
        let counts = board.begin(direction, None);
        Some(Self {
            board,
            number,
            counts,
            has_one_clock,
        })
    }

    /// Their counters.
    pub(crate) fn counts(&self) -> Arc<ShownCounts> {
        Arc::clone(&self.counts)
    }

    /// They have ended, with a final one; those that failed have no transfer.
    pub(crate) fn end(&self, transfer: Option<&Transfer>) {
        self.board.end(&self.counts, transfer);
    }

    /// The client has reported.
    pub(crate) fn report(&self, report: &ServerReport) {
        self.board.report(self.number, report, self.has_one_clock);
    }
}

impl Drop for ShownFlow {
    /// Directions of a flow that gives way, or that is no longer served, have no row.
    fn drop(&mut self) {
        if let Some(received) = self.received.take() {
            self.board.end(&received, None);
        }
        self.sent(None);
    }
}

#[cfg(test)]
mod tests {
    use netperf_iperf2::options::Iperf2Args;
    use netperf_os::{Domain, Type};

    use super::*;

    #[test]
    fn a_flow_that_is_no_longer_served_leaves_the_board_without_a_row() {
        // Lines of comma-separated values: nothing is printed when a flow begins.
        let args = Iperf2Args {
            csv: true,
            ..Iperf2Args::default()
        };
        let board = Arc::new(Iperf2Board::new(&args).unwrap());
        let mut datagram = [0; 16];
        datagram[3] = 1;
        let flow = DatagramFlow::begin(&datagram).unwrap().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 5001));
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let shown = ShownFlow::begin(&board, (address, address), &socket, &flow);
        assert!(!board.is_idle());
        drop(shown);
        assert!(board.is_idle());
        assert_eq!(board.ended(), 1);
    }
}
