//! Words that are neither options nor values of one.

use std::net::IpAddr;

use netperf_arguments::args::Args;
use netperf_arguments::command::{CliError, Notice};
use netperf_arguments::foreign;
use netperf_arguments::long::{nearest, shown};
use netperf_arguments::table::by_name;
use netperf_model::TestId;

use super::hosts;
use crate::options::global;
use crate::subcommand;

/// Settles such words. One that is a host, where none was given, is the host. One like a subcommand
/// is a mistake. Others are ignored, as in the original, and named.
///
/// Scripts have other words beside a host or a port: they are named on a terminal alone, unless they
/// are the name of a test or an address, or stand beside a long option.
pub(super) fn settle(
    args: &mut Args,
    is_host: &dyn Fn(&str) -> bool,
    notices: &mut Vec<Notice>,
) -> Result<(), CliError> {
    let rates = [&args.global.cpu, &args.global.remote_cpu];
    let address = rates.into_iter().find_map(|cpu| cpu.address.clone());
    let mistaken = args
        .left_over
        .iter()
        .find(|word| is_mistaken(word))
        .cloned();
    let no_host = args.global.remote.host.is_none();
    if let Some(word) = address.filter(|_| no_host).or(mistaken) {
        return Err(CliError::LeftOver {
            program: args.program.clone(),
            meant: meant(&word),
            word,
        });
    }
    if no_host {
        let host = args
            .left_over
            .iter()
            .position(|word| is_a_host(word, is_host));
        if let Some(host) = host {
            args.global.remote.host = Some(args.left_over.remove(host));
        } else if let Some(host) = args.left_behind.iter().position(|word| is_certain(word)) {
            args.global.remote.host = Some(args.left_behind.remove(host));
        }
    }
    // A script leaves an empty word where a variable is empty.
    args.left_over.retain(|word| !word.is_empty());
    args.left_behind.retain(|word| !word.is_empty());
    if args.left_over.is_empty() && args.left_behind.is_empty() {
        return Ok(());
    }
    let words = &args.left_over;
    let beside_name = !args.named.is_empty() && !words.is_empty();
    let explicit = hosts::control(&args.global).is_none_or(|control| control.explicit);
    let always = !explicit || beside_name || words.iter().any(|word| is_meant(word));
    let all = if words.is_empty() {
        &args.left_behind
    } else {
        words
    };
    let line = ignored(args, all);
    notices.push(if always {
        Notice::stderr(&line)
    } else {
        Notice::hint(&line)
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

/// Returns true for a word that resembles a subcommand, asks for help, or is a host with its port.
fn is_mistaken(word: &str) -> bool {
    let with_port = word
        .rsplit_once(':')
        .is_some_and(|(host, _)| !host.is_empty() && !host.contains(':'));
    is_like_a_subcommand(word) || asks_for_help(word) || with_port
}

fn asks_for_help(word: &str) -> bool {
    let words = ["help", "usage", "?", "version"];
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn is_like_a_subcommand(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let is_word = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let has_meaning = lower == "localhost"
        || foreign::CONGESTION.contains(&&*lower)
        || TestId::from_name(word).is_some()
        || foreign::test(word).is_some();
    is_word && !has_meaning && nearest(word, subcommand::words()).is_some()
}

/// Returns true for an address and the name of this host.
fn is_certain(word: &str) -> bool {
    word.parse::<IpAddr>().is_ok() || word.eq_ignore_ascii_case("localhost")
}

/// Returns true for an address, a name with a domain, and a name that this host knows.
fn is_a_host(word: &str, is_host: &dyn Fn(&str) -> bool) -> bool {
    let is_text = !word.is_empty()
        && word.bytes().all(may_be_in_a_host)
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !word.contains(':');
    let is_test = TestId::from_name(word).is_some() || foreign::test(word).is_some();
    let is_name = is_text && !is_test && !word.starts_with(['-', '.']);
    is_certain(word) || (is_name && (word.contains('.') || is_host(word)))
}

/// The line about ignored words.
fn ignored(args: &Args, words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", shown(word)))
        .collect();
    let (program, quoted) = (&args.program, quoted.join(", "));
    let has_host = args.global.remote.host.is_some();
    match words {
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
    let subcommand = nearest(word, subcommand::words());
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
        _ if word.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("a length in seconds is given as -l {word}")
        }
        Some(subcommand) if !is_address => {
            format!("did you mean `netperf {subcommand}`?")
        }
        _ if by_name(global::table(), &lower).is_some() => format!("did you mean --{lower}?"),
        _ if !word.bytes().all(may_be_in_a_host) => {
            "options of the test, such as -r and -m, go after --".to_owned()
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
