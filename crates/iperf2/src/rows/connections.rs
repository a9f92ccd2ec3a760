//! Lines of connections and flows.

use std::net::SocketAddr;
use std::time::Duration;

use crate::messages::Version;
use crate::options::Iperf2Args;

/// State of a connection that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstWindow {
    /// Congestion window, KiB.
    pub window: u64,
    /// Size of a segment, bytes.
    pub segment: u32,
    /// Round trip, microseconds.
    pub trip: u32,
}

/// The line of a connection or flow.
#[derive(Clone, Debug)]
pub struct ConnectionLine<'a> {
    /// Its number ([`id`](super::id)).
    pub name: String,
    /// Addresses of this host and of the peer.
    pub ends: (SocketAddr, SocketAddr),
    /// Remark on the direction, with a blank in front.
    pub direction: &'a str,
    /// No report is awaited.
    pub no_udp_fin: bool,
    /// Data has times of sending.
    pub trip_times: bool,
    /// Interface of this host's address.
    pub device: Option<String>,
    /// Descriptor of its socket.
    pub descriptor: Option<i32>,
    /// Type of service, if not 0.
    pub tos: u16,
    /// Version of the peer.
    pub peer: Option<Version>,
    /// State of a connection.
    pub first_window: Option<FirstWindow>,
    /// Time that the connection took to open.
    pub connect_time: Option<Duration>,
    /// Time of day.
    pub date: Option<String>,
}

impl ConnectionLine<'_> {
    /// A line without remarks.
    pub const fn new(name: String, ends: (SocketAddr, SocketAddr)) -> Self {
        Self {
            name,
            ends,
            direction: "",
            no_udp_fin: false,
            trip_times: false,
            device: None,
            descriptor: None,
            tos: 0,
            peer: None,
            first_window: None,
            connect_time: None,
            date: None,
        }
    }

    /// Its text.
    pub fn text(&self, args: &Iperf2Args) -> String {
        let (local, remote) = self.ends;
        let device = self.device.as_ref();
        let device = device.map_or(String::new(), |name| format!("%{name}"));
        format!(
            "{} local {}{device} port {} connected with {} port {}{}\n",
            self.name,
            args.shown(local),
            local.port(),
            args.shown(remote),
            remote.port(),
            self.remarks(),
        )
    }

    fn remarks(&self) -> String {
        let mut remarks = self.direction.to_owned();
        if self.no_udp_fin {
            remarks.push_str(" (no-udp-fin)");
        }
        if self.trip_times {
            remarks.push_str(" (trip-times)");
        }
        if let Some(descriptor) = self.descriptor {
            remarks.push_str(&format!(" (sock={descriptor})"));
        }
        if self.tos > 0 {
            remarks.push_str(&format!(" (tos rx=0x{:x})", self.tos));
        }
        if let Some(version) = self.peer {
            remarks.push_str(&format!(" (peer {version}{})", version.stage()));
        }
        if let Some(state) = self.first_window {
            let (window, segment, trip) = (state.window, state.segment, state.trip);
            remarks.push_str(&format!(" (icwnd/mss/irtt={window}/{segment}/{trip})"));
        }
        if let Some(time) = self.connect_time {
            remarks.push_str(&format!(" (ct={:.2} ms)", time.as_secs_f64() * 1e3));
        }
        if let Some(date) = &self.date {
            remarks.push_str(&format!(" on {date} (UTC)"));
        }
        remarks
    }
}
