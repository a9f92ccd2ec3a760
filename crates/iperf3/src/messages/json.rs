//! Objects of JSON: the fields of a message read with their bounds, and errors that name the key.

use netperf_text::unit::short;
use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serializer, de};
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
    /// A key is absent, or has the wrong type, or is out of its range.
    #[error("\"{0}\" {1}")]
    Key(String, String),
}

impl Iperf3Error {
    pub(super) fn range(key: &str, value: &str, least: u64, most: u64) -> Self {
        Self::Key(key.to_owned(), out_of_range(value, least, most))
    }
}

impl de::Error for Iperf3Error {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Key(String::new(), message.to_string())
    }

    fn missing_field(key: &'static str) -> Self {
        Self::Key(key.to_owned(), "is missing".to_owned())
    }
}

/// The object of a message.
pub(super) fn parse(text: &[u8]) -> Result<Map<String, Value>, Iperf3Error> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) | Err(_) => Err(Iperf3Error::NotJson),
    }
}

/// Reads an object. A key that is null is absent.
pub(super) fn read<'de, T: Deserialize<'de>>(object: Map<String, Value>) -> Result<T, Iperf3Error> {
    T::deserialize(ObjectReader {
        rest: object.into_iter(),
        next: None,
    })
}

/// Reads the keys of an object, and adds the key to errors of its value.
struct ObjectReader {
    rest: serde_json::map::IntoIter,
    next: Option<(String, Value)>,
}

impl<'de> Deserializer<'de> for ObjectReader {
    type Error = Iperf3Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Iperf3Error> {
        visitor.visit_map(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de> MapAccess<'de> for ObjectReader {
    type Error = Iperf3Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Iperf3Error> {
        self.next = self.rest.find(|(_, value)| !value.is_null());
        let Some((key, _)) = &self.next else {
            return Ok(None);
        };
        let key: StringDeserializer<Iperf3Error> = key.clone().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Iperf3Error> {
        let (key, value) = self.next.take().unwrap_or_default();
        let read = seed.deserialize(value);
        read.map_err(|error| Iperf3Error::Key(key, error.to_string()))
    }
}

fn out_of_range(value: &str, least: u64, most: u64) -> String {
    format!("is {value}: from {least} to {most} is possible")
}

/// True of a flag that is true, or a number that is not 0.
pub(super) fn is_set(value: &Value) -> bool {
    value.as_bool() == Some(true) || value.as_f64().is_some_and(|number| number != 0.0)
}

/// A flag.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(is_set(&Value::deserialize(from)?))
}

/// A number; a string of digits counts as one.
fn number_of(value: &Value) -> Result<f64, String> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let number = number.filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "is not a number".to_owned())
}

/// A whole number within a range.
pub(super) fn whole_of(value: &Value, (least, most): (u64, u64)) -> Result<u64, String> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match number {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        Some(number) => Err(out_of_range(&number.to_string(), least, most)),
        // Negative or with a fraction.
        None => Err(out_of_range(&shown(number_of(value)?), least, most)),
    }
}

/// A number as text: in full, or briefly if it is far beyond all limits.
fn shown(number: f64) -> String {
    if number.abs() < 1e15 {
        number.to_string()
    } else {
        short(number)
    }
}

/// A number.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number_of(&Value::deserialize(from)?).map_err(de::Error::custom)
}

/// The same of an optional key.
pub(super) fn some_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    number(from).map(Some)
}

/// A number that is at least 0.
pub(super) fn not_negative<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(number(from)?.max(0.0))
}

/// A number from 0 to `most`.
pub(super) fn real_within<'de, D: Deserializer<'de>>(from: D, most: u32) -> Result<f64, D::Error> {
    let number = number(from)?;
    if (0.0..=f64::from(most)).contains(&number) {
        return Ok(number);
    }
    let problem = out_of_range(&shown(number), 0, most.into());
    Err(de::Error::custom(problem))
}

/// A whole number up to `MOST`, for which its type is large enough.
pub(super) fn whole<'de, D: Deserializer<'de>, N: TryFrom<u64>, const MOST: u64>(
    from: D,
) -> Result<N, D::Error> {
    let number = whole_of(&Value::deserialize(from)?, (0, MOST)).map_err(de::Error::custom)?;
    N::try_from(number).map_err(|_| de::Error::custom("is out of range"))
}

/// The same of an optional key.
pub(super) fn some_whole<'de, D: Deserializer<'de>, const MOST: u64>(
    from: D,
) -> Result<Option<u32>, D::Error> {
    whole::<D, u32, MOST>(from).map(Some)
}

/// The same; 0 is none.
pub(super) fn positive<'de, D: Deserializer<'de>, const MOST: u64>(
    from: D,
) -> Result<Option<u32>, D::Error> {
    let number = whole::<D, u32, MOST>(from)?;
    Ok(Some(number).filter(|number| *number > 0))
}

/// Any amount.
pub(super) fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole::<D, u64, { u64::MAX }>(from)
}

/// A count, for which both programs write -1 where there is none.
pub(super) mod some_count {
    use super::{Deserialize as _, Deserializer, Serializer, Value, de};

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<u64>, D::Error> {
        let value = Value::deserialize(from)?;
        match (value.as_u64(), value.as_i64()) {
            (Some(count), _) => Ok(Some(count).filter(|count| *count < u64::MAX)),
            // Negative.
            (None, Some(_)) => Ok(None),
            (None, None) => Err(de::Error::custom("is not a count")),
        }
    }

    pub(in super::super) fn serialize<S: Serializer>(
        count: &Option<u64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match count {
            Some(count) => to.serialize_u64(*count),
            None => to.serialize_i64(-1),
        }
    }
}

/// The same; 0 where there is none.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(some_count::deserialize(from)?.unwrap_or(0))
}

/// A text.
pub(super) fn text<'de, D: Deserializer<'de>, T: From<String>>(from: D) -> Result<T, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => Ok(text.into()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(de::Error::custom("is not a string"))
        }
    }
}
