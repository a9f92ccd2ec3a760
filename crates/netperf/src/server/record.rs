//! What a session tells its listener: lines on its standard output, which is a pipe.
//!
//! A session talks to strangers, so the listener believes nothing but the few words and
//! numbers that are here.

use netperf_model::{Denied, Flow, Tally, TransportId};

/// Something that happened in a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SessionRecord {
    /// A test ran to its end.
    Ran(Ran),
    /// A test could not be prepared; the error number that the client was told.
    Refused(i32),
    /// The policy has no place for the client or for what it asked for; the error number
    /// that it was told, and the word for it.
    Denied(i32, &'static str),
    /// A test failed while it ran; the error number that the client was told.
    Failed(i32),
    /// The session is over.
    Ended(SessionEnd),
}

/// A test, as netserver's end saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ran {
    /// What data travelled over.
    pub(super) transport: TransportId,
    /// In which direction, as seen by netperf.
    pub(super) flow: Flow,
    /// What was counted.
    pub(super) tally: Tally,
    /// Seconds.
    pub(super) elapsed: f64,
}

/// Why a session ended, as it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SessionEnd {
    /// The client closed the connection between two messages.
    Finished,
    /// The client closed the connection while a test ran.
    Abandoned,
    /// The client said nothing for too long.
    Silent,
    /// The connection broke, or ended in the middle of a message.
    Cut,
    /// The client broke the protocol, or did not know the passphrase.
    Broken,
    /// The walls that it should have did not stand, so that nothing was served.
    Unconfined,
}

impl SessionEnd {
    const ALL: [Self; 6] = [
        Self::Finished,
        Self::Abandoned,
        Self::Silent,
        Self::Cut,
        Self::Broken,
        Self::Unconfined,
    ];

    /// Its word in logs and metrics.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
            Self::Silent => "silent",
            Self::Cut => "cut",
            Self::Broken => "broken",
            Self::Unconfined => "unconfined",
        }
    }
}

/// Flows and their words.
const FLOWS: [(&str, Flow); 8] = [
    ("both", Flow::both_ways(netperf_model::Duplex::Same)),
    ("stream", Flow::SEND),
    ("maerts", Flow::RECEIVE),
    ("rr", Flow::RR),
    ("crr", Flow::CRR),
    ("cc", Flow::CC),
    (
        "connect-stream",
        Flow {
            connects: true,
            ..Flow::SEND
        },
    ),
    (
        "connect-maerts",
        Flow {
            connects: true,
            ..Flow::RECEIVE
        },
    ),
];

fn flow_word(flow: Flow) -> &'static str {
    let row = FLOWS.iter().find(|(_, one)| *one == flow);
    row.map_or("none", |(word, _)| word)
}

impl Ran {
    /// Its name: transport and direction, such as `tcp_rr`.
    pub(super) fn name(&self) -> String {
        format!("{}_{}", self.transport.row().option, flow_word(self.flow))
    }

    /// Bytes in both directions.
    pub(super) const fn bytes(&self) -> u64 {
        let tally = &self.tally;
        tally.bytes_sent.saturating_add(tally.bytes_received)
    }

    /// The result and its unit; nothing where no time was measured.
    pub(super) fn result(&self) -> Option<(f64, &'static str)> {
        if !(self.elapsed.is_finite() && self.elapsed > 0.0) {
            return None;
        }
        Some(if self.flow.counts_transactions() {
            (
                real(self.tally.transactions) / self.elapsed,
                "transactions/s",
            )
        } else {
            (real(self.bytes()) * 8.0 / 1e6 / self.elapsed, "10^6bits/s")
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no 64 bits")]
fn real(count: u64) -> f64 {
    count as f64
}

impl SessionRecord {
    /// The line, newline included.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Ran(ran) => format!(
                "ran {} {} {} {} {} {:.6}\n",
                ran.transport.row().option,
                flow_word(ran.flow),
                ran.tally.bytes_sent,
                ran.tally.bytes_received,
                ran.tally.transactions,
                ran.elapsed
            ),
            Self::Refused(errno) => format!("refused {errno}\n"),
            Self::Denied(errno, word) => format!("denied {errno} {word}\n"),
            Self::Failed(errno) => format!("failed {errno}\n"),
            Self::Ended(ending) => format!("ended {}\n", ending.word()),
        }
    }

    /// A line without its newline; `None` for one that no session of ours writes.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            [
                "ran",
                transport,
                flow,
                sent,
                received,
                transactions,
                elapsed,
            ] => {
                let flow = FLOWS.iter().find(|(word, _)| word == flow);
                let elapsed: f64 = elapsed.parse().ok()?;
                Some(Self::Ran(Ran {
                    transport: TransportId::from_option(transport)?,
                    flow: flow.map_or(
                        Flow {
                            sends: false,
                            receives: false,
                            connects: false,
                            duplex: None,
                        },
                        |(_, flow)| *flow,
                    ),
                    tally: Tally {
                        bytes_sent: sent.parse().ok()?,
                        bytes_received: received.parse().ok()?,
                        transactions: transactions.parse().ok()?,
                        ..Tally::default()
                    },
                    elapsed: Some(elapsed).filter(|elapsed| elapsed.is_finite())?,
                }))
            }
            ["refused", errno] => Some(Self::Refused(errno.parse().ok()?)),
            ["denied", errno, word] => {
                let word = Denied::WORDS.iter().find(|known| *known == word)?;
                Some(Self::Denied(errno.parse().ok()?, word))
            }
            ["failed", errno] => Some(Self::Failed(errno.parse().ok()?)),
            ["ended", word] => SessionEnd::ALL
                .into_iter()
                .find(|ending| ending.word() == *word)
                .map(Self::Ended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_writes_is_what_the_listener_reads() {
        let ran = Ran {
            transport: TransportId::Udp,
            flow: Flow::RR,
            tally: Tally {
                bytes_sent: u64::MAX,
                bytes_received: 0,
                transactions: 7,
                ..Tally::default()
            },
            elapsed: 1.5,
        };
        let mut records = vec![
            SessionRecord::Ran(ran),
            SessionRecord::Refused(22),
            SessionRecord::Failed(-1),
        ];
        records.extend(SessionEnd::ALL.map(SessionRecord::Ended));
        records.extend(
            Denied::WORDS
                .iter()
                .map(|word| SessionRecord::Denied(13, word)),
        );
        for record in records {
            let line = record.line();
            let read = SessionRecord::parse(line.trim_end_matches('\n'));
            assert_eq!(read, Some(record), "{line}");
        }
        assert_eq!(ran.name(), "udp_rr");
    }

    #[test]
    fn what_no_session_writes_is_not_believed() {
        for line in [
            "",
            "ran",
            "ended",
            "ended well",
            "ran tcp rr 1 2 3 nan",
            "ran tcp rr 1 2 3 inf",
            "ran tcp rr -1 2 3 1.0",
            "ran tcp\u{1b}[31m rr 1 2 3 1.0",
            "refused 99999999999",
            "denied 13 nothing",
            "ended finished\r",
        ] {
            assert_eq!(SessionRecord::parse(line), None, "{line}");
        }
    }
}
