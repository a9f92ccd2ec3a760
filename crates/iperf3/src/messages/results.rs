//! The results of one end, exchanged after a test.

use serde_json::Value;

use super::json::{Iperf3Error, JsonObject, JsonWriter};
use super::{MOST_STREAMS, Parameters};

/// Results of one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// CPU time of the program during the test, percent of one CPU: total, user, system.
    pub cpu: [f64; 3],
    /// Whether the counts of retransmitted segments are known; `None` at an end that does not send.
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamResults {
    /// Identifier ([`Parameters::stream_id`]).
    pub id: u32,
    /// Bytes sent or received.
    pub bytes: u64,
    /// Segments retransmitted; `None` if unknown.
    pub retransmits: Option<u64>,
    /// Jitter, seconds; of a sender it means nothing.
    pub jitter: f64,
    /// Datagrams lost.
    pub errors: u64,
    /// Datagrams.
    pub packets: u64,
    /// Seconds from the start of the test to that of the counts.
    pub start_time: f64,
    /// Seconds to the end of the counts.
    pub end_time: f64,
}

impl Results {
    /// Reads the JSON text.
    ///
    /// # Errors
    /// A needed key that is absent, and a value that is not what its key needs.
    pub fn decode(text: &[u8]) -> Result<Self, Iperf3Error> {
        let object = JsonObject::parse(text)?;
        let percent = |key| {
            object
                .real(key)?
                .map(|percent| percent.max(0.0))
                .ok_or(Iperf3Error::Missing(key))
        };
        let output = match object.text("server_output_text")? {
            Some(text) => Some(ServerOutput::Text(text)),
            None => object
                .value("server_output_json")
                .filter(|value| value.is_object())
                .map(|value| ServerOutput::Json(value.clone())),
        };
        let streams = object.array("streams")?;
        let most = u64::from(MOST_STREAMS) * 2;
        if streams.len() as u64 > most {
            let count = streams.len().to_string();
            return Err(Iperf3Error::Range("streams", count, 0, most));
        }
        Ok(Self {
            cpu: [
                percent("cpu_util_total")?,
                percent("cpu_util_user")?,
                percent("cpu_util_system")?,
            ],
            has_retransmits: object
                .count("sender_has_retransmits")?
                .map(|count| count > 0),
            congestion: object.text("congestion_used")?,
            output,
            streams: streams.iter().map(stream).collect::<Result<_, _>>()?,
        })
    }

    /// The JSON text, with the keys in iperf3's order.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut out = JsonWriter::new();
        let [total, user, system] = self.cpu;
        out.put("cpu_util_total", total);
        out.put("cpu_util_user", user);
        out.put("cpu_util_system", system);
        let has = self.has_retransmits.map_or(-1, i64::from);
        out.put("sender_has_retransmits", has);
        out.put_some("congestion_used", self.congestion.as_deref());
        match &self.output {
            Some(ServerOutput::Text(text)) => out.put("server_output_text", text.as_str()),
            Some(ServerOutput::Json(value)) => out.put("server_output_json", value.clone()),
            None => {}
        }
        let streams: Vec<String> = self.streams.iter().map(StreamResults::encode).collect();
        out.raw("streams", &format!("[{}]", streams.join(",")));
        out.finish()
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

fn stream(value: &Value) -> Result<StreamResults, Iperf3Error> {
    let object =
        JsonObject::of(value).ok_or(Iperf3Error::Type("streams", "an array of objects"))?;
    let id = object.whole("id", (1, u64::from(MOST_STREAMS) * 2 + 2))?;
    let seconds = |key| Ok(object.real(key)?.unwrap_or(0.0).max(0.0));
    let count = |key| Ok(object.count(key)?.unwrap_or(0));
    Ok(StreamResults {
        id: id
            .and_then(|id| u32::try_from(id).ok())
            .ok_or(Iperf3Error::Missing("id"))?,
        bytes: count("bytes")?,
        retransmits: object.count("retransmits")?,
        jitter: seconds("jitter")?,
        errors: count("errors")?,
        packets: count("packets")?,
        start_time: seconds("start_time")?,
        end_time: seconds("end_time")?,
    })
}

impl StreamResults {
    fn encode(&self) -> String {
        let mut out = JsonWriter::new();
        out.put("id", self.id);
        out.put("bytes", self.bytes);
        match self.retransmits {
            Some(count) => out.put("retransmits", count),
            None => out.put("retransmits", -1),
        }
        out.put("jitter", self.jitter);
        out.put("errors", self.errors);
        out.put("packets", self.packets);
        out.put("start_time", self.start_time);
        out.put("end_time", self.end_time);
        out.finish()
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
                packets: 2,
                start_time: 0.0,
                end_time: 0.25,
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
