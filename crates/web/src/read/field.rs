//! Fields of documents that may be anything: what is not there, or is not of the kind
//! that is wanted, is `None`.

use serde_json::Value;

/// The value behind a path of names with dots between.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let found = path
        .split('.')
        .try_fold(value, |value, name| value.get(name))?;
    (!found.is_null()).then_some(found)
}

/// A number.
pub(super) fn number(value: &Value, path: &str) -> Option<f64> {
    at(value, path)?
        .as_f64()
        .filter(|number| number.is_finite())
}

/// A whole number.
pub(super) fn whole(value: &Value, path: &str) -> Option<u64> {
    at(value, path)?.as_u64()
}

/// A text that is not empty.
pub(super) fn text(value: &Value, path: &str) -> Option<String> {
    let text = at(value, path)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A boolean.
pub(super) fn truth(value: &Value, path: &str) -> Option<bool> {
    at(value, path)?.as_bool()
}

/// The items of a list; none when there is no list.
pub(super) fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A text or number as it stands in a table of facts.
pub(super) fn shown(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    }
    (value.is_number() || value.is_boolean()).then(|| value.to_string())
}

/// Facts by name, those that are known.
pub(super) fn facts(value: &Value, names: &[(&str, &str)]) -> Vec<(String, String)> {
    let known = names.iter().filter_map(|(path, name)| {
        let shown = at(value, path).and_then(shown)?;
        Some(((*name).to_owned(), shown))
    });
    known.collect()
}
