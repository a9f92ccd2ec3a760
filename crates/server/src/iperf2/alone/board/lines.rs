//! The line of a stream of a server, and what its client reports.

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _};

use netperf_iperf2::messages::{ClientHeader, ServerReport, UpperFlags};
use netperf_iperf2::rows::ReportRow;
use netperf_iperf2::rows::id;
use netperf_os::{Socket, tcp};
use netperf_program::iperf2::{day_and_time, first_window};
use netperf_program::output::out;

use super::Iperf2Board;

/// What the line of a stream tells.
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

    /// Remarks of `-e`, and those in front of and behind them.
    fn remarks(&self, is_enhanced: bool, udp: bool) -> String {
        let mut notes = self.way.to_owned();
        let is_forward = !self.has(UpperFlags::REVERSE) && !self.has(UpperFlags::FULL_DUPLEX);
        if self.has(UpperFlags::NO_UDP_FIN) && is_forward {
            notes.push_str(" (no-udp-fin)");
        }
        if self.has(UpperFlags::TRIP_TIMES) {
            notes.push_str(" (trip-times)");
        }
        if is_enhanced {
            notes.push_str(&format!(" (sock={})", self.socket.as_raw_fd()));
        }
        let extension = self.header.and_then(|header| header.extension);
        let tos = extension.map_or(0, |extension| extension.tos);
        if tos > 0 && !self.is_back {
            notes.push_str(&format!(" (tos rx=0x{tos:x})"));
        }
        if let Some(version) = extension.map(|one| one.version).filter(|_| is_enhanced) {
            notes.push_str(&format!(" (peer {version}{})", version.stage()));
        }
        let tcp = (!udp)
            .then(|| tcp::info(self.socket.as_fd()).ok())
            .flatten();
        if let Some(tcp) = tcp {
            notes.push_str(&first_window(&tcp));
        }
        // The original has no date for what the server sends.
        if is_enhanced && is_forward && !self.is_back {
            notes.push_str(&format!(" on {} (UTC)", day_and_time()));
        }
        notes
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
        if self.leaves_out('C') || self.args.sum_only {
            return number;
        }
        let (own, client) = line.ends;
        let notes = line.remarks(self.is_enhanced(line.header), self.args.plan.udp);
        out(&format!(
            "{} local {} port {} connected with {} port {}{notes}\n",
            id(number, line.is_back),
            self.address(own),
            own.port(),
            self.address(client),
            client.port(),
        ));
        number
    }

    /// What a client reports of datagrams of the server. `is_known` is true if both ends have one
    /// clock.
    pub(crate) fn report(&self, number: u32, report: &ServerReport, is_known: bool) {
        if self.leaves_out('V') || self.args.sum_only {
            return;
        }
        let row = ReportRow {
            figures: self.figures,
            report,
            is_known,
        };
        let (name, titles) = (id(number, false), row.titles());
        let row = row.text(&id(number, true));
        out(&format!("{name} Server Report:\n{titles}{row}"));
    }
}
