//! Options about repeating a test until its result is known well enough.

use netperf_arguments::args::{GlobalArgs, IterationsArg};
use netperf_arguments::command::{CliError, Notice};
use netperf_arguments::foreign;
use netperf_arguments::grammar::{both_halves, seconds, size};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

type Opt = OptionSpec<GlobalArgs>;

/// Fewest and most iterations.
const RANGE: (u32, u32) = (3, 30);

/// Fewest and most iterations, for the name.
const ITERATION_COUNTS: ValueKind = ValueKind::twice(&ValueKind::Within(RANGE.0, RANGE.1));

pub(super) const ITERATIONS: Opt = Opt::lettered('i', "iterations", Group::Statistics)
    .takes("max,min", ITERATION_COUNTS)
    .noted(iterations)
    .help("repeat the test until the requested confidence is reached")
    .more(
        "Both are limited to 3 to 30, and max is at least min. A single number sets both. Without \
         --confidence, the level is 99 % and the width 5 %. TCP_CC and the Unix-domain and \
         link-level tests run once, as in netperf 2.7.",
    );

pub(super) const CONFIDENCE: Opt = Opt::lettered('I', "confidence", Group::Statistics)
    .takes("level,width", ValueKind::Confidence)
    .implies("99,5", "[level,width]")
    .checked(confidence)
    .help("confidence level 95 or 99, and full width of the interval in percent")
    .more(
        "The test is repeated until the interval is narrow enough or the maximum number of \
         iterations is reached. By letter, a level without a comma is also the width; the name \
         requires both values, or a comma.",
    );

pub(super) const RESULT_ONLY: Opt = Opt::lettered('r', "result-only", Group::Statistics)
    .flag(|a| a.result_only = true)
    .help("apply the confidence to the result only, not to CPU utilisation");

/// `-i max,min`: max is raised to min, and both are forced into their range.
fn iterations(args: &mut GlobalArgs, text: &str, notices: &mut Vec<Notice>) {
    if text
        .parse()
        .is_ok_and(|count| (1..RANGE.0).contains(&count))
    {
        notices.push(Notice::hint(&foreign::interval(text)));
    }
    let (mut max, mut min) = match args.iterations {
        Some(earlier) => (i64::from(earlier.max), i64::from(earlier.min)),
        None => (1, 1),
    };
    let (first, second) = both_halves(text);
    if let Some(first) = first {
        max = size(first).into();
    }
    if let Some(second) = second {
        min = size(second).into();
    }
    let clamp = |count: i64| {
        let count = count.clamp(RANGE.0.into(), RANGE.1.into());
        u32::try_from(count).unwrap_or_default()
    };
    args.iterations = Some(IterationsArg {
        min: clamp(min),
        max: clamp(max.max(min)),
    });
    args.confidence.level.get_or_insert(99);
    args.confidence.width.get_or_insert(5.0);
}

/// `-I level,width`; a level alone is also the width.
fn confidence(args: &mut GlobalArgs, text: &str) -> Result<(), CliError> {
    let (level, width) = both_halves(text);
    if let Some(level) = level {
        args.confidence.level = u32::try_from(size(level)).ok();
    }
    if let Some(width) = width {
        args.confidence.width = Some(seconds(width));
    }
    match args.confidence.level {
        Some(95 | 99) => Ok(()),
        Some(_) | None => Err(CliError::ConfidenceLevel),
    }
}
