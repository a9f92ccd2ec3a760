//! Lines of the original iperf 2.1.8 and iperf3 3.12, recorded once (`golden_iperf/lines.json`) with
//! figures masked: ours are compared with these, and the originals at night.

use std::collections::BTreeMap;

/// Lines by the options of a case.
type Lines = BTreeMap<String, Vec<String>>;

/// Compares the lines of each case of a subject, some side by side, and returns what differs. The
/// second value of a case's lines is an account of the run.
pub(crate) fn differences<C: Sync>(
    subject: &str,
    cases: &[C],
    key: impl Fn(&C) -> String + Sync,
    lines: impl Fn(&C) -> (Vec<String>, String) + Sync,
) -> Vec<String> {
    let text = include_str!("golden_iperf/lines.json");
    let all: BTreeMap<String, Lines> = serde_json::from_str(text).expect("recorded lines");
    let recorded = &all[subject];
    let difference = |case: &C| {
        let key = key(case);
        let (found, account) = lines(case);
        let expected = recorded.get(&key);
        let is_same = expected == Some(&found);
        (!is_same).then(|| {
            let found = serde_json::json!({ &key: found });
            format!("{found:#}\nrecorded: {expected:#?}\n{account}")
        })
    };
    std::thread::scope(|scope| {
        let difference = &difference;
        let threads: Vec<_> = cases
            .iter()
            .map(|case| scope.spawn(move || difference(case)))
            .collect();
        let ended = threads.into_iter().map(|one| one.join().expect("a thread"));
        ended.flatten().collect()
    })
}

/// Fails if more than so many cases differ.
#[track_caller]
pub(crate) fn expect_at_most(most: usize, differences: &[String]) {
    assert!(differences.len() <= most, "{}", differences.join("\n\n"));
}
