//! The XTI tests at netserver (control-protocol.md 2.7.7). No exchange was captured.
//!
//! Responses, and most results, are those of the tests without XTI. The requests name no
//! address family: there was IPv4 only.

use netperf_model::{EndJob, EndResult, Ending, Family, Flow, TransportId};
use netperf_wire::messages::{
    RrRequest, StreamRequest, UdpStreamRequest, XtiRrRequest, XtiTcpStreamRequest,
    XtiTcpStreamResults, XtiUdpStreamRequest,
};
use netperf_wire::{Frame, LowWordFirst, RemoteErrno, RequestKind};

use super::classic::{
    ClassicRequest, CpuFields, RepeatedFields, device, exchange, message, results, ring, said,
    socket, touch,
};
use super::{Ready, to_wire};

impl ClassicRequest for XtiTcpStreamRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let mut job = said.job(TransportId::XtiTcp, Flow::SEND, Family::V4);
        job.end.socket = socket(self.send_buf_size, self.recv_buf_size, self.no_delay)?;
        job.end.recv = ring(self.receive_size, self.recv_alignment, self.recv_offset)?;
        job.end.touch = touch(self.dirty_count, self.clean_count);
        job.end.place.device = device(self.xti_device.as_bytes());
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        StreamRequest::response(kind, said, ready)
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        let bytes = netperf_model::figures::count(result.tally.bytes_received);
        results! { kind, result, cpu => XtiTcpStreamResults {
            bytes_received: LowWordFirst(bytes),
            recv_calls: to_wire::wrapping(result.tally.recv_calls),
            cpu_method: cpu.method,
            ..XtiTcpStreamResults::default()
        } }
    }
}

impl ClassicRequest for XtiRrRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let (transport, flow, no_delay) = if kind == RequestKind::XtiUdpRr {
            (TransportId::XtiUdp, Flow::RR, 0)
        } else if kind == RequestKind::XtiTcpCrr {
            (TransportId::XtiTcp, Flow::CRR, self.no_delay)
        } else {
            (TransportId::XtiTcp, Flow::RR, self.no_delay)
        };
        let mut job = self.said().job(transport, flow, Family::V4);
        job.end.socket = socket(self.send_buf_size, self.recv_buf_size, no_delay)?;
        exchange!(job, self);
        job.end.place.device = device(self.xti_device.as_bytes());
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        RrRequest::response(kind, said, ready)
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        RrRequest::results(kind, result)
    }
}

impl ClassicRequest for XtiUdpStreamRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let size = message(self.message_size)?;
        let mut job = said.job(TransportId::XtiUdp, Flow::SEND, Family::V4);
        job.end.socket = socket(-1, self.recv_buf_size, 0)?;
        job.end.recv = ring(self.message_size, self.recv_alignment, self.recv_offset)?;
        job.end.place.device = device(self.xti_device.as_bytes());
        job.ending = Ending::OddDatagram(size);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        UdpStreamRequest::response(kind, said, ready)
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        UdpStreamRequest::results(kind, result)
    }
}
