//! CPUs for both ends in one word: what `-T` takes.
//!
//! Numbers alone mean what they always did: a CPU for each process. A range or a colon makes
//! it lists of CPUs for the threads of many flows.

use netperf_model::many::{Placement, cpu_list};

use crate::args::PerEnd;

/// Meaning of the argument of `-T`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places {
    /// A number for each end, as ever.
    Processes,
    /// Lists for the threads of each end.
    Threads(PerEnd<Vec<u32>>),
    /// A rule for the threads of both ends.
    Rule(Placement),
    /// Neither: it may mean two things, or is no list.
    Unclear,
}

/// Parses the argument. With a colon, the list before it is netperf's and the one after it
/// netserver's. Without a colon the list applies to both ends and may not contain a comma,
/// which traditionally separates the ends.
pub fn places(text: &str) -> Places {
    if let Some(rule) = Placement::named(text) {
        return Places::Rule(rule);
    }
    let has_range = text
        .as_bytes()
        .windows(2)
        .any(|two| matches!(two, [b'0'..=b'9', b'-']));
    if !has_range && !text.contains(':') {
        return Places::Processes;
    }
    let (local, remote) = match text.split_once(':') {
        Some(halves) => halves,
        None if text.contains(',') => return Places::Unclear,
        None => (text, text),
    };
    let list = |text: &str| match text {
        "" => Some(None),
        text => cpu_list(text).map(Some),
    };
    match (list(local), list(remote)) {
        (Some(None), Some(None)) | (None, _) | (_, None) => Places::Unclear,
        (Some(local), Some(remote)) => Places::Threads(PerEnd { local, remote }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(local: &[u32], remote: &[u32]) -> Places {
        let list = |cpus: &[u32]| (!cpus.is_empty()).then(|| cpus.to_vec());
        Places::Threads(PerEnd {
            local: list(local),
            remote: list(remote),
        })
    }

    #[test]
    fn numbers_alone_mean_what_they_always_did() {
        for text in ["0", "1,2", "1,", ",2", "-1", ",-1", "1,-1", ""] {
            assert_eq!(places(text), Places::Processes, "{text}");
        }
    }

    #[test]
    fn ranges_and_colons_make_lists() {
        assert_eq!(places("0-2"), threads(&[0, 1, 2], &[0, 1, 2]));
        assert_eq!(places("0-1:4,6"), threads(&[0, 1], &[4, 6]));
        assert_eq!(places("3:"), threads(&[3], &[]));
        assert_eq!(places(":0-1,3"), threads(&[], &[0, 1, 3]));
    }

    #[test]
    fn places_rules_are_for_both_ends() {
        assert_eq!(places("spread"), Places::Rule(Placement::Spread));
        assert_eq!(places("node:1"), Places::Rule(Placement::Node(1)));
    }

    #[test]
    fn a_range_and_a_comma_without_a_colon_may_mean_two_things() {
        for text in ["0-3,4-7", "0,4-7", ":", "0-:1", "a:b", "3-1", "1:2:3"] {
            assert_eq!(places(text), Places::Unclear, "{text}");
        }
    }
}
