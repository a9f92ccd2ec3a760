//! Words that are neither options nor values of one.

use std::net::IpAddr;

use netperf_model::TestId;

use super::hosts;
use crate::args::Args;
use crate::command::{CliError, Notice};
use crate::foreign;
use crate::long::{nearest, shown};
use crate::options::global;
use crate::subcommand::WORDS;
use crate::table::by_name;

/// Rejects such words if neither host nor port is given: the test would measure this host, and
/// the word may be the name of another. With a host or port they are ignored, as in the original,
/// and named: the name of a test and an address always, and so are others beside a long option.
/// Scripts have other words, and words behind `--` or a letter: they are named on a terminal alone.
pub(super) fn refuse(args: &Args, notices: &mut Vec<Notice>) -> Result<(), CliError> {
    let rates = [&args.global.cpu, &args.global.remote_cpu];
    let address = rates.into_iter().find_map(|cpu| cpu.address.as_ref());
    let words = [&args.left_over, &args.left_behind];
    let first = words.into_iter().find_map(|words| words.first());
    let Some(word) = address.or(first) else {
        return Ok(());
    };
    let left_over = CliError::LeftOver {
        program: args.program.clone(),
        word: word.clone(),
        meant: meant(word),
    };
    if hosts::control(&args.global).is_some_and(|control| !control.explicit) {
        return Err(left_over);
    }
    let words = &args.left_over;
    // A script leaves an empty word where a variable is empty.
    let beside_name = !args.named.is_empty() && words.iter().any(|word| !word.is_empty());
    notices.push(if address.is_some() || words.is_empty() {
        Notice::hint(&left_over.to_string())
    } else if beside_name || words.iter().any(|word| is_meant(word)) {
        Notice::stderr(&ignored(args))
    } else {
        Notice::hint(&ignored(args))
    });
    Ok(())
}

/// Returns true for a word that was certainly meant to change what is measured: the name of a test,
/// an address, or a name with a domain.
fn is_meant(word: &str) -> bool {
    let is_name = word.contains('.') && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_host = is_name && word.bytes().all(may_be_in_a_host);
    TestId::from_name(word).is_some() || word.parse::<IpAddr>().is_ok() || is_host
}

/// The line about ignored words in front of `--`.
fn ignored(args: &Args) -> String {
    let words = &args.left_over;
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", shown(word)))
        .collect();
    let (program, quoted) = (&args.program, quoted.join(", "));
    let has_host = args.global.remote.host.is_some();
    match words.as_slice() {
        [word] if !has_host || !may_be_a_host(word) => {
            format!("{program}: {quoted} is ignored: {}", meant(word))
        }
        [_] => format!("{program}: {quoted} is ignored: it is not the value of an option"),
        _ => format!("{program}: {quoted} are ignored: they are not values of an option"),
    }
}

/// Returns true if the suggestion for a word is to give it as a host.
fn may_be_a_host(word: &str) -> bool {
    meant(word).contains("-H ")
}

/// The suggestion of a message.
fn meant(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let is_help = ["help", "usage", "?"].contains(&&*lower);
    let is_address = word.contains(['.', ':']) || lower == "localhost";
    let subcommand = nearest(word, WORDS);
    match subcommand {
        _ if is_help => "--help shows the options".to_owned(),
        _ if lower == "version" => "-V prints the version".to_owned(),
        _ if foreign::CONGESTION.contains(&&*lower) => {
            format!("an algorithm is given as --congestion {lower}")
        }
        _ if TestId::from_name(word).is_some() => format!("a test is given as -t {word}"),
        _ if foreign::test(word).is_some() => {
            format!(
                "a test is given as -t {}",
                foreign::test(word).unwrap_or_default()
            )
        }
        _ if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("a length in seconds is given as -l {word}")
        }
        Some(subcommand) if !is_address => {
            format!("did you mean the subcommand, as in `netperf {subcommand} --help`?")
        }
        _ if by_name(global::table(), &lower).is_some() => format!("did you mean --{lower}?"),
        _ if !word.bytes().all(may_be_in_a_host) || word.is_empty() => {
            "options of the test, such as -r and -m, stand behind --".to_owned()
        }
        _ => match word.rsplit_once(':') {
            // Not an IPv6 address.
            Some((host, port)) if !host.contains(':') && !host.is_empty() => {
                format!("a host and its port are given as -H {host} -p {port}")
            }
            _ => format!("a host is given as -H {word}"),
        },
    }
}

/// Returns true for the characters of names, addresses and zones.
fn may_be_in_a_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte) || !byte.is_ascii()
}
