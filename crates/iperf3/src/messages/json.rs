//! Objects of JSON: values read with their bounds, and written in a fixed order.

use serde_json::{Map, Value};

/// A message that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Iperf3Error {
    /// The message is longer than the second number.
    #[error("a message of {0} bytes is too long: at most {1}")]
    TooLong(u32, usize),
    /// It is no object of JSON.
    #[error("a message is not a JSON object")]
    NotJson,
    /// A key has the wrong type.
    #[error("\"{0}\" is not {1}")]
    Type(&'static str, &'static str),
    /// A number is out of its range.
    #[error("\"{0}\" is {1}: from {2} to {3} is possible")]
    Range(&'static str, String, u64, u64),
    /// A needed key is absent.
    #[error("\"{0}\" is missing")]
    Missing(&'static str),
}

/// An object that is read.
pub(super) struct JsonObject(Map<String, Value>);

impl JsonObject {
    /// Parses a message.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Iperf3Error> {
        match serde_json::from_slice(text) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(_) | Err(_) => Err(Iperf3Error::NotJson),
        }
    }

    /// An object inside another.
    pub(super) fn of(value: &Value) -> Option<Self> {
        value.as_object().cloned().map(Self)
    }

    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// A flag: true, or a number that is not 0.
    pub(super) fn flag(&self, key: &'static str) -> bool {
        match self.value(key) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(_) | None => false,
        }
    }

    /// A number; a string of digits counts as one.
    pub(super) fn real(&self, key: &'static str) -> Result<Option<f64>, Iperf3Error> {
        let wrong = Iperf3Error::Type(key, "a number");
        let number = match self.value(key) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.parse().ok(),
            Some(_) => None,
        };
        match number.filter(|number: &f64| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => Err(wrong),
        }
    }

    /// A whole number within a range.
    pub(super) fn whole(
        &self,
        key: &'static str,
        (least, most): (u64, u64),
    ) -> Result<Option<u64>, Iperf3Error> {
        let number = match self.value(key) {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.parse().ok(),
            Some(_) | None => None,
        };
        if let Some(number) = number {
            return if (least..=most).contains(&number) {
                Ok(Some(number))
            } else {
                Err(Iperf3Error::Range(key, number.to_string(), least, most))
            };
        }
        // Negative or with a fraction.
        match self.real(key)? {
            None => Ok(None),
            Some(real) => Err(Iperf3Error::Range(key, real.to_string(), least, most)),
        }
    }

    /// A count, for which both programs write -1 where there is none.
    pub(super) fn count(&self, key: &'static str) -> Result<Option<u64>, Iperf3Error> {
        match self.value(key) {
            Some(Value::Number(number)) => match (number.as_u64(), number.as_i64()) {
                (Some(u64::MAX), _) => Ok(None),
                (Some(count), _) => Ok(Some(count)),
                // Negative.
                (None, Some(_)) => Ok(None),
                (None, None) => Err(Iperf3Error::Type(key, "a count")),
            },
            None => Ok(None),
            Some(_) => Err(Iperf3Error::Type(key, "a count")),
        }
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<String>, Iperf3Error> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Iperf3Error::Type(key, "a string")),
        }
    }

    pub(super) fn array(&self, key: &'static str) -> Result<&[Value], Iperf3Error> {
        match self.value(key) {
            Some(Value::Array(values)) => Ok(values),
            Some(_) => Err(Iperf3Error::Type(key, "an array")),
            None => Err(Iperf3Error::Missing(key)),
        }
    }
}

/// An object that is written, without blanks, with its keys in the order in which they are added.
pub(super) struct JsonWriter(String);

impl JsonWriter {
    pub(super) fn new() -> Self {
        Self("{".to_owned())
    }

    pub(super) fn raw(&mut self, key: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&Value::from(key).to_string());
        self.0.push(':');
        self.0.push_str(value);
    }

    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.raw(key, &value.into().to_string());
    }

    pub(super) fn put_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
