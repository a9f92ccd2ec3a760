//! Records that a session process writes to its listener, as lines on its standard output (a
//! pipe).
//!
//! A session processes input from untrusted clients, so the listener accepts only these few
//! words and numbers.

use netperf_model::figures::count;
use netperf_model::{Denied, EndNeeds, Flow, Limits, Tally, TransportId};

use super::histogram;

/// An event of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SessionRecord {
    /// A test starts, and ends after so many seconds.
    Runs(f64),
    /// A test completed.
    Ran(Ran),
    /// A test could not be prepared; error number sent to the client.
    Refused(i32),
    /// The policy refused the client or its request: error number sent to the client, and the
    /// reason's word.
    Denied(i32, &'static str),
    /// The client has proven the key with this index.
    Key(usize),
    /// A question, and its number.
    Asks(u32, SessionQuestion),
    /// A running test failed; error number sent to the client.
    Failed(i32),
    /// The session is over.
    Ended(SessionEnd),
}

/// A question of a session, which the listener answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionQuestion {
    /// The client has proven the key: is there a seat for it?
    Proven,
    /// May a test have this, instead of what the one before needed?
    Needs(EndNeeds),
}

/// Answer of the listener to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Granted.
    Granted,
    /// The number of sessions is at its limit.
    Sessions,
    /// The number of sessions of the client's source is at its limit.
    PeerSessions,
    /// The memory of all sessions is at its limit.
    Memory,
    /// The number of ports of all sessions is at its limit.
    Ports,
    /// The number of sessions with the client's key is at its limit.
    KeySessions,
    /// netserver has read its settings again since the session started.
    Outdated,
}

impl Grant {
    /// Length of an answer, bytes.
    pub const BYTES: usize = 5;

    /// Encodes the answer to the question with this number.
    pub fn bytes(self, number: u32) -> [u8; Self::BYTES] {
        let [a, b, c, d] = number.to_ne_bytes();
        [a, b, c, d, self.byte()]
    }

    /// The byte of the answer to the question with this number; `None` for another answer, which
    /// arrived too late.
    pub fn byte_for(number: u32, answer: [u8; Self::BYTES]) -> Option<u8> {
        let [a, b, c, d, byte] = answer;
        (u32::from_ne_bytes([a, b, c, d]) == number).then_some(byte)
    }

    const fn byte(self) -> u8 {
        match self {
            Self::Granted => b'g',
            Self::Sessions => b's',
            Self::PeerSessions => b'p',
            Self::KeySessions => b'k',
            Self::Memory => b'm',
            Self::Ports => b'o',
            Self::Outdated => b'n',
        }
    }

    /// The refusal, with the limits of the session's policy; `None` if it is granted.
    pub fn denied(byte: u8, limits: &Limits) -> Option<Denied> {
        let most = |limit: Option<u32>| limit.unwrap_or_default();
        match byte {
            b'g' => None,
            b'n' => Some(Denied::Reloaded),
            b'k' => Some(Denied::KeySessions(0)),
            b'p' => Some(Denied::PeerSessions(most(limits.peer_sessions), None)),
            b'm' => Some(Denied::MemoryOfAll(limits.memory.all)),
            b'o' => Some(Denied::PortsOfAll(limits.ports.all)),
            _ => Some(Denied::Sessions(most(limits.sessions), None)),
        }
    }
}

/// Receiver of the records of a session.
pub trait Records {
    /// Takes a record.
    fn tell(&mut self, record: SessionRecord);

    /// Asks the listener.
    ///
    /// # Errors
    /// The reason for a refusal.
    fn ask(&mut self, question: SessionQuestion, limits: &Limits) -> Result<(), Denied>;
}

/// Records of a server without a log: nothing but the limits of a session forbids a test.
pub struct NoRecords;

impl Records for NoRecords {
    fn tell(&mut self, _: SessionRecord) {}

    fn ask(&mut self, _: SessionQuestion, _: &Limits) -> Result<(), Denied> {
        Ok(())
    }
}

/// A test as measured by netserver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// Transport.
    pub transport: TransportId,
    /// Direction, as seen by netperf.
    pub flow: Flow,
    /// Counters.
    pub tally: Tally,
    /// Seconds.
    pub elapsed: f64,
}

netperf_model::words! {
    /// Reason for the end of a session, as the session sees it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SessionEnd {
        /// The client closed the connection between two messages.
        Finished = "finished",
        /// The client closed the connection while a test ran.
        Abandoned = "abandoned",
        /// The client was silent for too long.
        Silent = "silent",
        /// The connection broke, or ended in the middle of a message.
        Cut = "cut",
        /// The client broke the protocol, or did not know the passphrase.
        Broken = "broken",
        /// The sandbox could not be set up, so nothing was served.
        Unconfined = "unconfined",
    }
}

/// Unit of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultUnit {
    /// 10^6 bits per second.
    Megabits,
    /// Transactions per second.
    Transactions,
}

impl ResultUnit {
    /// Name of the unit in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Megabits => "10^6bits/s",
            Self::Transactions => "transactions/s",
        }
    }

    /// Bounds of the histogram.
    pub const fn bounds(self) -> &'static [f64; 12] {
        match self {
            Self::Megabits => &histogram::BITS,
            Self::Transactions => &histogram::TRANSACTIONS,
        }
    }

    /// Units of the histogram per unit of the log.
    pub const fn factor(self) -> f64 {
        match self {
            Self::Megabits => 1e6,
            Self::Transactions => 1.0,
        }
    }
}

/// Words for directions.
const FLOWS: [(&str, Flow); 9] = [
    ("both", Flow::both_ways(netperf_model::Duplex::Same)),
    ("stream", Flow::SEND),
    ("maerts", Flow::RECEIVE),
    ("rr", Flow::RR),
    ("crr", Flow::CRR),
    ("cc", Flow::CC),
    ("connect-stream", connecting(Flow::SEND)),
    ("connect-maerts", connecting(Flow::RECEIVE)),
    ("none", NO_FLOW),
];

const NO_FLOW: Flow = Flow {
    connects: false,
    ..Flow::CC
};

const fn connecting(flow: Flow) -> Flow {
    Flow {
        connects: true,
        ..flow
    }
}

fn flow_word(flow: Flow) -> &'static str {
    let row = FLOWS.iter().find(|(_, one)| *one == flow);
    row.map_or("none", |(word, _)| word)
}

impl Ran {
    /// Name of the test: transport and direction, such as `tcp_rr`.
    pub fn name(&self) -> String {
        format!("{}_{}", self.transport.row().option, flow_word(self.flow))
    }

    /// Bytes in both directions.
    pub const fn bytes(&self) -> u64 {
        let tally = &self.tally;
        tally.bytes_sent.saturating_add(tally.bytes_received)
    }

    /// The result and its unit; `None` if no time was measured.
    pub fn result(&self) -> Option<(f64, ResultUnit)> {
        if !(self.elapsed.is_finite() && self.elapsed > 0.0) {
            return None;
        }
        Some(if self.flow.counts_transactions() {
            (
                count(self.tally.transactions) / self.elapsed,
                ResultUnit::Transactions,
            )
        } else {
            (
                count(self.bytes()) * 8.0 / 1e6 / self.elapsed,
                ResultUnit::Megabits,
            )
        })
    }
}

impl SessionRecord {
    /// The record of a refusal.
    pub const fn denied(denied: &Denied) -> Self {
        Self::Denied(denied.errno(), denied.word())
    }

    /// Encodes the record as a line, including the newline.
    pub fn line(&self) -> String {
        match self {
            Self::Runs(seconds) => format!("runs {seconds:.3}\n"),
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
            Self::Key(index) => format!("key {index}\n"),
            Self::Asks(number, SessionQuestion::Proven) => format!("proven {number}\n"),
            Self::Asks(number, SessionQuestion::Needs(needs)) => {
                format!("needs {number} {} {}\n", needs.memory, needs.ports)
            }
            Self::Failed(errno) => format!("failed {errno}\n"),
            Self::Ended(ending) => format!("ended {}\n", ending.label()),
        }
    }

    /// Decodes a line without its newline; `None` if it is invalid.
    pub fn parse(line: &str) -> Option<Self> {
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
                    flow: flow.map_or(NO_FLOW, |(_, flow)| *flow),
                    tally: Tally {
                        bytes_sent: sent.parse().ok()?,
                        bytes_received: received.parse().ok()?,
                        transactions: transactions.parse().ok()?,
                        ..Tally::default()
                    },
                    elapsed: Some(elapsed).filter(|elapsed| elapsed.is_finite())?,
                }))
            }
            ["proven", number] => {
                let number = number.parse().ok()?;
                Some(Self::Asks(number, SessionQuestion::Proven))
            }
            ["needs", number, memory, ports] => {
                let needs = EndNeeds {
                    memory: memory.parse().ok()?,
                    ports: ports.parse().ok()?,
                };
                let number = number.parse().ok()?;
                Some(Self::Asks(number, SessionQuestion::Needs(needs)))
            }
            ["key", index] => Some(Self::Key(index.parse().ok()?)),
            ["runs", seconds] => {
                let seconds: f64 = seconds.parse().ok()?;
                Some(Self::Runs(seconds)).filter(|_| seconds.is_finite())
            }
            ["refused", errno] => Some(Self::Refused(errno.parse().ok()?)),
            ["denied", errno, word] => {
                let word = Denied::WORDS.iter().find(|known| *known == word)?;
                Some(Self::Denied(errno.parse().ok()?, word))
            }
            ["failed", errno] => Some(Self::Failed(errno.parse().ok()?)),
            ["ended", word] => SessionEnd::named(word).map(Self::Ended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_session_are_read_by_the_listener() {
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
            SessionRecord::Runs(0.25),
            SessionRecord::Ran(ran),
            SessionRecord::Refused(22),
            SessionRecord::Key(63),
            SessionRecord::Asks(7, SessionQuestion::Proven),
            SessionRecord::Asks(
                u32::MAX,
                SessionQuestion::Needs(EndNeeds {
                    memory: 1,
                    ports: 2,
                }),
            ),
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
    fn records_answer_is_for_the_question_with_its_number_alone() {
        let late = Grant::Granted.bytes(1);
        assert_eq!(Grant::byte_for(2, late), None);
        assert_eq!(Grant::byte_for(1, late), Some(b'g'));
    }

    #[test]
    fn records_that_no_session_writes_are_refused() {
        for line in [
            "",
            "ran",
            "ended",
            "ended well",
            "ran tcp rr 1 2 3 nan",
            "ran tcp rr 1 2 3 inf",
            "runs nan",
            "runs",
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
