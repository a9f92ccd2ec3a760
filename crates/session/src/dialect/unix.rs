//! The Unix-domain tests at netserver (control-protocol.md 2.7.5).
//!
//! A stock client asks for buffers of 0 unless its user says otherwise, and a stock server
//! really asks the kernel for them, so that it measures with the smallest buffers that
//! there are. Here 0 is no wish, and the kernel's default stays: results are better than
//! a stock server's for that reason alone. DG_STREAM's wish, which a stock server never
//! looks at, counts as well.

use netperf_model::{Address, EndJob, EndResult, Ending, Family, Flow, SocketPlan, TransportId};
use netperf_wire::messages::{
    DgRrRequest, DgRrResponse, DgRrResults, DgStreamRequest, DgStreamResponse, DgStreamResults,
    StreamRrRequest, StreamRrResponse, StreamRrResults, StreamStreamRequest, StreamStreamResponse,
    StreamStreamResults,
};
use netperf_wire::{Frame, RemoteErrno, RequestKind, SwappedStr};

use super::classic::{
    ClassicRequest, CpuFields, RepeatedFields, both_directions, exchange, message, response,
    results, ring, said, time_only, touch,
};
use super::{Ready, from_wire, to_wire};

/// Buffer sizes; 0 stands for no request.
fn buffers(send: i32, recv: i32) -> Result<SocketPlan, RemoteErrno> {
    Ok(SocketPlan {
        send_buffer: from_wire::derived(send)?,
        recv_buffer: from_wire::derived(recv)?,
        ..SocketPlan::default()
    })
}

/// Path of the socket.
fn path(ready: &Ready) -> SwappedStr<32> {
    match &ready.address {
        Some(Address::Unix(path)) => {
            SwappedStr::from_bytes_truncated(path.as_os_str().as_encoded_bytes())
        }
        Some(
            Address::Inet(_) | Address::Vsock { .. } | Address::Link { .. } | Address::Atm { .. },
        )
        | None => SwappedStr::default(),
    }
}

impl ClassicRequest for StreamStreamRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let mut job = said.job(TransportId::UnixStream, Flow::SEND, Family::Unspecified);
        job.end.socket = buffers(self.send_buf_size, self.recv_buf_size)?;
        job.end.recv = ring(self.receive_size, self.recv_alignment, self.recv_offset)?;
        job.end.touch = touch(self.dirty_count, self.clean_count);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => StreamStreamResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            receive_size: to_wire::size(ready.setup.recv_size),
            unix_path: path(ready),
            ..StreamStreamResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        results! { kind, result, cpu => StreamStreamResults {
            bytes_received: to_wire::wrapping_signed(result.tally.bytes_received),
            recv_calls: to_wire::wrapping_signed(result.tally.recv_calls),
            ..StreamStreamResults::default()
        } }
    }
}

impl ClassicRequest for StreamRrRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let mut job = said.job(TransportId::UnixStream, Flow::RR, Family::Unspecified);
        job.end.socket = buffers(self.send_buf_size, self.recv_buf_size)?;
        exchange!(job, self);
        // A stock client keeps its socket open while it waits for the results.
        job.ending = Ending::Silence(None);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => StreamRrResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            unix_path: path(ready),
            ..StreamRrResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        results! { kind, result, cpu => StreamRrResults {
            bytes_received: to_wire::wrapping_signed(both_directions(&result.tally)),
            recv_calls: to_wire::wrapping_signed(result.tally.recv_calls),
            trans_received: to_wire::wrapping_signed(result.tally.transactions),
            ..StreamRrResults::default()
        } }
    }
}

impl ClassicRequest for DgStreamRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let size = message(self.message_size)?;
        let mut job = said.job(TransportId::UnixDatagram, Flow::SEND, Family::Unspecified);
        job.limit = time_only(job.limit);
        job.end.socket = buffers(0, self.recv_buf_size)?;
        job.end.recv = ring(self.message_size, self.recv_alignment, self.recv_offset)?;
        // A stock client does not mark its end.
        job.ending = Ending::Silence(Some(size));
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => DgStreamResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            test_length: said.test_length,
            unix_path: path(ready),
            ..DgStreamResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::or_minus_one(result);
        results! { kind, result, cpu => DgStreamResults {
            messages_recvd: to_wire::wrapping_signed(result.tally.recv_calls),
            bytes_received: to_wire::wrapping_signed(result.tally.bytes_received),
        } }
    }
}

impl ClassicRequest for DgRrRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let mut job = said.job(TransportId::UnixDatagram, Flow::RR, Family::Unspecified);
        job.end.socket = buffers(self.send_buf_size, self.recv_buf_size)?;
        exchange!(job, self);
        // The shutdown of a datagram socket by a stock client sends nothing.
        job.ending = Ending::Silence(None);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => DgRrResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            unix_path: path(ready),
            ..DgRrResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        results! { kind, result, cpu => DgRrResults {
            bytes_received: to_wire::wrapping_signed(both_directions(&result.tally)),
            recv_calls: to_wire::wrapping_signed(result.tally.recv_calls),
            trans_received: to_wire::wrapping_signed(result.tally.transactions),
            ..DgRrResults::default()
        } }
    }
}
