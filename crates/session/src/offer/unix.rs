//! The Unix-domain tests as their classic messages (control-protocol.md 2.7.5).
//!
//! Both ends are on the same host, so that what a stock netserver does not say of it, such
//! as its number of CPUs, is known here.

use std::path::PathBuf;

use netperf_model::{
    Address, CpuMethod, EndResult, EndSetup, Flow, Limit, Tally, TestPlan, TransportId,
};
use netperf_wire::messages::{
    DgRrRequest, DgRrResponse, DgRrResults, DgStreamRequest, DgStreamResponse, DgStreamResults,
    StreamRrRequest, StreamRrResponse, StreamRrResults, StreamStreamRequest, StreamStreamResponse,
    StreamStreamResults,
};
use netperf_wire::{DecodeError, Frame, Message, RequestKind, SwappedStr};

use super::{
    Agreement, LocalEnd, header, measures_cpu, seconds, signed, time_or_bytes,
    time_or_transactions, transactions, with_method,
};
use crate::error::SessionError;

/// Which of the four tests it is.
#[derive(Clone, Copy)]
enum Test {
    StreamStream,
    StreamRr,
    DgStream,
    DgRr,
}

impl Test {
    fn of(plan: &TestPlan) -> Self {
        let datagrams = plan.transport == TransportId::UnixDatagram;
        match (datagrams, plan.flow == Flow::RR) {
            (false, false) => Self::StreamStream,
            (false, true) => Self::StreamRr,
            (true, false) => Self::DgStream,
            (true, true) => Self::DgRr,
        }
    }
}

/// The request: byte for byte that of a stock client, which asks for buffers of 0 where
/// its user asked for none. A stock netserver makes them as small as it can.
pub(super) fn request(plan: &TestPlan, local: &LocalEnd) -> Result<Frame, SessionError> {
    let frame = match Test::of(plan) {
        Test::StreamStream => {
            stream_stream(plan, local).encode(header(plan, RequestKind::StreamStream))
        }
        Test::StreamRr => stream_rr(plan).encode(header(plan, RequestKind::StreamRr)),
        Test::DgStream => dg_stream(plan, local).encode(header(plan, RequestKind::DgStream)),
        Test::DgRr => dg_rr(plan).encode(header(plan, RequestKind::DgRr)),
    };
    with_method(plan, frame)
}

fn stream_stream(plan: &TestPlan, local: &LocalEnd) -> StreamStreamRequest {
    let remote = &plan.remote;
    let avoids = i32::from(remote.copy_avoidance);
    StreamStreamRequest {
        recv_buf_size: or_zero(remote.socket.recv_buffer),
        send_buf_size: or_zero(remote.socket.send_buffer),
        receive_size: or_zero(remote.recv.size),
        recv_alignment: signed(remote.recv.align),
        recv_offset: signed(remote.recv.offset),
        so_rcvavoid: avoids,
        so_sndavoid: avoids,
        measure_cpu: i32::from(remote.cpu.is_some()),
        cpu_rate: rate(plan),
        test_length: time_or_bytes(plan, local),
        dirty_count: integers(remote.touch.dirty),
        clean_count: integers(remote.touch.clean),
        ..StreamStreamRequest::default()
    }
}

fn stream_rr(plan: &TestPlan) -> StreamRrRequest {
    let remote = &plan.remote;
    let avoids = i32::from(remote.copy_avoidance);
    StreamRrRequest {
        recv_buf_size: or_zero(remote.socket.recv_buffer),
        send_buf_size: or_zero(remote.socket.send_buffer),
        recv_alignment: signed(remote.recv.align),
        recv_offset: signed(remote.recv.offset),
        send_alignment: signed(remote.send.align),
        send_offset: signed(remote.send.offset),
        request_size: or_zero(plan.request),
        response_size: or_zero(plan.response),
        so_rcvavoid: avoids,
        so_sndavoid: avoids,
        measure_cpu: i32::from(remote.cpu.is_some()),
        cpu_rate: rate(plan),
        test_length: time_or_transactions(plan.limit),
        ..StreamRrRequest::default()
    }
}

fn dg_stream(plan: &TestPlan, local: &LocalEnd) -> DgStreamRequest {
    let remote = &plan.remote;
    let avoids = i32::from(remote.copy_avoidance);
    DgStreamRequest {
        recv_buf_size: or_zero(remote.socket.recv_buffer),
        message_size: or_zero(local.send_size.or(plan.local.send.size)),
        recv_alignment: signed(remote.recv.align),
        recv_offset: signed(remote.recv.offset),
        measure_cpu: i32::from(remote.cpu.is_some()),
        cpu_rate: rate(plan),
        test_length: match plan.limit {
            Limit::Time(time) => seconds(time),
            // It is never a count.
            Limit::Units(_) | Limit::Messages(_) | Limit::UntilStopped => 0,
        },
        so_rcvavoid: avoids,
        so_sndavoid: avoids,
        ..DgStreamRequest::default()
    }
}

fn dg_rr(plan: &TestPlan) -> DgRrRequest {
    let remote = &plan.remote;
    let avoids = i32::from(remote.copy_avoidance);
    DgRrRequest {
        recv_buf_size: or_zero(remote.socket.recv_buffer),
        send_buf_size: or_zero(remote.socket.send_buffer),
        recv_alignment: signed(remote.recv.align),
        recv_offset: signed(remote.recv.offset),
        send_alignment: signed(remote.send.align),
        send_offset: signed(remote.send.offset),
        request_size: or_zero(plan.request),
        response_size: or_zero(plan.response),
        measure_cpu: i32::from(remote.cpu.is_some()),
        cpu_rate: rate(plan),
        test_length: time_or_transactions(plan.limit),
        so_rcvavoid: avoids,
        so_sndavoid: avoids,
        ..DgRrRequest::default()
    }
}

fn or_zero(value: Option<u32>) -> i32 {
    value.map_or(0, signed)
}

fn rate(plan: &TestPlan) -> f32 {
    plan.remote.cpu.and_then(|cpu| cpu.rate).unwrap_or(0.0)
}

/// Bytes as the integers of four bytes that these requests count in.
fn integers(bytes: u32) -> i32 {
    signed(bytes.div_ceil(4))
}

/// The data socket in a response.
struct UnixDataSocket {
    recv_buf_size: i32,
    send_buf_size: i32,
    /// Bytes per receive, where the response has them.
    receive_size: Option<i32>,
    measure_cpu: i32,
    path: SwappedStr<32>,
}

/// [`UnixDataSocket`] of any of the responses.
macro_rules! told {
    ($response:ty, $frame:expr, $receive_size:expr) => {
        <$response>::decode($frame).map(|response| UnixDataSocket {
            recv_buf_size: response.recv_buf_size,
            send_buf_size: response.send_buf_size,
            receive_size: $receive_size(&response),
            measure_cpu: response.measure_cpu,
            path: response.unix_path,
        })
    };
}

fn told(plan: &TestPlan, frame: &Frame) -> Result<UnixDataSocket, DecodeError> {
    match Test::of(plan) {
        Test::StreamStream => told!(
            StreamStreamResponse,
            frame,
            |told: &StreamStreamResponse| { Some(told.receive_size) }
        ),
        Test::StreamRr => told!(StreamRrResponse, frame, |_| None),
        Test::DgStream => told!(DgStreamResponse, frame, |_| None),
        Test::DgRr => told!(DgRrResponse, frame, |_| None),
    }
}

pub(super) fn agreement(plan: &TestPlan, frame: &Frame) -> Result<Agreement, SessionError> {
    let told = told(plan, frame).map_err(|e| SessionError::Malformed(e.to_string()))?;
    let path = String::from_utf8_lossy(told.path.as_bytes());
    if path.is_empty() {
        return Err(SessionError::Malformed(
            "the data socket has no path".into(),
        ));
    }
    let size = |size: i32| u32::try_from(size).ok();
    Ok(Agreement {
        setup: EndSetup {
            send_buffer: size(told.send_buf_size),
            recv_buffer: size(told.recv_buf_size),
            send_size: plan.response,
            recv_size: told.receive_size.and_then(size).or(plan.request),
            priority: -1,
            tos: -1,
            ..EndSetup::default()
        },
        data_port: 0,
        address: Some(Address::Unix(PathBuf::from(path.as_ref()))),
        ports: Vec::new(),
        token: None,
        measures_cpu: measures_cpu(plan, told.measure_cpu),
        host: None,
    })
}

/// The result in results; signed counters are read as unsigned.
pub(super) fn results(
    plan: &TestPlan,
    cpu: bool,
    frame: &Frame,
) -> Result<EndResult, SessionError> {
    measured(plan, cpu, frame).map_err(|e| SessionError::Malformed(e.to_string()))
}

fn measured(plan: &TestPlan, cpu: bool, frame: &Frame) -> Result<EndResult, DecodeError> {
    let (tally, elapsed, busy) = match Test::of(plan) {
        Test::StreamStream => {
            let results = StreamStreamResults::decode(frame)?;
            // A stock netserver counts one call too few, which cannot be detected
            // here.
            let tally = received(results.bytes_received, results.recv_calls);
            (tally, results.elapsed_time, results.cpu_util)
        }
        Test::StreamRr => {
            let results = StreamRrResults::decode(frame)?;
            let tally = transactions(plan, unsigned(results.trans_received));
            (tally, results.elapsed_time, results.cpu_util)
        }
        Test::DgStream => {
            let results = DgStreamResults::decode(frame)?;
            let tally = received(results.bytes_received, results.messages_recvd);
            (tally, results.elapsed_time, results.cpu_util)
        }
        Test::DgRr => {
            let results = DgRrResults::decode(frame)?;
            let tally = transactions(plan, unsigned(results.trans_received));
            (tally, results.elapsed_time, results.cpu_util)
        }
    };
    // The method is not told; the number of CPUs no stock netserver sets, but they are ours.
    let method = CpuMethod::Other(0);
    Ok(EndResult {
        tally,
        elapsed: untimed(f64::from(elapsed)),
        cpu: cpu.then(|| super::cpu_usage(method, busy, 0)),
        ..EndResult::default()
    })
}

fn received(bytes: i32, calls: i32) -> Tally {
    Tally {
        bytes_received: u64::from(unsigned(bytes)),
        recv_calls: u64::from(unsigned(calls)),
        ..Tally::default()
    }
}

#[expect(
    clippy::cast_sign_loss,
    reason = "the field is a counter that wraps below 0"
)]
const fn unsigned(counter: i32) -> u32 {
    counter as u32
}

/// A stock netserver takes its pad off the time of runs that had none, too; where what is
/// left is below 0 it is seen.
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
    match Test::of(plan) {
        Test::StreamStream => {
            tally.bytes_received = unwrapped(tally.bytes_received, own.bytes_sent);
        }
        Test::DgStream => {
            if let Some(size) = own.bytes_sent.checked_div(own.send_calls) {
                tally.bytes_received = tally.recv_calls.saturating_mul(size);
            }
        }
        Test::StreamRr | Test::DgRr => {}
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
        fn what_wrapped_is_what_was_sent_less_what_was_lost(sent: u64, lost in 0_u64..1 << 32) {
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
