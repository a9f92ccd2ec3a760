//! Values of a document, and their text.

use std::time::Duration;

use netperf_text::date::civil;
use serde::{Serialize, Serializer};

/// A value. serde(1) writes it in one line.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum JsonNode {
    Plain(serde_json::Value),
    Array(Vec<Self>),
    Object(#[serde(serialize_with = "in_order")] Vec<(&'static str, Self)>),
}

/// Writes an object with the keys as they are.
fn in_order<S: Serializer>(
    keys: &[(&'static str, JsonNode)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(keys.iter().map(|(key, value)| (key, value)))
}

pub(super) fn plain(value: impl Into<serde_json::Value>) -> JsonNode {
    JsonNode::Plain(value.into())
}

impl JsonNode {
    /// A line of a stream of events.
    pub(super) fn event(self, name: &str) -> String {
        let keys = vec![("event", plain(name)), ("data", self)];
        super::layout::line(&Self::Object(keys)) + "\n"
    }
}

/// A time as RFC 9110 writes it.
pub fn http_date(since_epoch: Duration) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let seconds = since_epoch.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let name = |names: &[&'static str], index: u64| {
        let index = usize::try_from(index).unwrap_or(0);
        names.get(index).copied().unwrap_or_default()
    };
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} GMT",
        name(&DAYS, days % 7),
        name(&MONTHS, month - 1),
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_795_255_544, "Sat, 21 Nov 2026 10:05:44 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
        ] {
            assert_eq!(http_date(Duration::from_secs(seconds)), date);
        }
    }
}
