//! JSON documents against a JSON Schema (draft 2020-12), as far as ours goes.
//!
//! A keyword that is not known here is refused rather than passed over, so that a
//! schema says nothing that is not checked.

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
        self.against(&self.0, document, "$")
    }

    /// The same, against one of its definitions.
    #[must_use]
    pub fn faults_of(&self, definition: &str, value: &Value) -> Vec<String> {
        self.against(&self.0["$defs"][definition], value, definition)
    }

    fn against(&self, rules: &Value, value: &Value, place: &str) -> Vec<String> {
        let Some(rules) = rules.as_object() else {
            return vec![format!("{place}: no schema")];
        };
        let each = rules
            .iter()
            .flat_map(|(keyword, rule)| self.keyword(rules, keyword, rule, value, place));
        each.collect()
    }

    fn keyword(
        &self,
        rules: &Map<String, Value>,
        keyword: &str,
        rule: &Value,
        value: &Value,
        place: &str,
    ) -> Vec<String> {
        let fault = |right: bool| {
            let text = || format!("{place}: {value} is against {keyword} {rule}");
            if right { Vec::new() } else { vec![text()] }
        };
        match keyword {
            "$ref" => self.reference(rule, value, place),
            "type" => fault(listed(rule).iter().any(|name| is(value, name))),
            "const" => fault(value == rule),
            "enum" => fault(listed(rule).contains(&value)),
            "minimum" => fault(value.as_f64() >= rule.as_f64() || !value.is_number()),
            "anyOf" => fault(self.fitting(rule, value, place) >= 1),
            "oneOf" => fault(self.fitting(rule, value, place) == 1),
            "items" => self.items(rule, value, place),
            "prefixItems" => self.prefix_items(rule, value, place),
            "minItems" => fault(length(value) >= rule.as_u64() || !value.is_array()),
            "maxItems" => fault(length(value) <= rule.as_u64() || !value.is_array()),
            "properties" => self.properties(rule, value, place),
            "required" => missing(rule, value, place),
            "additionalProperties" => self.additional((rules, rule), value, place),
            remark if REMARKS.contains(&remark) => Vec::new(),
            unknown => vec![format!("{place}: keyword {unknown} is not known")],
        }
    }

    fn reference(&self, rule: &Value, value: &Value, place: &str) -> Vec<String> {
        let pointer = rule.as_str().and_then(|to| to.strip_prefix('#'));
        match pointer.and_then(|pointer| self.0.pointer(pointer)) {
            Some(rules) => self.against(rules, value, place),
            None => vec![format!("{place}: {rule} leads nowhere")],
        }
    }

    fn fitting(&self, rules: &Value, value: &Value, place: &str) -> usize {
        let fits = |rules: &&Value| self.against(rules, value, place).is_empty();
        listed(rules).into_iter().filter(fits).count()
    }

    fn items(&self, rule: &Value, value: &Value, place: &str) -> Vec<String> {
        let items = value.as_array().into_iter().flatten().enumerate();
        let each = items.flat_map(|(at, item)| self.against(rule, item, &format!("{place}[{at}]")));
        each.collect()
    }

    fn prefix_items(&self, rules: &Value, value: &Value, place: &str) -> Vec<String> {
        let items = value.as_array().into_iter().flatten().enumerate();
        let each = items.zip(listed(rules));
        each.flat_map(|((at, item), rule)| self.against(rule, item, &format!("{place}[{at}]")))
            .collect()
    }

    fn properties(&self, rule: &Value, value: &Value, place: &str) -> Vec<String> {
        let rules = rule.as_object().into_iter().flatten();
        let present = rules.filter_map(|(name, rules)| Some((name, rules, value.get(name)?)));
        let each = present.flat_map(|(name, rules, value)| {
            self.against(rules, value, &format!("{place}.{name}"))
        });
        each.collect()
    }

    /// Fields that the schema does not name: each follows the rule, and with `false`
    /// there is none.
    fn additional(
        &self,
        (rules, rule): (&Map<String, Value>, &Value),
        value: &Value,
        place: &str,
    ) -> Vec<String> {
        let known = |name: &str| {
            let known = rules.get("properties");
            known.is_some_and(|known| known.get(name).is_some())
        };
        let fields = value.as_object().into_iter().flatten();
        let others = fields.filter(|(name, _)| !known(name));
        let each = others.flat_map(|(name, value)| {
            let place = format!("{place}.{name}");
            if *rule == Value::Bool(false) {
                vec![format!("{place} is not in the schema")]
            } else {
                self.against(rule, value, &place)
            }
        });
        each.collect()
    }
}

/// Number of items of an array.
fn length(value: &Value) -> Option<u64> {
    Some(value.as_array()?.len() as u64)
}

/// One value, or those of a list.
fn listed(value: &Value) -> Vec<&Value> {
    value
        .as_array()
        .map_or_else(|| vec![value], |all| all.iter().collect())
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

fn missing(rule: &Value, value: &Value, place: &str) -> Vec<String> {
    let Some(object) = value.as_object() else {
        return Vec::new();
    };
    let names = listed(rule).into_iter().filter_map(Value::as_str);
    names
        .filter(|name| !object.contains_key(*name))
        .map(|name| format!("{place}.{name} is missing"))
        .collect()
}

/// Only `false` is known: nothing beyond the properties.
const INTRODUCTION: &str = "\
<!-- Generated by `cargo run -p xtask -- gen`; change the types of the document instead. -->

# JSON fields

Every field of the document of `--json` and of the events of `--json-stream`. A type in
code letters is an object with a table of its own.
";

const CHECK_INTRODUCTION: &str = "\
<!-- Generated by `cargo run -p xtask -- gen`; change the types of the document instead. -->

# JSON fields of a check

Every field of the document of `netperf check --json`. A type in code letters is an object
with a table of its own.
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
            .into_iter()
            .map(word)
            .collect::<Vec<_>>()
            .join(" or ");
    }
    let names = listed(&rules["type"]).into_iter().filter_map(Value::as_str);
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
