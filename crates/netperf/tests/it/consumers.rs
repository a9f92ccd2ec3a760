//! Properties that published scripts, dashboards and kernel tests rely on, checked with the
//! programs. The numbers are those of docs/consumers.md, which lists each consumer.

mod interims;
mod options;
mod output;
mod peers;
mod programs;
mod selections;

use std::time::Duration;

use netperf_testkit::{Finished, Invocation, Netserver, ours};

/// A server of ours here.
fn server() -> Netserver {
    ours!().serve()
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A client of a server here; words are split at blanks.
fn client(server: &Netserver, words: &str) -> Invocation {
    ours!().client_of(server).args(words.split_whitespace())
}

/// A run that must succeed without a byte on standard error. Its figures do not matter.
#[track_caller]
fn run(server: &Netserver, words: &str) -> Finished {
    client(server, &brief(words)).run().expect_clean()
}

/// Words without figures that matter: an amount in the place of a second. Intervals, bursts and CPU need
/// their time, if not a second.
fn brief(words: &str) -> String {
    let padded = format!("{words} ");
    let has = |word: &str| padded.contains(word);
    let upper = padded.to_uppercase();
    let length = if has("-w") || has("-l 5") {
        return padded;
    } else if has("-D") {
        "--time 600ms "
    } else if has("-c") {
        "--time 300ms "
    } else if upper.contains("UDP_STREAM") {
        "--time 200ms "
    } else if ["RR", "CC", "-D 6"].iter().any(|test| upper.contains(test)) {
        "-l -100 "
    } else {
        "-l -1M "
    };
    padded.replacen("-l 1 ", length, 1)
}

/// The same for several at once.
#[track_caller]
fn run_all(server: &Netserver, commands: &[&str]) -> Vec<Finished> {
    let running: Vec<_> = commands
        .iter()
        .map(|words| client(server, &brief(words)).spawn())
        .collect();
    let ended = running.into_iter().map(|running| running.finish());
    ended.map(Finished::expect_clean).collect()
}

/// Digits, a point, digits.
fn is_decimal(word: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(whole, fraction)| digits(whole) && digits(fraction))
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}
