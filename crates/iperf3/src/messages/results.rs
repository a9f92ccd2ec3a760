//! The results of one end, exchanged after a test.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::json::{
    Iperf3Error, count, not_negative, number, parse, read, some_count, some_number, text, whole_of,
};
use super::{MOST_STREAMS, Parameters};

/// Most streams of both directions.
const MOST_OF_BOTH: u64 = MOST_STREAMS as u64 * 2;
/// Largest identifier of a stream.
const LARGEST_ID: u64 = MOST_OF_BOTH + 2;
/// Letters of the longest name of congestion control.
const LONGEST_NAME: usize = 15;

/// Results of one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// CPU time of the program during the test, percent of one CPU: total, user, system.
    pub cpu: [f64; 3],
    /// True if the counts of retransmitted segments are known; `None` at an end that does not send.
    pub has_retransmits: Option<bool>,
    /// Congestion control of the streams.
    pub congestion: Option<String>,
    /// Output of the server, on request.
    pub output: Option<ServerOutput>,
    /// Streams.
    pub streams: Vec<StreamResults>,
}

/// Output of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOutput {
    /// As text.
    Text(String),
    /// As an object of JSON.
    Json(Value),
}

/// Results of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResults {
    /// Identifier ([`Parameters::stream_id`]).
    #[serde(deserialize_with = "id")]
    pub id: u32,
    /// Bytes sent or received.
    #[serde(default, deserialize_with = "count")]
    pub bytes: u64,
    /// Segments retransmitted; `None` if unknown.
    #[serde(default, with = "some_count")]
    pub retransmits: Option<u64>,
    /// Jitter, seconds; of a sender it means nothing.
    #[serde(default, deserialize_with = "not_negative")]
    pub jitter: f64,
    /// Datagrams lost. 3.12 counts those of the time that does not count (`-O`), too.
    #[serde(default, deserialize_with = "count")]
    pub errors: u64,
    /// Those of them that do not count; `None` of 3.12.
    #[serde(default, with = "some_count", skip_serializing_if = "Option::is_none")]
    pub omitted_errors: Option<u64>,
    /// Datagrams from the start, even of the time that does not count.
    #[serde(default, deserialize_with = "count")]
    pub packets: u64,
    /// Those of them that do not count; `None` of 3.12.
    #[serde(default, with = "some_count", skip_serializing_if = "Option::is_none")]
    pub omitted_packets: Option<u64>,
    /// Seconds from the start of the test to that of the counts.
    #[serde(default, deserialize_with = "number")]
    pub start_time: f64,
    /// Seconds to the end of the counts; `None` if it is not told.
    #[serde(default, deserialize_with = "some_number")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<f64>,
}

fn id<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let id = whole_of(&Value::deserialize(from)?, (1, LARGEST_ID));
    let id = id.map_err(de::Error::custom)?;
    u32::try_from(id).map_err(de::Error::custom)
}

impl StreamResults {
    /// Length of the counts, seconds; 0 if it is not told.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end_time.map_or(0.0, |end| end - self.start_time)
    }
}

/// A name of congestion control; `None` if it is none that the kernel could give.
fn congestion<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name: String = text(from)?;
    let is_name = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'-';
    let fits = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_name);
    Ok(Some(name).filter(|_| fits))
}

/// Results as they are written, with the keys in iperf3's order.
#[derive(Serialize, Deserialize)]
struct ResultsMessage<'a> {
    #[serde(deserialize_with = "number")]
    cpu_util_total: f64,
    #[serde(deserialize_with = "number")]
    cpu_util_user: f64,
    #[serde(deserialize_with = "number")]
    cpu_util_system: f64,
    #[serde(default, with = "some_count")]
    sender_has_retransmits: Option<u64>,
    #[serde(default, deserialize_with = "congestion")]
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_used: Option<String>,
    #[serde(default, deserialize_with = "text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    server_output_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_output_json: Option<Value>,
    #[serde(skip_deserializing)]
    streams: &'a [StreamResults],
}

impl Serialize for Results {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [total, user, system] = self.cpu;
        let (text, json) = match self.output.clone() {
            Some(ServerOutput::Text(text)) => (Some(text), None),
            Some(ServerOutput::Json(value)) => (None, Some(value)),
            None => (None, None),
        };
        let message = ResultsMessage {
            cpu_util_total: total,
            cpu_util_user: user,
            cpu_util_system: system,
            sender_has_retransmits: self.has_retransmits.map(u64::from),
            congestion_used: self.congestion.clone(),
            server_output_text: text,
            server_output_json: json,
            streams: &self.streams,
        };
        message.serialize(serializer)
    }
}

impl Results {
    /// Reads the JSON text.
    ///
    /// # Errors
    /// A needed key that is absent, and a value that is not what its key needs.
    pub fn decode(text: &[u8]) -> Result<Self, Iperf3Error> {
        let mut object = parse(text)?;
        let wrong = |problem: &str| Iperf3Error::Key("streams".to_owned(), problem.to_owned());
        let streams = match object.remove("streams") {
            Some(Value::Array(streams)) => streams,
            Some(Value::Null) | None => return Err(wrong("is missing")),
            Some(_) => return Err(wrong("is not an array")),
        };
        if streams.len() as u64 > MOST_OF_BOTH {
            let count = streams.len().to_string();
            return Err(Iperf3Error::range("streams", &count, 0, MOST_OF_BOTH));
        }
        let message: ResultsMessage<'_> = read(object)?;
        let json = message.server_output_json.filter(Value::is_object);
        let text = message.server_output_text.map(ServerOutput::Text);
        Ok(Self {
            cpu: [
                message.cpu_util_total,
                message.cpu_util_user,
                message.cpu_util_system,
            ],
            has_retransmits: message.sender_has_retransmits.map(|count| count > 0),
            congestion: message.congestion_used,
            output: text.or_else(|| json.map(ServerOutput::Json)),
            streams: streams
                .into_iter()
                .map(|stream| match stream {
                    Value::Object(object) => read(object),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_) => Err(wrong("is not an array of objects")),
                })
                .collect::<Result<_, _>>()?,
        })
    }

    /// The JSON text, with the keys in iperf3's order.
    #[must_use]
    pub fn encode(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The results of a stream.
    #[must_use]
    pub fn of(&self, id: u32) -> Option<&StreamResults> {
        self.streams.iter().find(|stream| stream.id == id)
    }

    /// Returns true if the streams are those of a test with these parameters.
    #[must_use]
    pub fn fits(&self, parameters: &Parameters) -> bool {
        let ids = (0..parameters.streams()).map(Parameters::stream_id);
        ids.clone().all(|id| self.of(id).is_some())
            && self
                .streams
                .iter()
                .all(|stream| ids.clone().any(|id| id == stream.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_were_written() {
        let results = Results {
            cpu: [1.5, 1.0, 0.5],
            has_retransmits: Some(true),
            congestion: Some("cubic".to_owned()),
            output: Some(ServerOutput::Text("a\n\"b\"".to_owned())),
            streams: vec![StreamResults {
                id: 3,
                bytes: u64::MAX - 1,
                retransmits: None,
                jitter: 6.078e-6,
                errors: 1,
                omitted_errors: None,
                packets: 2,
                omitted_packets: Some(1),
                start_time: 0.0,
                end_time: Some(0.25),
            }],
        };
        assert_eq!(Results::decode(results.encode().as_bytes()), Ok(results));
    }

    #[test]
    fn both_ways_to_write_none_are_read() {
        for none in ["-1", "18446744073709551615"] {
            let text = format!(
                r#"{{"cpu_util_total":1,"cpu_util_user":0,"cpu_util_system":1,
                "sender_has_retransmits":{none},"streams":[{{"id":1,"retransmits":{none}}}]}}"#
            );
            let read = Results::decode(text.as_bytes()).unwrap();
            assert_eq!(read.has_retransmits, None);
            assert_eq!(read.of(1).unwrap().retransmits, None);
        }
    }

    #[test]
    fn congestion_control_is_a_name_or_unknown() {
        let of = |name: &str| {
            let results = Results {
                congestion: Some(name.to_owned()),
                ..Results::default()
            };
            Results::decode(results.encode().as_bytes())
                .unwrap()
                .congestion
        };
        for name in ["cubic", "bbr2-x_Y", "abcdefghijklmno"] {
            assert_eq!(of(name).as_deref(), Some(name));
        }
        for name in ["", "cubic\nRATE=9", "a b", "\u{1b}[2J", "abcdefghijklmnop"] {
            assert_eq!(of(name), None, "{name:?}");
        }
    }

    #[test]
    fn unusable_results_are_one_clear_error() {
        let with = |rest: &str| {
            let cpu = r#""cpu_util_total":1,"cpu_util_user":0,"cpu_util_system":1"#;
            Results::decode(format!("{{{cpu}{rest}}}").as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(with(""), "\"streams\" is missing");
        assert_eq!(with(r#","streams":3"#), "\"streams\" is not an array");
        assert_eq!(with(r#","streams":[{}]"#), "\"id\" is missing");
        assert_eq!(
            with(r#","streams":[{"id":1,"bytes":1.5}]"#),
            "\"bytes\" is not a count"
        );
        let error = Results::decode(br#"{"streams":[]}"#).unwrap_err();
        assert_eq!(error.to_string(), "\"cpu_util_total\" is missing");
    }

    #[test]
    fn streams_have_to_be_those_of_the_test() {
        let mut results = Results::default();
        let parameters = Parameters {
            parallel: 2,
            ..Parameters::default()
        };
        let stream = |id| StreamResults {
            id,
            ..StreamResults::default()
        };
        results.streams = vec![stream(1), stream(3)];
        assert!(results.fits(&parameters));
        results.streams = vec![stream(1), stream(2)];
        assert!(!results.fits(&parameters));
        results.streams = vec![stream(1)];
        assert!(!results.fits(&parameters));
    }
}
