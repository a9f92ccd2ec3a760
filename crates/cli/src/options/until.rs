//! The options about going on until figures are known, which have names only.

use netperf_arguments::args::GlobalArgs;
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::kind::precision::asked;
use netperf_arguments::table::OptionSpec;

type Opt = OptionSpec<GlobalArgs>;

/// Levels of confidence, percent. Beyond them there are no honest intervals of a short run.
const LEVELS: (u32, u32) = (50, 99);

pub(super) const UNTIL: Opt = Opt::named("until", Group::Statistics)
    .takes("percent", ValueKind::Precision)
    .implies("1%", "[percent]")
    .set(|a, text| a.until.until = asked(text))
    .help("end when the result has this precision, and report the precision")
    .more(
        "A percentage: half the width of the interval that contains the throughput with 95 % \
         confidence. Latency percentiles can follow, with the same precision: `--until \
         1%,p50,p99`. Warm-up is detected and excluded, and autocorrelation is taken into account. \
         -l is the maximum time (default 120 s), 0 for none. netperf reports whether the run was \
         stable, drifting or bimodal, and whether it was too noisy; the exit status is 0 in all \
         cases, as with -I. If only netserver sends, as in TCP_MAERTS, this \
         project's netserver is needed.",
    );

pub(super) const LEVEL: Opt = Opt::named("until-confidence", Group::Statistics)
    .takes("percent", ValueKind::Within(LEVELS.0, LEVELS.1))
    .set(|a, text| a.until.level = text.parse().ok())
    .help("confidence of --until in percent (default 95)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_may_have_percentiles_behind_it() {
        let found = asked("2.5%,p50,99.9").unwrap();
        assert!((found.precision - 0.025).abs() < 1e-12);
        assert_eq!(found.percentiles.len(), 2);
        assert!(asked("1").unwrap().percentiles.is_empty());
        for bad in ["", "0", "0%", "101", "1%,", "1%,max", "p99", "1 %"] {
            assert_eq!(asked(bad), None, "{bad}");
        }
    }
}
