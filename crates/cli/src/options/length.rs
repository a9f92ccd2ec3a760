//! Options about when a test ends.

use std::time::Duration;

use netperf_arguments::args::GlobalArgs;
use netperf_arguments::command::Notice;
use netperf_arguments::grammar::size;
use netperf_arguments::group::Group;
use netperf_arguments::kind::{ValueKind, length};
use netperf_arguments::table::{Action, OptionSpec};
use netperf_model::Limit;

type Opt = OptionSpec<GlobalArgs>;

pub(super) const TIME: Opt = Opt::lettered('l', "time", Group::Test)
    .takes("length", ValueKind::Length)
    .action(Action::LetterAndName(
        |a, text, notices| {
            a.length = Some(lettered_length(text));
            length_hint(text, notices);
        },
        |a, text| a.length = length(text).or(a.length),
    ))
    .help("seconds to run; if negative, bytes or transactions")
    .more(
        "--time accepts units, as in 500ms, 10s or 1m30s; netserver of netperf 2.7 rounds it up to \
         whole seconds where it alone sends. -l accepts a number with a size suffix and ignores \
         other suffixes: `-l 10s` is 10 seconds and `-l 1m` a million seconds; a value below 1 is \
         read as by --time. A negative value is a number of bytes in stream tests, and of \
         transactions in others. 0 runs until SIGINT, SIGTERM or SIGALRM, which end every timed \
         test early and normally. The default is 10 seconds.",
    );

pub(super) const COUNT: Opt = Opt::named("count", Group::Test)
    .takes("amount", ValueKind::Size)
    .set(|a, text| {
        a.length = Some(limit(size(text).wrapping_neg()));
        a.count = true;
    })
    .help("end after this many bytes or transactions")
    .more("Equivalent to a negative value of --time. DG_STREAM and DLCL_STREAM end by time only.");

/// `-l`: the number in front counts. Less than 1 is read as by `--time`.
fn lettered_length(text: &str) -> Limit {
    match limit(size(text)) {
        Limit::UntilStopped => length(text).unwrap_or(Limit::UntilStopped),
        read @ (Limit::Time(_) | Limit::Units(_) | Limit::Messages(_)) => read,
    }
}

/// `-l`: seconds, or minus how much.
fn limit(length: i32) -> Limit {
    let amount = u64::from(length.unsigned_abs());
    match length.signum() {
        1 => Limit::Time(Duration::from_secs(amount)),
        -1 => Limit::Units(amount),
        _ => Limit::UntilStopped,
    }
}

/// Returns true for a time of several units, as the language Go prints it. Programs give it, and end
/// the test themselves (I21 in docs/consumers.md).
fn is_of_go(text: &str) -> bool {
    text.ends_with('s') && text.contains(['h', 'm']) && !text.ends_with("ms")
}

/// Says that `-l 1m` is no minute. Scripts rely on it.
fn length_hint(text: &str, notices: &mut Vec<Notice>) {
    let (read, meant) = (lettered_length(text), length(text));
    let Limit::Time(time) = read else { return };
    if matches!(meant, Some(Limit::Time(_) | Limit::UntilStopped)) && meant != Some(read) {
        let seconds = time.as_secs();
        let plural = if seconds == 1 { "" } else { "s" };
        let line = format!(
            "netperf: -l {text} is read as {seconds} second{plural}, without the unit: use --time \
             {text}"
        );
        notices.push(if is_of_go(text) {
            Notice::hint(&line)
        } else {
            Notice::stderr(&line)
        });
    }
}
