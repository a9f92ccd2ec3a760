//! netperf's plan as messages, and netserver's answers as what was agreed and measured.
//!
//! Most tests travel as OMNI, some of those too that a stock client still sends as classic
//! requests: a stock server cannot repeat those on one connection (control-protocol.md
//! 2.6), and OMNI reports more. The tests over Unix-domain sockets and SCTP travel as
//! their classic requests, which every server that has these tests understands.

mod classic;
mod omni;

use std::net::IpAddr;
use std::time::Duration;

use netperf_model::units::whole_seconds;
use netperf_model::{
    Address, CpuMethod, CpuShares, CpuUsage, Duplex, EndResult, EndSetup, Family, Feature, Flow,
    HostFacts, Limit, Many, Suite, Tally, TestPlan, Token,
};
use netperf_wire::messages::{Extension, HeaderOnly};
use netperf_wire::{Frame, Header, Message, RequestKind, Stage, WireFamily};

use crate::error::SessionError;
use crate::{extension, numbers};

/// The messages in which a test travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travels {
    /// OMNI, with the extension where that cannot say it all.
    Omni,
    /// This classic request, of a Unix-domain or SCTP test.
    Classic(RequestKind),
}

/// The messages of a test: its classic request, if the test is the one that its name says and
/// has one flow.
#[must_use]
pub fn travels(plan: &TestPlan) -> Travels {
    let row = plan.test.row();
    let as_its_name_says = row.transport == plan.transport && row.flow == plan.flow;
    if !as_its_name_says || !plan.remote.features().is_empty() || plan.many.is_some() {
        return Travels::Omni;
    }
    let mut kinds = RequestKind::NAMED.iter();
    match kinds.find(|kind| kind.name() == row.name) {
        Some(kind) if matches!(row.suite, Suite::Unix | Suite::Sctp) => Travels::Classic(*kind),
        Some(_) | None => Travels::Omni,
    }
}

/// True if only a netserver of this program can run the test.
#[must_use]
pub fn needs_extension(plan: &TestPlan) -> bool {
    let unknown = travels(plan) == Travels::Omni && !plan.transport.row().stock;
    let particular = plan.many.is_some() || !plan.remote.features().is_empty();
    unknown || particular || unusual_method(plan).is_some()
}

/// True if a greeting precedes the request, because a netserver of this program is needed or
/// measures more.
#[must_use]
pub fn greets(plan: &TestPlan) -> bool {
    needs_extension(plan) || !optional(plan).is_empty()
}

/// Features of netserver that a test does without where they are missing.
#[must_use]
pub fn optional(plan: &TestPlan) -> Vec<Feature> {
    let greets = plan.control.is_some() && travels(plan) == Travels::Omni;
    let drops =
        plan.flow.receives && !plan.transport.is_connected() && !plan.transport.row().reliable;
    // A test of transactions is not preceded by a greeting for this alone.
    let drops_count = drops && (!plan.flow.sends || needs_extension(plan));
    let wanted = [
        (Feature::Arrivals, wants_arrivals(plan)),
        (Feature::FailedSends, greets && drops_count),
        (Feature::Numbers, greets && numbers::asked(plan).is_some()),
        (Feature::Sequence, greets && plan.numbers_datagrams),
        (
            Feature::Fractions,
            greets && part_of_a_second(plan).is_some(),
        ),
    ];
    let wanted = wanted.into_iter().filter(|(_, wanted)| *wanted);
    wanted.map(|(feature, _)| feature).collect()
}

/// Samples of what arrives in each interval of interim results: a figure of an interval needs
/// four.
const SAMPLES_OF_AN_INTERVAL: u32 = 8;

/// Interval of samples from which the precision of what arrived is judged.
const SAMPLES_OF_UNTIL: Duration = Duration::from_millis(20);

/// Requests an optional feature from netserver.
pub fn request_optional(plan: &mut TestPlan, feature: Feature) {
    let numbers = numbers::asked(plan).filter(|_| feature == Feature::Numbers);
    let of_interim = plan
        .interim
        .map(|interval| interval / SAMPLES_OF_AN_INTERVAL);
    let of_until = plan.until.as_ref().map(|_| SAMPLES_OF_UNTIL);
    let every = of_interim.into_iter().chain(of_until).min();
    let remote = &mut plan.remote;
    if feature == Feature::Arrivals {
        remote.arrivals = true;
        remote.arrivals_every = every;
    }
    remote.failed_sends |= feature == Feature::FailedSends;
    remote.sequence |= feature == Feature::Sequence;
    remote.numbers = remote.numbers.or(numbers);
    if feature == Feature::Fractions {
        plan.remote.short_by = part_of_a_second(plan);
    }
}

/// Part of a second by which a test whose time netserver keeps is shorter than the whole seconds of
/// its request.
#[must_use]
pub fn part_of_a_second(plan: &TestPlan) -> Option<Duration> {
    let Limit::Time(time) = plan.limit else {
        return None;
    };
    let time = time + omni::margins(plan);
    let short_by = whole_seconds(time).saturating_sub(time);
    (keeps_time(plan.flow) && !short_by.is_zero()).then_some(short_by)
}

/// Returns true if netserver sends until its own time is over.
const fn keeps_time(flow: Flow) -> bool {
    (flow.receives && !flow.sends) || matches!(flow.duplex, Some(Duplex::Separate))
}

/// The time that a netserver keeps which knows whole seconds alone, where that is another one.
#[must_use]
pub fn kept_time(plan: &TestPlan) -> Option<Duration> {
    let Limit::Time(time) = plan.limit else {
        return None;
    };
    let whole = whole_seconds(time);
    (keeps_time(plan.flow) && whole != time).then_some(whole)
}

/// True if figures need what netserver receives by time: datagrams, and a part of a run with many
/// flows.
#[must_use]
pub fn wants_arrivals(plan: &TestPlan) -> bool {
    let flow = plan.flow;
    let margins = plan.many.as_ref().is_some_and(Many::has_margins);
    let bulk = flow.sends && !flow.connects && (!flow.receives || flow.duplex.is_some());
    let datagrams = !plan.transport.row().reliable;
    let asked = plan.control.is_some() && travels(plan) == Travels::Omni;
    asked && bulk && (margins || datagrams)
}

/// The parts of the request that the plan does not have: netperf's data socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEnd {
    /// The family of the data connection.
    pub family: Family,
    /// Address at which netserver reaches netperf's data socket.
    pub address: Option<IpAddr>,
    /// Address of the socket; `None` before it is bound.
    pub socket: Option<Address>,
    /// The port that netserver's data socket is asked to have, 0 for any.
    pub data_port: u16,
    /// Bytes per send; `None` when this end does not send.
    pub send_size: Option<u32>,
    /// Destination of the data, if facts about netserver's host are requested: they are
    /// about the interface with this address.
    pub facts_of: Option<IpAddr>,
    /// True if netserver serves all flows of the plan instead of one.
    pub all_flows: bool,
}

/// Agreement of netserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The message that it was read from: the same again is no result.
    pub message: Box<Frame>,
    /// Its socket and buffers as they really are.
    pub setup: EndSetup,
    /// The port of its data socket, 0 where there is none.
    pub data_port: u32,
    /// Address of its data socket, if a port alone does not identify it.
    pub address: Option<Address>,
    /// Ports of its data sockets, if each flow has a separate one.
    pub ports: Vec<u16>,
    /// Prefix of the data, if it goes to the port of the control connection.
    pub token: Option<Token>,
    /// Bytes of each request that its response begins with.
    pub numbers: Option<u8>,
    /// True if it measures its CPU.
    pub measures_cpu: bool,
    /// Facts about its host; `None` from a stock netserver, or if not requested.
    pub host: Option<Box<HostFacts>>,
}

/// The request for one iteration.
///
/// # Errors
/// When the record is too short for all items.
pub fn request(plan: &TestPlan, local: &LocalEnd) -> Result<Frame, SessionError> {
    match travels(plan) {
        Travels::Omni => omni::request(plan, local),
        Travels::Classic(kind) => classic::request(kind, plan, local),
    }
}

/// The agreement in a response whose error number is 0.
///
/// # Errors
/// When it cannot be decoded or does not say where the data socket is.
pub fn agreement(plan: &TestPlan, frame: &Frame) -> Result<Agreement, SessionError> {
    match travels(plan) {
        Travels::Omni => omni::agreement(plan, frame),
        Travels::Classic(kind) => classic::agreement(kind, plan, frame),
    }
}

/// The result in results whose error number is 0.
///
/// `cpu` tells whether netserver measured its CPU: otherwise those fields hold
/// whatever its buffer held before (control-protocol.md 1.6).
///
/// # Errors
/// When they cannot be decoded.
pub fn results(plan: &TestPlan, cpu: bool, frame: &Frame) -> Result<EndResult, SessionError> {
    match travels(plan) {
        Travels::Omni => omni::results(plan, cpu, frame),
        Travels::Classic(kind) => classic::results(kind, plan, cpu, frame),
    }
}

/// netserver's results with wrapped counters corrected by our own counts.
#[must_use]
pub fn reconciled(plan: &TestPlan, own: &Tally, result: EndResult) -> EndResult {
    match travels(plan) {
        Travels::Omni => result,
        Travels::Classic(_) => classic::reconciled(plan, own, result),
    }
}

/// The request for a calibration.
///
/// # Errors
/// When the record is too short for the CPU method.
pub fn calibration(plan: &TestPlan, cpu: Option<u32>) -> Result<Frame, SessionError> {
    let cpu = cpu.and_then(|cpu| i32::try_from(cpu).ok());
    let header = Header::request(RequestKind::CpuCalibrate).with_affinity(cpu);
    with_method(plan, HeaderOnly.encode(header))
}

/// The request for netserver's capabilities. A stock one takes it for a calibration request.
///
/// # Errors
/// When the record is too short for the item.
pub fn greeting() -> Result<Frame, SessionError> {
    let mut frame = HeaderOnly.encode(Header::request(RequestKind::CpuCalibrate));
    let mut asked = Extension::default();
    extension::greet(&mut asked);
    asked.encode_over(Stage::Request, &mut frame)?;
    Ok(frame)
}

/// The request with which netperf asks over a further connection why netserver closed one.
///
/// # Errors
/// When the item does not fit.
pub fn reason_request() -> Result<Frame, SessionError> {
    let mut frame = HeaderOnly.encode(Header::request(RequestKind::CpuCalibrate));
    let mut asked = Extension::default();
    extension::ask_reason(&mut asked);
    asked.encode_over(Stage::Request, &mut frame)?;
    Ok(frame)
}

/// The CPU method for netserver, where it is not the one that every netserver has.
#[must_use]
pub fn unusual_method(plan: &TestPlan) -> Option<CpuMethod> {
    let method = plan.remote.cpu?.method;
    (method != CpuMethod::ProcStat).then_some(method)
}

/// True if netserver may notice the end of this test only after its grace period: no
/// connection ends, all final datagrams may be lost, or a stock one ends by time alone.
#[must_use]
pub fn ends_late(plan: &TestPlan) -> bool {
    plan.flow.connects || !plan.transport.is_connected() || travels(plan) != Travels::Omni
}

/// The header of a classic request.
fn header(plan: &TestPlan, kind: RequestKind) -> Header {
    let cpu = plan.remote.bind.and_then(|cpu| i32::try_from(cpu).ok());
    Header::request(kind).with_affinity(cpu)
}

/// A classic request with the one thing that a netserver of ours looks for behind it.
fn with_method(plan: &TestPlan, mut request: Frame) -> Result<Frame, SessionError> {
    if let Some(method) = unusual_method(plan) {
        let mut asked = Extension::default();
        extension::ask_for_method(&mut asked, method);
        asked.encode_over(Stage::Request, &mut request)?;
    }
    Ok(request)
}

/// CPU utilisation as classic results have it, without what they do not tell.
fn cpu_usage(method: CpuMethod, busy: f32, cpus: i32) -> CpuUsage {
    CpuUsage {
        method,
        busy: if busy.is_finite() {
            f64::from(busy)
        } else {
            0.0
        },
        shares: CpuShares::default(),
        cpus: u32::try_from(cpus).unwrap_or(0),
        peak_id: -1,
        peak_busy: 0.0,
    }
}

/// Seconds, rounded up.
fn seconds(time: Duration) -> i32 {
    i32::try_from(whole_seconds(time).as_secs()).unwrap_or(i32::MAX)
}

fn wire_family(family: Family) -> WireFamily {
    match family {
        Family::Unspecified => WireFamily::Unspecified,
        Family::V4 => WireFamily::Inet,
        Family::V6 => WireFamily::Inet6,
    }
}

fn or_minus_one(value: Option<u32>) -> i32 {
    value.map_or(-1, signed)
}

fn signed(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
