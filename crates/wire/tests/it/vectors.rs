//! Reads the captured exchanges (control-protocol.md 6).

use std::fs;
use std::path::Path;

use netperf_wire::{Frame, RequestKind, Stage};
use serde_json::{Map, Value};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");

/// One record of an exchange.
pub(crate) struct Record {
    /// Exchange and place in it, for messages.
    pub(crate) at: String,
    /// Name in the capture.
    pub(crate) label: String,
    /// The request that it is, or that it answers.
    pub(crate) kind: RequestKind,
    /// Which record of the exchange it is.
    pub(crate) stage: Stage,
    /// Field values by name.
    pub(crate) decoded: Map<String, Value>,
    /// All bytes.
    pub(crate) frame: Frame,
}

/// The names of all captured exchanges, in order.
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(FOLDER)
        .expect("the vectors are beside the tests")
        .map(|entry| entry.expect("a file").path())
        .map(|path| stem(&path))
        .collect();
    names.sort();
    names
}

/// The records of one exchange, in order.
pub(crate) fn records(name: &str) -> Vec<Record> {
    let text = fs::read_to_string(format!("{FOLDER}/{name}.json")).expect("a vector");
    let exchange: Value = serde_json::from_str(&text).expect("a vector is JSON");
    let raw = exchange["records"].as_array().expect("records");
    let mut asked = RequestKind::Unknown(0);
    raw.iter()
        .enumerate()
        .map(|(place, raw)| {
            let record = record(format!("{name}[{place}]"), raw, asked);
            asked = record.kind;
            record
        })
        .collect()
}

/// One record of one exchange.
pub(crate) fn frame(name: &str, place: usize) -> Frame {
    records(name).swap_remove(place).frame
}

/// The label of a request in a capture: tests and SYSINFO have a prefix there.
pub(crate) fn request_label(kind: RequestKind) -> String {
    if let RequestKind::Unknown(_) = kind {
        return "(unknown request)".to_owned();
    }
    let bare = !kind.is_test() && kind != RequestKind::SysInfo;
    let prefix = if bare { "" } else { "DO_" };
    format!("{prefix}{}", kind.name())
}

/// An answer does not say what it answers: `asked` does.
fn record(at: String, raw: &Value, asked: RequestKind) -> Record {
    let label = raw["record"].as_str().expect("a label").to_owned();
    let frame = parse_hex(raw["hex"].as_str().expect("hex"));
    let stage = match label.split_once(" to ") {
        None => Stage::Request,
        Some(("response", _)) => Stage::Response,
        Some(("results", _)) => Stage::Results,
        Some(_) => panic!("{at}: no stage is known for {label:?}"),
    };
    let from = raw["from"].as_str().expect("a sender");
    assert_eq!(from == "client", stage == Stage::Request, "{at}: {from}");
    Record {
        kind: if stage == Stage::Request {
            frame.request()
        } else {
            asked
        },
        decoded: raw["decoded"].as_object().expect("field values").clone(),
        at,
        label,
        stage,
        frame,
    }
}

fn parse_hex(hex: &str) -> Frame {
    let bytes: Vec<u8> = hex
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).expect("ASCII"))
        .map(|pair| u8::from_str_radix(pair, 16).expect("two hex digits"))
        .collect();
    Frame::try_from(bytes.as_slice()).expect("a whole record")
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().expect("a name");
    stem.to_str().expect("UTF-8").to_owned()
}
