//! Questions of tests about documents of `--json`.

use serde_json::Value;

/// The number of a field.
#[track_caller]
pub fn number(value: &Value) -> f64 {
    let number = value.as_f64();
    number.unwrap_or_else(|| panic!("{value} is no number"))
}

/// Judges a run with `--until 90%` that ended within its longest time, in seconds, because its
/// figure was known. `account` is what it printed.
#[track_caller]
pub fn assert_reached(document: &Value, longest: f64, account: &str) {
    let until = &document["until"];
    assert_eq!(until["end"], "reached", "{account}");
    let mut warnings = document["warnings"].as_array().expect("warnings").iter();
    assert!(!warnings.any(|one| one["code"] == "imprecise"), "{account}");
    let elapsed = number(&document["iterations"][0]["elapsed_seconds"]);
    assert!(elapsed < longest, "{account}");
    // The request is met within a quarter.
    assert!(number(&until["throughput"]["half_width_percent"]) <= 90.0 * 1.25);
    let figure = number(&until["throughput"]["value"]);
    assert!(figure > 0.0);
    let printed = number(&document["result"]["throughput"]);
    assert!((figure / printed - 1.0).abs() < 1e-6, "{account}");
}

/// Judges that a count of netperf is one of netserver, and not 0.
#[track_caller]
pub fn assert_same_at_both_ends(document: &Value, local: &str, remote: &str) {
    let iteration = &document["iterations"][0];
    let (here, there) = (&iteration["local"][local], &iteration["remote"][remote]);
    assert!(number(here) > 0.0);
    assert_eq!(here, there);
}
