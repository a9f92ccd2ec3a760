//! Parts of transaction times: selectors that the original does not have, and the table of
//! verbosity 2.
//!
//! `all` and `?` omit the selectors.

use netperf_model::{ClockOffset, OneWay, Part};

use crate::selectors::SelectorValue::Run;
use crate::selectors::{Need, SelectorRow, row};
use crate::values::Value;
use crate::view::View;

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static ONE_WAY: &[&[SelectorRow]] = &[
    &[
        row("LOCAL_TURNAROUND_USEC", ["Local", "Turnaround", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::ClientTurn)),
            "median time from netperf's receive call to its next send call, last iteration; with --timestamps"),
        row("LOCAL_SEND_STACK_USEC", ["Local", "Send Stack", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::ClientSend)),
            "median time from netperf's send call to its device, last iteration; with --timestamps"),
        row("WIRE_THERE_USEC", ["Wire", "There", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::WireThere)),
            "median time from netperf's device to netserver's, last iteration; with --timestamps"),
        row("REMOTE_RECV_STACK_USEC", ["Remote", "Recv Stack", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::ServerReceive)),
            "median time from netserver's device to the return of its receive call, last iteration; with --timestamps"),
        row("REMOTE_TURNAROUND_USEC", ["Remote", "Turnaround", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::ServerTurn)),
            "median time from netserver's receive call to its send call, last iteration; with --timestamps"),
        row("REMOTE_SEND_STACK_USEC", ["Remote", "Send Stack", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::ServerSend)),
            "median time from netserver's send call to its device, last iteration; with --timestamps"),
        row("WIRE_BACK_USEC", ["Wire", "Back", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::WireBack)),
            "median time from netserver's device to netperf's, last iteration; with --timestamps"),
        row("LOCAL_RECV_STACK_USEC", ["Local", "Recv Stack", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| median(v, Part::ClientReceive)),
            "median time from netperf's device to the return of its receive call, last iteration; with --timestamps"),
        row("CLOCK_OFFSET_USEC", ["Clock", "Offset", "", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| clock(v, |clock| micros_of(clock.nanos))),
            "offset of netserver's clock from netperf's, last iteration; with --timestamps; -1 also without"),
        row("CLOCK_OFFSET_ERROR_USEC", ["Clock", "Offset", "Error", ""], "usec", "%.3f", Need::Nothing,
            Run(|v| clock(v, |clock| clock.error / 1e3)),
            "error of CLOCK_OFFSET_USEC; with --timestamps"),
    ],
];

fn last<'v>(view: &View<'v>) -> Option<&'v OneWay> {
    view.outcome.iterations.last()?.one_way.as_ref()
}

fn median(view: &View<'_>, part: Part) -> Value {
    let time = last(view).map(|all| all.part(part).median / 1e3);
    time.into()
}

fn clock(view: &View<'_>, pick: fn(&ClockOffset) -> f64) -> Value {
    let figure = last(view).map(|all| pick(&all.clock));
    figure.into()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an offset of years needs no nanoseconds"
)]
fn micros_of(nanos: i64) -> f64 {
    nanos as f64 / 1e3
}

/// The table of verbosity 2, or nothing.
pub(crate) fn print(view: &View<'_>) -> String {
    let Some(all) = last(view) else {
        return String::new();
    };
    let mut out = format!(
        "\nWhere the time of {} transactions went, microseconds\n{:30}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        all.transactions, "", "min", "mean", "median", "99%", "max"
    );
    for part in Part::ALL {
        let took = all.part(part);
        let times = [took.min, took.mean, took.median, took.p99, took.max];
        let times = times.map(|nanos| format!("{:>10.3}", nanos / 1e3)).concat();
        out.push_str(&format!("{:30}{times}\n", part.label()));
    }
    let clock = &all.clock;
    let drift = match clock.drift {
        Some(drift) => format!("drifts by {:.3} ppm", drift / 1e3),
        None => "no drift to be seen".to_owned(),
    };
    out.push_str(&format!(
        "netserver's clock is ahead by {:.3} +- {:.3}; {drift}\n",
        micros_of(clock.nanos),
        clock.error / 1e3
    ));
    if let Some([own, far]) = all.devices {
        out.push_str(&format!(
            "stamped by the devices; netperf's stack +- {:.3}, netserver's stack +- {:.3}\n",
            own / 1e3,
            far / 1e3
        ));
    }
    out
}
