//! Counts of another end that cannot be: those of netperf contradict them, or no test reaches them.

/// Factor by which more may arrive than was sent: a network may repeat datagrams.
const REPEATED: u64 = 2;
/// Bytes of a connection that buffers at both ends and on the path may hold at the end.
pub const HELD: u64 = 256 << 20;
/// Seconds by which the other end's part of a test may be longer.
const LATE: f64 = 120.0;
/// Datagrams, or segments, and bytes of a second that no path carries.
const FASTEST: [f64; 2] = [1e9, 1e13];

/// Datagrams that the sender counted, that the receiver expected, and that it lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatagramClaims {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that the receiver expected.
    pub expected: u64,
    /// Of these, those that did not arrive.
    pub lost: u64,
}

/// Counts of one direction: sent at one end, received at the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct WayClaims {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes of sends that the sender may not have counted.
    pub uncounted: u64,
    /// Number of connections; 0 for datagrams.
    pub connections: u64,
    /// Counts of datagrams; `None` over connections.
    pub datagrams: Option<DatagramClaims>,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Counts of both ends begin with the same byte.
    pub is_whole: bool,
    /// The sender went on when the receiver had counted what counts.
    pub went_on: bool,
    /// Seconds at this end, and at the other.
    pub seconds: [f64; 2],
}

impl WayClaims {
    /// Description of the counts that are impossible, if some are.
    pub fn contradiction(&self) -> Option<String> {
        self.of_bytes()
            .or_else(|| self.of_datagrams())
            .or_else(|| self.of_time())
    }

    fn of_bytes(&self) -> Option<String> {
        let (sent, received) = (self.sent, self.received);
        let held = HELD.saturating_mul(self.connections);
        // A connection repeats nothing.
        let repeated = if self.connections > 0 { 1 } else { REPEATED };
        let most = sent.saturating_mul(repeated).saturating_add(self.uncounted);
        let too_many = sent > 0 && received > most;
        let too_few = self.connections > 0 && !self.went_on && received.saturating_add(held) < sent;
        let is_wrong = self.is_whole && (too_many || too_few);
        let is_too_fast = self.is_too_fast(sent.max(received), FASTEST[1]);
        (is_wrong || is_too_fast).then(|| format!("{received} bytes received of {sent} bytes sent"))
    }

    fn of_datagrams(&self) -> Option<String> {
        let [most, _] = FASTEST;
        if self.is_too_fast(self.retransmitted, most) {
            return Some(format!("{} retransmissions", self.retransmitted));
        }
        let DatagramClaims {
            sent,
            expected,
            lost,
        } = self.datagrams?;
        // iperf 2 counts final datagrams, too.
        let limit = sent.saturating_add(2).saturating_mul(REPEATED);
        let is_unsent = self.is_whole && sent > 0 && expected > limit;
        let is_wrong = lost > expected || is_unsent || self.is_too_fast(expected, most);
        is_wrong.then(|| format!("{lost} datagrams lost of {expected}"))
    }

    fn of_time(&self) -> Option<String> {
        let [here, there] = self.seconds;
        (there > here + LATE).then(|| format!("a test of {there:.1} seconds in {here:.1}"))
    }

    #[expect(clippy::cast_precision_loss, reason = "a limit by far")]
    fn is_too_fast(&self, count: u64, most: f64) -> bool {
        count as f64 > (self.seconds[0] + 1.0) * most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_no_test_reaches_contradict() {
        let way = WayClaims {
            sent: 1000,
            received: 900,
            is_whole: true,
            seconds: [2.0, 2.1],
            datagrams: Some(DatagramClaims {
                sent: 10,
                expected: 10,
                lost: 1,
            }),
            ..WayClaims::default()
        };
        assert_eq!(way.contradiction(), None);
        let of = |expected, lost| {
            let datagrams = Some(DatagramClaims {
                sent: 10,
                expected,
                lost,
            });
            WayClaims { datagrams, ..way }.contradiction()
        };
        assert!(of(10, u64::MAX - 23).is_some() && of(11, 12).is_some());
        assert!(of(12, 0).is_none() && of(25, 0).is_some());
        for wrong in [
            WayClaims {
                received: 2001,
                ..way
            },
            WayClaims {
                sent: u64::MAX,
                ..way
            },
            WayClaims {
                retransmitted: u64::MAX - 23,
                ..way
            },
            WayClaims {
                seconds: [2.0, 123.0],
                ..way
            },
        ] {
            assert!(wrong.contradiction().is_some(), "{wrong:?}");
        }
        // An end that omits the beginning of a test counts other bytes.
        let part = WayClaims {
            received: 2001,
            is_whole: false,
            ..way
        };
        assert_eq!(part.contradiction(), None);
    }
}
