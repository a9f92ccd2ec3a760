//! Results of a server of iperf3 that cannot be.

use super::faults::hostile;
use super::*;

/// Numbers of a server, and words of a client that sends or receives 8192 bytes to or from it.
const IMPOSSIBLE: &[(&str, &str)] = &[
    (r#"{"bytes": 16384}"#, ""),
    (r#"{"bytes": 0}"#, "-R"),
    (r#"{"bytes": 4096}"#, "-R"),
    (r#"{"end_time": 0}"#, ""),
    (r#"{"end_time": -3}"#, ""),
    (r#"{"end_time": 1e-300}"#, ""),
    (r#"{"end_time": 1e300}"#, "-R"),
    (r#"{"start_time": 9}"#, ""),
];

/// Unusual ones that may be.
const POSSIBLE: &[(&str, &str)] = &[
    (r#"{"end_time": null}"#, ""),
    (r#"{"bytes": 0, "end_time": 0}"#, ""),
    (r#"{"bytes": 16384}"#, "-R"),
    (r#"{"cpu_util_total": 6400}"#, ""),
];

#[test]
fn threat_model_results_of_an_iperf3_server_that_cannot_be_are_a_failure_with_its_reason() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let run = |claims: &str, words: &str| {
        hostile(&["claims", "0", claims], |port: u16| {
            Invocation::new(&own)
                .args(["-c", "127.0.0.1", "-p", &port.to_string()])
                .args(["-n", "8192", "-l", "4096"])
                .args(words.split_whitespace())
                .patience(PATIENCE)
        })
    };
    for (claims, words) in IMPOSSIBLE {
        let finished = run(claims, words).expect_exit(1);
        let said = &finished.stderr;
        let doubts = said.contains("its results cannot be right");
        assert!(doubts, "{claims} {words}: {}", finished.account());
        let claimed = finished.stdout.contains(" receiver") && words.is_empty();
        assert!(!claimed, "{claims}: {}", finished.account());
        let is_line = said.lines().count() == 1 && said.len() < 120;
        assert!(is_line, "{claims} {words}: {said}");
    }
    for (claims, words) in POSSIBLE {
        run(claims, words).expect_clean();
    }
    // Figures of the data may be right then.
    for claims in [r#"{"cpu_util_total": -50}"#, r#"{"cpu_util_user": 1e308}"#] {
        let finished = run(claims, "-V").expect_exit(0);
        let said = &finished.stderr;
        let told = said.contains("which cannot be right: it is left out") && said.len() < 120;
        assert!(told, "{claims}: {}", finished.account());
        let left_out = finished
            .stdout
            .contains("remote/receiver 0.0% (0.0%u/0.0%s)");
        assert!(left_out, "{claims}: {}", finished.account());
    }
}
