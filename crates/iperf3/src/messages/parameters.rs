//! The parameters of a test, which the client sends.

use super::MOST_STREAMS;
use super::json::{Iperf3Error, JsonObject, JsonWriter};

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

/// Parameters of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Protocol.
    pub protocol: Protocol,
    /// Seconds at the beginning that do not count.
    pub omit: u32,
    /// CPU for the server.
    pub server_affinity: Option<u32>,
    /// Seconds; 0 with an amount.
    pub time: f64,
    /// Bytes of all streams; 0 for none.
    pub num: u64,
    /// Blocks of all streams; 0 for none.
    pub blockcount: u64,
    /// Segment size, bytes.
    pub mss: Option<u32>,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// Streams in each direction.
    pub parallel: u32,
    /// Direction.
    pub direction: StreamDirection,
    /// Socket buffer, bytes.
    pub window: Option<u32>,
    /// Bytes of a block or datagram; 0 if the client named none.
    pub len: u32,
    /// Rate of each stream, bits per second; 0 for none.
    pub bandwidth: u64,
    /// Rate that the kernel paces each stream to, bits per second.
    pub fqrate: u64,
    /// Interval of pacing, microseconds.
    pub pacing_timer: u32,
    /// Blocks per burst; 0 for one.
    pub burst: u32,
    /// Type of service.
    pub tos: u8,
    /// Title of the client's lines.
    pub title: Option<String>,
    /// A string for the JSON output.
    pub extra_data: Option<String>,
    /// Congestion control.
    pub congestion: Option<String>,
    /// The client wants the server's output.
    pub get_server_output: bool,
    /// Counters of datagrams have 64 bits.
    pub counters_64bit: bool,
    /// The payload is digits.
    pub repeating_payload: bool,
    /// Zero copy.
    pub zerocopy: bool,
    /// RSA authentication, which this implementation refuses.
    pub authtoken: Option<String>,
    /// Version of the client.
    pub client_version: String,
}

/// Largest block, bytes.
const LARGEST_BLOCK: u64 = 1 << 20;
/// Largest datagram, bytes.
const LARGEST_DATAGRAM: u64 = 65_507;
/// Longest test, seconds.
const LONGEST_TEST: u32 = 86_400;
/// Default interval of pacing, microseconds.
const PACING_TIMER: u64 = 1000;
/// Least length of a datagram: its header.
const LEAST_DATAGRAM: u64 = 16;

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
        let object = JsonObject::parse(text)?;
        let number = |key, range| object.whole(key, range);
        let small = |key, least: u64, most: u64| {
            let value = object.whole(key, (least, most))?;
            Ok(value.and_then(|value| u32::try_from(value).ok()))
        };
        let protocol = if object.flag("udp") {
            Protocol::Udp
        } else if object.flag("sctp") {
            Protocol::Sctp
        } else {
            Protocol::Tcp
        };
        let (shortest, longest) = match protocol {
            Protocol::Udp => (LEAST_DATAGRAM, LARGEST_DATAGRAM),
            Protocol::Tcp | Protocol::Sctp => (1, LARGEST_BLOCK),
        };
        let time = object.real("time")?.unwrap_or(0.0);
        if !(0.0..=f64::from(LONGEST_TEST)).contains(&time) {
            let most = u64::from(LONGEST_TEST);
            return Err(Iperf3Error::Range("time", time.to_string(), 0, most));
        }
        let amounts = (0, u64::MAX);
        Ok(Self {
            protocol,
            omit: small("omit", 0, 600)?.unwrap_or(0),
            server_affinity: small("server_affinity", 0, 1 << 20)?,
            time,
            num: number("num", amounts)?.unwrap_or(0),
            blockcount: number("blockcount", amounts)?.unwrap_or(0),
            mss: small("MSS", 0, 9216)?.filter(|mss| *mss > 0),
            nodelay: object.flag("nodelay"),
            parallel: small("parallel", 0, u64::from(MOST_STREAMS))?
                .unwrap_or(1)
                .max(1),
            direction: match (object.flag("bidirectional"), object.flag("reverse")) {
                (true, _) => StreamDirection::Both,
                (false, true) => StreamDirection::Reverse,
                (false, false) => StreamDirection::Forward,
            },
            window: small("window", 0, 512 << 20)?.filter(|window| *window > 0),
            len: match number("len", (0, longest))? {
                None | Some(0) => 0,
                Some(len) if len < shortest => {
                    return Err(Iperf3Error::Range(
                        "len",
                        len.to_string(),
                        shortest,
                        longest,
                    ));
                }
                Some(len) => u32::try_from(len).unwrap_or(0),
            },
            bandwidth: number("bandwidth", amounts)?.unwrap_or(0),
            fqrate: number("fqrate", amounts)?.unwrap_or(0),
            pacing_timer: number("pacing_timer", (0, 1_000_000_000))?
                .unwrap_or(PACING_TIMER)
                .try_into()
                .unwrap_or(u32::MAX),
            burst: small("burst", 0, 1000)?.unwrap_or(0),
            tos: number("TOS", (0, 255))?
                .unwrap_or(0)
                .try_into()
                .unwrap_or(0),
            title: object.text("title")?,
            extra_data: object.text("extra_data")?,
            congestion: object.text("congestion")?,
            get_server_output: object.flag("get_server_output"),
            counters_64bit: object.flag("udp_counters_64bit"),
            repeating_payload: object.flag("repeating_payload"),
            zerocopy: object.flag("zerocopy"),
            authtoken: object.text("authtoken")?,
            client_version: object.text("client_version")?.unwrap_or_default(),
        })
    }

    /// The JSON text, with the keys in iperf3's order.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut out = JsonWriter::new();
        let positive = |value: u64| Some(value).filter(|value| *value > 0);
        let yes = |flag: bool| flag.then_some(true);
        let one = |flag: bool| flag.then_some(1);
        out.put(
            match self.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
                Protocol::Sctp => "sctp",
            },
            true,
        );
        out.put("omit", self.omit);
        out.put_some("server_affinity", self.server_affinity);
        if self.time.fract() == 0.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole seconds, at most a day"
            )]
            out.put("time", self.time as u32);
        } else {
            out.put("time", self.time);
        }
        out.put("num", self.num);
        out.put("blockcount", self.blockcount);
        out.put_some("MSS", self.mss);
        out.put_some("nodelay", yes(self.nodelay));
        out.put("parallel", self.parallel);
        match self.direction {
            StreamDirection::Forward => {}
            StreamDirection::Reverse => out.put("reverse", true),
            StreamDirection::Both => out.put("bidirectional", true),
        }
        out.put_some("window", self.window);
        out.put("len", self.len);
        out.put_some("bandwidth", positive(self.bandwidth));
        out.put_some("fqrate", positive(self.fqrate));
        out.put("pacing_timer", self.pacing_timer);
        out.put_some("burst", positive(self.burst.into()));
        out.put_some("TOS", positive(self.tos.into()));
        out.put_some("title", self.title.as_deref());
        out.put_some("extra_data", self.extra_data.as_deref());
        out.put_some("congestion", self.congestion.as_deref());
        out.put_some("get_server_output", one(self.get_server_output));
        out.put_some("udp_counters_64bit", one(self.counters_64bit));
        out.put_some("repeating_payload", one(self.repeating_payload));
        out.put_some("zerocopy", one(self.zerocopy));
        out.put_some("authtoken", self.authtoken.as_deref());
        out.put("client_version", self.client_version.as_str());
        out.finish()
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
    fn what_is_encoded_is_decoded() {
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
                &format!("\"time\" is {}: from 0 to 86400 is possible", 1e300),
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
}
