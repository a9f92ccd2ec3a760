//! Datagrams that netserver sends: on the flow of a client, or on a separate one.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use netperf_engine::iperf2::{Credit, DatagramOrder, PATIENCE, Transfer, send_datagrams};
use netperf_iperf2::messages::{ClientHeader, Datagram, fill_digits};
use netperf_iperf2::states::finish::{self, FinishEffect, FinishInput, FinishState};
use netperf_iperf2::states::flow::FlowSending;
use netperf_iperf2::states::{LEAST_DATAGRAM, SendOrder};
use netperf_measure::clock::Moment;
use netperf_model::Policy;
use netperf_model::iperf2::Iperf2Rate;
use netperf_os::io::{Source, recv, send, send_back};
use netperf_os::wait::{self, Deadline, Interest};
use netperf_os::without::set_patience;
use netperf_os::{Domain, Protocol, Socket, Type};
use netperf_program::iperf2::{ShownCounts, now};

use super::super::alone::{Iperf2Board, ShownBack};
use super::super::limits::{permitted, time_and_bytes};

/// Values for the thread of a flow.
pub(super) struct FlowSender {
    /// Socket of the port.
    pub(super) socket: Arc<Socket>,
    /// Source of the client's datagrams.
    pub(super) source: Source,
    /// The same, as an address.
    pub(super) address: SocketAddr,
    /// The policy.
    pub(super) policy: Policy,
    /// Bytes and datagrams from an address that is not proven: no more are sent.
    pub(super) credit: Option<Arc<Credit>>,
    /// When a flow of netserver's own begins.
    pub(super) begins: Moment,
    /// Ends it early.
    pub(super) stop: Arc<AtomicBool>,
    /// Counters that are shown.
    pub(super) counts: Arc<ShownCounts>,
    /// Board that shows a flow back to the client.
    pub(super) board: Option<Arc<Iperf2Board>>,
    /// Header of the client.
    pub(super) header: Option<ClientHeader>,
}

impl FlowSender {
    /// Sends all datagrams and the final ones.
    pub(super) fn run(self, sending: FlowSending) -> io::Result<Transfer> {
        match sending {
            FlowSending::Reverse(order) | FlowSending::Both(order) => {
                let send = |bytes: &[u8]| send_back(self.socket.as_fd(), bytes, &self.source);
                let (run, last) = self.send(&order, &self.counts, send)?;
                let number = last.saturating_add(1).saturating_neg();
                let final_bytes = self.send_final(number, order.block, send);
                Ok(Transfer {
                    bytes: run.bytes.saturating_add(final_bytes),
                    ..run
                })
            }
            FlowSending::Back(_, port, order) => self.send_back_on_own_flow(port, &order),
        }
    }

    fn send_back_on_own_flow(&self, port: u16, order: &SendOrder) -> io::Result<Transfer> {
        while !self.begins.left().is_zero() && !self.stop.load(Ordering::Relaxed) {
            wait::sleep(self.begins.left().min(PATIENCE));
        }
        let mut to = self.address;
        to.set_port(port);
        let own = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
        own.connect(&to.into())?;
        set_patience(own.as_fd(), Some(PATIENCE))?;
        let transmit = |bytes: &[u8]| send(own.as_fd(), bytes);
        let board = self.board.clone();
        let header = self.header.as_ref();
        let shown = board.and_then(|board| ShownBack::begin(board, &own, order, header));
        let counts = shown.as_ref().map(ShownBack::counts);
        let sent = self.send(order, &counts.unwrap_or_default(), transmit);
        let (mut run, last) = sent.inspect_err(|_| {
            if let Some(shown) = &shown {
                shown.end(None);
            }
        })?;
        // The row has the first final datagram.
        let mut row = shown.as_ref();
        let (mut state, mut effects) = finish::start(last, true);
        while !effects.is_empty() && !self.stop.load(Ordering::Relaxed) {
            let mut arrived = None;
            for effect in effects {
                match effect {
                    FinishEffect::SendFinal(number) => {
                        let bytes = self.send_final(number, order.block, transmit);
                        if let Some(shown) = row.take() {
                            run.bytes = run.bytes.saturating_add(bytes);
                            shown.end(Some(&run));
                        }
                    }
                    FinishEffect::Expect(within) => arrived = answer(&own, within),
                }
            }
            let input = arrived
                .as_deref()
                .map_or(FinishInput::TimedOut, FinishInput::Arrived);
            (state, effects) = finish::step(state, input);
        }
        if let Some(shown) = row {
            shown.end(Some(&run));
        }
        if let (Some(shown), FinishState::Over(Some(report))) = (&shown, &state) {
            shown.report(report);
        }
        Ok(run)
    }

    fn send(
        &self,
        order: &SendOrder,
        counts: &ShownCounts,
        mut transmit: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<(Transfer, i64)> {
        let order = permitted(&self.policy, *order)
            .map_err(|denied| io::Error::other(denied.to_string()))?;
        let (time, bytes) = time_and_bytes(&self.policy, &order);
        let mut datagram = vec![0; order.block];
        fill_digits(&mut datagram, 0);
        let length = u64::try_from(order.block).unwrap_or(u64::MAX);
        let per_giga_second = match order.rate {
            Some(Iperf2Rate::Bits(rate)) => {
                u64::try_from(u128::from(rate) * 1_000_000_000 / u128::from(length * 8))
            }
            Some(Iperf2Rate::Packets(rate)) => Ok(rate.saturating_mul(1_000_000_000)),
            None => Ok(u64::MAX),
        };
        let order = DatagramOrder {
            time: Some(time),
            bytes,
            per_giga_second: per_giga_second.unwrap_or(u64::MAX),
            length: order.block,
            first: LEAST_DATAGRAM,
            credit: self.credit.as_deref(),
        };
        send_datagrams(&mut datagram, &order, &counts.moved, &self.stop, |bytes| {
            transmit(bytes)
        })
    }

    /// Sends a final datagram: as long as the others, or as short as possible if no more may be
    /// sent. Returns its bytes, 0 if it was not sent.
    fn send_final(
        &self,
        number: i64,
        length: usize,
        mut transmit: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> u64 {
        let sent = Some(now());
        let stamp = Datagram { number, sent }.stamp();
        let mut bytes = vec![0; length.max(stamp.len())];
        fill_digits(&mut bytes, 0);
        for (place, byte) in bytes.iter_mut().zip(stamp) {
            *place = byte;
        }
        if let Some(credit) = &self.credit {
            let taken = |length: usize| credit.take(u64::try_from(length).unwrap_or(u64::MAX), 0);
            if !taken(bytes.len()) {
                if !taken(stamp.len()) {
                    return 0;
                }
                bytes.truncate(stamp.len());
            }
        }
        // A lost final datagram is sent again, or the client ends by its own limit.
        let sent = transmit(&bytes).unwrap_or(0);
        u64::try_from(sent).unwrap_or(u64::MAX)
    }
}

/// Waits for a datagram.
fn answer(own: &Socket, within: std::time::Duration) -> Option<Vec<u8>> {
    let deadline = Deadline::after(within);
    if !deadline.ready(own.as_fd(), Interest::Read).unwrap_or(false) {
        return None;
    }
    let mut buf = vec![0; 2048];
    let count = recv(own.as_fd(), &mut buf).ok()?;
    buf.truncate(count);
    Some(buf)
}
