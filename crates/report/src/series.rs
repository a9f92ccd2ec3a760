//! Selectors that summarise series, which the original does not have: `all` and `?` omit them.

use netperf_model::Series;

use crate::selectors::SelectorValue::End;
use crate::selectors::{Need, SelectorRow, row};
use crate::values::Value;
use crate::view::EndView;

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static OVER_TIME: &[&[SelectorRow]] = &[
    &[row("{END}_TCP_RTT_MIN", ["{End}", "TCP RTT", "Min", ""], "usec", "%d", Need::Nothing,
        End(|_, end| of(end, least_trip)),
        "smallest round trip that TCP measured at {end}, last iteration; with --series")],
    &[row("{END}_TCP_RTT_MAX", ["{End}", "TCP RTT", "Max", ""], "usec", "%d", Need::Nothing,
        End(|_, end| of(end, largest_trip)),
        "largest smoothed round trip in the samples of {end}'s connections, last iteration; with --series")],
    &[row("{END}_TCP_CWND_MAX", ["{End}", "TCP Window", "Max", ""], "segments", "%d", Need::Nothing,
        End(|_, end| of(end, largest_window)),
        "largest congestion window in the samples of {end}'s connections, last iteration; with --series")],
];

fn of(end: EndView<'_>, pick: fn(&Series) -> Option<u32>) -> Value {
    let series = end.result.and_then(|result| result.series.as_ref());
    let value = series.and_then(pick);
    value.into()
}

/// The smallest round trip: TCP's own, which it forgets after a while.
fn least_trip(series: &Series) -> Option<u32> {
    series.smallest(|sample| sample.min_round_trip_micros)
}

fn largest_trip(series: &Series) -> Option<u32> {
    series.largest(|sample| sample.round_trip_micros)
}

fn largest_window(series: &Series) -> Option<u32> {
    series.largest(|sample| sample.congestion_window_segments)
}
