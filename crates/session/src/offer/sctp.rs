//! The SCTP tests as their classic messages (control-protocol.md 2.7.6).

use netperf_model::{CpuMethod, EndResult, EndSetup, Tally, TestPlan, TransportId};
use netperf_wire::messages::{
    RrResults, SctpRrRequest, SctpRrResponse, SctpStreamRequest, SctpStreamResponse,
    SctpStreamResults,
};
use netperf_wire::{DecodeError, Frame, Message, RequestKind};

use super::{
    Agreement, LocalEnd, cpu_usage, header, measures_cpu, or_minus_one, signed, time_or_bytes,
    time_or_transactions, transactions, wire_family, with_method,
};
use crate::error::SessionError;

const fn is_rr(plan: &TestPlan) -> bool {
    plan.flow.is_request_response()
}

fn kind(plan: &TestPlan) -> RequestKind {
    match (is_rr(plan), plan.transport == TransportId::SctpMany) {
        (false, false) => RequestKind::SctpStream,
        (false, true) => RequestKind::SctpStreamMany,
        (true, false) => RequestKind::SctpRr,
        (true, true) => RequestKind::SctpRrMany,
    }
}

/// The request. The port is in the order that every other field has: a stock client of
/// SCTP_STREAM that converts it twice never meant to.
pub(super) fn request(plan: &TestPlan, local: &LocalEnd) -> Result<Frame, SessionError> {
    let header = header(plan, kind(plan));
    let frame = if is_rr(plan) {
        rr(plan, local).encode(header)
    } else {
        stream(plan, local).encode(header)
    };
    with_method(plan, frame)
}

fn stream(plan: &TestPlan, local: &LocalEnd) -> SctpStreamRequest {
    let remote = &plan.remote;
    SctpStreamRequest {
        send_buf_size: or_minus_one(remote.socket.send_buffer),
        recv_buf_size: or_minus_one(remote.socket.recv_buffer),
        receive_size: remote.recv.size.map_or(0, signed),
        recv_alignment: signed(remote.recv.align),
        recv_offset: signed(remote.recv.offset),
        no_delay: i32::from(remote.socket.nodelay),
        measure_cpu: i32::from(remote.cpu.is_some()),
        cpu_rate: rate(plan),
        test_length: time_or_bytes(plan, local),
        so_rcvavoid: i32::from(remote.copy_avoidance),
        so_sndavoid: i32::from(remote.copy_avoidance),
        dirty_count: signed(remote.touch.dirty.div_ceil(4)),
        clean_count: signed(remote.touch.clean.div_ceil(4)),
        port: i32::from(local.data_port),
        ipfamily: wire_family(local.family),
        non_blocking: i32::from(remote.socket.non_blocking),
    }
}

fn rr(plan: &TestPlan, local: &LocalEnd) -> SctpRrRequest {
    let remote = &plan.remote;
    SctpRrRequest {
        recv_buf_size: or_minus_one(remote.socket.recv_buffer),
        send_buf_size: or_minus_one(remote.socket.send_buffer),
        recv_alignment: signed(remote.recv.align),
        recv_offset: signed(remote.recv.offset),
        send_alignment: signed(remote.send.align),
        send_offset: signed(remote.send.offset),
        request_size: plan.request.map_or(0, signed),
        response_size: plan.response.map_or(0, signed),
        no_delay: i32::from(remote.socket.nodelay),
        measure_cpu: i32::from(remote.cpu.is_some()),
        cpu_rate: rate(plan),
        test_length: time_or_transactions(plan.limit),
        so_rcvavoid: i32::from(remote.copy_avoidance),
        so_sndavoid: i32::from(remote.copy_avoidance),
        port: i32::from(local.data_port),
        ipfamily: wire_family(local.family),
        non_blocking: i32::from(remote.socket.non_blocking),
    }
}

fn rate(plan: &TestPlan) -> f32 {
    plan.remote.cpu.and_then(|cpu| cpu.rate).unwrap_or(0.0)
}

/// The data socket in a response.
struct SctpDataSocket {
    setup: EndSetup,
    port: i32,
    measure_cpu: i32,
}

fn told(plan: &TestPlan, frame: &Frame) -> Result<SctpDataSocket, DecodeError> {
    let size = |size: i32| u32::try_from(size).ok();
    let setup = EndSetup {
        send_size: plan.response,
        recv_size: plan.request,
        priority: -1,
        tos: -1,
        ..EndSetup::default()
    };
    if is_rr(plan) {
        let response = SctpRrResponse::decode(frame)?;
        return Ok(SctpDataSocket {
            setup: EndSetup {
                send_buffer: size(response.send_buf_size),
                recv_buffer: size(response.recv_buf_size),
                nodelay: response.no_delay != 0,
                ..setup
            },
            port: response.data_port_number,
            measure_cpu: response.measure_cpu,
        });
    }
    let response = SctpStreamResponse::decode(frame)?;
    Ok(SctpDataSocket {
        setup: EndSetup {
            send_buffer: size(response.send_buf_size),
            recv_buffer: size(response.recv_buf_size),
            recv_size: size(response.receive_size),
            nodelay: response.no_delay != 0,
            ..setup
        },
        port: response.data_port_number,
        measure_cpu: response.measure_cpu,
    })
}

pub(super) fn agreement(plan: &TestPlan, frame: &Frame) -> Result<Agreement, SessionError> {
    let told = told(plan, frame).map_err(|e| SessionError::Malformed(e.to_string()))?;
    let port = u16::try_from(told.port).ok().filter(|port| *port != 0);
    let port =
        port.ok_or_else(|| SessionError::Malformed(format!("the data port is {}", told.port)))?;
    Ok(Agreement {
        setup: told.setup,
        data_port: port.into(),
        address: None,
        ports: Vec::new(),
        token: None,
        measures_cpu: measures_cpu(plan, told.measure_cpu),
        host: None,
    })
}

pub(super) fn results(
    plan: &TestPlan,
    cpu: bool,
    frame: &Frame,
) -> Result<EndResult, SessionError> {
    measured(plan, cpu, frame).map_err(|e| SessionError::Malformed(e.to_string()))
}

fn measured(plan: &TestPlan, cpu: bool, frame: &Frame) -> Result<EndResult, DecodeError> {
    let method = |code: i32| CpuMethod::from_code(u32::try_from(code).unwrap_or(0));
    if is_rr(plan) {
        let results = RrResults::decode(frame)?;
        let usage = cpu_usage(
            method(results.cpu_method),
            results.cpu_util,
            results.num_cpus,
        );
        return Ok(EndResult {
            tally: transactions(plan, results.trans_received),
            elapsed: f64::from(results.elapsed_time),
            cpu: cpu.then_some(usage),
            ..EndResult::default()
        });
    }
    let results = SctpStreamResults::decode(frame)?;
    let usage = cpu_usage(
        method(results.cpu_method),
        results.cpu_util,
        results.num_cpus,
    );
    Ok(EndResult {
        tally: Tally {
            bytes_received: whole(results.bytes_received),
            recv_calls: u64::from(results.recv_calls),
            ..Tally::default()
        },
        elapsed: f64::from(results.elapsed_time),
        cpu: cpu.then_some(usage),
        ..EndResult::default()
    })
}

/// A count that comes as a float; one that makes no sense is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and NaN is 0"
)]
const fn whole(count: f64) -> u64 {
    count as u64
}
