//! Encodings of figures in the JSON document.
//!
//! A type that is named by `#[serde(with = "...")]` of a field encodes the field and gives
//! its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Implements `JsonSchema` by a schema without a name.
macro_rules! inline_schema {
    ($name:ident, $($schema:tt)+) => {
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($($schema)+)
            }
        }
    };
}

/// A figure that is 0 or more; null if it was not measured or is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredFigure(pub Option<f64>);

inline_schema!(MeasuredFigure, { "type": ["number", "null"], "minimum": 0 });

impl MeasuredFigure {
    /// The figure, or nothing if it is negative or not finite.
    pub fn of(value: impl Into<Option<f64>>) -> Self {
        let value = value.into();
        Self(value.filter(|value| value.is_finite() && *value >= 0.0))
    }
}

impl<'de> Deserialize<'de> for MeasuredFigure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::<f64>::deserialize(from).map(Self::of)
    }
}

/// A figure that is -1 if it was not measured, written as [`MeasuredFigure`].
#[derive(Clone, Copy, Debug)]
pub struct AsMeasured;

inline_schema!(AsMeasured, { "type": ["number", "null"], "minimum": 0 });

impl AsMeasured {
    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        MeasuredFigure::of(*value).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(MeasuredFigure::deserialize(from)?.0.unwrap_or(-1.0))
    }
}

/// A figure that is null if it is not finite.
#[derive(Clone, Copy, Debug)]
pub struct AsFinite;

inline_schema!(AsFinite, { "type": ["number", "null"] });

impl AsFinite {
    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(value).filter(|value| value.is_finite()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

/// A share, written in percent.
#[derive(Clone, Copy, Debug)]
pub struct AsPercent;

inline_schema!(AsPercent, { "type": ["number", "null"], "minimum": 0 });

impl AsPercent {
    pub(crate) fn serialize<S: Serializer>(share: &f64, to: S) -> Result<S::Ok, S::Error> {
        MeasuredFigure::of(share * 100.0).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(MeasuredFigure::deserialize(from)?.0.unwrap_or(0.0) / 100.0)
    }
}

/// A span of time, or a time since 1970, written in seconds.
#[derive(Clone, Copy, Debug)]
pub struct AsSeconds;

inline_schema!(AsSeconds, { "type": "number", "minimum": 0 });

impl AsSeconds {
    /// Writes the number of seconds.
    ///
    /// # Errors
    /// The errors of `to`.
    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        time.as_secs_f64().serialize(to)
    }

    /// Reads a number of seconds; null and a number that is no time are 0.
    ///
    /// # Errors
    /// When there is something else.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let seconds = Option::<f64>::deserialize(from)?.unwrap_or(0.0);
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }
}

/// Microseconds, written in seconds.
#[derive(Clone, Copy, Debug)]
pub struct MicrosAsSeconds;

inline_schema!(MicrosAsSeconds, { "type": "number", "minimum": 0 });

impl MicrosAsSeconds {
    pub(crate) fn serialize<S: Serializer>(micros: &u64, to: S) -> Result<S::Ok, S::Error> {
        AsSeconds::serialize(&Duration::from_micros(*micros), to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let time = AsSeconds::deserialize(from)?;
        // Seconds as a binary fraction can lie just below a whole number of microseconds.
        let micros = time.saturating_add(Duration::from_nanos(500)).as_micros();
        Ok(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

/// A value that is negative if it was not asked for or refused, and then null.
#[derive(Clone, Copy, Debug)]
pub struct NotNegative;

inline_schema!(NotNegative, { "type": ["integer", "null"], "minimum": 0 });

impl NotNegative {
    pub(crate) fn serialize<S: Serializer>(value: &i32, to: S) -> Result<S::Ok, S::Error> {
        Some(value).filter(|value| **value >= 0).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(-1))
    }
}

/// A port that is 0 if there is none, and then null.
#[derive(Clone, Copy, Debug)]
pub struct PortOrNull;

inline_schema!(PortOrNull, { "type": ["integer", "null"], "minimum": 1 });

impl PortOrNull {
    pub(crate) fn serialize<S: Serializer>(port: &u16, to: S) -> Result<S::Ok, S::Error> {
        Some(port).filter(|port| **port > 0).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u16, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(0))
    }
}

/// Texts by name, written as an object.
#[derive(Clone, Copy, Debug)]
pub struct NamedTexts;

inline_schema!(NamedTexts, {
    "type": ["object", "null"],
    "additionalProperties": { "type": "string" }
});

impl NamedTexts {
    pub(crate) fn serialize<S: Serializer>(
        texts: &Option<Vec<(String, String)>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match texts {
            Some(texts) => to.collect_map(texts.iter().map(|(name, text)| (name, text))),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<(String, String)>>, D::Error> {
        let texts = Option::<BTreeMap<String, String>>::deserialize(from)?;
        Ok(texts.map(|texts| texts.into_iter().collect()))
    }
}

/// Reads a word that an older version may not know: it is then missing.
pub(crate) fn known<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let word = Option::<Value>::deserialize(from)?;
    Ok(word.and_then(|word| T::deserialize(word).ok()))
}
