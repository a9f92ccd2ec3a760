//! Heads: of a port that listens, and of streams that this end opens. Both ends have both: a server
//! opens streams for `-d` and `-r`, and its client listens.

use netperf_model::figures::count;
use netperf_model::iperf2::{Iperf2Rate, READ_CLASSES};

use crate::options::Iperf2Args;
use crate::rows::{Iperf2Figures, RULE};

use super::units::figures_of;

/// The head of a port that listens.
pub struct ListeningHead<'a> {
    /// The command line.
    pub args: &'a Iperf2Args,
    /// Port at which it listens.
    pub port: u16,
    /// Last port, if it listens at several.
    pub last_port: Option<u16>,
    /// Size of the receive buffer of its socket, bytes.
    pub buffer: usize,
    /// Number of this process.
    pub process: u32,
    /// Size of the largest read, bytes.
    pub read: usize,
    /// Lines of further settings.
    pub settings: &'a str,
}

impl ListeningHead<'_> {
    /// Its lines.
    pub fn text(&self) -> String {
        let (protocol, kind) = if self.args.plan.udp {
            ("UDP", "UDP buffer size")
        } else {
            ("TCP", "TCP window size")
        };
        let buffer = self.reads().unwrap_or_default();
        let ports = match self.last_port {
            None => format!("port {}", self.port),
            Some(last) => format!("ports {}-{last}", self.port),
        };
        let process = if self.args.enhanced || self.last_port.is_some() {
            format!(" with pid {}", self.process)
        } else {
            String::new()
        };
        let size = u64::try_from(self.buffer).unwrap_or_default();
        let requested = self.args.window;
        let requested = requested.and_then(|window| u64::try_from(window).ok());
        let window = figures_of(self.args.unit).window(kind, size, requested);
        let settings = self.settings;
        format!(
            "{RULE}Server listening on {protocol} {ports}{process}\n{buffer}{settings}{window}{RULE}"
        )
    }

    /// Additions of `-e`: lines of the local address and of reads.
    fn reads(&self) -> Option<String> {
        let args = self.args;
        if !args.enhanced {
            return None;
        }
        let bind = args.bind.as_ref().filter(|_| args.serves);
        let bind = bind.map_or_else(String::new, |host| {
            format!("Binding to local address {host}\n")
        });
        let bytes = |size: usize| u64::try_from(size).unwrap_or_default();
        let figures = Iperf2Figures {
            bytes: true,
            power: None,
        };
        let read = figures_of(args.unit).transfer(bytes(self.read), "Byte");
        let width = figures.transfer(bytes(self.read / READ_CLASSES), "Byte");
        let read = format!("Read buffer size: {read} (Dist bin width={width})\n");
        Some(bind + &read)
    }
}

/// The head of streams that this end opens.
pub struct ConnectingHead<'a> {
    /// The command line.
    pub args: &'a Iperf2Args,
    /// Name or address of the peer.
    pub host: &'a str,
    /// Port of the peer.
    pub port: u16,
    /// Number of streams.
    pub streams: u32,
    /// Number of this process.
    pub process: u32,
    /// Size of a block or datagram, bytes.
    pub block: usize,
    /// Rate of datagrams, if limited.
    pub rate: Option<Iperf2Rate>,
    /// Type of service of the packets.
    pub tos: u8,
    /// Lines of further settings.
    pub settings: &'a str,
    /// The line of the socket buffer.
    pub window: &'a str,
}

impl ConnectingHead<'_> {
    /// Its lines.
    pub fn text(&self) -> String {
        let udp = self.args.plan.udp;
        let protocol = if udp { "UDP" } else { "TCP" };
        let (host, port, block) = (self.host, self.port, self.block);
        let mut text = format!("{RULE}Client connecting to {host}, {protocol} port {port}");
        if self.args.enhanced {
            let (process, streams) = (self.process, self.streams);
            text.push_str(&format!(" with pid {process} ({streams} flows)"));
        }
        text.push('\n');
        if self.args.enhanced && !udp {
            text.push_str(&format!("Write buffer size: {block:4} Byte\n"));
        }
        text.push_str(self.settings);
        if self.args.enhanced {
            let nagle = if self.args.no_delay {
                " and nodelay (Nagle off)"
            } else {
                " (Nagle on)"
            };
            text.push_str(&format!("TOS set to 0x{:x}{nagle}\n", self.tos));
        }
        if udp {
            let bytes = u64::try_from(block).unwrap_or(u64::MAX);
            let gap = match self.rate {
                Some(Iperf2Rate::Bits(bits)) => count(bytes) * 8e6 / count(bits),
                Some(Iperf2Rate::Packets(rate)) => 1e6 / count(rate),
                None => 0.0,
            };
            text.push_str(&format!(
                "Sending {block} byte datagrams, IPG target: {gap:.2} us (kalman adjust)\n"
            ));
        }
        text.push_str(self.window);
        text.push_str(RULE);
        text
    }
}
