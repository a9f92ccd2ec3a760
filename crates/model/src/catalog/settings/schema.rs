//! The JSON schema of settings, made from their rows.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{SETTINGS, SettingRow, SettingType, Settings};

impl JsonSchema for Settings {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "settings".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties = properties();
        let required: Vec<&String> = properties.keys().collect();
        json_schema!({ "type": "object", "required": required, "properties": properties })
    }
}

/// The schema of what [`Settings::serialize_known`] writes.
pub(crate) fn known_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "properties": properties() })
}

fn properties() -> BTreeMap<String, Schema> {
    let property = |row: &SettingRow| {
        let mut schema = match row.value {
            SettingType::Switch => json_schema!({ "type": "boolean" }),
            SettingType::Name => json_schema!({ "type": ["string", "null"] }),
            SettingType::Count | SettingType::Size => {
                json_schema!({ "type": ["integer", "null"], "minimum": 0 })
            }
            SettingType::Within(least, most) => json_schema!({
                "type": ["integer", "null"], "minimum": least, "maximum": most
            }),
        };
        schema.insert("description".to_owned(), row.help.into());
        (row.json.to_owned(), schema)
    };
    SETTINGS.iter().map(property).collect()
}
