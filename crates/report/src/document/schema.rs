//! The JSON schema, generated from the types.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use super::{Document, SCHEMA, StreamEvent};
use crate::list::ListDocument;

/// The file that has it.
pub const SCHEMA_PATH: &str = "docs/schema/netperf-1.schema.json";

/// The text of [`SCHEMA_PATH`].
#[must_use]
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.into_generator();
    generator.subschema_for::<StreamEvent>();
    generator.subschema_for::<ListDocument<'_>>();
    let mut schema = generator.into_root_schema_for::<Document>();
    schema.insert("title".to_owned(), SCHEMA.into());
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.remove(&*Document::schema_name());
        name_events(definitions);
    }
    Closed.transform(&mut schema);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// The schema of another document, in the same form.
#[must_use]
pub fn schema_of<T: JsonSchema>(title: &str) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    Closed.transform(&mut schema);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Gives every kind of event a definition with a name.
fn name_events(definitions: &mut Map<String, Value>) {
    let kinds = definitions
        .get_mut(&*StreamEvent::schema_name())
        .and_then(|event| event["oneOf"].as_array_mut());
    let mut named = Vec::new();
    for kind in kinds.into_iter().flatten() {
        let word = kind["properties"]["event"]["const"].as_str();
        let name = format!("{}_event", word.unwrap_or_default());
        kind["properties"]["event"]["description"] = "The kind of event.".into();
        let reference = serde_json::json!({ "$ref": format!("#/$defs/{name}") });
        named.push((name, std::mem::replace(kind, reference)));
    }
    definitions.extend(named);
}

/// Objects have no other fields, descriptions are one line, and formats and defaults of Rust
/// are left out.
#[derive(Clone, Debug)]
struct Closed;

impl Transform for Closed {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(rules) = schema.as_object_mut() else {
            return;
        };
        for word in ["format", "default", "maximum", "minLength", "maxLength"] {
            rules.remove(word);
        }
        if rules.contains_key("properties") {
            rules.insert("additionalProperties".to_owned(), false.into());
        }
        if let Some(Value::String(text)) = rules.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        if let Some(Value::String(to)) = rules.get_mut("$ref") {
            if *to == format!("#/$defs/{}", Document::schema_name()) {
                "#".clone_into(to);
            }
        }
    }
}
