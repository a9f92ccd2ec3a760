//! The SCTP tests at netserver, and those of SDP that have their messages
//! (control-protocol.md 2.7.6 and 2.7.9). No exchange of either was captured.

use netperf_model::{EndJob, EndResult, Ending, Family, Flow, TransportId};
use netperf_wire::messages::{
    RrRequest, SctpRrRequest, SctpRrResponse, SctpStreamRequest, SctpStreamResponse,
    SctpStreamResults,
};
use netperf_wire::{Frame, RemoteErrno, RequestKind, WireFamily};

use super::classic::{
    ClassicRequest, CpuFields, RepeatedFields, exchange, port, response, results, ring, said,
    socket, touch,
};
use super::inet::family_of_sdp;
use super::{Ready, from_wire, to_wire};

/// Transport of a request number.
fn transport(kind: RequestKind) -> TransportId {
    if matches!(kind, RequestKind::SctpStreamMany | RequestKind::SctpRrMany) {
        TransportId::SctpMany
    } else if is_sdp(kind) {
        TransportId::Sdp
    } else {
        TransportId::Sctp
    }
}

const fn is_sdp(kind: RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::SdpStream | RequestKind::SdpRr | RequestKind::SdpCrr | RequestKind::SdpCc
    )
}

fn family(kind: RequestKind, family: WireFamily) -> Result<Family, RemoteErrno> {
    if is_sdp(kind) {
        Ok(family_of_sdp(family))
    } else {
        from_wire::family(family)
    }
}

impl ClassicRequest for SctpStreamRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let family = family(kind, self.ipfamily)?;
        let mut job = self.said().job(transport(kind), Flow::SEND, family);
        job.port = port(self.wanted_port())?;
        job.end.socket = socket(self.send_buf_size, self.recv_buf_size, self.no_delay)?;
        job.end.socket.non_blocking = self.non_blocking != 0;
        job.end.recv = ring(self.receive_size, self.recv_alignment, self.recv_offset)?;
        job.end.touch = touch(self.dirty_count, self.clean_count);
        job.end.copy_avoidance = is_sdp(kind) && self.so_rcvavoid == 1;
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => SctpStreamResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            receive_size: to_wire::size(ready.setup.recv_size),
            no_delay: i32::from(ready.setup.nodelay),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            data_port_number: to_wire::signed(ready.data_port),
            ..SctpStreamResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        results! { kind, result, cpu => SctpStreamResults {
            bytes_received: netperf_model::figures::count(result.tally.bytes_received),
            recv_calls: to_wire::wrapping(result.tally.recv_calls),
            cpu_method: cpu.method,
            ..SctpStreamResults::default()
        } }
    }
}

impl ClassicRequest for SctpRrRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let flow = if kind == RequestKind::SdpCrr {
            Flow::CRR
        } else if kind == RequestKind::SdpCc {
            Flow::CC
        } else {
            Flow::RR
        };
        let family = family(kind, self.ipfamily)?;
        let mut job = self.said().job(transport(kind), flow, family);
        job.port = port(self.port)?;
        job.end.socket = socket(self.send_buf_size, self.recv_buf_size, self.no_delay)?;
        job.end.socket.non_blocking = self.non_blocking != 0;
        exchange!(job, self);
        if !is_sdp(kind) {
            // The end of a stock client's run was never captured; its server ends
            // by time.
            job.ending = Ending::Silence(None);
        }
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => SctpRrResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            no_delay: i32::from(ready.setup.nodelay),
            test_length: said.test_length,
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            data_port_number: to_wire::signed(ready.data_port),
            ..SctpRrResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        RrRequest::results(kind, result)
    }
}
