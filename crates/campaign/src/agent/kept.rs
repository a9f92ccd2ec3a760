//! Results that an agent keeps, for a coordinator that connects again.

use std::collections::{BTreeMap, VecDeque};

use crate::protocol::LoadResult;

/// Most bytes of all documents together: some thousand of usual length.
const MOST: usize = 64 << 20;
/// Error of a result whose document is not kept.
const DROPPED: &str = "its result was sent and is not kept";

/// Results by the number of their load. Of the documents, only the latest are kept.
#[derive(Debug, Default)]
pub(super) struct KeptResults {
    all: BTreeMap<u32, LoadResult>,
    /// Numbers and lengths of the documents, the oldest first.
    documents: VecDeque<(u32, usize)>,
    bytes: usize,
}

impl KeptResults {
    pub(super) fn insert(&mut self, result: LoadResult) {
        if let Some(document) = &result.document {
            let length = serde_json::to_vec(document).map_or(0, |bytes| bytes.len());
            self.documents.push_back((result.id, length));
            self.bytes += length;
        }
        self.all.insert(result.id, result);
        while self.bytes > MOST {
            let Some((id, length)) = self.documents.pop_front() else {
                break;
            };
            self.bytes -= length;
            if let Some(result) = self.all.get_mut(&id) {
                result.document = None;
                result.error = Some(DROPPED.to_owned());
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LoadResult> {
        self.all.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_results_have_the_latest_documents_alone() {
        let mut kept = KeptResults::default();
        for id in 0..24 {
            kept.insert(LoadResult {
                id,
                document: Some(serde_json::Value::String("x".repeat(3 << 20))),
                error: None,
            });
        }
        let whole = kept.iter().filter(|one| one.document.is_some());
        let whole: Vec<u32> = whole.map(|one| one.id).collect();
        assert_eq!(whole, (3..24).collect::<Vec<_>>());
        let dropped = kept
            .iter()
            .filter(|one| one.error.as_deref() == Some(DROPPED));
        assert_eq!(dropped.count(), 3);
        assert!(kept.bytes <= MOST);
    }
}
