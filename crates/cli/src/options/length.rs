//! Options about when a test ends.

use std::time::Duration;

use netperf_model::Limit;

use crate::args::GlobalArgs;
use crate::command::Notice;
use crate::grammar::size;
use crate::group::Group;
use crate::kind::{ValueKind, length};
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<GlobalArgs>;

pub(super) const TIME: Opt = Opt::lettered('l', "time", Group::Test)
    .takes("length", ValueKind::Length)
    .action(Action::LetterAndName(
        |a, text, notices| {
            a.length = Some(limit(size(text)));
            length_hint(text, notices);
        },
        |a, text| a.length = length(text).or(a.length),
    ))
    .help("run this many seconds, or -length bytes or transactions")
    .more(
        "By name, a time with units such as 500ms, 10s or 1m30s; if only netserver sends, it is \
         rounded up to whole seconds. By letter, a number with a size letter; other suffixes are \
         ignored: `10s` is 10 seconds and `1m` a million seconds. Both accept a minus and an \
         amount: bytes for streams, transactions otherwise. 0 runs until SIGINT or SIGALRM, which \
         end every timed test early and normally. The default is 10 seconds.",
    );

pub(super) const COUNT: Opt = Opt::named("count", Group::Test)
    .takes("amount", ValueKind::Size)
    .set(|a, text| {
        a.length = Some(limit(size(text).wrapping_neg()));
        a.count = true;
    })
    .help("end after this many bytes or transactions")
    .more(
        "The same as --time with a minus before the amount. DG_STREAM and DLCL_STREAM end by time \
         only.",
    );

/// `-l`: seconds, or minus how much.
fn limit(length: i32) -> Limit {
    let amount = u64::from(length.unsigned_abs());
    match length.signum() {
        1 => Limit::Time(Duration::from_secs(amount)),
        -1 => Limit::Units(amount),
        _ => Limit::UntilStopped,
    }
}

/// Tells a person that `-l 1m` is no minute. Scripts rely on its meaning.
fn length_hint(text: &str, notices: &mut Vec<Notice>) {
    let meant = length(text).filter(|meant| !matches!(meant, Limit::Units(_)));
    let (Some(meant), read @ Limit::Time(seconds)) = (meant, limit(size(text))) else {
        return;
    };
    if read != meant {
        let seconds = seconds.as_secs();
        notices.push(Notice::hint(&format!(
            "-l {text} is {seconds} seconds; for a time with units use --time {text}"
        )));
    }
}
