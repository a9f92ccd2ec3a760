//! The Unix-domain and SCTP tests as their classic messages (control-protocol.md 2.7.5 and
//! 2.7.6).
//!
//! Both ends of a Unix-domain test are on the same host, so that what a stock netserver does not
//! say of it, such as its number of CPUs, is known here.

use std::path::PathBuf;

use netperf_model::{
    Address, CpuMethod, EndResult, EndSetup, Flow, Limit, Tally, TestPlan, TransportId,
};
use netperf_wire::{FieldValue, Frame, RequestKind, Stage, messages};

use super::{
    Agreement, LocalEnd, cpu_usage, header, or_minus_one, seconds, signed, wire_family, with_method,
};
use crate::error::SessionError;
use crate::fields::Fields;

/// The request: byte for byte that of a stock client. In a Unix-domain test it asks for buffers
/// of 0 where its user asked for none, which a stock netserver makes as small as it can. The
/// port is in the order that every other field has: a stock client of SCTP_STREAM converts it
/// twice by mistake.
pub(super) fn request(
    kind: RequestKind,
    plan: &TestPlan,
    local: &LocalEnd,
) -> Result<Frame, SessionError> {
    let row = messages::find(kind, Stage::Request).ok_or_else(|| malformed("no such request"))?;
    let frame = row.build(header(plan, kind), |field| {
        requested(field, kind, plan, local)
    });
    with_method(plan, frame)
}

/// The value of a field of a request.
fn requested(
    field: &str,
    kind: RequestKind,
    plan: &TestPlan,
    local: &LocalEnd,
) -> Option<FieldValue> {
    let remote = &plan.remote;
    let or_zero = |value: Option<u32>| value.map_or(0, signed);
    let buffer = |size| {
        if plan.transport.is_inet() {
            or_minus_one(size)
        } else {
            or_zero(size)
        }
    };
    // Requests count integers of four bytes.
    let integers = |bytes: u32| signed(bytes.div_ceil(4));
    Some(FieldValue::Signed(match field {
        "send_buf_size" => buffer(remote.socket.send_buffer),
        "recv_buf_size" => buffer(remote.socket.recv_buffer),
        "receive_size" => or_zero(remote.recv.size),
        "message_size" => or_zero(local.send_size.or(plan.local.send.size)),
        "recv_alignment" => signed(remote.recv.align),
        "recv_offset" => signed(remote.recv.offset),
        "send_alignment" => signed(remote.send.align),
        "send_offset" => signed(remote.send.offset),
        "request_size" => or_zero(plan.request),
        "response_size" => or_zero(plan.response),
        "no_delay" => i32::from(remote.socket.nodelay),
        "non_blocking" => i32::from(remote.socket.non_blocking),
        "measure_cpu" => i32::from(remote.cpu.is_some()),
        "cpu_rate" => {
            let rate = remote.cpu.and_then(|cpu| cpu.rate);
            return Some(FieldValue::Single(rate.unwrap_or(0.0)));
        }
        "test_length" => test_length(kind, plan, local),
        "so_rcvavoid" | "so_sndavoid" => i32::from(remote.copy_avoidance),
        "dirty_count" => integers(remote.touch.dirty),
        "clean_count" => integers(remote.touch.clean),
        "port" => i32::from(local.data_port),
        "ipfamily" => return Some(FieldValue::Unsigned(wire_family(local.family).code())),
        _ => return None,
    }))
}

/// The length of a test: seconds; for requests and responses minus the number of transactions,
/// otherwise a positive number of bytes, of all associations together where there are several.
fn test_length(kind: RequestKind, plan: &TestPlan, local: &LocalEnd) -> i32 {
    let transactions = plan.flow.is_request_response();
    match plan.limit {
        Limit::Time(time) => seconds(time),
        Limit::UntilStopped => 0,
        // It is never a count.
        Limit::Units(_) | Limit::Messages(_) if kind == RequestKind::DgStream => 0,
        Limit::Units(count) | Limit::Messages(count) if transactions => {
            i32::try_from(count).map_or(i32::MIN, |count| -count)
        }
        Limit::Units(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
        Limit::Messages(count) => {
            let size = local.send_size.or(plan.local.send.size).unwrap_or(1);
            i32::try_from(count.saturating_mul(u64::from(size))).unwrap_or(i32::MAX)
        }
    }
}

fn malformed(text: &str) -> SessionError {
    SessionError::Malformed(text.to_owned())
}

fn fields(kind: RequestKind, stage: Stage, frame: &Frame) -> Result<Fields, SessionError> {
    Fields::read(kind, stage, frame).ok_or_else(|| malformed("no such record"))
}

pub(super) fn agreement(
    kind: RequestKind,
    plan: &TestPlan,
    frame: &Frame,
) -> Result<Agreement, SessionError> {
    let told = fields(kind, Stage::Response, frame)?;
    let (data_port, address) = data_socket(&told)?;
    let size = |name| u32::try_from(told.integer(name)?).ok();
    Ok(Agreement {
        message: Box::new(frame.clone()),
        setup: EndSetup {
            send_buffer: size("send_buf_size"),
            recv_buffer: size("recv_buf_size"),
            send_size: plan.response,
            recv_size: size("receive_size").or(plan.request),
            nodelay: plan.transport.is_inet() && told.or_zero("no_delay") != 0,
            priority: -1,
            tos: -1,
            ..EndSetup::default()
        },
        data_port,
        address,
        ports: Vec::new(),
        token: None,
        // The field holds residue unless this was requested.
        numbers: None,
        measures_cpu: plan.remote.cpu.is_some() && told.or_zero("measure_cpu") != 0,
        host: None,
    })
}

/// Port or path of netserver's data socket.
fn data_socket(told: &Fields) -> Result<(u32, Option<Address>), SessionError> {
    if let Some(path) = told.text("unix_path") {
        let path = String::from_utf8_lossy(path);
        if path.is_empty() {
            return Err(malformed("the data socket has no path"));
        }
        return Ok((0, Some(Address::Unix(PathBuf::from(path.as_ref())))));
    }
    let port = told.or_zero("data_port_number");
    match u16::try_from(port) {
        Ok(port) if port != 0 => Ok((port.into(), None)),
        Ok(_) | Err(_) => Err(malformed(&format!("the data port is {port}"))),
    }
}

/// The result in results.
pub(super) fn results(
    kind: RequestKind,
    plan: &TestPlan,
    cpu: bool,
    frame: &Frame,
) -> Result<EndResult, SessionError> {
    let told = fields(kind, Stage::Results, frame)?;
    let tally = if plan.flow.is_request_response() {
        transactions(plan, told.count("trans_received"))
    } else {
        // A stock netserver counts one call of STREAM_STREAM too few, which cannot be detected
        // here.
        Tally {
            bytes_received: told.count("bytes_received"),
            recv_calls: told.count("recv_calls") + told.count("messages_recvd"),
            ..Tally::default()
        }
    };
    let usage = match told.integer("cpu_method") {
        Some(code) => {
            let method = CpuMethod::from_code(u32::try_from(code).unwrap_or(0));
            cpu_usage(method, told.float("cpu_util"), told.or_zero("num_cpus"))
        }
        // Unix-domain results do not tell the method, nor, from a stock netserver, the CPUs.
        None => cpu_usage(CpuMethod::Other(0), told.float("cpu_util"), 0),
    };
    let elapsed = f64::from(told.float("elapsed_time"));
    Ok(EndResult {
        tally,
        elapsed: if plan.transport.is_inet() {
            elapsed
        } else {
            untimed(elapsed)
        },
        cpu: cpu.then_some(usage),
        ..EndResult::default()
    })
}

/// Results of requests and responses, which tell one count that matters: their field for
/// bytes wraps, and that for calls no stock server sets.
///
/// A message is taken for one call at either end, as it is where messages keep their
/// boundaries and wherever they fit the socket's buffer.
fn transactions(plan: &TestPlan, transactions: u64) -> Tally {
    let bytes = |size: Option<u32>| transactions.saturating_mul(u64::from(size.unwrap_or(0)));
    Tally {
        bytes_sent: bytes(plan.response),
        bytes_received: bytes(plan.request),
        send_calls: transactions,
        recv_calls: transactions,
        failed_sends: 0,
        transactions,
        unanswered: 0,
    }
}

/// A stock netserver of a Unix-domain test subtracts its pad also from the time of runs that had
/// none; a time below 0 shows that.
fn untimed(elapsed: f64) -> f64 {
    const PAD: f64 = 4.0;
    if elapsed < 0.0 {
        elapsed + PAD
    } else {
        elapsed
    }
}

/// Results with wrapped counters corrected by our own counts.
///
/// Bytes of a stream arrive as long as the connection stands: of 32 bits, those are taken
/// that come closest to what was sent without exceeding it. It is right unless 4 GiB or
/// more were lost. Datagrams all have one length, and their number does not wrap: it
/// tells the bytes, of which a stock netserver counts one too few when its time ends the
/// test.
pub(super) fn reconciled(plan: &TestPlan, own: &Tally, mut result: EndResult) -> EndResult {
    let tally = &mut result.tally;
    if plan.flow != Flow::SEND {
        return result;
    }
    if plan.transport == TransportId::UnixStream {
        tally.bytes_received = unwrapped(tally.bytes_received, own.bytes_sent);
    } else if plan.transport == TransportId::UnixDatagram {
        if let Some(size) = own.bytes_sent.checked_div(own.send_calls) {
            tally.bytes_received = tally.recv_calls.saturating_mul(size);
        }
    }
    result
}

/// The largest number up to `most` whose last 32 bits are those of `told`; `told` itself if
/// there is none.
const fn unwrapped(told: u64, most: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    match most.checked_sub(told) {
        Some(missing) => most - missing % WRAP,
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wrapped_counts_are_sent_less_lost(sent: u64, lost in 0_u64..1 << 32) {
            let received = sent.saturating_sub(lost);
            let told = received % (1 << 32);
            prop_assert_eq!(unwrapped(told, sent), received);
        }
    }

    #[test]
    fn more_than_was_sent_is_left_as_it_was_told() {
        assert_eq!(unwrapped(7, 6), 7);
    }

    #[test]
    fn a_time_below_zero_lacks_the_pad() {
        assert!((untimed(-3.999) - 0.001).abs() < 1e-9);
        assert!((untimed(1.5) - 1.5).abs() < 1e-9);
    }
}
