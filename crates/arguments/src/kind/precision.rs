//! A precision that a run is to reach.

use netperf_model::until::percentile_named;

use super::percent;
use crate::args::UntilArg;

/// A precision and percentiles: `1%,p50,p99.9`.
pub fn asked(text: &str) -> Option<UntilArg> {
    let mut words = text.split(',');
    let precision = percent(words.next()?).filter(|share| *share > 0.0)?;
    Some(UntilArg {
        precision,
        percentiles: words.map(percentile_named).collect::<Option<_>>()?,
    })
}
