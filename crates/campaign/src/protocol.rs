//! Messages between the coordinator of a campaign and its agents (docs/spec/campaign.md).
//!
//! A message is its length, four bytes with the most significant first, and one JSON object. It is
//! sent over a connection on which both ends have proven the agents' key, so that no other program can
//! read, change or repeat it. Times are readings of `CLOCK_MONOTONIC` (clock_gettime(2)) of the
//! agent's host, nanoseconds.

mod limits;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

pub use limits::{CampaignMessage, LONGEST_TEXT, MOST_LOADS, MOST_MEMBERS};
use netperf_web::JsonWeight;

/// Version of the protocol. An agent serves no other.
pub const VERSION: u32 = 1;
/// Interval of the coordinator's heartbeats, nanoseconds.
pub const HEARTBEAT: u64 = 500_000_000;
/// Silence of the coordinator after which an agent stops all load, unless the greeting says
/// otherwise, nanoseconds: five heartbeats. What is in queues then is gone within 3 s.
pub const COORDINATOR_SILENCE: u64 = 2_500_000_000;
/// Longest that a greeting may say, nanoseconds.
pub const LONGEST_SILENCE: u64 = 60_500_000_000;
/// Time before the begin of a load at which its connections are opened, nanoseconds.
pub const OPENING: u64 = 1_500_000_000;

/// A host that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterEntry {
    /// Its name in the campaign.
    pub name: String,
    /// Host of the control connection.
    pub host: String,
    /// Port of the control connection.
    pub port: String,
    /// Address for data; that of the control connection without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// False for a stock netserver, which takes no key.
    pub agent: bool,
}

/// A test that an agent runs against another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignLoad {
    /// Number in the campaign.
    pub id: u32,
    /// Index of the other member in the roster.
    pub to: usize,
    /// Words of the command line: the test and its options, without hosts, times and files.
    pub words: Vec<String>,
    /// Parts of the run, nanoseconds.
    pub parts: LoadParts,
}

/// Parts of a run, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadParts {
    /// Time before the window.
    pub warmup: u64,
    /// The window, which counts.
    pub window: u64,
    /// Time after the window.
    pub cooldown: u64,
}

impl LoadParts {
    /// All parts.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.warmup
            .saturating_add(self.window)
            .saturating_add(self.cooldown)
    }
}

/// A key for one pair of members in one campaign, as hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenDigits(pub String);

impl std::fmt::Debug for TokenDigits {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TokenDigits(..)")
    }
}

impl Drop for TokenDigits {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

/// A member and the token of the pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairToken {
    /// Index of the other member in the roster.
    pub member: usize,
    /// The token.
    pub token: TokenDigits,
}

/// Everything that an agent needs to know before the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// All members.
    pub roster: Vec<RosterEntry>,
    /// Index of this agent in the roster.
    pub own: usize,
    /// Tests that it runs.
    pub loads: Vec<CampaignLoad>,
    /// Members whose tests it serves.
    pub accepts: Vec<PairToken>,
    /// Members to which it sends.
    pub sends: Vec<PairToken>,
}

/// The begin of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Number of the load.
    pub id: u32,
    /// Reading of the agent's clock.
    pub at: u64,
}

/// A message of the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// The first message.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Identifier of the campaign.
        campaign: String,
        /// Silence of the coordinator after which the agent stops all load, nanoseconds;
        /// [`COORDINATOR_SILENCE`] without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silence: Option<u64>,
    },
    /// Asks for a reading of the clock.
    Clock,
    /// Roster, loads and tokens.
    Prepare(Box<Preparation>),
    /// When the loads begin.
    Commit {
        /// The begins, each of a load of the preparation.
        starts: Vec<Start>,
    },
    /// Heartbeat.
    Alive,
    /// Asks for all results, also after the connection was lost.
    Collect,
    /// Stops all loads; their results are lost.
    Abort,
    /// Goes on without members that are lost: loads to them end or do not begin, and they are
    /// served no more.
    Without {
        /// Their indices in the roster.
        members: Vec<usize>,
    },
    /// The campaign is over; the agent forgets it.
    Bye,
}

impl Order {
    /// True if an agent answers it.
    #[must_use]
    pub const fn has_reply(&self) -> bool {
        !matches!(self, Self::Bye | Self::Without { .. })
    }
}

/// The end of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Number of the load.
    pub id: u32,
    /// The JSON document of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// Why there is no document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Facts about its place that an agent has from its engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlace {
    /// Labels, as those of an inventory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Identity that a replacement does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

impl HostPlace {
    fn is_unknown(&self) -> bool {
        self.labels.is_empty() && self.uid.is_none()
    }
}

/// A message of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// Answer to [`Order::Hello`].
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Version of the program.
        program: String,
        /// Name of the host.
        host: String,
        /// Port of netserver.
        port: String,
        /// Number of processors.
        cpus: u32,
        /// Place of the host, as its engine says.
        #[serde(default, skip_serializing_if = "HostPlace::is_unknown")]
        place: HostPlace,
    },
    /// Answer to [`Order::Clock`].
    Clock {
        /// When the question came.
        received: u64,
        /// When the answer was sent.
        sent: u64,
    },
    /// The agent can do all of it.
    Prepared,
    /// The starts are in force.
    Committed {
        /// Time to the first one, nanoseconds.
        margin: u64,
    },
    /// The starts are too early; none is in force.
    Late {
        /// By this much, nanoseconds.
        by: u64,
    },
    /// Answer to [`Order::Alive`].
    Alive {
        /// Loads that run now.
        running: u32,
        /// Loads that are over.
        done: u32,
        /// Distance of the system clock (`CLOCK_REALTIME`) from its course since the preparation,
        /// nanoseconds: steps and corrections.
        stepped: i64,
    },
    /// A load is over.
    Result(Box<LoadResult>),
    /// All results were sent.
    Collected,
    /// No load runs any more.
    Stopped,
    /// The order is not carried out.
    Refused {
        /// Why, in one line.
        reason: String,
    },
}

/// An error in a message.
#[derive(Debug, Error)]
pub enum BadMessage {
    /// It is too long.
    #[error("a message of {0} bytes, more than {1}")]
    Long(usize, usize),
    /// Its values take too much memory.
    #[error("a message that takes more than {0} bytes of memory")]
    Heavy(u64),
    /// A list or a text is too long.
    #[error("{1} {0}, more than {2}")]
    List(&'static str, usize, usize),
    /// It is no message of this protocol.
    #[error("malformed message: {0}")]
    Json(#[from] serde_json::Error),
}

/// Encodes a message.
///
/// # Errors
/// When it is too long.
pub fn encode<M: CampaignMessage>(message: &M) -> Result<Vec<u8>, BadMessage> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    match u32::try_from(length) {
        Ok(number) if length <= M::LONGEST => {
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            Ok(bytes)
        }
        _ => Err(BadMessage::Long(length, M::LONGEST)),
    }
}

/// Bytes that arrived and are not yet a whole message.
#[derive(Debug, Default)]
pub struct Inbox(Vec<u8>);

impl Inbox {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Bytes that are no whole message yet, or none of this protocol.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.0
    }

    /// The next whole message.
    ///
    /// # Errors
    /// When it is too long or none of this protocol; the connection is of no use then.
    pub fn take<M: CampaignMessage>(&mut self) -> Result<Option<M>, BadMessage> {
        let Some((length, rest)) = self.0.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > M::LONGEST {
            return Err(BadMessage::Long(length, M::LONGEST));
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        // Memory that it needs, before it is allocated.
        if JsonWeight::of(message) > M::HEAVIEST {
            return Err(BadMessage::Heavy(M::HEAVIEST));
        }
        let message: M = serde_json::from_slice(message)?;
        message.check_lists()?;
        self.0.drain(..4 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent_however_they_are_cut() {
        let orders = [
            Order::Hello {
                version: VERSION,
                campaign: "c1".to_owned(),
                silence: None,
            },
            Order::Clock,
            Order::Commit {
                starts: vec![Start {
                    id: 7,
                    at: u64::MAX,
                }],
            },
            Order::Bye,
        ];
        let bytes: Vec<u8> = orders.iter().flat_map(|one| encode(one).unwrap()).collect();
        for piece in [1, 3, 7, bytes.len()] {
            let (mut inbox, mut got) = (Inbox::default(), Vec::new());
            for part in bytes.chunks(piece) {
                inbox.add(part);
                while let Some(order) = inbox.take::<Order>().unwrap() {
                    got.push(order);
                }
            }
            assert_eq!(got, orders, "{piece}");
        }
    }

    #[test]
    fn invalid_messages_are_errors_and_take_no_memory() {
        let mut inbox = Inbox::default();
        inbox.add(&u32::MAX.to_be_bytes());
        assert!(matches!(inbox.take::<Order>(), Err(BadMessage::Long(..))));
        for text in ["{}", "[]", "{\"order\":\"fire\"}", "\u{0}"] {
            let mut inbox = Inbox::default();
            let length = u32::try_from(text.len()).unwrap();
            inbox.add(&length.to_be_bytes());
            inbox.add(text.as_bytes());
            assert!(matches!(inbox.take::<Order>(), Err(BadMessage::Json(_))));
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        let token = TokenDigits("00ff".to_owned());
        assert_eq!(format!("{token:?}"), "TokenDigits(..)");
    }
}
