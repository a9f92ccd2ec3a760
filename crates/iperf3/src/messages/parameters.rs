//! The parameters of a test, which the client sends.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::MOST_STREAMS;
use super::json::{
    Iperf3Error, amount, flag, is_set, parse, positive, read, real_within, some_whole, text, whole,
    whole_of,
};

/// Protocol of the streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, also if the parameters name none.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP, which this implementation refuses.
    Sctp,
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        };
        serializer.collect_map([(key, true)])
    }
}

/// Direction of the streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamDirection {
    /// The client sends.
    #[default]
    Forward,
    /// The server sends.
    Reverse,
    /// Both send, each over its own streams.
    Both,
}

impl Serialize for StreamDirection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = match self {
            Self::Forward => None,
            Self::Reverse => Some("reverse"),
            Self::Both => Some("bidirectional"),
        };
        serializer.collect_map(key.map(|key| (key, true)))
    }
}

/// Parameters of a test, with the keys in iperf3's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default = "absent")]
pub struct Parameters {
    /// Protocol.
    #[serde(flatten, skip_deserializing)]
    pub protocol: Protocol,
    /// Seconds at the beginning that do not count.
    #[serde(deserialize_with = "whole::<_, _, 600>")]
    pub omit: u32,
    /// CPU for the server.
    #[serde(deserialize_with = "some_whole::<_, MOST_CPU>")]
    #[serde(skip_serializing_if = "is_unset")]
    pub server_affinity: Option<u32>,
    /// Seconds; 0 with an amount.
    #[serde(with = "seconds")]
    pub time: f64,
    /// Bytes of all streams; 0 for none.
    #[serde(deserialize_with = "amount")]
    pub num: u64,
    /// Blocks of all streams; 0 for none.
    #[serde(deserialize_with = "amount")]
    pub blockcount: u64,
    /// Segment size, bytes.
    #[serde(rename = "MSS", skip_serializing_if = "is_unset")]
    #[serde(deserialize_with = "positive::<_, 9216>")]
    pub mss: Option<u32>,
    /// `TCP_NODELAY`.
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_unset")]
    pub nodelay: bool,
    /// Streams in each direction.
    #[serde(deserialize_with = "parallel")]
    pub parallel: u32,
    /// Direction.
    #[serde(flatten, skip_deserializing)]
    pub direction: StreamDirection,
    /// Socket buffer, bytes.
    #[serde(deserialize_with = "positive::<_, LARGEST_WINDOW>")]
    #[serde(skip_serializing_if = "is_unset")]
    pub window: Option<u32>,
    /// Bytes of a block or datagram; 0 if the client named none.
    #[serde(skip_deserializing)]
    pub len: u32,
    /// Rate of each stream, bits per second; 0 for none.
    #[serde(deserialize_with = "amount", skip_serializing_if = "is_unset")]
    pub bandwidth: u64,
    /// Rate that the kernel paces each stream to, bits per second.
    #[serde(deserialize_with = "amount", skip_serializing_if = "is_unset")]
    pub fqrate: u64,
    /// Interval of pacing, microseconds.
    #[serde(deserialize_with = "whole::<_, _, 1_000_000_000>")]
    pub pacing_timer: u32,
    /// Blocks per burst; 0 for one.
    #[serde(deserialize_with = "whole::<_, _, 1000>")]
    #[serde(skip_serializing_if = "is_unset")]
    pub burst: u32,
    /// Type of service.
    #[serde(rename = "TOS", skip_serializing_if = "is_unset")]
    #[serde(deserialize_with = "whole::<_, _, 255>")]
    pub tos: u8,
    /// Flow label of IPv6.
    #[serde(deserialize_with = "positive::<_, 0xf_ffff>")]
    #[serde(skip_serializing_if = "is_unset")]
    pub flowlabel: Option<u32>,
    /// Title of the client's lines.
    #[serde(deserialize_with = "text", skip_serializing_if = "is_unset")]
    pub title: Option<String>,
    /// A string for the JSON output.
    #[serde(deserialize_with = "text", skip_serializing_if = "is_unset")]
    pub extra_data: Option<String>,
    /// Congestion control.
    #[serde(deserialize_with = "text", skip_serializing_if = "is_unset")]
    pub congestion: Option<String>,
    /// The client wants the server's output.
    #[serde(with = "one", skip_serializing_if = "is_unset")]
    pub get_server_output: bool,
    /// Counters of datagrams have 64 bits.
    #[serde(rename = "udp_counters_64bit")]
    #[serde(with = "one", skip_serializing_if = "is_unset")]
    pub counters_64bit: bool,
    /// The payload is digits.
    #[serde(with = "one", skip_serializing_if = "is_unset")]
    pub repeating_payload: bool,
    /// Datagrams of IPv4 are not fragmented.
    #[serde(with = "one", skip_serializing_if = "is_unset")]
    pub dont_fragment: bool,
    /// Zero copy.
    #[serde(with = "one", skip_serializing_if = "is_unset")]
    pub zerocopy: bool,
    /// Encrypted credentials of the client, as base64.
    #[serde(deserialize_with = "text", skip_serializing_if = "is_unset")]
    pub authtoken: Option<String>,
    /// Version of the client.
    #[serde(deserialize_with = "text")]
    pub client_version: String,
}

/// Largest block, bytes.
const LARGEST_BLOCK: u64 = 1 << 20;
/// Largest datagram, bytes.
const LARGEST_DATAGRAM: u64 = 65_507;
/// Longest test, seconds.
const LONGEST_TEST: u32 = 86_400;
/// Default interval of pacing, microseconds.
pub const PACING_TIMER: u32 = 1000;
/// Least length of a datagram: its header.
const LEAST_DATAGRAM: u64 = 16;
/// Largest number of a CPU.
const MOST_CPU: u64 = 1 << 20;
/// Largest socket buffer, bytes.
const LARGEST_WINDOW: u64 = 512 << 20;

/// Values of keys that are absent.
fn absent() -> Parameters {
    Parameters {
        parallel: 1,
        pacing_timer: PACING_TIMER,
        ..Parameters::default()
    }
}

fn parallel<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    const MOST: u64 = MOST_STREAMS as u64;
    Ok(whole::<D, u32, MOST>(from)?.max(1))
}

/// Seconds, without a fraction where they are whole.
mod seconds {
    use super::{Deserializer, LONGEST_TEST, Serializer, real_within};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        real_within(from, LONGEST_TEST)
    }

    pub(super) fn serialize<S: Serializer>(time: &f64, to: S) -> Result<S::Ok, S::Error> {
        if time.fract() != 0.0 {
            return to.serialize_f64(*time);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole seconds, at most a day"
        )]
        to.serialize_u32(*time as u32)
    }
}

/// A flag that is written as 1.
mod one {
    pub(super) use super::flag as deserialize;

    pub(super) fn serialize<S: super::Serializer>(flag: &bool, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8((*flag).into())
    }
}

/// True if a key is left out.
fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Parameters {
    /// Number of streams of a test, in both directions.
    #[must_use]
    pub const fn streams(&self) -> u32 {
        match self.direction {
            StreamDirection::Forward | StreamDirection::Reverse => self.parallel,
            StreamDirection::Both => self.parallel * 2,
        }
    }

    /// Identifier of a stream in the results, by its position from 0: 2 is left out.
    #[must_use]
    pub const fn stream_id(position: u32) -> u32 {
        if position == 0 { 1 } else { position + 2 }
    }

    /// Returns true if the client sends over the stream at this position.
    #[must_use]
    pub const fn client_sends(&self, position: u32) -> bool {
        match self.direction {
            StreamDirection::Forward => true,
            StreamDirection::Reverse => false,
            StreamDirection::Both => position < self.parallel,
        }
    }

    /// Reads the JSON text.
    ///
    /// # Errors
    /// The first key that has the wrong type or is out of its range.
    pub fn decode(text: &[u8]) -> Result<Self, Iperf3Error> {
        let mut object = parse(text)?;
        // Its bounds are those of the protocol.
        let len = object.remove("len").filter(|len| !len.is_null());
        let set = |key| object.get(key).is_some_and(is_set);
        let (udp, sctp) = (set("udp"), set("sctp"));
        let (both, reverse) = (set("bidirectional"), set("reverse"));
        let mut parameters: Self = read(object)?;
        parameters.protocol = match (udp, sctp) {
            (true, _) => Protocol::Udp,
            (false, true) => Protocol::Sctp,
            (false, false) => Protocol::Tcp,
        };
        parameters.direction = match (both, reverse) {
            (true, _) => StreamDirection::Both,
            (false, true) => StreamDirection::Reverse,
            (false, false) => StreamDirection::Forward,
        };
        if let Some(len) = len {
            let (shortest, longest) = match parameters.protocol {
                Protocol::Udp => (LEAST_DATAGRAM, LARGEST_DATAGRAM),
                Protocol::Tcp | Protocol::Sctp => (1, LARGEST_BLOCK),
            };
            let len = whole_of(&len, (0, longest));
            let len = len.map_err(|problem| Iperf3Error::Key("len".to_owned(), problem))?;
            if (1..shortest).contains(&len) {
                let len = len.to_string();
                return Err(Iperf3Error::range("len", &len, shortest, longest));
            }
            parameters.len = u32::try_from(len).unwrap_or(0);
        }
        Ok(parameters)
    }

    /// The JSON text, with the keys in iperf3's order.
    #[must_use]
    pub fn encode(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_numbered_without_2() {
        let ids: Vec<u32> = (0..4).map(Parameters::stream_id).collect();
        assert_eq!(ids, [1, 3, 4, 5]);
    }

    #[test]
    fn absent_keys_have_their_defaults() {
        let read = Parameters::decode(b"{}").unwrap();
        assert_eq!((read.protocol, read.parallel), (Protocol::Tcp, 1));
        assert_eq!((read.len, read.pacing_timer, read.bandwidth), (0, 1000, 0));
    }

    #[test]
    fn parameters_are_decoded_as_encoded() {
        let text = |text: &str| Some(text.to_owned());
        let all = Parameters {
            protocol: Protocol::Udp,
            omit: 1,
            server_affinity: Some(2),
            time: 3.5,
            num: 4,
            blockcount: 5,
            mss: Some(600),
            nodelay: true,
            parallel: 7,
            direction: StreamDirection::Both,
            window: Some(8000),
            len: 900,
            bandwidth: 10_000,
            fqrate: 11_000,
            pacing_timer: 12,
            burst: 13,
            tos: 14,
            flowlabel: Some(15),
            dont_fragment: true,
            title: text("a title"),
            extra_data: text("more"),
            congestion: text("bbr"),
            get_server_output: true,
            counters_64bit: true,
            repeating_payload: true,
            zerocopy: true,
            authtoken: text("token"),
            client_version: "3.18".to_owned(),
        };
        let reverse = Parameters {
            protocol: Protocol::Sctp,
            direction: StreamDirection::Reverse,
            ..all.clone()
        };
        for parameters in [all, reverse] {
            let decoded = Parameters::decode(parameters.encode().as_bytes());
            assert_eq!(decoded, Ok(parameters));
        }
        let least = Parameters {
            time: 10.0,
            parallel: 1,
            pacing_timer: 1000,
            client_version: "3.18".to_owned(),
            ..Parameters::default()
        };
        let expected = "{\"tcp\":true,\"omit\":0,\"time\":10,\"num\":0,\"blockcount\":0,\
                        \"parallel\":1,\"len\":0,\"pacing_timer\":1000,\
                        \"client_version\":\"3.18\"}";
        assert_eq!(least.encode(), expected);
    }

    #[test]
    fn absurd_values_are_one_clear_error() {
        for (text, message) in [
            ("[]", "a message is not a JSON object"),
            ("{not json}", "a message is not a JSON object"),
            (
                r#"{"parallel":1e9}"#,
                "\"parallel\" is 1000000000: from 0 to 128 is possible",
            ),
            (
                r#"{"parallel":-1}"#,
                "\"parallel\" is -1: from 0 to 128 is possible",
            ),
            (
                r#"{"udp":true,"len":1}"#,
                "\"len\" is 1: from 16 to 65507 is possible",
            ),
            (
                r#"{"len":1048577}"#,
                "\"len\" is 1048577: from 0 to 1048576 is possible",
            ),
            (
                r#"{"time":1e300}"#,
                "\"time\" is 1e300: from 0 to 86400 is possible",
            ),
            (
                r#"{"bandwidth":-5}"#,
                "\"bandwidth\" is -5: from 0 to 18446744073709551615 is possible",
            ),
            (r#"{"congestion":7}"#, "\"congestion\" is not a string"),
            (r#"{"time":{}}"#, "\"time\" is not a number"),
            (r#"{"omit":"x"}"#, "\"omit\" is not a number"),
        ] {
            let error = Parameters::decode(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
        }
    }

    #[test]
    fn numbers_may_be_strings_as_some_clients_write_them() {
        let read = Parameters::decode(br#"{"parallel":"2","time":"1.5"}"#).unwrap();
        assert_eq!((read.parallel, read.time), (2, 1.5));
    }

    #[test]
    fn null_is_absent_and_the_last_of_two_equal_keys_counts() {
        let text = br#"{"parallel":null,"len":null,"title":null,"other":[1],"omit":1,"omit":2}"#;
        let read = Parameters::decode(text).unwrap();
        assert_eq!((read.parallel, read.len, read.title), (1, 0, None));
        assert_eq!(read.omit, 2);
    }

    #[test]
    fn flags_are_true_or_numbers_other_than_0() {
        for (value, flag) in [
            ("true", true),
            ("1", true),
            ("0.5", true),
            ("-1", true),
            ("0", false),
            ("false", false),
            ("\"1\"", false),
            ("[1]", false),
        ] {
            let text = format!(r#"{{"udp":{value},"reverse":{value},"zerocopy":{value}}}"#);
            let read = Parameters::decode(text.as_bytes()).unwrap();
            assert_eq!(read.protocol == Protocol::Udp, flag, "{value}");
            assert_eq!(read.direction == StreamDirection::Reverse, flag, "{value}");
            assert_eq!(read.zerocopy, flag, "{value}");
        }
    }

    #[test]
    fn length_is_checked_against_the_protocol() {
        let error = |text: &str| Parameters::decode(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error(r#"{"len":70000,"udp":1}"#),
            "\"len\" is 70000: from 0 to 65507 is possible"
        );
        assert_eq!(
            error(r#"{"len":1.5}"#),
            "\"len\" is 1.5: from 0 to 1048576 is possible"
        );
        let read = Parameters::decode(br#"{"udp":true,"len":"16"}"#).unwrap();
        assert_eq!(read.len, 16);
    }
}
