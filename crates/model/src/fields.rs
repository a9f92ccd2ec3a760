//! Encodings of figures in the JSON document.
//!
//! A type that is named by `#[serde(with = "...")]` of a field encodes the field and gives
//! its schema.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Implements `JsonSchema` by a schema without a name.
macro_rules! inline_schema {
    ($name:ident, $($schema:tt)+) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($($schema)+)
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

/// Declares an encoding of a field: the type of the field, that of its JSON, the schema, and the
/// conversion each way.
macro_rules! encodings {
    ($($(#[$doc:meta])* $name:ident: $field:ty => $json:ty,
        schema: { $($schema:tt)+ },
        write: $write:expr,
        read: $read:expr;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        inline_schema!($name, { $($schema)+ });

        impl $name {
            /// Writes the value.
            ///
            /// # Errors
            /// Those of the serializer.
            pub fn serialize<S: Serializer>(value: &$field, to: S) -> Result<S::Ok, S::Error> {
                let write: fn($field) -> $json = $write;
                write(*value).serialize(to)
            }

            /// Reads the value.
            ///
            /// # Errors
            /// When there is a value of another type.
            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$field, D::Error> {
                let read: fn($json) -> $field = $read;
                <$json>::deserialize(from).map(read)
            }
        }
    )*};
}

encodings! {
    /// A figure that is -1 if it was not measured, written as [`MeasuredFigure`].
    AsMeasured: f64 => MeasuredFigure,
        schema: { "type": ["number", "null"], "minimum": 0 },
        write: MeasuredFigure::of,
        read: |figure| figure.0.unwrap_or(-1.0);
    /// A figure that is null if it is not finite.
    AsFinite: f64 => Option<f64>,
        schema: { "type": ["number", "null"] },
        write: |value| Some(value).filter(|value| value.is_finite()),
        read: |value| value.unwrap_or(f64::NAN);
    /// A share, written in percent.
    AsPercent: f64 => MeasuredFigure,
        schema: { "type": ["number", "null"], "minimum": 0 },
        write: |share| MeasuredFigure::of(share * 100.0),
        read: |percent| percent.0.unwrap_or(0.0) / 100.0;
    /// A span of time, or a time since 1970, written in seconds; null and a number that is no
    /// time are 0.
    AsSeconds: Duration => Option<f64>,
        schema: { "type": "number", "minimum": 0 },
        write: |time| Some(time.as_secs_f64()),
        read: seconds;
    /// Microseconds, written in seconds.
    MicrosAsSeconds: u64 => Option<f64>,
        schema: { "type": "number", "minimum": 0 },
        write: |micros| Some(Duration::from_micros(micros).as_secs_f64()),
        // Seconds as a binary fraction can lie just below a whole number of microseconds.
        read: |number| {
            let micros = seconds(number).saturating_add(Duration::from_nanos(500)).as_micros();
            u64::try_from(micros).unwrap_or(u64::MAX)
        };
    /// A value that is negative if it was not asked for or refused, and then null.
    NotNegative: i32 => Option<i32>,
        schema: { "type": ["integer", "null"], "minimum": 0 },
        write: |value| Some(value).filter(|value| *value >= 0),
        read: |value| value.unwrap_or(-1);
    /// A port that is 0 if there is none, and then null.
    PortOrNull: u16 => Option<u16>,
        schema: { "type": ["integer", "null"], "minimum": 1 },
        write: |port| Some(port).filter(|port| *port > 0),
        read: |port| port.unwrap_or(0);
}

fn seconds(number: Option<f64>) -> Duration {
    Duration::try_from_secs_f64(number.unwrap_or(0.0)).unwrap_or_default()
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

/// Reads a word that this version may not know: it is then missing.
pub(crate) fn known<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let word = Option::<Value>::deserialize(from)?;
    Ok(word.and_then(|word| T::deserialize(word).ok()))
}
