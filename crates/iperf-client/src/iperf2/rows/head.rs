//! The head of a client, and the lines of its connections.

use std::os::fd::{AsFd as _, AsRawFd as _};
use std::time::Duration;

use netperf_iperf2::rows::{ConnectingHead, ConnectionLine, ListeningHead, figures_of, id};
use netperf_measure::clock;
use netperf_measure::host::interface_of;
use netperf_model::iperf2::Iperf2Direction;
use netperf_model::units::whole_seconds;
use netperf_os::sockopt::{self, IntOption};
use netperf_program::iperf2::{day_and_time, day_and_time_of, first_window};
use netperf_program::output::out;

use super::ClientRows;
use super::ways::{ClientWay, WayOf};
use crate::iperf2::session::{BackStream, Iperf2Client, Iperf2Stream};

/// Size of the buffer for a datagram.
const MOST_DATAGRAM: usize = 65_536;

impl ClientRows {
    /// Head and connection lines.
    pub fn head(&mut self, client: Option<&Iperf2Client>, host: &str) {
        let plan = &self.args.plan;
        let first = client.and_then(|client| client.streams.first());
        if self.args.shows_heads() {
            if let Some(client) = client {
                self.back_head(client);
            }
            let tested = first.filter(|_| self.args.connections.is_none());
            let settings = tested.map(|first| self.settings(first));
            let window = tested.map(|first| self.window(first));
            let head = ConnectingHead {
                args: &self.args,
                host: if self.args.hides_addresses {
                    "(**hidden**)"
                } else {
                    host
                },
                port: plan.port,
                streams: plan.streams,
                process: std::process::id(),
                block: plan.block(),
                rate: plan.effective_rate(),
                tos: plan.tos.unwrap_or(0),
                settings: &settings.unwrap_or_default(),
                window: &match self.args.connections {
                    Some(_) => "TCP three-way-handshake (3WHS) only\n".to_owned(),
                    None => window.unwrap_or_default(),
                },
            };
            out(&head.text());
        }
        if let Some(client) = client {
            self.connections(client);
            self.begin(client);
        }
    }

    /// Lines of the connections.
    pub fn connections(&self, client: &Iperf2Client) {
        if self.args.shows_connections() {
            for stream in &client.streams {
                self.connection(stream);
            }
        }
    }

    /// The head of the port at which the server opens streams.
    fn back_head(&self, client: &Iperf2Client) {
        let Some(socket) = client.back_socket() else {
            return;
        };
        let plan = &client.plan;
        let head = ListeningHead {
            args: &self.args,
            port: plan.listen_port.unwrap_or(plan.port),
            last_port: None,
            buffer: socket.recv_buffer_size().unwrap_or_default(),
            process: std::process::id(),
            read: if plan.udp {
                MOST_DATAGRAM
            } else {
                plan.block()
            },
            settings: "",
        };
        out(&head.text());
    }

    /// Lines of streams that the server has opened since the last.
    pub fn opened_back(&mut self, client: &Iperf2Client) {
        let opened = client.opened_back();
        let before = client.streams.len() + self.shown_back;
        let first = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
        let new = opened.iter().enumerate().skip(self.shown_back);
        for (number, (at, stream)) in (first..).zip(new) {
            self.back_line(number, stream);
            let way = ClientWay::new(WayOf::Back(at), &stream.received);
            self.ways.push(way);
        }
        self.shown_back = opened.len();
    }

    fn back_line(&self, number: u32, stream: &BackStream) {
        if !self.args.shows_connections() {
            return;
        }
        let is_enhanced = self.args.enhanced;
        let line = ConnectionLine {
            device: is_enhanced
                .then_some(stream.local.ip())
                .and_then(interface_of),
            descriptor: is_enhanced.then_some(stream.descriptor),
            date: is_enhanced.then(day_and_time),
            ..ConnectionLine::new(id(number, false), (stream.local, stream.remote))
        };
        out(&line.text(&self.args));
    }

    /// The line of the socket buffer.
    fn window(&self, first: &Iperf2Stream) -> String {
        let size = first.socket.send_buffer_size().unwrap_or_default();
        let size = u64::try_from(size).unwrap_or_default();
        let requested = self.args.window;
        let requested = requested.map(|window| u64::try_from(window).unwrap_or_default());
        let kind = if self.args.plan.udp {
            "UDP buffer size"
        } else {
            "TCP window size"
        };
        let line = figures_of(self.args.unit).window(kind, size, requested);
        match self.args.prefetch {
            Some(size) => {
                format!("{line}Event based writes (pending queue watermark at {size} bytes)\n")
            }
            None => line,
        }
    }

    /// Further lines of the head.
    fn settings(&self, first: &Iperf2Stream) -> String {
        let mut lines = String::new();
        if let Some(rate) = self.args.plan.fq_rate {
            let second = Duration::from_secs(1);
            let rate = figures_of(self.args.unit).rate(rate / 8, second);
            let rate = rate.trim_end_matches("s/sec");
            lines.push_str(&format!("fair-queue socket pacing set to {rate}/s\n"));
        }
        if let Some(size) = self.args.segment {
            lines.push_str(&format!("MSS req size {size} bytes (per TCP_MAXSEG)\n"));
        }
        if self.args.shows_segment {
            let size = sockopt::fetch(first.socket.as_fd(), IntOption::SegmentSize);
            if let Ok(size) = size {
                lines.push_str(&format!("MSS size {size} bytes\n"));
            }
        }
        if let Some(name) = &self.args.congestion {
            lines.push_str(&format!("TCP congestion control set to {name}\n"));
        }
        lines
    }

    fn connection(&self, stream: &Iperf2Stream) {
        let plan = &self.args.plan;
        let is_two_way = plan.direction == Iperf2Direction::FullDuplex;
        let (is_enhanced, connects_only) = (self.args.enhanced, self.args.connections.is_some());
        let ends = (stream.local, stream.remote);
        let direction = match plan.direction {
            Iperf2Direction::Reverse => " (reverse)",
            Iperf2Direction::FullDuplex => " (full-duplex)",
            Iperf2Direction::Forward | Iperf2Direction::Dual | Iperf2Direction::Tradeoff => "",
        };
        let direction = match self.args.prefetch {
            Some(size) => format!(" (prefetch={size}){direction}"),
            None => direction.to_owned(),
        };
        let line = ConnectionLine {
            direction: &direction,
            no_udp_fin: plan.no_udp_fin || (plan.udp && is_two_way),
            trip_times: plan.trip_times,
            device: is_enhanced
                .then_some(stream.local.ip())
                .and_then(interface_of),
            descriptor: is_enhanced.then(|| stream.socket.as_raw_fd()),
            tos: plan.tos.unwrap_or(0).into(),
            first_window: stream.tcp.as_ref().map(first_window),
            connect_time: (!plan.udp && (is_enhanced || connects_only))
                .then_some(stream.connect_time),
            date: (is_enhanced || connects_only).then(day_and_time),
            ..ConnectionLine::new(id(stream.number, false), ends)
        };
        out(&line.text(&self.args));
        self.later_start(stream.number);
    }

    /// The line of a stream whose data starts later.
    fn later_start(&self, number: u32) {
        let now = clock::since_epoch();
        let left = match (self.args.delay, self.args.start) {
            (Some(delay), _) => delay,
            (None, Some(start)) => start.saturating_sub(now),
            (None, None) => return,
        };
        if left.is_zero() {
            return;
        }
        let left = whole_seconds(left);
        let now = Duration::from_secs(now.as_secs());
        out(&format!(
            "{} Client traffic to start in {} seconds at {} current time is {} (UTC)\n",
            id(number, false),
            left.as_secs(),
            day_and_time_of(now + left),
            day_and_time_of(now),
        ));
    }
}
