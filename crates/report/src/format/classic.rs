//! Titles and rows as netperf has always printed (output.md 3, 4, 11).

pub mod rows;

mod both;
mod connect;
mod layout;
mod link;
mod mss;
mod rr;
mod sctp;
mod stream;
mod titles;
mod udp_stream;
mod unix;

use netperf_model::{ReportPlan, TestId, TestPlan, figures};

pub(super) use self::layout::line;
use self::layout::{Ahead, Layout, Titles, asks_for_cpu};
use super::histogram;
use crate::fmt::Arg;
use crate::one_way;
use crate::quality;
use crate::until;
use crate::view::View;

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
