//! The line of a stream of a server, and what its client reports.

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _};

use netperf_iperf2::messages::{ClientHeader, ServerReport, UpperFlags};
use netperf_iperf2::rows::{ConnectionLine, ReportRow, figures_of, id};
use netperf_measure::host::interface_of;
use netperf_os::{Socket, tcp};
use netperf_program::iperf2::{day_and_time, first_window};
use netperf_program::output::out;

use super::Iperf2Board;

/// Contents of the line of a stream.
pub(crate) struct StreamLine<'a> {
    /// Addresses of the server and of the client.
    pub(crate) ends: (SocketAddr, SocketAddr),
    /// Remark on the direction.
    pub(crate) way: &'a str,
    /// The server has opened the stream.
    pub(crate) is_back: bool,
    pub(crate) header: Option<&'a ClientHeader>,
    pub(crate) socket: &'a Socket,
}

impl StreamLine<'_> {
    fn has(&self, flag: UpperFlags) -> bool {
        self.header
            .is_some_and(|header| header.upper().contains(flag))
    }

    /// The line with this number.
    fn shown(&self, number: u32, is_enhanced: bool, udp: bool) -> ConnectionLine<'_> {
        let is_forward = !self.has(UpperFlags::REVERSE) && !self.has(UpperFlags::FULL_DUPLEX);
        let extension = self.header.and_then(|header| header.extension);
        let tos = extension.map_or(0, |extension| extension.tos);
        let state = (!udp).then(|| tcp::info(self.socket.as_fd()).ok());
        ConnectionLine {
            direction: self.way,
            no_udp_fin: self.has(UpperFlags::NO_UDP_FIN) && is_forward,
            trip_times: self.has(UpperFlags::TRIP_TIMES),
            device: is_enhanced
                .then_some(self.ends.0.ip())
                .and_then(interface_of),
            descriptor: is_enhanced.then(|| self.socket.as_raw_fd()),
            tos: if self.is_back { 0 } else { tos },
            peer: extension.map(|one| one.version).filter(|_| is_enhanced),
            first_window: state.flatten().as_ref().map(first_window),
            // The original has no date for what the server sends.
            date: (is_enhanced && is_forward && !self.is_back).then(day_and_time),
            ..ConnectionLine::new(id(number, self.is_back), self.ends)
        }
    }
}

impl Iperf2Board {
    /// True if a stream with this header has further columns.
    pub(crate) fn is_enhanced(&self, header: Option<&ClientHeader>) -> bool {
        let timed = |header: &ClientHeader| header.upper().contains(UpperFlags::TRIP_TIMES);
        self.args.enhanced || header.is_some_and(timed)
    }

    /// Prints the line of a stream and returns its number.
    pub(crate) fn connected(&self, line: &StreamLine<'_>) -> u32 {
        let mut state = self.state();
        if state.shown.is_empty() {
            state.titles.clear();
            state.halves.clear();
            state.pairs.clear();
        }
        state.next += 1;
        let number = state.next;
        if self.args.shows_connections() {
            let is_enhanced = self.is_enhanced(line.header);
            let line = line.shown(number, is_enhanced, self.args.plan.udp);
            out(&line.text(&self.args));
        }
        number
    }

    /// Report of a client about datagrams of the server. `is_known` is true if both ends have one
    /// clock.
    pub(crate) fn report(&self, number: u32, report: &ServerReport, is_known: bool) {
        if self.args.leaves_out('V') || self.args.sum_only {
            return;
        }
        let row = ReportRow {
            figures: figures_of(self.args.unit),
            report,
            is_known,
        };
        let (name, titles) = (id(number, false), row.titles());
        let row = row.text(&id(number, true));
        out(&format!("{name} Server Report:\n{titles}{row}"));
    }
}
