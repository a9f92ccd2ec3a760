//! Classic records by the names of their fields (control-protocol.md 2.7): all of these records
//! name the same thing alike, and place it differently.

use netperf_model::TestId;
use netperf_wire::messages;
use netperf_wire::{FieldValue, Frame, RequestKind, Stage, Values};

/// The test that a classic request starts; `None` for any other request.
pub(crate) fn test_of(kind: RequestKind) -> Option<TestId> {
    const LINK_LEVEL: [(RequestKind, TestId); 4] = [
        (RequestKind::DlpiCoStream, TestId::DlcoStream),
        (RequestKind::DlpiCoRr, TestId::DlcoRr),
        (RequestKind::DlpiClStream, TestId::DlclStream),
        (RequestKind::DlpiClRr, TestId::DlclRr),
    ];
    let link_level = LINK_LEVEL.into_iter().find(|(other, _)| *other == kind);
    match link_level {
        Some((_, test)) => Some(test),
        None => TestId::from_name(kind.name()).filter(|_| kind.is_test()),
    }
}

/// The fields of a classic record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fields(Values);

impl Fields {
    /// The fields of a record; `None` if a request has no such record.
    pub(crate) fn read(kind: RequestKind, stage: Stage, frame: &Frame) -> Option<Self> {
        let row = messages::find(kind, stage)?;
        (row.values)(frame).ok().map(Self)
    }

    fn value(&self, name: &str) -> Option<&FieldValue> {
        let mut fields = self.0.iter();
        let (_, value) = fields.find(|(field, _)| *field == name)?;
        Some(value)
    }

    /// A word; `None` where the record has no such field.
    pub(crate) fn word(&self, name: &str) -> Option<u32> {
        match self.value(name)? {
            FieldValue::Signed(value) => Some(u32::from_be_bytes(value.to_be_bytes())),
            FieldValue::Unsigned(value) => Some(*value),
            FieldValue::Counter(_)
            | FieldValue::Single(_)
            | FieldValue::Double(_)
            | FieldValue::Address(_)
            | FieldValue::Text(_)
            | FieldValue::Bytes(_) => None,
        }
    }

    /// A signed word; `None` where the record has no such field.
    pub(crate) fn integer(&self, name: &str) -> Option<i32> {
        self.word(name)
            .map(|word| i32::from_be_bytes(word.to_be_bytes()))
    }

    /// A signed word, 0 where the record has no such field.
    pub(crate) fn or_zero(&self, name: &str) -> i32 {
        self.integer(name).unwrap_or(0)
    }

    /// A float, 0 where the record has no such field.
    pub(crate) fn float(&self, name: &str) -> f32 {
        if let Some(FieldValue::Single(value)) = self.value(name) {
            *value
        } else {
            0.0
        }
    }

    /// A count, which some records hold in a word that wraps and others in a float.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast of a float saturates, and NaN is 0"
    )]
    pub(crate) fn count(&self, name: &str) -> u64 {
        if let Some(FieldValue::Double(value)) = self.value(name) {
            *value as u64
        } else {
            self.word(name).unwrap_or(0).into()
        }
    }

    /// Text; `None` where the record has no such field.
    pub(crate) fn text(&self, name: &str) -> Option<&[u8]> {
        if let Some(FieldValue::Text(bytes)) = self.value(name) {
            Some(bytes)
        } else {
            None
        }
    }
}
