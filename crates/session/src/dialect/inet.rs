//! The classic requests of tests over TCP and UDP at netserver (control-protocol.md 2.7.1
//! to 2.7.4); that of TCP_MAERTS is SDP_MAERTS, too (2.7.9).

use netperf_model::{EndJob, EndResult, Ending, Family, Flow, TransportId};
use netperf_wire::messages::{
    MaertsRequest, MaertsResponse, MaertsResults, RrRequest, RrResponse, RrResults, StreamRequest,
    StreamResponse, StreamResults, UdpStreamRequest, UdpStreamResponse, UdpStreamResults,
};
use netperf_wire::{Frame, RemoteErrno, RequestKind, WireFamily};

use super::classic::{
    ClassicRequest, CpuFields, RepeatedFields, both_directions, exchange, message, port, response,
    results, ring, said, socket, touch,
};
use super::{Ready, from_wire, to_wire};

impl ClassicRequest for StreamRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let family = from_wire::family(self.ipfamily)?;
        let mut job = self.said().job(TransportId::Tcp, Flow::SEND, family);
        job.port = port(self.port)?;
        job.end.socket = socket(self.send_buf_size, self.recv_buf_size, self.no_delay)?;
        job.end.recv = ring(self.receive_size, self.recv_alignment, self.recv_offset)?;
        job.end.touch = touch(self.dirty_count, self.clean_count);
        job.end.copy_avoidance = self.so_rcvavoid == 1;
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => StreamResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            receive_size: to_wire::size(ready.setup.recv_size),
            no_delay: i32::from(ready.setup.nodelay),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            data_port_number: to_wire::signed(ready.data_port),
            ..StreamResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        results! { kind, result, cpu => StreamResults {
            bytes_received: netperf_model::figures::count(result.tally.bytes_received),
            recv_calls: to_wire::wrapping(result.tally.recv_calls),
            cpu_method: cpu.method,
            recv_buf_size: to_wire::size(result.recv_buffer_end),
            send_buf_size: to_wire::size(result.send_buffer_end),
            ..StreamResults::default()
        } }
    }
}

impl ClassicRequest for MaertsRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let (transport, family) = if kind == RequestKind::SdpMaerts {
            (TransportId::Sdp, family_of_sdp(self.ipfamily))
        } else {
            (TransportId::Tcp, from_wire::family(self.ipfamily)?)
        };
        let mut job = self.said().job(transport, Flow::RECEIVE, family);
        job.port = port(self.port)?;
        job.end.socket = socket(self.send_buf_size, self.recv_buf_size, self.no_delay)?;
        job.end.send = ring(self.send_size, self.send_alignment, self.send_offset)?;
        job.end.touch = touch(self.dirty_count, self.clean_count);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => MaertsResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            send_size: to_wire::size(ready.setup.send_size),
            no_delay: i32::from(ready.setup.nodelay),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            data_port_number: to_wire::signed(ready.data_port),
            ..MaertsResponse::default()
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        results! { kind, result, cpu => MaertsResults {
            bytes_sent: netperf_model::figures::count(result.tally.bytes_sent),
            send_calls: to_wire::wrapping(result.tally.send_calls),
            cpu_method: cpu.method,
            ..MaertsResults::default()
        } }
    }
}

/// The family of an SDP test; no exchange of one was captured. An SDP socket has a separate
/// family, over IPv4 unless the request says otherwise.
pub(super) fn family_of_sdp(family: WireFamily) -> Family {
    from_wire::family(family).unwrap_or(Family::V4)
}

impl ClassicRequest for RrRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let (transport, flow, no_delay) = if kind == RequestKind::UdpRr {
            (TransportId::Udp, Flow::RR, 0)
        } else if kind == RequestKind::TcpCrr {
            (TransportId::Tcp, Flow::CRR, self.no_delay)
        } else if kind == RequestKind::TcpCc {
            (TransportId::Tcp, Flow::CC, self.no_delay)
        } else {
            (TransportId::Tcp, Flow::RR, self.no_delay)
        };
        let family = from_wire::family(self.ipfamily)?;
        let mut job = self.said().job(transport, flow, family);
        job.port = port(self.port)?;
        job.end.socket = socket(self.send_buf_size, self.recv_buf_size, no_delay)?;
        exchange!(job, self);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => RrResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            no_delay: i32::from(ready.setup.nodelay),
            test_length: said.test_length,
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            data_port_number: to_wire::signed(ready.data_port),
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        let tally = &result.tally;
        results! { kind, result, cpu => RrResults {
            bytes_received: to_wire::wrapping(both_directions(tally)),
            recv_calls: to_wire::wrapping(tally.recv_calls),
            trans_received: to_wire::wrapping(tally.transactions),
            cpu_method: cpu.method,
            ..RrResults::default()
        } }
    }
}

impl ClassicRequest for UdpStreamRequest {
    fn said(&self) -> RepeatedFields {
        said!(self)
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let size = message(self.message_size)?;
        let family = from_wire::family(self.ipfamily)?;
        let mut job = self.said().job(TransportId::Udp, Flow::SEND, family);
        job.port = port(self.port)?;
        job.end.socket = socket(-1, self.recv_buf_size, 0)?;
        job.end.socket.connected_datagram = self.recv_connected != 0;
        job.end.recv = ring(self.message_size, self.recv_alignment, self.recv_offset)?;
        job.ending = Ending::OddDatagram(size);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        response! { kind, said, ready => UdpStreamResponse {
            recv_buf_size: to_wire::size(ready.setup.recv_buffer),
            send_buf_size: to_wire::size(ready.setup.send_buffer),
            test_length: said.test_length,
            data_port_number: to_wire::signed(ready.data_port),
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::or_minus_one(result);
        results! { kind, result, cpu => UdpStreamResults {
            messages_recvd: to_wire::wrapping(result.tally.recv_calls),
            bytes_received: to_wire::wrapping(result.tally.bytes_received),
            cpu_method: cpu.method,
        } }
    }
}
