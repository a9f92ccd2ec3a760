//! Every record that was captured between stock programs.

use std::collections::BTreeMap;
use std::str::FromStr;

use netperf_wire::messages::{self, MessageRow};
use netperf_wire::{FieldValue, RequestKind, Stage};
use serde_json::Value;

use crate::vectors::{self, Record};

/// A vector that goes missing must be noticed.
const EXCHANGES: usize = 42;
const RECORDS: usize = 129;

fn every_record() -> Vec<Record> {
    vectors::names()
        .iter()
        .flat_map(|name| vectors::records(name))
        .collect()
}

fn row_of(record: &Record) -> &'static MessageRow {
    messages::find(record.kind, record.stage).unwrap_or_else(|| {
        panic!(
            "{}: no message for {:?} of {}",
            record.at, record.stage, record.kind
        )
    })
}

/// Field values of the decoder, by the names that the captures use.
fn decoded_values(record: &Record) -> BTreeMap<String, FieldValue> {
    let header = record.frame.header();
    let (kind, word1) = match record.stage {
        Stage::Request => ("request_type", "cpu_affinity"),
        Stage::Response | Stage::Results => ("response_type", "serv_errno"),
    };
    let values = (row_of(record).values)(&record.frame).expect("a captured record decodes");
    let mut named: BTreeMap<_, _> = values
        .into_iter()
        .flat_map(|(name, value)| halves(name, value))
        .collect();
    named.insert(kind.to_owned(), FieldValue::Unsigned(header.kind));
    named.insert(word1.to_owned(), FieldValue::Signed(header.word1));
    named
}

/// The captures show a 64-bit count as the two words that it is on the wire.
fn halves(name: &str, value: FieldValue) -> Vec<(String, FieldValue)> {
    let FieldValue::Counter(count) = value else {
        return vec![(name.to_owned(), value)];
    };
    let high = u32::try_from(count >> 32).expect("32 bits are left");
    let low = u32::try_from(count & u64::from(u32::MAX)).expect("32 bits are left");
    vec![
        (format!("{name}_hi"), FieldValue::Unsigned(high)),
        (format!("{name}_lo"), FieldValue::Unsigned(low)),
    ]
}

/// True if a decoded value is the one in the capture.
fn agrees(shown: &Value, value: &FieldValue) -> bool {
    match value {
        FieldValue::Signed(number) => shown.as_i64() == Some(i64::from(*number)),
        FieldValue::Unsigned(number) => shown.as_u64() == Some(u64::from(*number)),
        FieldValue::Counter(number) => shown.as_u64() == Some(*number),
        FieldValue::Single(number) => agrees_float(shown, *number, f32::is_nan),
        FieldValue::Double(number) => agrees_float(shown, *number, f64::is_nan),
        FieldValue::Address(words) => {
            let hex: String = words.iter().map(|word| format!("{word:08x}")).collect();
            shown.as_str() == Some(&hex)
        }
        // No byte string was ever captured: a capture that has one fails here.
        FieldValue::Bytes(_) => false,
        FieldValue::Text(text) => shown.as_str().map(str::as_bytes) == Some(text),
    }
}

/// The captures show 15 digits: enough for the one float of the field's own width.
fn agrees_float<F: FromStr + PartialEq>(shown: &Value, number: F, is_nan: fn(F) -> bool) -> bool {
    if shown.as_str() == Some("nan") {
        return is_nan(number);
    }
    shown.is_number()
        && shown
            .to_string()
            .parse()
            .is_ok_and(|shown: F| shown == number)
}

#[test]
fn no_captured_exchange_is_missing() {
    assert_eq!(vectors::names().len(), EXCHANGES);
    assert_eq!(every_record().len(), RECORDS);
}

#[test]
fn every_captured_record_is_what_its_label_says() {
    for record in every_record() {
        let asked = match record.label.split_once(" to ") {
            Some((_, asked)) => asked,
            None => &record.label,
        };
        let expected = vectors::request_label(record.kind);
        let expected = expected.trim_matches(['(', ')']);
        assert_eq!(asked.trim_matches(['(', ')']), expected, "{}", record.at);
    }
}

#[test]
fn every_captured_record_decodes_to_the_values_shown_with_it() {
    for record in every_record() {
        let values = decoded_values(&record);
        for (name, shown) in &record.decoded {
            let value = values
                .get(name)
                .unwrap_or_else(|| panic!("{}: no field {name}", record.at));
            assert!(
                agrees(shown, value),
                "{}: {name} is {shown} in the capture, decoded as {value:?}",
                record.at
            );
        }
        assert_eq!(values.len(), record.decoded.len(), "{}", record.at);
    }
}

#[test]
fn every_captured_record_encodes_to_the_same_bytes() {
    for record in every_record() {
        let again = (row_of(&record).reencode)(&record.frame).expect("it decodes");
        assert_eq!(again.as_bytes(), record.frame.as_bytes(), "{}", record.at);
    }
}

#[test]
fn every_captured_request_is_made_from_zeros() {
    let requests = every_record()
        .into_iter()
        .filter(|record| record.stage == Stage::Request);
    for record in requests {
        let built = (row_of(&record).rebuild)(&record.frame).expect("it decodes");
        assert_eq!(built.as_bytes(), record.frame.as_bytes(), "{}", record.at);
    }
}

#[test]
fn every_captured_results_number_is_the_stock_one() {
    let answers = every_record()
        .into_iter()
        .filter(|record| record.stage == Stage::Results);
    for record in answers {
        let number = record.frame.header().kind;
        assert_eq!(number, record.kind.stock_results_number(), "{}", record.at);
    }
}

/// True if a test belongs to a suite that an ordinary Linux build does not have: no captures
/// exist (control-protocol.md 6).
fn is_of_a_rare_suite(kind: RequestKind) -> bool {
    ["SCTP_", "SDP_", "XTI_", "DLPI_"]
        .iter()
        .any(|suite| kind.name().starts_with(suite))
}

#[test]
fn the_captures_hold_every_message_of_the_ordinary_tests_and_no_other() {
    let records = every_record();
    for row in messages::ALL {
        let captured = records
            .iter()
            .any(|r| r.stage == row.stage && (row.carries)(r.kind));
        let ordinary = RequestKind::NAMED
            .iter()
            .any(|kind| (row.carries)(*kind) && !is_of_a_rare_suite(*kind));
        assert_eq!(captured, ordinary, "{}", row.name);
    }
}

#[test]
fn no_record_of_a_request_has_two_messages() {
    for kind in RequestKind::NAMED {
        for stage in [Stage::Request, Stage::Response, Stage::Results] {
            let rows = messages::ALL
                .iter()
                .filter(|row| row.stage == stage && (row.carries)(*kind));
            assert!(rows.count() <= 1, "{kind}: {stage:?}");
        }
    }
}

#[test]
fn every_request_finds_its_messages() {
    for kind in RequestKind::NAMED {
        assert!(messages::find(*kind, Stage::Request).is_some(), "{kind}");
        let response = messages::find(*kind, Stage::Response).is_some();
        assert_eq!(response, *kind != RequestKind::Passphrase, "{kind}");
        let results = messages::find(*kind, Stage::Results).is_some();
        assert_eq!(results, kind.is_test(), "{kind}");
    }
}
