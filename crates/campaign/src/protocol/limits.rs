//! Limits of messages: their bytes, the memory that they take, and each of their lists.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    BadMessage, CampaignLoad, LoadResult, Order, PairToken, Preparation, Reply, RosterEntry,
};

/// Most members of a campaign.
pub const MOST_MEMBERS: usize = 4096;
/// Most loads of an agent.
pub const MOST_LOADS: usize = 100_000;
/// Most labels of a host.
const MOST_LABELS: usize = 256;
/// Most words of a load.
const MOST_WORDS: usize = 64;
/// Most letters of a name, a host or a word.
const LONGEST_NAME: usize = 253;
/// Most letters of a label, or of a reason.
pub const LONGEST_TEXT: usize = 4096;

/// A message of one end.
pub trait CampaignMessage: Serialize + DeserializeOwned {
    /// Most bytes.
    const LONGEST: usize;
    /// Most bytes of memory, about.
    const HEAVIEST: u64;

    /// Checks the lengths of all lists and texts.
    ///
    /// # Errors
    /// The first one that is too long.
    fn check_lists(&self) -> Result<(), BadMessage>;
}

fn list(name: &'static str, length: usize, most: usize) -> Result<(), BadMessage> {
    if length > most {
        return Err(BadMessage::List(name, length, most));
    }
    Ok(())
}

impl CampaignMessage for Order {
    const LONGEST: usize = 64 << 20;
    const HEAVIEST: u64 = 512 << 20;

    fn check_lists(&self) -> Result<(), BadMessage> {
        match self {
            Self::Hello { campaign, .. } => {
                list("letters of the campaign", campaign.len(), LONGEST_NAME)
            }
            Self::Prepare(preparation) => preparation.check_lists(),
            Self::Commit { starts } => list("starts", starts.len(), MOST_LOADS),
            Self::Without { members } => list("members", members.len(), MOST_MEMBERS),
            Self::Clock | Self::Alive | Self::Collect | Self::Abort | Self::Bye => Ok(()),
        }
    }
}

impl Preparation {
    fn check_lists(&self) -> Result<(), BadMessage> {
        list("members", self.roster.len(), MOST_MEMBERS)?;
        list("loads", self.loads.len(), MOST_LOADS)?;
        self.roster.iter().try_for_each(RosterEntry::check_texts)?;
        self.loads.iter().try_for_each(CampaignLoad::check_lists)?;
        for tokens in [&self.accepts, &self.sends] {
            list("tokens", tokens.len(), MOST_MEMBERS)?;
            tokens.iter().try_for_each(PairToken::check_text)?;
        }
        Ok(())
    }
}

impl RosterEntry {
    fn check_texts(&self) -> Result<(), BadMessage> {
        let texts = [&self.name, &self.host, &self.port];
        let mut texts = texts.into_iter().chain(&self.data);
        texts.try_for_each(|text| list("letters of a member", text.len(), LONGEST_NAME))
    }
}

impl CampaignLoad {
    fn check_lists(&self) -> Result<(), BadMessage> {
        list("words of a load", self.words.len(), MOST_WORDS)?;
        let mut words = self.words.iter();
        words.try_for_each(|word| list("letters of a word", word.len(), LONGEST_NAME))
    }
}

impl PairToken {
    fn check_text(&self) -> Result<(), BadMessage> {
        list("letters of a token", self.token.0.len(), LONGEST_NAME)
    }
}

impl CampaignMessage for Reply {
    const LONGEST: usize = 4 << 20;
    const HEAVIEST: u64 = 64 << 20;

    fn check_lists(&self) -> Result<(), BadMessage> {
        match self {
            Self::Hello {
                program,
                host,
                port,
                place,
                ..
            } => {
                let mut texts = [program, host, port].into_iter();
                texts.try_for_each(|text| list("letters of a name", text.len(), LONGEST_NAME))?;
                list("labels", place.labels.len(), MOST_LABELS)?;
                let labels = place.labels.iter().flat_map(|(key, value)| [key, value]);
                let mut texts = labels.chain(&place.uid);
                texts.try_for_each(|text| list("letters of a label", text.len(), LONGEST_TEXT))
            }
            Self::Result(result) => result.check_text(),
            Self::Refused { reason } => list("letters of a reason", reason.len(), LONGEST_TEXT),
            Self::Clock { .. }
            | Self::Prepared
            | Self::Committed { .. }
            | Self::Late { .. }
            | Self::Alive { .. }
            | Self::Collected
            | Self::Stopped => Ok(()),
        }
    }
}

impl LoadResult {
    fn check_text(&self) -> Result<(), BadMessage> {
        let error = self.error.as_ref().map_or(0, String::len);
        list("letters of an error", error, LONGEST_TEXT)
    }

    /// It as it can be sent: a document that is too long is replaced by the reason.
    #[must_use]
    pub fn sendable(self) -> Self {
        let cut = |error: String| error.chars().take(LONGEST_TEXT / 4).collect();
        let mut whole = Self {
            error: self.error.map(cut),
            ..self
        };
        let bytes = whole.document.as_ref().map_or(0, |document| {
            serde_json::to_vec(document).map_or(usize::MAX, |bytes| bytes.len())
        });
        // The rest of the message is short.
        if bytes > Reply::LONGEST - 2 * LONGEST_TEXT {
            whole.document = None;
            whole.error = Some(format!("its result has {bytes} bytes, which is too long"));
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::protocol::{HostPlace, Inbox, LoadParts, Start, TokenDigits, VERSION, encode};

    /// The refusal of a message as it comes.
    fn refused<M: CampaignMessage + std::fmt::Debug>(text: &[u8]) -> String {
        let mut inbox = Inbox::default();
        inbox.add(&u32::try_from(text.len()).unwrap().to_be_bytes());
        inbox.add(text);
        inbox.take::<M>().unwrap_err().to_string()
    }

    #[test]
    fn message_that_takes_much_memory_is_refused_before_it_is_parsed() {
        let document = "[],".repeat(1_300_000);
        let text = format!("{{\"reply\":\"result\",\"id\":1,\"document\":[{document}0]}}");
        assert!(text.len() < Reply::LONGEST);
        let heavy = format!(
            "a message that takes more than {} bytes of memory",
            64 << 20
        );
        assert_eq!(refused::<Reply>(text.as_bytes()), heavy);
        let words = "\"\",".repeat(10_000_000);
        let text = format!("{{\"order\":\"commit\",\"starts\":[],\"more\":[{words}0]}}");
        let heavy = format!(
            "a message that takes more than {} bytes of memory",
            512 << 20
        );
        assert_eq!(refused::<Order>(text.as_bytes()), heavy);
        // A reply is short, and known to be too long before it has come.
        let mut inbox = Inbox::default();
        inbox.add(&(60_u32 << 20).to_be_bytes());
        let long = inbox.take::<Reply>().unwrap_err().to_string();
        assert_eq!(
            long,
            format!("a message of {} bytes, more than {}", 60 << 20, 4 << 20)
        );
        assert!(inbox.take::<Order>().unwrap().is_none());
    }

    fn member() -> RosterEntry {
        RosterEntry {
            name: "a".to_owned(),
            host: "a".to_owned(),
            port: "1".to_owned(),
            data: None,
            agent: true,
        }
    }

    fn token() -> PairToken {
        PairToken {
            member: 1,
            token: TokenDigits(String::new()),
        }
    }

    fn load() -> CampaignLoad {
        CampaignLoad {
            id: 1,
            to: 1,
            words: Vec::new(),
            parts: LoadParts {
                warmup: 0,
                window: 0,
                cooldown: 0,
            },
        }
    }

    fn prepare(change: &dyn Fn(&mut Preparation)) -> Order {
        let mut preparation = Preparation {
            roster: Vec::new(),
            own: 0,
            loads: Vec::new(),
            accepts: Vec::new(),
            sends: Vec::new(),
        };
        change(&mut preparation);
        Order::Prepare(Box::new(preparation))
    }

    fn long() -> String {
        "x".repeat(LONGEST_NAME + 1)
    }

    fn is_too_long(message: &impl CampaignMessage) -> bool {
        matches!(message.check_lists(), Err(BadMessage::List(..)))
    }

    #[test]
    fn every_list_of_an_order_has_a_limit() {
        let with = |words: Vec<String>| CampaignLoad { words, ..load() };
        let host = || RosterEntry {
            host: long(),
            ..member()
        };
        let data = || RosterEntry {
            data: Some(long()),
            ..member()
        };
        let digits = || PairToken {
            member: 1,
            token: TokenDigits(long()),
        };
        let orders = [
            Order::Hello {
                version: VERSION,
                campaign: long(),
                silence: None,
            },
            prepare(&|one| one.roster = vec![member(); 4097]),
            prepare(&|one| one.roster = vec![host()]),
            prepare(&|one| one.roster = vec![data()]),
            prepare(&|one| one.loads = vec![load(); 100_001]),
            prepare(&|one| one.loads = vec![with(vec![String::new(); 65])]),
            prepare(&|one| one.loads = vec![with(vec![long()])]),
            prepare(&|one| one.accepts = vec![token(); 4097]),
            prepare(&|one| one.sends = vec![token(); 4097]),
            prepare(&|one| one.sends = vec![digits()]),
            Order::Commit {
                starts: vec![Start { id: 1, at: 1 }; 100_001],
            },
            Order::Without {
                members: vec![1; 4097],
            },
        ];
        for order in &orders {
            assert!(is_too_long(order), "{order:?}");
        }
    }

    #[test]
    fn every_list_of_a_reply_has_a_limit() {
        let hello = |port: String, labels: usize| Reply::Hello {
            version: VERSION,
            program: String::new(),
            host: String::new(),
            port,
            cpus: 1,
            place: HostPlace {
                labels: (0..labels)
                    .map(|label| (label.to_string(), String::new()))
                    .collect(),
                uid: None,
            },
        };
        let wordy = || "x".repeat(LONGEST_TEXT + 1);
        let failed = LoadResult {
            id: 1,
            document: None,
            error: Some(wordy()),
        };
        let replies = [
            hello(long(), 0),
            hello(String::new(), 257),
            Reply::Refused { reason: wordy() },
            Reply::Result(Box::new(failed)),
        ];
        for reply in &replies {
            assert!(is_too_long(reply), "{reply:?}");
        }
    }

    #[test]
    fn result_that_is_too_long_to_send_says_so() {
        let long = LoadResult {
            id: 7,
            document: Some(Value::String("x".repeat(5 << 20))),
            error: None,
        };
        let sent = long.sendable();
        assert_eq!((sent.id, sent.document.is_none()), (7, true));
        assert!(
            sent.error
                .as_ref()
                .unwrap()
                .ends_with("bytes, which is too long")
        );
        let wordy = LoadResult {
            id: 7,
            document: None,
            error: Some("\u{1F980}".repeat(5_000)),
        };
        let sent = Reply::Result(Box::new(wordy.sendable()));
        assert!(sent.check_lists().is_ok());
        assert!(encode(&sent).is_ok());
    }
}
