//! Files of several programs, each made a [`Record`] of.

mod check;
mod field;
mod flent;
mod iperf3;
mod netperf;

use std::io::Read;

use flate2::read::MultiGzDecoder;
use netperf_report::document::{Document, SCHEMA};
use serde::Deserialize as _;
use serde_json::Value;
use thiserror::Error;

use crate::record::Record;
use crate::weight::JsonWeight;

/// The most that a compressed file may hold. A day of flent's points is a few megabytes.
const LARGEST: u64 = 256 << 20;
/// The most memory that the values of a file may take, bytes.
const HEAVIEST: u64 = 512 << 20;
/// Bytes of the longest text of a result: the output of an iperf3 server over days. Pages repeat
/// texts.
const LONGEST_TEXT: u64 = 16 << 20;
/// Bytes that are unpacked at a time.
const PIECE: u64 = 1 << 20;

/// A doubt about a test without a network.
const ONE_HOST: &str = "Client and server are on one host: the network is not measured.";

/// Why a campaign is no result.
const IS_CAMPAIGN: &str = "a campaign: netperf campaign show FILE --page PAGE makes its page";

/// A file that is not a result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{}: {problem}; expected what netperf --json or --json-stream, iperf3 -J or flent \
     (.flent.gz) wrote",
    crate::escape::line(.name)
)]
pub struct Unreadable {
    /// The name of the file, as given.
    pub name: String,
    /// The reason.
    pub problem: String,
}

/// Reads the bytes of the file `name`.
///
/// # Errors
///
/// If none of the known programs wrote it.
pub fn read(name: &str, bytes: &[u8]) -> Result<Record, Unreadable> {
    let mut record = understood(bytes).map_err(|problem| Unreadable {
        name: name.to_owned(),
        problem,
    })?;
    record.label = label(name);
    Ok(record)
}

/// netperf's document, alone or at the end of an event log; `None` for other files.
#[must_use]
pub fn document(bytes: &[u8]) -> Option<Document> {
    let is_result =
        |document: &Document| document.header.schema == SCHEMA && !document.test.name.is_empty();
    weighed(JsonWeight::counted(bytes)).ok()?;
    let read = |value: &Value| Document::deserialize(value).ok();
    let alone = || read(&serde_json::from_slice(bytes).ok()?);
    let at_end = || {
        let text = std::str::from_utf8(bytes).ok()?;
        let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
        let event: Value = serde_json::from_str(last).ok()?;
        let is_last = event["event"] == "result";
        read(event.get("document").filter(|_| is_last)?)
    };
    alone().filter(is_result).or_else(at_end).filter(is_result)
}

/// The file's name without its folders and the usual endings.
fn label(name: &str) -> String {
    if name == "-" {
        return "standard input".to_owned();
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    let endings = [".flent.gz", ".json.gz", ".flent", ".jsonl", ".json"];
    let stripped = endings.iter().find_map(|ending| last.strip_suffix(ending));
    stripped
        .filter(|rest| !rest.is_empty())
        .unwrap_or(last)
        .to_owned()
}

fn understood(bytes: &[u8]) -> Result<Record, String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let plain = unpacked(bytes)?;
        return understood_plain(&plain);
    }
    weighed(JsonWeight::counted(bytes))?;
    understood_plain(bytes)
}

/// Refuses values that would take too much memory.
fn weighed(weight: JsonWeight) -> Result<(), String> {
    if weight.bytes() > HEAVIEST {
        return Err("its values take more than 512 MiB of memory".to_owned());
    }
    if weight.longest_text() > LONGEST_TEXT {
        return Err("a text in it has more than 16 MiB".to_owned());
    }
    Ok(())
}

/// Contents of a compressed file. Its size is checked while it is read: a small file may hold much.
fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let mut weight = JsonWeight::default();
    let mut packed = MultiGzDecoder::new(bytes);
    loop {
        let begin = plain.len();
        let read = packed.by_ref().take(PIECE).read_to_end(&mut plain);
        read.map_err(|error| format!("its compression is damaged ({error})"))?;
        let piece = plain.get(begin..).unwrap_or_default();
        if piece.is_empty() {
            return Ok(plain);
        }
        weight.add(piece);
        weighed(weight)?;
        if u64::try_from(plain.len()).is_ok_and(|length| length > LARGEST) {
            return Err("it holds more than 256 MiB".to_owned());
        }
    }
}

fn understood_plain(bytes: &[u8]) -> Result<Record, String> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err("not text".to_owned());
    };
    if text.trim().is_empty() {
        return Err("empty".to_owned());
    }
    let whole = serde_json::from_str::<Value>(text);
    if let Ok(document) = &whole {
        if document.get("event").is_none() {
            return of_document(document);
        }
    }
    let mut events = Vec::new();
    let mut broken = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(event) if event.get("event").is_some_and(Value::is_string) => events.push(event),
            // A run that was killed leaves half a line; what came before is good.
            Ok(_) | Err(_) => {
                broken = true;
                break;
            }
        }
    }
    if let Some(record) = netperf::stream(&events, broken) {
        return Ok(record);
    }
    Err(match whole {
        Ok(_) => "JSON, but no result".to_owned(),
        Err(error) => format!("not JSON ({error})"),
    })
}

fn of_document(document: &Value) -> Result<Record, String> {
    let has = |name: &str| document.get(name).is_some();
    if document["format"] == "netperf-campaign-1" {
        return Err(IS_CAMPAIGN.to_owned());
    }
    if document["schema"] == check::SCHEMA {
        return Ok(check::document(document));
    }
    if has("schema") {
        return netperf::document(document);
    }
    if has("start") && has("intervals") && has("end") {
        return Ok(iperf3::document(document));
    }
    if has("metadata") && has("results") {
        return flent::document(document);
    }
    Err("JSON, but no result".to_owned())
}
