//! Connections and flows as the board sees them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netperf_engine::iperf2::{Transfer, TransferEnd};
use netperf_model::figures::count;
use netperf_model::iperf2::Iperf2Rate;
use netperf_os::Socket;
use netperf_report::iperf2::RULE;
use netperf_session::iperf2::SendOrder;
use netperf_session::iperf2::account::DatagramAccount;
use netperf_session::iperf2::flow::{DatagramFlow, FlowSending};
use netperf_wire::iperf2::{ClientHeader, ServerReport, UpperFlags};

use super::board::{AcceptedStream, Carries, Iperf2Board, ShownCounts, ShownDirection};
use crate::iperf3::socket::addresses;
use crate::output::out;

/// A connection of a client.
pub(in crate::server) struct ShownConnection<'a> {
    pub(in crate::server) board: &'a Iperf2Board,
    pub(in crate::server) stop: &'a AtomicBool,
    /// Its number, once it has a line.
    pub(in crate::server) number: Option<u32>,
    /// Its place among the streams of its client until it begins.
    pub(in crate::server) accepted: Option<AcceptedStream<'a>>,
}

/// Counters of both directions.
#[derive(Debug, Default)]
pub(in crate::server) struct ConnectionCounts {
    pub(in crate::server) received: Arc<ShownCounts>,
    pub(in crate::server) sent: Arc<ShownCounts>,
}

/// Remarks of a header in the line of a connection.
fn remarks(header: Option<&ClientHeader>) -> String {
    let tos = header
        .and_then(|header| header.extension)
        .map(|one| one.tos);
    let mut notes = String::new();
    if let Some(tos) = tos.filter(|tos| *tos > 0) {
        notes.push_str(&format!(" (tos rx=0x{tos:x})"));
    }
    let upper = header.map(ClientHeader::upper);
    if upper.is_some_and(|upper| upper.contains(UpperFlags::TRIP_TIMES)) {
        notes.push_str(" (trip-times)");
    }
    notes
}

impl ShownConnection<'_> {
    /// Data begins to move: to the server, from it, or both; `back` is the connection over which
    /// the server sends, if it has one of its own.
    pub(in crate::server) fn begin(
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
        let way = match (receives, sends && back.is_none()) {
            (true, true) => " (full-duplex)",
            (false, true) => " (reverse)",
            (_, false) => "",
        };
        let notes = format!("{way}{}", remarks(header.as_ref()));
        let number = self.number.unwrap_or_else(|| {
            self.board
                .connected((own, client), false, &notes, Some(control))
        });
        self.number = Some(number);
        let mut counts = ConnectionCounts::default();
        let direction = |number, is_marked, own, client| ShownDirection {
            number,
            is_marked,
            own,
            client,
            carries: Carries::Bytes,
        };
        if receives {
            counts.received = self.board.begin(direction(number, false, own, client));
        }
        if !sends {
            self.accepted = None;
            return counts;
        }
        counts.sent = match back {
            None => self.board.begin(direction(number, receives, own, client)),
            Some(back) => {
                let (Some(own), Some(client)) = addresses(back) else {
                    return counts;
                };
                self.head_of_back(back, client);
                let ends = (own, client);
                let number = self.board.connected(ends, true, " (reverse)", Some(back));
                self.board.begin(direction(number, true, own, client))
            }
        };
        self.accepted = None;
        counts
    }

    /// The head of a connection back.
    fn head_of_back(&self, back: &Socket, client: SocketAddr) {
        if self.board.shows_settings() {
            let size = back.send_buffer_size().unwrap_or_default();
            let size = u64::try_from(size).unwrap_or_default();
            let window = self.board.figures().window("TCP window size", size, None);
            let (host, port) = (self.board.address(client), client.port());
            out(&format!(
                "{RULE}Client connecting to {host}, TCP port {port}\n{window}{RULE}"
            ));
        }
    }

    /// Both directions have ended; one that failed has no transfer.
    pub(in crate::server) fn end(
        &self,
        counts: &ConnectionCounts,
        [sent, received]: [Option<Transfer>; 2],
    ) {
        self.board.end(&counts.received, received.as_ref());
        self.board.end(&counts.sent, sent.as_ref());
    }
}

/// A flow of datagrams.
pub(in crate::server) struct ShownFlow {
    board: Arc<Iperf2Board>,
    received: Option<Arc<ShownCounts>>,
    /// Counters of what the server sends.
    pub(in crate::server) sent: Option<Arc<ShownCounts>>,
    /// The server sends on a flow of its own, which is not over.
    has_back: bool,
}

impl ShownFlow {
    /// A flow begins.
    pub(in crate::server) fn begin(
        board: &Arc<Iperf2Board>,
        own: SocketAddr,
        client: SocketAddr,
        flow: &DatagramFlow,
    ) -> Self {
        let (way, receives, carries) = match flow.sending {
            Some(FlowSending::Reverse(_)) => (" (reverse) (no-udp-fin)", false, true),
            Some(FlowSending::Both(_)) => (" (full-duplex) (no-udp-fin)", true, true),
            Some(FlowSending::Back(..)) | None => ("", true, false),
        };
        let number = board.connected((own, client), false, way, None);
        let direction = |is_marked, carries| ShownDirection {
            number,
            is_marked,
            own,
            client,
            carries,
        };
        let received = receives.then(|| board.begin(direction(false, Carries::Datagrams)));
        let sent = carries.then(|| board.begin(direction(receives, Carries::OwnDatagrams)));
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
    pub(in crate::server) fn took(&self, account: &DatagramAccount) {
        if let Some(received) = &self.received {
            received.take(account);
        }
    }

    /// The client's direction has ended.
    pub(in crate::server) fn end(&mut self, account: &DatagramAccount) {
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
    pub(in crate::server) fn sent(&mut self, transfer: Option<&Transfer>) {
        if let Some(sent) = self.sent.take() {
            self.board.end(&sent, transfer);
        }
        if std::mem::take(&mut self.has_back) {
            self.board.awaits_back(false);
        }
    }
}

/// Datagrams of the server to a port that a client has named.
pub(in crate::server) struct ShownBack {
    board: Arc<Iperf2Board>,
    number: u32,
    counts: Arc<ShownCounts>,
}

impl ShownBack {
    /// They begin.
    pub(in crate::server) fn begin(
        board: Arc<Iperf2Board>,
        socket: &Socket,
        order: &SendOrder,
    ) -> Option<Self> {
        let (Some(own), Some(client)) = addresses(socket) else {
            return None;
        };
        if board.shows_settings() {
            let bytes = u64::try_from(order.block).unwrap_or(u64::MAX);
            let gap = match order.rate {
                Some(Iperf2Rate::Bits(bits)) => count(bytes) * 8e6 / count(bits),
                Some(Iperf2Rate::Packets(rate)) => 1e6 / count(rate),
                None => 0.0,
            };
            let size = socket.send_buffer_size().unwrap_or_default();
            let size = u64::try_from(size).unwrap_or_default();
            let buffer = board.figures().window("UDP buffer size", size, None);
            let (host, port, block) = (board.address(client), client.port(), order.block);
            out(&format!(
                "{RULE}Client connecting to {host}, UDP port {port}\nSending {block} byte \
                 datagrams, IPG target: {gap:.2} us (kalman adjust)\n{buffer}{RULE}"
            ));
        }
        let number = board.connected((own, client), true, " (reverse)", None);
        let counts = board.begin(ShownDirection {
            number,
            is_marked: true,
            own,
            client,
            carries: Carries::OwnDatagrams,
        });
        Some(Self {
            board,
            number,
            counts,
        })
    }

    /// Their counters.
    pub(in crate::server) fn counts(&self) -> Arc<ShownCounts> {
        Arc::clone(&self.counts)
    }

    /// They have ended, with a final one; those that failed have no transfer.
    pub(in crate::server) fn end(&self, transfer: Option<&Transfer>) {
        self.board.end(&self.counts, transfer);
    }

    /// The client has reported.
    pub(in crate::server) fn report(&self, report: &ServerReport) {
        self.board.report(self.number, report);
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
    use netperf_cli::Iperf2Args;

    use super::*;

    #[test]
    fn a_flow_that_is_no_longer_served_leaves_the_board_without_a_row() {
        // Lines of comma-separated values: nothing is printed when a flow begins.
        let args = Iperf2Args {
            csv: true,
            ..Iperf2Args::default()
        };
        let board = Arc::new(Iperf2Board::new(&args));
        let mut datagram = [0; 16];
        datagram[3] = 1;
        let flow = DatagramFlow::begin(&datagram).unwrap().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 5001));
        let shown = ShownFlow::begin(&board, address, address, &flow);
        assert!(!board.is_idle());
        drop(shown);
        assert!(board.is_idle());
        assert_eq!(board.ended(), 1);
    }
}
