//! JSON documents against a JSON Schema (draft 2020-12), as far as ours goes.
//!
//! A keyword that is not known here is refused rather than passed over, so that a
//! schema says nothing that is not checked.

use std::fmt;

use serde_json::{Map, Value};

/// Keywords that only explain.
const REMARKS: &[&str] = &[
    "$schema",
    "$id",
    "$defs",
    "title",
    "description",
    "examples",
];

/// A schema.
#[derive(Debug)]
pub struct Schema(Value);

impl Schema {
    /// Reads a schema; panics when it is no JSON.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).expect("a schema in JSON"))
    }

    /// Errors of a document, each with its place; nothing when it is valid.
    #[must_use]
    pub fn faults(&self, document: &Value) -> Vec<String> {
        self.faults_at(&self.0, document, "$")
    }

    /// The same, against one of its definitions.
    #[must_use]
    pub fn faults_of(&self, definition: &str, value: &Value) -> Vec<String> {
        self.faults_at(&self.0["$defs"][definition], value, definition)
    }

    fn faults_at(&self, rules: &Value, value: &Value, root: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let mut note = |fault: &dyn Fn() -> String| faults.push(fault());
        self.against(rules, value, Place::Root(root), &mut note);
        faults
    }

    fn against(&self, rules: &Value, value: &Value, place: Place<'_>, note: Note<'_>) {
        let Some(rules) = rules.as_object() else {
            return note(&|| format!("{place}: no schema"));
        };
        for (keyword, rule) in rules {
            self.keyword(rules, (keyword, rule), value, place, note);
        }
    }

    fn keyword(
        &self,
        rules: &Map<String, Value>,
        (keyword, rule): (&str, &Value),
        value: &Value,
        place: Place<'_>,
        note: Note<'_>,
    ) {
        let is_right = match keyword {
            "$ref" => return self.reference(rule, value, place, note),
            "items" => return self.items(std::iter::repeat(rule), value, place, note),
            "prefixItems" => return self.items(listed(rule).iter(), value, place, note),
            "properties" => return self.properties(rule, value, place, note),
            "required" => return missing(rule, value, place, note),
            "additionalProperties" => return self.additional((rules, rule), value, place, note),
            "type" => listed(rule).iter().any(|name| is(value, name)),
            "const" => value == rule,
            "enum" => listed(rule).contains(value),
            "minimum" => value.as_f64() >= rule.as_f64() || !value.is_number(),
            "anyOf" => self.fitting(rule, value) >= 1,
            "oneOf" => self.fitting(rule, value) == 1,
            "minItems" => length(value) >= rule.as_u64() || !value.is_array(),
            "maxItems" => length(value) <= rule.as_u64() || !value.is_array(),
            remark if REMARKS.contains(&remark) => true,
            unknown => return note(&|| format!("{place}: keyword {unknown} is not known")),
        };
        if !is_right {
            note(&|| format!("{place}: {value} is against {keyword} {rule}"));
        }
    }

    fn reference(&self, rule: &Value, value: &Value, place: Place<'_>, note: Note<'_>) {
        let pointer = rule.as_str().and_then(|to| to.strip_prefix('#'));
        match pointer.and_then(|pointer| self.0.pointer(pointer)) {
            Some(rules) => self.against(rules, value, place, note),
            None => note(&|| format!("{place}: {rule} leads nowhere")),
        }
    }

    /// Number of rules that the value follows.
    fn fitting(&self, rules: &Value, value: &Value) -> usize {
        let fits = |rules: &&Value| {
            let mut fits = true;
            let mut note = |_: &dyn Fn() -> String| fits = false;
            self.against(rules, value, Place::Root(""), &mut note);
            fits
        };
        listed(rules).iter().filter(fits).count()
    }

    /// Each item against its rule.
    fn items<'r>(
        &self,
        rules: impl Iterator<Item = &'r Value>,
        value: &Value,
        place: Place<'_>,
        note: Note<'_>,
    ) {
        let items = value.as_array().into_iter().flatten().enumerate();
        for ((at, item), rule) in items.zip(rules) {
            self.against(rule, item, Place::Item(&place, at), note);
        }
    }

    fn properties(&self, rule: &Value, value: &Value, place: Place<'_>, note: Note<'_>) {
        for (name, rules) in rule.as_object().into_iter().flatten() {
            if let Some(value) = value.get(name) {
                self.against(rules, value, Place::Field(&place, name), note);
            }
        }
    }

    /// Fields that the schema does not name: each follows the rule, and with `false`
    /// there is none.
    fn additional(
        &self,
        (rules, rule): (&Map<String, Value>, &Value),
        value: &Value,
        place: Place<'_>,
        note: Note<'_>,
    ) {
        let known = rules.get("properties");
        for (name, value) in value.as_object().into_iter().flatten() {
            let place = Place::Field(&place, name);
            if known.is_some_and(|known| known.get(name).is_some()) {
                continue;
            }
            if *rule == Value::Bool(false) {
                note(&|| format!("{place} is not in the schema"));
            } else {
                self.against(rule, value, place, note);
            }
        }
    }
}

/// Receiver of a fault. It calls the closure only if it needs the text.
type Note<'a> = &'a mut dyn FnMut(&dyn Fn() -> String);

/// Place of a value in its document.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root(&'a str),
    Field(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => out.write_str(name),
            Self::Field(of, name) => write!(out, "{of}.{name}"),
            Self::Item(of, at) => write!(out, "{of}[{at}]"),
        }
    }
}

/// Number of items of an array.
fn length(value: &Value) -> Option<u64> {
    Some(value.as_array()?.len() as u64)
}

/// One value, or those of a list.
fn listed(value: &Value) -> &[Value] {
    let list = value.as_array().map(Vec::as_slice);
    list.unwrap_or_else(|| std::slice::from_ref(value))
}

fn is(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some(_) | None => false,
    }
}

fn missing(rule: &Value, value: &Value, place: Place<'_>, note: Note<'_>) {
    let Some(object) = value.as_object() else {
        return;
    };
    for name in listed(rule).iter().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            note(&|| format!("{place}.{name} is missing"));
        }
    }
}

const INTRODUCTION: &str = "\
<!-- Generated by `cargo run -p xtask -- gen`; change the types of the document instead. -->

# JSON fields

Every field of the document of `--json` and of the events of `--json-stream`. A type in
code letters is an object with a separate table.
";

const CHECK_INTRODUCTION: &str = "\
<!-- Generated by `cargo run -p xtask -- gen`; change the types of the document instead. -->

# JSON fields of a check

Every field of the document of `netperf check --json`. A type in code letters is an object
with a separate table.
";

/// The manual's page of fields: a table for each kind of object.
#[must_use]
pub fn page(schema: &Schema) -> String {
    INTRODUCTION.to_owned() + &tables(schema)
}

/// The same of a check.
#[must_use]
pub fn check_page(schema: &Schema) -> String {
    CHECK_INTRODUCTION.to_owned() + &tables(schema)
}

fn tables(schema: &Schema) -> String {
    let root = &schema.0;
    let mut out = table("The document", root);
    for (name, rules) in root["$defs"].as_object().into_iter().flatten() {
        if rules.get("properties").is_some() {
            out.push_str(&table(&format!("`{name}`"), rules));
        }
    }
    out
}

fn table(title: &str, rules: &Value) -> String {
    let about = rules["description"].as_str().unwrap_or_default();
    let mut out = format!("\n## {title}\n\n{about}\n\n| field | type | meaning |\n|---|---|---|\n");
    for (name, rules) in rules["properties"].as_object().into_iter().flatten() {
        let about = rules["description"].as_str().unwrap_or_default();
        out.push_str(&format!("| `{name}` | {} | {about} |\n", kind(rules)));
    }
    out
}

/// Contents of a field, in words.
fn kind(rules: &Value) -> String {
    if let Some(to) = rules["$ref"].as_str() {
        let name = to.rsplit('/').next().unwrap_or_default();
        return if name == "#" {
            "the document".to_owned()
        } else {
            format!("`{name}`")
        };
    }
    if let Some(constant) = rules.get("const") {
        return format!("`{constant}`");
    }
    if let Some(items) = rules.get("items") {
        return format!("list of {}", kind(items));
    }
    if let Some(any) = rules.get("anyOf").or_else(|| rules.get("enum")) {
        let word = |value: &Value| {
            if value.is_object() {
                kind(value)
            } else {
                format!("`{value}`")
            }
        };
        return listed(any)
            .iter()
            .map(word)
            .collect::<Vec<_>>()
            .join(" or ");
    }
    let names = listed(&rules["type"]).iter().filter_map(Value::as_str);
    let mut text = names.collect::<Vec<_>>().join(" or ");
    let known = rules["examples"].as_array().into_iter().flatten();
    for (value, sign) in known.zip([":"].into_iter().chain(std::iter::repeat(","))) {
        text.push_str(&format!("{sign} `{value}`"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(schema: &str, document: &str) -> usize {
        let document = serde_json::from_str(document).unwrap();
        Schema::parse(schema).faults(&document).len()
    }

    #[test]
    fn every_keyword_refuses_what_is_against_it() {
        for (schema, good, bad) in [
            (r#"{"type":"integer"}"#, "1", "1.5"),
            (r#"{"type":["string","null"]}"#, "null", "1"),
            (r#"{"const":1}"#, "1", "2"),
            (r#"{"enum":["a",null]}"#, "null", "1"),
            (r#"{"minimum":0}"#, "0", "-1"),
            (r#"{"items":{"type":"number"}}"#, "[1]", "[1,null]"),
            (
                r#"{"prefixItems":[{"type":"number"}]}"#,
                "[1,null]",
                "[null]",
            ),
            (r#"{"minItems":2}"#, "[1,2]", "[1]"),
            (r#"{"maxItems":1}"#, "[1]", "[1,2]"),
            (r#"{"required":["a"]}"#, r#"{"a":1}"#, "{}"),
            (
                r#"{"properties":{"a":{"const":1}}}"#,
                r#"{"b":1}"#,
                r#"{"a":2}"#,
            ),
            (r#"{"additionalProperties":false}"#, "{}", r#"{"a":2}"#),
            (
                r#"{"additionalProperties":{"type":"string"}}"#,
                r#"{"a":"b"}"#,
                r#"{"a":2}"#,
            ),
            (r#"{"anyOf":[{"const":1},{"const":2}]}"#, "2", "3"),
            (r#"{"oneOf":[{"type":"number"},{"const":2}]}"#, "1", "2"),
            (
                r##"{"$ref":"#/$defs/a","$defs":{"a":{"const":1}}}"##,
                "1",
                "2",
            ),
        ] {
            assert_eq!(faults(schema, good), 0, "{schema} {good}");
            assert_eq!(faults(schema, bad), 1, "{schema} {bad}");
        }
        assert_eq!(faults(r#"{"pattern":"a"}"#, "1"), 1, "an unknown keyword");
    }
}
