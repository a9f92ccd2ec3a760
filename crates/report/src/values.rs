//! Values of selectors, one function per kind of value.

use netperf_model::escape::escaped_line;
use netperf_model::figures::{self, count};
use netperf_model::{
    CpuShares, CpuUsage, EndPlan, EndResult, EndSetup, Family, HostFacts, TestPlan, TransportId,
};

use crate::control::Whose;
use crate::fmt::{Arg, Piece, pieces, printf};
use crate::view::{EndView, View};

/// The value of one selector.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Words.
    Text(String),
    /// A signed number.
    Int(i64),
    /// A count.
    Count(u64),
    /// A measured figure.
    Real(f64),
    /// A set of bits.
    Bits(u32),
    /// One letter.
    Letter(char),
    /// There is none, and why.
    Missing(Missing),
}

/// Why a selector has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Not asked for, or not applicable: prints as -1.
    NotMeasured,
    /// The statistics were not kept: prints as -1.
    NotKept,
    /// A fact about a host that cannot be told: `unknown`, 0 or 0xfffffffe.
    NotCollected,
    /// The user set none: the formats leave it out.
    Unset,
}

/// A fact about a host that cannot be told.
const NOT_COLLECTED: Value = Value::Missing(Missing::NotCollected);
/// Statistics of operation times.
pub(crate) const NOT_KEPT: Value = Value::Missing(Missing::NotKept);

/// Not asked for, or not applicable.
pub(crate) const NOT_MEASURED: Value = Value::Missing(Missing::NotMeasured);

/// Interface ids that are unknown: -2 in 32 bits.
const UNKNOWN_ID: u32 = 0xffff_fffe;

impl Value {
    /// The value in a selector's format; `None` when it is to be left out.
    #[must_use]
    pub fn print(&self, format: &str) -> Option<String> {
        let line;
        let arg = match self {
            Self::Text(text) => {
                line = escaped_line(text);
                Arg::Text(&line)
            }
            Self::Int(value) => Arg::Int(*value),
            Self::Count(value) => Arg::Uint(*value),
            Self::Real(value) => Arg::Float(*value),
            Self::Bits(value) => Arg::Hex(*value),
            Self::Letter(letter) => Arg::Char(*letter),
            Self::Missing(reason) => stand_in(*reason, format)?,
        };
        Some(printf(format, &[arg]))
    }
}

/// Text of a missing value; never an empty field for a number.
fn stand_in<'a>(reason: Missing, format: &str) -> Option<Arg<'a>> {
    let minus_one = match conversion(format) {
        'f' => Arg::Float(-1.0),
        'x' => Arg::Hex(u32::MAX),
        's' => Arg::Text(""),
        _ => Arg::Int(-1),
    };
    match reason {
        Missing::NotMeasured | Missing::NotKept => Some(minus_one),
        Missing::NotCollected => Some(match conversion(format) {
            'x' => Arg::Hex(UNKNOWN_ID),
            's' => Arg::Text("unknown"),
            _ => Arg::Int(0),
        }),
        Missing::Unset => None,
    }
}

/// The letter of the only conversion in a format.
fn conversion(format: &str) -> char {
    let letter = |piece: &Piece<'_>| match piece {
        Piece::Field(spec) => Some(spec.conversion),
        Piece::Literal(_) => None,
    };
    pieces(format).iter().find_map(letter).unwrap_or('s')
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

/// A missing value was not measured.
impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(NOT_MEASURED, T::into)
    }
}

/// Kind of the data socket.
pub(crate) fn socket_type(v: &View<'_>) -> &'static str {
    v.plan().transport.row().kind.label()
}

/// CPU that an end is bound to.
pub(crate) fn bound_cpu(end: EndView<'_>) -> Value {
    let is_refused = end.setup.is_some_and(|setup| setup.cpu_refused.is_some());
    end.plan.bind.filter(|_| !is_refused).into()
}

/// Returns true if the socket of an end has `TCP_CORK`.
pub(crate) fn is_corked(plan: &TestPlan, end: EndView<'_>) -> bool {
    end.whose == Whose::Local && end.plan.socket.cork && plan.transport == TransportId::Tcp
}

/// Size of the buffer just before the socket is closed; the first size if it was not read
/// again, -1 if it could not be read.
pub(crate) fn final_size(
    end: EndView<'_>,
    initial: i64,
    pick: fn(&EndResult) -> Option<u32>,
) -> Value {
    if end.setup.is_none() {
        return NOT_MEASURED;
    }
    let last = end.result.and_then(pick);
    Value::Int(last.map_or(initial, i64::from))
}

/// Bytes per call at netperf: what was given, or 0, in a direction that it does not serve.
pub(crate) fn local_size(
    v: &View<'_>,
    used: bool,
    pick: fn(&EndSetup) -> Option<u32>,
    given: fn(&EndPlan) -> Option<u32>,
) -> Value {
    let used = used && !v.plan().flow.is_request_response();
    let size = v.local().setup.as_ref().and_then(pick).filter(|_| used);
    Value::Int(size.or(given(&v.plan().local)).map_or(0, i64::from))
}

/// Bytes per call at netserver: what was given, or -1, in a direction that it does not serve.
pub(crate) fn remote_size(
    v: &View<'_>,
    used: bool,
    pick: fn(&EndSetup) -> Option<u32>,
    given: fn(&EndPlan) -> Option<u32>,
) -> Value {
    let setup = v.remote().setup;
    let size = setup.as_ref().and_then(pick).filter(|_| used);
    size.or(given(&v.plan().remote)).into()
}

pub(crate) fn share(end: EndView<'_>, pick: fn(CpuShares) -> f64) -> Value {
    Value::Real(end.cpu().map_or(0.0, |cpu| pick(cpu.shares)))
}

/// Empty, not a NUL byte, for a peer that was never asked.
pub(crate) fn method(end: EndView<'_>) -> Value {
    if end.known {
        Value::Letter(end.cpu_letter())
    } else {
        Value::Text(String::new())
    }
}

pub(crate) fn demand_unit(v: &View<'_>) -> &'static str {
    if v.in_transactions() {
        "usec/Tran"
    } else {
        "usec/KB"
    }
}

/// 1.000 where there are no transactions, as the original prints.
pub(crate) fn transaction_rate(v: &View<'_>) -> Value {
    Value::Real(if v.plan().flow.is_request_response() {
        figures::transaction_rate(v.last)
    } else {
        1.0
    })
}

/// -1 if the protocol counts none, -2 if unknown.
pub(crate) fn retransmissions(end: EndView<'_>) -> Value {
    if end.known {
        end.result.and_then(|result| result.retransmissions).into()
    } else {
        Value::Int(-2)
    }
}

/// The busiest CPU; `idle` is the answer of a netserver that was not asked to measure.
pub(crate) fn peak(end: EndView<'_>, idle: Value, pick: fn(CpuUsage) -> Value) -> Value {
    match end.cpu() {
        Some(cpu) => pick(cpu),
        None if end.known && end.whose == Whose::Remote => idle,
        None => NOT_MEASURED,
    }
}

/// The family asked for; with a control connection, else the one it resolved to.
pub(crate) fn destination_family(v: &View<'_>) -> Family {
    match v.plan().remote_data.family {
        Family::Unspecified if v.plan().control.is_some() => v.outcome.hosts.remote.family(),
        asked @ (Family::Unspecified | Family::V4 | Family::V6) => asked,
    }
}

/// Bytes sent and received, if both are known. Without a control connection, netperf's own
/// bytes stand for
/// netserver's.
pub(crate) fn transferred(v: &View<'_>, end: EndView<'_>) -> Value {
    let sent = |end: EndView<'_>| end.sends(|tally| count(tally.bytes_sent));
    if !end.known {
        return sent(v.local()).into();
    }
    let received = end.count(|end| end.tally.bytes_received);
    sent(end).map(|sent| sent + count(received)).into()
}

/// Buffers of a ring. Where there is none: what was given, or netperf's number, which netserver
/// returns as it came.
pub(crate) fn width(
    v: &View<'_>,
    end: EndView<'_>,
    pick: fn(EndSetup) -> u32,
    given: fn(&EndPlan) -> Option<u32>,
) -> Value {
    let width = end.setup.map_or(0, pick);
    let returned = || {
        let is_netserver = end.whose == Whose::Remote && end.known;
        is_netserver.then(|| pick(v.local().setup.unwrap_or_default()))
    };
    let given = || given(end.plan).or_else(returned);
    let width = Some(width).filter(|width| *width > 0).or_else(given);
    Value::Int(i64::from(width.unwrap_or(0)))
}

pub(crate) fn interval(end: EndView<'_>) -> Value {
    let micros = end.plan.pace.map_or(0, |pace| pace.interval.as_micros());
    Value::Int(i64::try_from(micros).unwrap_or(i64::MAX))
}

pub(crate) fn brand(v: &View<'_>) -> Value {
    let brand = v.report.brand.as_deref();
    brand.map_or(Value::Missing(Missing::Unset), text)
}

pub(crate) fn tos(end: EndView<'_>) -> Value {
    // -1 and -2 print as the 32 bits they are kept in.
    let tos = end.setup.map_or(-1, |setup| setup.tos);
    Value::Bits(u32::from_ne_bytes(tos.to_ne_bytes()))
}

/// Empty where no connection was open to ask.
pub(crate) fn congestion(end: EndView<'_>) -> Value {
    let name = end.result.and_then(|result| result.congestion.as_deref());
    text(name.unwrap_or(""))
}

/// A fact about an end's host.
pub(crate) fn fact(end: EndView<'_>, pick: fn(&HostFacts) -> Option<Value>) -> Value {
    end.host.and_then(pick).unwrap_or(NOT_COLLECTED)
}

/// A text about an end's host.
pub(crate) fn host_text(end: EndView<'_>, pick: fn(&HostFacts) -> &Option<String>) -> Value {
    let fact = end.host.and_then(|host| pick(host).as_deref());
    fact.map_or(NOT_COLLECTED, text)
}

pub(crate) fn fill_file(end: EndView<'_>) -> Value {
    let name = end.plan.fill.as_deref();
    name.map_or_else(|| text(""), |name| text(&name.to_string_lossy()))
}
