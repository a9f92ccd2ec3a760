//! The layout of a test, and the rows and columns that several layouts have.

use netperf_model::{Suite, TestPlan};

use super::rows::{self, ClassicRow};
use crate::fmt::{Arg, printf};
use crate::view::{EndView, View, or_minus_one};

/// Layout of one test, part by part. Every text has its newlines.
pub(super) struct Layout {
    /// Column titles.
    pub(super) titles: Titles,
    /// Result rows.
    pub(super) rows: fn(&View<'_>) -> String,
    /// The highest verbosity with rows: 2, or 1 where the extra part replaces them.
    pub(super) rows_up_to: i32,
    /// Verbosity 0: the figure of merit.
    pub(super) figure: fn(&View<'_>) -> String,
    /// Verbosity 2 and above: what follows the rows.
    pub(super) extra: fn(&View<'_>) -> String,
    /// Below it: the heading of the histogram with the empty lines in front of
    /// it; `None` for tests without one.
    pub(super) histogram: Option<&'static str>,
}

/// Position of the titles.
#[derive(Clone, Copy)]
pub(super) enum Titles {
    /// Behind the run, above the rows.
    Behind(fn(&View<'_>) -> String),
    /// In front of the run, below the banner, whatever the verbosity.
    InFront(fn(Ahead) -> String),
}

/// Facts that titles before the run can show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// The unit's text.
    pub(super) unit: &'static str,
    /// True if CPU utilisation was asked for.
    pub(super) cpu: bool,
}

/// True if a row has CPU columns although its titles were printed before the answer of
/// netserver.
pub(super) const fn asks_for_cpu(plan: &TestPlan) -> bool {
    plan.local.cpu.is_some() || plan.remote.cpu.is_some()
}

/// One row with its newline.
pub(crate) fn line(row: ClassicRow, args: &[Arg<'_>]) -> String {
    let mut out = printf(row.template, args);
    out.push('\n');
    out
}

/// The space that an end has for sending, as its column shows it: a window of the link
/// level, or a socket buffer.
pub(super) fn send_room<'a>(view: &View<'_>, end: EndView<'_>) -> Arg<'a> {
    Arg::Int(if view.plan().test.row().suite == Suite::Dlpi {
        or_minus_one(end.plan.place.window)
    } else {
        end.send_buffer()
    })
}

/// The same for receiving.
pub(super) fn recv_room<'a>(view: &View<'_>, end: EndView<'_>) -> Arg<'a> {
    Arg::Int(if view.plan().test.row().suite == Suite::Dlpi {
        or_minus_one(end.plan.place.recv_window)
    } else {
        end.recv_buffer()
    })
}

/// The unit's text for a title.
pub(super) fn unit<'a>(view: &View<'_>) -> Arg<'a> {
    Arg::Text(view.unit.label())
}

/// The letters of both CPU methods for a title.
pub(super) fn letters<'a>(view: &View<'_>) -> [Arg<'a>; 2] {
    [
        Arg::Char(view.local().cpu_letter()),
        Arg::Char(view.remote().cpu_letter()),
    ]
}

/// Busy shares and demands of both ends, as CPU rows end.
pub(super) fn cpu_columns<'a>(view: &View<'_>) -> [Arg<'a>; 4] {
    let mean = view.mean;
    [
        Arg::Float(mean.local_cpu),
        Arg::Float(mean.remote_cpu),
        Arg::Float(mean.local_demand),
        Arg::Float(mean.remote_demand),
    ]
}

/// The end whose demand is the figure of merit: netperf's if it was measured.
pub(super) fn demand(view: &View<'_>) -> (f64, char) {
    if view.plan().local.cpu.is_some() {
        (view.mean.local_demand, view.local().cpu_letter())
    } else {
        (view.mean.remote_demand, view.remote().cpu_letter())
    }
}

/// A row of results: `first`, the length and the result, the CPU columns if `cpu`, and the
/// brand. A row without a place for the brand leaves it out.
pub(super) fn result_row(
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
pub(super) fn merit(view: &View<'_>, [plain, with_cpu]: [ClassicRow; 2], cpu: bool) -> String {
    let brand = Arg::Text(view.brand());
    if cpu {
        let (demand, letter) = demand(view);
        line(with_cpu, &[Arg::Float(demand), Arg::Char(letter), brand])
    } else {
        line(plain, &[Arg::Float(view.mean.throughput), brand])
    }
}

/// Verbosity 0 of tests that can show a brand.
pub(super) fn branded_figure(view: &View<'_>) -> String {
    merit(view, [rows::V0B, rows::V0CB], view.shows_cpu())
}

pub(super) fn nothing(_: &View<'_>) -> String {
    String::new()
}
