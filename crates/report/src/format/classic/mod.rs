//! Titles and rows as netperf has always printed (output.md 3, 4, 11).

pub mod rows;

mod connect;
mod mss;
mod rr;
mod stream;
mod titles;
mod udp_stream;

use netperf_model::TestId;

use super::histogram;
use crate::fmt::{Arg, printf};
use crate::view::View;
use rows::Row;

/// How one test prints, part by part. Every text brings its own newlines.
struct Layout {
    /// Column titles.
    titles: fn(&View<'_>) -> String,
    /// Result rows.
    rows: fn(&View<'_>) -> String,
    /// Verbosity 0: the figure of merit.
    figure: fn(&View<'_>) -> String,
    /// Verbosity 2 and above: what follows the rows.
    extra: fn(&View<'_>) -> String,
    /// Below it: the heading of the histogram with the empty lines in front of
    /// it; `None` for tests without one.
    histogram: Option<&'static str>,
}

/// The layout of a test; `None` for tests that never print this way.
const fn layout(test: TestId) -> Option<&'static Layout> {
    match test {
        TestId::TcpStream
        | TestId::StreamStream
        | TestId::SctpStream
        | TestId::SctpStreamMany
        | TestId::SdpStream
        | TestId::XtiTcpStream
        | TestId::DlcoStream
        | TestId::ForeStream
        | TestId::HippiStream => Some(&stream::STREAM),
        TestId::TcpMaerts | TestId::SdpMaerts => Some(&stream::MAERTS),
        TestId::TcpSendfile => Some(&stream::SENDFILE),
        TestId::TcpRr
        | TestId::StreamRr
        | TestId::DgRr
        | TestId::SctpRr
        | TestId::SctpRrMany
        | TestId::SdpRr
        | TestId::XtiTcpRr
        | TestId::XtiUdpRr
        | TestId::DlcoRr
        | TestId::DlclRr
        | TestId::ForeRr
        | TestId::HippiRr => Some(&rr::TCP),
        TestId::UdpRr => Some(&rr::UDP),
        TestId::TcpCrr | TestId::SdpCrr | TestId::XtiTcpCrr => Some(&connect::CRR),
        TestId::TcpCc | TestId::SdpCc | TestId::XtiTcpCc => Some(&connect::CC),
        TestId::TcpMss => Some(&mss::MSS),
        TestId::UdpStream | TestId::DgStream | TestId::XtiUdpStream | TestId::DlclStream => {
            Some(&udp_stream::UDP_STREAM)
        }
        TestId::Omni | TestId::LocCpu | TestId::RemCpu | TestId::Uuid => None,
    }
}

/// Whether a test has a histogram at verbosity 2.
pub(super) fn has_histogram(test: TestId) -> bool {
    layout(test).is_some_and(|layout| layout.histogram.is_some())
}

/// Everything after the run. Above verbosity 2 the rows give way to the extra part.
pub(crate) fn print(view: &View<'_>) -> String {
    let verbosity = view.report.verbosity;
    let Some(layout) = layout(view.plan().test) else {
        return String::new();
    };
    if verbosity < 0 {
        return String::new();
    }
    let mut out = confidence_warning(view);
    if verbosity == 0 {
        out.push_str(&(layout.figure)(view));
        return out;
    }
    if verbosity <= 2 {
        if view.report.headers {
            out.push_str(&(layout.titles)(view));
        }
        out.push_str(&(layout.rows)(view));
    }
    if verbosity >= 2 {
        out.push_str(&(layout.extra)(view));
        if let Some(heading) = layout.histogram {
            out.push_str(&histogram::print(view, heading));
        }
    }
    out
}

/// The block that says the confidence asked for was missed, or nothing.
fn confidence_warning(view: &View<'_>) -> String {
    let Some(reached) = view.outcome.confidence.filter(|_| view.confidence_missed()) else {
        return String::new();
    };
    let mut out = titles::CONFIDENCE_MISSED.to_owned();
    out.push_str(&line(rows::W1, &[Arg::Float(reached.result)]));
    out.push_str(&line(rows::W2, &[Arg::Float(reached.local_cpu)]));
    out.push_str(&line(rows::W3, &[Arg::Float(reached.remote_cpu)]));
    out.push('\n');
    out
}

/// One row with its newline.
fn line(row: Row, args: &[Arg<'_>]) -> String {
    let mut out = printf(row.template, args);
    out.push('\n');
    out
}

/// The unit's text for a title.
fn unit<'a>(view: &View<'_>) -> Arg<'a> {
    Arg::Text(view.unit.label())
}

/// The letters of both CPU methods for a title.
fn letters<'a>(view: &View<'_>) -> [Arg<'a>; 2] {
    [
        Arg::Char(view.local().cpu_letter()),
        Arg::Char(view.remote().cpu_letter()),
    ]
}

/// Busy shares and demands of both ends, as CPU rows end.
fn cpu_columns<'a>(view: &View<'_>) -> [Arg<'a>; 4] {
    let mean = view.mean;
    [
        Arg::Float(mean.local_cpu),
        Arg::Float(mean.remote_cpu),
        Arg::Float(mean.local_demand),
        Arg::Float(mean.remote_demand),
    ]
}

/// The end whose demand is the figure of merit: netperf's if it was measured.
fn demand(view: &View<'_>) -> (f64, char) {
    if view.plan().local.cpu.is_some() {
        (view.mean.local_demand, view.local().cpu_letter())
    } else {
        (view.mean.remote_demand, view.remote().cpu_letter())
    }
}

/// Verbosity 0 of tests that can show a brand.
fn branded_figure(view: &View<'_>) -> String {
    let brand = Arg::Text(view.brand());
    if view.shows_cpu() {
        let (demand, letter) = demand(view);
        line(rows::V0CB, &[Arg::Float(demand), Arg::Char(letter), brand])
    } else {
        line(rows::V0B, &[Arg::Float(view.mean.throughput), brand])
    }
}

fn nothing(_: &View<'_>) -> String {
    String::new()
}
