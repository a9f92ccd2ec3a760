//! The client's own connections and flows.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_engine::iperf2::{
    Arrived, DatagramOrder, PATIENCE, STALLED, StreamOrder, Transfer, TransferCounts, TransferEnd,
    receive_datagrams, receive_stream, send_datagrams, send_stream, send_stream_by,
};
use netperf_engine::transfer::FileBlocks;
use netperf_iperf2::messages::{
    Datagram, DatagramLayout, EXTENDED_LEN, HeaderAnswer, STAMP, fill_digits,
};
use netperf_iperf2::states::account::DatagramAccount;
use netperf_iperf2::states::blocks::ReceivedBlocks;
use netperf_iperf2::states::client::{tcp_header, udp_header};
use netperf_iperf2::states::connection::HEADER_TIME;
use netperf_iperf2::states::finish::{self, FinishEffect, FinishInput, FinishState};
use netperf_measure::clock::{self, Moment};
use netperf_measure::overtime;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Plan, Iperf2Rate};
use netperf_os::io::{half_close, is_no_progress, recv, recv_now, send};
use netperf_os::wait::{Interest, ready};
use netperf_os::{Socket, alarm};
use netperf_program::iperf2::{
    FLOW_GAP, ShownCounts, acknowledged, now, read_buffer, receive_timed_stream, send_all,
    send_timed_stream,
};
use netperf_program::threads::{join, spawn};
use netperf_session::ForeignProgram;

use super::{
    INPUT_STEP, Iperf2Failure, Iperf2Stream, Iperf2StreamResult, failed, per_giga_second,
    receive_time, receives,
};

/// Time for the server to close after it has taken what was sent.
const CLOSE_TIME: Duration = overtime::OF_PEER;
/// Time for the report of the server after a signal.
const AFTER_SIGNAL: Duration = Duration::from_millis(700);

/// Runs a stream to its end.
pub(super) fn run(
    plan: &Iperf2Plan,
    stream: &Iperf2Stream,
    stop: &AtomicBool,
) -> Result<Iperf2StreamResult, Iperf2Failure> {
    if plan.udp {
        run_datagrams(plan, stream, stop)
    } else {
        run_connection(plan, stream, stop)
    }
}

/// Time and bytes of a test.
fn time_and_bytes(plan: &Iperf2Plan) -> (Option<Duration>, Option<u64>) {
    match plan.amount {
        Iperf2Amount::Time(_) if plan.to_end_of_input => (None, None),
        Iperf2Amount::Time(time) => (Some(time), None),
        Iperf2Amount::Bytes(bytes) => (None, Some(bytes)),
    }
}

fn run_connection(
    plan: &Iperf2Plan,
    stream: &Iperf2Stream,
    stop: &AtomicBool,
) -> Result<Iperf2StreamResult, Iperf2Failure> {
    let socket = &stream.socket;
    let header = tcp_header(plan, now());
    send_all(socket, &header).map_err(failed("write"))?;
    if plan.detects_peer && !plan.compatible {
        await_answer(socket, stop).map_err(failed("recvack"))?;
    }
    let mut result = Iperf2StreamResult::default();
    if !plan.direction.client_sends() {
        let received = receive(plan, socket, &stream.received, stop);
        result.received = Some(received.map_err(failed("read"))?);
        return Ok(result);
    }
    let before = u64::try_from(header.len()).unwrap_or_default();
    let send = || send_data(plan, stream, before, stop);
    if receives(plan) {
        let both = std::thread::scope(|scope| {
            let sender = spawn(scope, || Ok(send()))?;
            let received = receive(plan, socket, &stream.received, stop);
            Ok((join(sender), received))
        });
        let (sent, received) = both.map_err(failed("thread"))?;
        result.sent = Some(sent.map_err(failed("thread"))??);
        result.received = Some(received.map_err(failed("read"))?);
        return Ok(result);
    }
    let mut sent = send()?;
    if sent.end == TransferEnd::Closed {
        let mut buf = [0; 64];
        let count = recv_now(socket.as_fd(), &mut buf).unwrap_or(0);
        result.foreign = ForeignProgram::of_answer(buf.get(..count).unwrap_or_default());
    } else if sent.end != TransferEnd::Stalled {
        // The answer to the header, and the end of the server: it has taken everything.
        let counts = TransferCounts::default();
        let mut buf = [0; 4096];
        let limit = (0, CLOSE_TIME);
        let ended = receive_stream(socket.as_fd(), &mut buf, limit, &counts, stop);
        if ended.is_ok_and(|one| matches!(one.end, TransferEnd::Stalled | TransferEnd::Overrun)) {
            sent.end = TransferEnd::Stalled;
        }
        let answer = HeaderAnswer::decode(&buf).ok();
        result.version = answer.map(|answer| answer.version);
        // Without an answer the bytes are zeros, as those of a small number.
        result.foreign = ForeignProgram::of_answer(&buf);
    }
    result.sent = Some(sent);
    Ok(result)
}

/// Waits for the answer to the header.
fn await_answer(socket: &Socket, stop: &AtomicBool) -> io::Result<()> {
    let mut answer = Vec::new();
    let until = clock::now().plus(HEADER_TIME);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if !ready(socket.as_fd(), Interest::Read, until.left().min(PATIENCE))? {
            if until.left().is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            continue;
        }
        let mut buf = [0; 64];
        let count = recv_now(socket.as_fd(), &mut buf)?;
        answer.extend_from_slice(buf.get(..count).unwrap_or_default());
        if HeaderAnswer::decode(&answer).is_ok() {
            return Ok(());
        }
        if count == 0 || answer.len() >= 64 {
            return Err(io::Error::other("no answer to the client header"));
        }
    }
}

/// Receives what the server sends over a connection.
pub(super) fn receive(
    plan: &Iperf2Plan,
    from: &Socket,
    counts: &ShownCounts,
    stop: &AtomicBool,
) -> io::Result<Transfer> {
    let (fd, moved) = (from.as_fd(), &counts.moved);
    let limit = (0, receive_time(plan));
    counts.begin();
    let received = if plan.trip_times {
        receive_timed_stream(fd, ReceivedBlocks::behind_header(), limit, (counts, stop))
    } else {
        receive_stream(fd, &mut read_buffer(moved), limit, moved, stop)
    };
    let received = received?;
    counts.end(received.elapsed);
    Ok(received)
}

/// Sends data, ends this direction and waits until the other end has all of it: the time is that
/// in which the bytes arrived, not that in which they were put into a buffer.
fn send_data(
    plan: &Iperf2Plan,
    stream: &Iperf2Stream,
    before: u64,
    stop: &AtomicBool,
) -> Result<Transfer, Iperf2Failure> {
    let mut order = stream_order(plan, before);
    let (fd, counts) = (stream.socket.as_fd(), &stream.sent);
    counts.begin();
    let mut sent = if let Some(input) = &stream.input {
        order.ends_anywhere = true;
        send_input(fd, input, plan.block(), &order, (counts, stop))?
    } else {
        send_blocks(fd, plan, &order, (counts, stop)).map_err(failed("write"))?
    };
    counts.end(sent.elapsed);
    // The server may have closed the connection.
    let _gone = half_close(fd);
    if sent.end == TransferEnd::Complete {
        let longest = order.time.map_or(Duration::MAX, |_| overtime::OF_OWN_DATA);
        let late = acknowledged(fd, longest, stop);
        sent.elapsed += late;
        if late >= longest {
            sent.end = TransferEnd::Stalled;
        }
    }
    Ok(sent)
}

/// Amount and rate of a connection.
fn stream_order(plan: &Iperf2Plan, before: u64) -> StreamOrder {
    let (time, bytes) = time_and_bytes(plan);
    let rate = match plan.rate {
        Some(Iperf2Rate::Bits(bits)) => Some(bits),
        Some(Iperf2Rate::Packets(blocks)) => {
            let bits = u64::try_from(plan.block() * 8).unwrap_or(u64::MAX);
            Some(blocks.saturating_mul(bits))
        }
        None => None,
    };
    StreamOrder {
        time,
        bytes,
        before,
        rate,
        ends_anywhere: false,
    }
}

/// Sends blocks of digits.
fn send_blocks(
    fd: BorrowedFd<'_>,
    plan: &Iperf2Plan,
    order: &StreamOrder,
    (counts, stop): (&ShownCounts, &AtomicBool),
) -> io::Result<Transfer> {
    let mut block = vec![0; plan.block()];
    fill_digits(&mut block, 0);
    if plan.trip_times {
        send_timed_stream(fd, &mut block, order, &counts.moved, stop)
    } else {
        send_stream(fd, &block, order, &counts.moved, stop)
    }
}

/// Sends an input to its end, in blocks of at most this size.
fn send_input(
    fd: BorrowedFd<'_>,
    input: &File,
    size: usize,
    order: &StreamOrder,
    (counts, stop): (&ShownCounts, &AtomicBool),
) -> Result<Transfer, Iperf2Failure> {
    let is_file = input.metadata().is_ok_and(|found| found.is_file());
    let mut blocks = FileBlocks::new(input, size);
    let mut unread = None;
    let sent = send_stream_by(fd, size, order, &counts.moved, stop, |part| {
        // A silent pipe keeps neither the end of the time nor a signal waiting.
        if !is_file && blocks.is_sent() && !ready(input.as_fd(), Interest::Read, PATIENCE)? {
            return Ok(0);
        }
        let count = match blocks.next_data(part.len()) {
            Ok(data) => send(fd, data)?,
            Err(error) if is_no_progress(&error) => 0,
            Err(error) => {
                unread = Some(error).filter(|error| error.kind() != ErrorKind::UnexpectedEof);
                return Err(ErrorKind::UnexpectedEof.into());
            }
        };
        blocks.advance(count);
        Ok(count)
    });
    match unread {
        Some(error) => Err(failed(INPUT_STEP)(error)),
        None => sent.map_err(failed("write")),
    }
}

fn run_datagrams(
    plan: &Iperf2Plan,
    stream: &Iperf2Stream,
    stop: &AtomicBool,
) -> Result<Iperf2StreamResult, Iperf2Failure> {
    // A server of iperf 2.1.8 gives the first datagrams of a flow to another one if both begin at
    // the same moment.
    netperf_os::wait::sleep(FLOW_GAP * (stream.number - 1));
    let header = udp_header(plan, now());
    let first = if plan.compatible {
        STAMP
    } else {
        STAMP + EXTENDED_LEN.max(header.len())
    };
    let mut datagram = vec![0; plan.block().max(first)];
    fill_digits(&mut datagram, 0);
    for (place, byte) in datagram.iter_mut().skip(STAMP).zip(&header) {
        *place = *byte;
    }
    let fd = stream.socket.as_fd();
    let mut result = Iperf2StreamResult::default();
    if !plan.direction.client_sends() {
        let account = receive_flow(plan, stream, stop, Some(&mut datagram));
        set_account(&mut result, account.map_err(failed("read"))?);
        return Ok(result);
    }
    let (time, bytes) = time_and_bytes(plan);
    let order = DatagramOrder {
        time,
        bytes,
        per_giga_second: per_giga_second(plan),
        length: plan.block(),
        first: if plan.compatible {
            STAMP
        } else {
            STAMP + EXTENDED_LEN
        },
        credit: None,
    };
    let counts = &stream.sent;
    let mut transmit = || {
        counts.begin();
        let sent = send_datagrams(&mut datagram, &order, &counts.moved, stop, |bytes| {
            send(fd, bytes)
        })?;
        counts.end(sent.0.elapsed);
        Ok(sent)
    };
    if receives(plan) {
        let both = std::thread::scope(|scope| {
            let receiver = spawn(scope, || receive_flow(plan, stream, stop, None))?;
            let sent = transmit();
            if let Ok((_, last)) = &sent {
                finish(stream, *last, false, plan.block());
            }
            Ok((sent, join(receiver)))
        });
        let (sent, account) = both.map_err(failed("thread"))?;
        result.sent = Some(sent.map_err(failed("write"))?.0);
        set_account(&mut result, account.map_err(failed("read"))?);
        return Ok(result);
    }
    let (sent, last) = transmit().map_err(failed("write"))?;
    result.sent = Some(sent);
    let state = finish(stream, last, !plan.no_udp_fin, plan.block());
    if let FinishState::Over(report) = state {
        result.report = report;
        result.unreported = !plan.no_udp_fin && report.is_none();
    }
    Ok(result)
}

fn set_account(result: &mut Iperf2StreamResult, (account, total, end): ReceivedFlow) {
    result.received = Some(Transfer {
        bytes: account.bytes,
        calls: account.order.arrived,
        elapsed: Duration::from_micros(account.duration()),
        end,
    });
    result.account = Some((account, total));
}

/// Account of a flow, the number of its final datagram, and its end.
type ReceivedFlow = (DatagramAccount, u64, TransferEnd);

/// Receives a flow of the server to its final datagram. `request` is sent until data arrives.
fn receive_flow(
    plan: &Iperf2Plan,
    stream: &Iperf2Stream,
    stop: &AtomicBool,
    mut request: Option<&mut Vec<u8>>,
) -> io::Result<ReceivedFlow> {
    let fd = stream.socket.as_fd();
    let (mut account, mut total) = (DatagramAccount::default(), 0);
    let mut end = TransferEnd::Complete;
    let mut last = clock::now();
    let until = last.plus(receive_time(plan));
    let ask = |request: &mut Option<&mut Vec<u8>>| {
        if let Some(bytes) = request {
            let sent = Some(now());
            let stamp = Datagram { number: 1, sent }.stamp();
            for (place, byte) in bytes.iter_mut().zip(stamp) {
                *place = byte;
            }
            // A lost request is repeated.
            let _lost = send(fd, bytes);
        }
    };
    ask(&mut request);
    let mut buf = vec![0; 65_536];
    let layout = DatagramLayout::Modern;
    receive_datagrams(
        &mut buf,
        stop,
        |buf| recv(fd, buf),
        |arrived| match arrived {
            _ if until.left().is_zero() => {
                end = TransferEnd::Overrun;
                ControlFlow::Break(())
            }
            Arrived::Datagram(bytes, at) => {
                request = None;
                last = clock::now();
                if let Some(datagram) = Datagram::decode(bytes, layout) {
                    account.add(&datagram, bytes.len(), layout, at);
                    stream.received.begin();
                    stream.received.take(&account);
                    if datagram.is_final() {
                        total = datagram.number.unsigned_abs();
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            }
            Arrived::Nothing => {
                ask(&mut request);
                if last.elapsed() >= STALLED {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
        },
    )?;
    stream
        .received
        .end(Duration::from_micros(account.duration()));
    Ok((account, total.max(account.order.highest), end))
}

/// Ends a flow with final datagrams.
fn finish(stream: &Iperf2Stream, last: i64, awaits: bool, length: usize) -> FinishState {
    let fd = stream.socket.as_fd();
    let mut datagram = vec![0; length.max(STAMP)];
    fill_digits(&mut datagram, 0);
    let (mut state, mut effects) = finish::start(last, awaits);
    let mut by = None;
    while !effects.is_empty() {
        if alarm::stopped_by_user() {
            let by: &mut Moment = by.get_or_insert_with(|| clock::now().plus(AFTER_SIGNAL));
            if by.left().is_zero() {
                break;
            }
        }
        let mut answer = None;
        for effect in effects {
            match effect {
                FinishEffect::SendFinal(number) => {
                    let sent = Some(now());
                    let stamp = Datagram { number, sent }.stamp();
                    for (place, byte) in datagram.iter_mut().zip(stamp) {
                        *place = byte;
                    }
                    // A lost final datagram is repeated.
                    let _lost = send(fd, &datagram);
                }
                FinishEffect::Expect(within) => {
                    let mut buf = vec![0; 65_536];
                    let is_ready = ready(fd, Interest::Read, within).unwrap_or(false);
                    let count = is_ready.then(|| recv_now(fd, &mut buf).ok()).flatten();
                    answer = count.map(|count| {
                        buf.truncate(count);
                        buf
                    });
                    if is_ready && answer.is_none() {
                        // An error that nothing listens is there at once.
                        netperf_os::wait::sleep(within);
                    }
                }
            }
        }
        let input = answer
            .as_deref()
            .map_or(FinishInput::TimedOut, FinishInput::Arrived);
        (state, effects) = finish::step(state, input);
    }
    state
}
