//! A test of an iperf 2 client.

use std::time::Duration;

use crate::figures::count;

/// Number of classes of sizes.
pub const READ_CLASSES: usize = 8;

/// Default size of a block, bytes.
pub const BLOCK: usize = 128 * 1024;
/// Default size of a datagram over IPv4, bytes.
pub const DATAGRAM: usize = 1470;
/// Default size of a datagram over IPv6, bytes.
pub const DATAGRAM_V6: usize = 1450;
/// Default rate of datagrams, bit/s.
pub const DATAGRAM_RATE: u64 = 1_048_576;
/// Most parallel connections or flows of a client.
pub const MOST_STREAMS: u32 = 1000;

/// Direction of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iperf2Direction {
    /// The client sends.
    #[default]
    Forward,
    /// The server sends (`-R`).
    Reverse,
    /// Both send on the same connection or flow (`--full-duplex`).
    FullDuplex,
    /// Both send at once, the server on separate connections or flows (`-d`).
    Dual,
    /// The server sends afterwards, on separate connections or flows (`-r`).
    Tradeoff,
}

impl Iperf2Direction {
    /// True if the server opens connections or flows to the client.
    #[must_use]
    pub const fn connects_back(self) -> bool {
        matches!(self, Self::Dual | Self::Tradeoff)
    }

    /// True if the client sends.
    #[must_use]
    pub const fn client_sends(self) -> bool {
        !matches!(self, Self::Reverse)
    }
}

/// Amount of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iperf2Amount {
    /// So long.
    Time(Duration),
    /// So many bytes of each stream.
    Bytes(u64),
}

impl Default for Iperf2Amount {
    fn default() -> Self {
        Self::Time(Duration::from_secs(10))
    }
}

/// Rate of each stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iperf2Rate {
    /// Bit/s.
    Bits(u64),
    /// Datagrams per second.
    Packets(u64),
}

/// A test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iperf2Plan {
    /// Datagrams instead of connections.
    pub udp: bool,
    /// Port of the server.
    pub port: u16,
    /// Each stream has a port of its own: the first that of the server, the next the one behind it.
    pub port_of_each: bool,
    /// Direction.
    pub direction: Iperf2Direction,
    /// Port for connections back; that of the server unless given.
    pub listen_port: Option<u16>,
    /// Time or bytes.
    pub amount: Iperf2Amount,
    /// The client sends to the end of its input: a time is that of the server alone.
    pub to_end_of_input: bool,
    /// Size of a block or datagram, bytes.
    pub length: Option<usize>,
    /// Number of parallel connections or flows; 0 means 1.
    pub streams: u32,
    /// Rate.
    pub rate: Option<Iperf2Rate>,
    /// Rate enforced by the kernel, bit/s.
    pub fq_rate: Option<u64>,
    /// Type of service.
    pub tos: Option<u8>,
    /// No header is sent (`-C`).
    pub compatible: bool,
    /// The client waits for the answer to its header (`-X`).
    pub detects_peer: bool,
    /// Times of sending are compared with those of arrival.
    pub trip_times: bool,
    /// UDP: no report is awaited.
    pub no_udp_fin: bool,
    /// The server's address is one of IPv6.
    pub ipv6: bool,
}

impl Iperf2Plan {
    /// Port of the server for a stream, counted from 1.
    #[must_use]
    pub fn port_of(&self, stream: u32) -> Option<u16> {
        let behind = if self.port_of_each {
            stream.saturating_sub(1)
        } else {
            0
        };
        self.port.checked_add(u16::try_from(behind).ok()?)
    }

    /// Size of a block or datagram, bytes.
    #[must_use]
    pub fn block(&self) -> usize {
        let default = match (self.udp, self.ipv6) {
            (false, _) => BLOCK,
            (true, false) => DATAGRAM,
            (true, true) => DATAGRAM_V6,
        };
        self.length.unwrap_or(default)
    }

    /// The reason for which a server cannot be asked to send so much or so fast: the header of a
    /// client has 32 bits for each.
    #[must_use]
    pub fn not_in_header(&self) -> Option<String> {
        if self.direction == Iperf2Direction::Forward {
            return None;
        }
        let (most_bytes, most_rate) = (i32::MAX.unsigned_abs(), u32::MAX);
        match (self.amount, self.rate) {
            (Iperf2Amount::Bytes(bytes), _) if bytes > most_bytes.into() => Some(format!(
                "{bytes} bytes: a server can be asked for {most_bytes} bytes at most"
            )),
            (_, Some(Iperf2Rate::Bits(rate))) if rate > most_rate.into() => Some(format!(
                "{rate} bit/s: a server can be asked for {most_rate} bit/s at most"
            )),
            (_, Some(Iperf2Rate::Packets(_))) => {
                Some("packets per second: a server can be asked for bits per second only".into())
            }
            _ => None,
        }
    }

    /// Rate of each stream; TCP has none unless given.
    #[must_use]
    pub fn effective_rate(&self) -> Option<Iperf2Rate> {
        let default = self.udp.then_some(Iperf2Rate::Bits(DATAGRAM_RATE));
        self.rate.or(default)
    }
}

/// Data moved in a direction of one or several streams, until a time or in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct MovedCounts {
    /// Bytes.
    pub bytes: u64,
    /// Calls, or datagrams that were moved.
    pub calls: u64,
    /// Datagrams, as the rows tell them.
    pub datagrams: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Datagrams that came out of order.
    pub late: u64,
    /// Segments that were sent again.
    pub retransmits: u64,
    /// Reads by their size, if they are counted.
    pub reads: [u64; READ_CLASSES],
}

impl MovedCounts {
    /// Counts since others.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Counts of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |one, more| one + more)
    }

    fn with(self, other: Self, both: fn(u64, u64) -> u64) -> Self {
        let mut reads = self.reads;
        for (one, more) in reads.iter_mut().zip(other.reads) {
            *one = both(*one, more);
        }
        Self {
            bytes: both(self.bytes, other.bytes),
            calls: both(self.calls, other.calls),
            datagrams: both(self.datagrams, other.datagrams),
            lost: both(self.lost, other.lost),
            late: both(self.late, other.late),
            retransmits: both(self.retransmits, other.retransmits),
            reads,
        }
    }
}

/// Delays of datagrams or blocks, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayMoments {
    /// Number of delays. The other fields are 0 without one.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Sum of the squared differences from the mean; not a number if unknown.
    pub squares: f64,
}

impl DelayMoments {
    /// Adds a delay, by Welford's method.
    pub fn add(&mut self, delay: f64) {
        if self.count == 0 {
            (self.min, self.max) = (delay, delay);
        }
        self.count += 1;
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
        let from_mean = delay - self.mean;
        self.mean += from_mean / count(self.count);
        self.squares += from_mean * (delay - self.mean);
    }

    /// The moments of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        if self.count == 0 {
            return *other;
        }
        if other.count == 0 {
            return *self;
        }
        let both = count(self.count + other.count);
        let (difference, share) = (other.mean - self.mean, count(other.count) / both);
        Self {
            count: self.count + other.count,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            mean: self.mean + difference * share,
            squares: self.squares
                + other.squares
                + difference * difference * count(self.count) * share,
        }
    }

    /// The standard deviation of a sample; `None` of fewer than two delays, and of unknown squares.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let freedom = self.count.checked_sub(1).filter(|freedom| *freedom > 0)?;
        let squares = Some(self.squares).filter(|squares| squares.is_finite())?;
        Some((squares.max(0.0) / count(freedom)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_parts_are_those_of_the_whole() {
        let of = |delays: &[f64]| {
            let mut moments = DelayMoments::default();
            delays.iter().for_each(|delay| moments.add(*delay));
            moments
        };
        let whole = of(&[5.0, 1.0, 3.0, 11.0]);
        let parts = of(&[5.0]).plus(&of(&[])).plus(&of(&[1.0, 3.0, 11.0]));
        assert_eq!((parts.count, parts.min, parts.max), (4, 1.0, 11.0));
        assert!((parts.mean - 5.0).abs() < 1e-9);
        assert!((parts.squares - whole.squares).abs() < 1e-9);
        let deviation = (56.0_f64 / 3.0).sqrt();
        assert!((whole.deviation().unwrap() - deviation).abs() < 1e-9);
        assert_eq!(of(&[1.0]).deviation(), None);
    }
}
