//! Titles and rows as netperf has always printed (output.md 3, 4, 11).

pub mod rows;

mod both;
mod connect;
mod link;
mod mss;
mod rr;
mod sctp;
mod stream;
mod titles;
mod udp_stream;
mod unix;

use netperf_model::{ReportPlan, Suite, TestId, TestPlan, figures};

use super::histogram;
use crate::fmt::{Arg, printf};
use crate::one_way;
use crate::quality;
use crate::until;
use crate::view::{EndView, View, or_minus_one};
use rows::ClassicRow;

/// Layout of one test, part by part. Every text has its newlines.
struct Layout {
    /// Column titles.
    titles: Titles,
    /// Result rows.
    rows: fn(&View<'_>) -> String,
    /// The highest verbosity with rows: 2, or 1 where the extra part replaces them.
    rows_up_to: i32,
    /// Verbosity 0: the figure of merit.
    figure: fn(&View<'_>) -> String,
    /// Verbosity 2 and above: what follows the rows.
    extra: fn(&View<'_>) -> String,
    /// Below it: the heading of the histogram with the empty lines in front of
    /// it; `None` for tests without one.
    histogram: Option<&'static str>,
}

/// Position of the titles.
#[derive(Clone, Copy)]
enum Titles {
    /// Behind the run, above the rows.
    Behind(fn(&View<'_>) -> String),
    /// In front of the run, below the banner, whatever the verbosity.
    InFront(fn(Ahead) -> String),
}

/// Facts that titles before the run can show.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The unit's text.
    unit: &'static str,
    /// True if CPU utilisation was asked for.
    cpu: bool,
}

/// The titles that follow the banner at once; nothing for tests that have them behind
/// the run.
pub(crate) fn titles_in_front(plan: &TestPlan, report: &ReportPlan) -> String {
    let Some(Titles::InFront(titles)) = layout_of(plan).map(|layout| layout.titles) else {
        return String::new();
    };
    titles(Ahead {
        unit: figures::unit_in_force(plan, report.unit).label(),
        cpu: asks_for_cpu(plan),
    })
}

/// True if a row has CPU columns although its titles were printed before the answer of
/// netserver.
const fn asks_for_cpu(plan: &TestPlan) -> bool {
    plan.local.cpu.is_some() || plan.remote.cpu.is_some()
}

/// The layout of a plan; `None` where nothing is printed this way.
const fn layout_of(plan: &TestPlan) -> Option<&'static Layout> {
    match plan.flow.duplex {
        Some(_) => Some(&both::BOTH),
        None => layout(plan.test),
    }
}

/// The layout of a test; `None` for tests that never print this way.
const fn layout(test: TestId) -> Option<&'static Layout> {
    Some(match test {
        TestId::TcpStream => &stream::STREAM,
        TestId::TcpMaerts => &stream::MAERTS,
        // SDP_STREAM has the short form of the bytes, too.
        TestId::TcpSendfile | TestId::SdpStream => &stream::SENDFILE,
        TestId::SdpMaerts => &stream::SDP_MAERTS,
        TestId::TcpRr => &rr::TCP,
        TestId::UdpRr => &rr::UDP,
        TestId::SdpRr => &rr::SDP,
        TestId::TcpCrr | TestId::SdpCrr | TestId::XtiTcpCrr => &connect::CRR,
        TestId::TcpCc | TestId::SdpCc | TestId::XtiTcpCc => &connect::CC,
        TestId::TcpMss => &mss::MSS,
        TestId::UdpStream | TestId::XtiUdpStream => &udp_stream::UDP_STREAM,
        TestId::SctpStream | TestId::SctpStreamMany | TestId::XtiTcpStream => &sctp::STREAM,
        TestId::SctpRr | TestId::SctpRrMany | TestId::XtiTcpRr => &sctp::RR,
        TestId::XtiUdpRr => &sctp::DATAGRAM_RR,
        TestId::StreamStream => &unix::STREAM,
        TestId::StreamRr => &unix::STREAM_RR,
        TestId::DgStream => &unix::DATAGRAM_STREAM,
        TestId::DlcoStream => &link::STREAM,
        TestId::DlcoRr => &link::STREAM_RR,
        TestId::DlclStream => &link::DATAGRAM_STREAM,
        TestId::DlclRr => &link::DATAGRAM_RR,
        TestId::ForeStream | TestId::HippiStream => &link::FRAME_STREAM,
        TestId::DgRr | TestId::ForeRr | TestId::HippiRr => &unix::DATAGRAM_RR,
        TestId::Omni | TestId::LocCpu | TestId::RemCpu | TestId::Uuid => return None,
    })
}

/// True if a test has a histogram at verbosity 2.
pub(super) fn has_histogram(test: TestId) -> bool {
    layout(test).is_some_and(|layout| layout.histogram.is_some())
}

/// Everything after the run. Above verbosity 2 the rows give way to the extra part.
pub(crate) fn print(view: &View<'_>) -> String {
    let verbosity = view.report.verbosity;
    let Some(layout) = layout_of(view.plan()) else {
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
    out.push_str(&until::print(view));
    if verbosity <= layout.rows_up_to {
        if let (Titles::Behind(titles), true) = (layout.titles, view.report.headers) {
            out.push_str(&titles(view));
        }
        out.push_str(&(layout.rows)(view));
    }
    if verbosity >= 2 {
        out.push_str(&(layout.extra)(view));
        out.push_str(&quality::print(view));
        out.push_str(&one_way::print(view));
        if let Some(heading) = layout.histogram {
            out.push_str(&histogram::print(view, heading));
        }
    }
    out
}

/// The block that says the confidence asked for was missed, or nothing.
fn confidence_warning(view: &View<'_>) -> String {
    let Some(reached) = view.outcome.confidence.filter(|reached| !reached.met) else {
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
pub(super) fn line(row: ClassicRow, args: &[Arg<'_>]) -> String {
    let mut out = printf(row.template, args);
    out.push('\n');
    out
}

/// The space that an end has for sending, as its column shows it: a window of the link
/// level, or a socket buffer.
fn send_room<'a>(view: &View<'_>, end: EndView<'_>) -> Arg<'a> {
    Arg::Int(if view.plan().test.row().suite == Suite::Dlpi {
        or_minus_one(end.plan.place.window)
    } else {
        end.send_buffer()
    })
}

/// The same for receiving.
fn recv_room<'a>(view: &View<'_>, end: EndView<'_>) -> Arg<'a> {
    Arg::Int(if view.plan().test.row().suite == Suite::Dlpi {
        or_minus_one(end.plan.place.recv_window)
    } else {
        end.recv_buffer()
    })
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

/// A row of results: `first`, the length and the result, the CPU columns if `cpu`, and the
/// brand. A row without a place for the brand leaves it out.
fn result_row(
    view: &View<'_>,
    [plain, with_cpu]: [ClassicRow; 2],
    cpu: bool,
    first: &[Arg<'_>],
    brand: &str,
) -> String {
    let mut args = first.to_vec();
    args.extend([view.mean.elapsed, view.mean.throughput].map(Arg::Float));
    if cpu {
        args.extend(cpu_columns(view));
    }
    args.push(Arg::Text(brand));
    line(if cpu { with_cpu } else { plain }, &args)
}

/// Verbosity 0: the result, or the service demand if `cpu`. A row without a place for the
/// letter and the brand leaves them out.
fn merit(view: &View<'_>, [plain, with_cpu]: [ClassicRow; 2], cpu: bool) -> String {
    let brand = Arg::Text(view.brand());
    if cpu {
        let (demand, letter) = demand(view);
        line(with_cpu, &[Arg::Float(demand), Arg::Char(letter), brand])
    } else {
        line(plain, &[Arg::Float(view.mean.throughput), brand])
    }
}

/// Verbosity 0 of tests that can show a brand.
fn branded_figure(view: &View<'_>) -> String {
    merit(view, [rows::V0B, rows::V0CB], view.shows_cpu())
}

fn nothing(_: &View<'_>) -> String {
    String::new()
}
