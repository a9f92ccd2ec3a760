//! Data moved by the streams of a test: in intervals, and in the whole test.

use std::net::SocketAddr;

use netperf_model::TcpFacts;

use crate::messages::{Parameters, Protocol, Results, StreamResults};

use crate::defaults::{BLOCK, DATAGRAM};

/// A stream of the test.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    /// Identifier in the results.
    pub id: u32,
    /// This end sends.
    pub sends: bool,
    /// Own address.
    pub local: Option<SocketAddr>,
    /// The peer's address.
    pub remote: Option<SocketAddr>,
}

/// Figures of a stream in an interval, or in the whole test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamFigures {
    /// Bytes.
    pub bytes: u64,
    /// Datagrams: sent, or expected by the receiver.
    pub packets: u64,
    /// Datagrams lost.
    pub lost: u64,
    /// Datagrams that came late or again.
    pub out_of_order: u64,
    /// Jitter, seconds.
    pub jitter: f64,
    /// Segments retransmitted; `None` if unknown.
    pub retransmits: Option<u64>,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// The peer's window, bytes.
    pub window: u64,
    /// Round trip and its variation, microseconds.
    pub rtt: (u32, u32),
    /// Path MTU, bytes.
    pub pmtu: u32,
}

/// An interval.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInterval {
    /// Begin and end, seconds from the start, or from the start of the part that counts.
    pub start: f64,
    /// End, seconds.
    pub end: f64,
    /// It does not count.
    pub omitted: bool,
    /// Figures of each stream.
    pub streams: Vec<StreamFigures>,
}

/// Round trips and windows of a stream over all intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extremes {
    /// Largest congestion window, bytes.
    pub max_cwnd: u64,
    /// Largest window of the peer, bytes.
    pub max_window: u64,
    /// Longest round trip, microseconds.
    pub max_rtt: u32,
    /// Shortest round trip, microseconds.
    pub min_rtt: u32,
    /// Sum of the round trips, microseconds.
    pub rtt_sum: u64,
    /// Number of round trips.
    pub count: u32,
}

/// Figures of the whole test of one end.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Figures of each stream.
    pub streams: Vec<StreamFigures>,
    /// Datagrams of each stream before the part that counts.
    pub omitted: Vec<u64>,
    /// Seconds of each stream.
    pub ends: Vec<f64>,
    /// Extremes of each stream.
    pub extremes: Vec<Extremes>,
    /// Seconds of the part that counts.
    pub seconds: f64,
    /// CPU time, percent of one CPU.
    pub cpu: [f64; 3],
    /// Congestion control of the streams.
    pub congestion: Option<String>,
    /// State of TCP of the first stream.
    pub tcp: Option<TcpFacts>,
    /// Source or sink of the data of the streams.
    pub file: Option<DataFile>,
}

/// A file with the data of streams (`-F`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its name, as it was given.
    pub name: String,
    /// Its size at the end, bytes.
    pub size: u64,
}

impl DataFile {
    /// The share of the file that was moved, percent. All of a file without a size is.
    pub const fn percent(&self, bytes: u64) -> u64 {
        match (bytes.saturating_mul(100)).checked_div(self.size) {
            Some(percent) => percent,
            None => 100,
        }
    }
}

/// Length of blocks or datagrams of a test.
pub const fn block(parameters: &Parameters) -> u32 {
    match (parameters.len, parameters.protocol) {
        (0, Protocol::Udp) => DATAGRAM,
        (0, Protocol::Tcp | Protocol::Sctp) => BLOCK,
        (length, _) => length,
    }
}

/// Bytes that the client's stream at a position sends; `None` if time ends the test. The amount
/// is that of all streams, in whole blocks.
pub fn amount(parameters: &Parameters, position: u32) -> Option<u64> {
    let block = u64::from(block(parameters));
    let blocks = match (parameters.num, parameters.blockcount) {
        (0, 0) => return None,
        (0, blocks) => blocks,
        (bytes, _) => bytes.div_ceil(block),
    };
    let streams = u64::from(parameters.parallel);
    let extra = u64::from(u64::from(position) < blocks % streams);
    Some((blocks / streams + extra).saturating_mul(block))
}

/// Bytes of a number of blocks; 0 for none.
pub fn wanted(parameters: &Parameters) -> u64 {
    u64::from(block(parameters)).saturating_mul(parameters.blockcount)
}

impl Extremes {
    /// Takes over the figures of an interval.
    pub fn add(&mut self, figures: &StreamFigures) {
        let rtt = figures.rtt.0;
        self.max_cwnd = self.max_cwnd.max(figures.cwnd);
        self.max_window = self.max_window.max(figures.window);
        self.max_rtt = self.max_rtt.max(rtt);
        if rtt > 0 {
            self.min_rtt = if self.count == 0 {
                rtt
            } else {
                self.min_rtt.min(rtt)
            };
            self.rtt_sum += u64::from(rtt);
            self.count += 1;
        }
    }

    /// Mean of the round trips, microseconds.
    pub fn mean_rtt(&self) -> u64 {
        self.rtt_sum / u64::from(self.count.max(1))
    }
}

impl Totals {
    /// The results as they are sent to the peer.
    pub fn results(&self, infos: &[StreamInfo], udp: bool) -> Results {
        let sends = infos.iter().any(|info| info.sends);
        let omitted = self.omitted.iter().filter(|_| udp).copied();
        let omitted = omitted.chain(std::iter::repeat(0));
        let all = infos.iter().zip(&self.streams).zip(&self.ends).zip(omitted);
        Results {
            cpu: self.cpu,
            has_retransmits: sends.then_some(!udp),
            congestion: self.congestion.clone().filter(|_| !udp),
            output: None,
            streams: all
                .map(|(((info, figures), end), omitted)| StreamResults {
                    id: info.id,
                    bytes: figures.bytes,
                    retransmits: figures.retransmits,
                    jitter: figures.jitter,
                    errors: figures.lost,
                    // 3.12 subtracts omitted datagrams, but shows all errors that it is told of.
                    omitted_errors: (omitted > 0).then_some(0),
                    packets: figures.packets + omitted,
                    omitted_packets: Some(omitted).filter(|omitted| *omitted > 0),
                    start_time: 0.0,
                    end_time: Some(*end),
                })
                .collect(),
        }
    }
}

/// Takes out of the results of a peer the datagrams of the time that does not count, which 3.12
/// reports together with the others. What this end omitted of a stream is about what the peer did.
pub fn without_omitted(
    peer: &mut Results,
    (infos, own): (&[StreamInfo], &Totals),
    parameters: &Parameters,
) {
    if parameters.omit == 0 || parameters.protocol != Protocol::Udp {
        return;
    }
    for (info, omitted) in infos.iter().zip(&own.omitted) {
        let Some(stream) = peer.streams.iter_mut().find(|one| one.id == info.id) else {
            continue;
        };
        let omitted = stream.omitted_packets.take().unwrap_or(*omitted);
        stream.packets = stream.packets.saturating_sub(omitted);
        let arrived = stream.bytes / u64::from(block(parameters)).max(1);
        stream.errors = match stream.omitted_errors.take() {
            Some(omitted) => stream.errors.saturating_sub(omitted),
            None => stream.errors.min(stream.packets.saturating_sub(arrived)),
        };
        stream.errors = stream.errors.min(stream.packets);
    }
}

/// Sizes of the buffers of a socket, bytes; `None` if unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketBuffers {
    /// Size of the send buffer.
    pub send: Option<u32>,
    /// Size of the receive buffer.
    pub recv: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(id: u32, sends: bool) -> StreamInfo {
        StreamInfo {
            id,
            sends,
            local: None,
            remote: None,
        }
    }

    fn totals(packets: u64, omitted: u64) -> Totals {
        let figures = StreamFigures {
            packets,
            ..StreamFigures::default()
        };
        Totals {
            streams: vec![figures],
            omitted: vec![omitted],
            ends: vec![2.0],
            extremes: Vec::new(),
            seconds: 2.0,
            cpu: [0.0; 3],
            congestion: None,
            tcp: None,
            file: None,
        }
    }

    /// Packets and errors that a client shows of a peer.
    fn shown(peer: StreamResults) -> (u64, u64) {
        let parameters = Parameters {
            protocol: Protocol::Udp,
            omit: 1,
            len: 1000,
            ..Parameters::default()
        };
        let mut results = Results {
            streams: vec![peer],
            ..Results::default()
        };
        let own = totals(500, 250);
        without_omitted(&mut results, (&[info(1, true)], &own), &parameters);
        let stream = results.streams.first().copied().unwrap_or_default();
        (stream.packets, stream.errors)
    }

    #[test]
    fn a_peer_is_told_of_omitted_datagrams_and_how_many_they_are() {
        let told = totals(500, 250).results(&[info(1, true)], true);
        let stream = told.streams.first().copied().unwrap_or_default();
        assert_eq!((stream.packets, stream.omitted_packets), (750, Some(250)));
        // Without them the message is that of 3.12.
        let text = totals(500, 0).results(&[info(1, true)], true).encode();
        assert!(text.contains("\"packets\":500,\"start_time\""), "{text}");
        let text = totals(500, 250).results(&[info(1, true)], false).encode();
        assert!(!text.contains("omitted"), "{text}");
    }

    #[test]
    fn omitted_datagrams_of_a_peer_are_in_no_figure() {
        let peer = StreamResults {
            id: 1,
            bytes: 490_000,
            packets: 750,
            errors: 40,
            ..StreamResults::default()
        };
        // 3.12 tells neither, and counts errors of both parts: 490 of the 500 arrived.
        assert_eq!(shown(peer), (500, 10));
        let later = StreamResults {
            omitted_packets: Some(248),
            omitted_errors: Some(38),
            ..peer
        };
        assert_eq!(shown(later), (502, 2));
        // Never more lost than expected.
        for packets in [0, 100, 255] {
            let (packets, lost) = shown(StreamResults { packets, ..later });
            assert!(lost <= packets, "{lost} of {packets}");
        }
    }
}
