//! The classic requests at netserver (control-protocol.md 2.7).

use netperf_model::{
    CpuPlan, EndPlan, EndResult, Ending, Flow, RingPlan, ServerJob, SocketPlan, TransportId,
};
use netperf_wire::messages::{
    MaertsRequest, MaertsResponse, MaertsResults, RrRequest, RrResponse, RrResults, StreamRequest,
    StreamResponse, StreamResults, UdpStreamRequest, UdpStreamResponse, UdpStreamResults,
};
use netperf_wire::{Frame, Header, Message, RemoteErrno, RequestKind, WireFamily};

use super::{Ready, from_wire, to_wire};
use crate::errno;

/// What all classic requests have in common.
struct Common {
    transport: TransportId,
    flow: Flow,
    family: WireFamily,
    port: i32,
    test_length: i32,
    measure_cpu: i32,
    cpu_rate: f32,
    copy_avoidance: i32,
}

impl Common {
    fn job(
        self,
        socket: SocketPlan,
        send: RingPlan,
        recv: RingPlan,
    ) -> Result<ServerJob, RemoteErrno> {
        let port = u32::try_from(self.port).map_err(|_| errno::INVALID)?;
        Ok(ServerJob {
            transport: self.transport,
            family: from_wire::family(self.family)?,
            flow: self.flow,
            limit: from_wire::limit(self.test_length),
            request: None,
            response: None,
            end: EndPlan {
                socket,
                send,
                recv,
                cpu: (self.measure_cpu != 0).then_some(CpuPlan {
                    rate: Some(self.cpu_rate),
                    ..CpuPlan::default()
                }),
                copy_avoidance: self.copy_avoidance == 1,
                ..EndPlan::default()
            },
            bind: None,
            port: from_wire::port(port)?,
            peer: None,
            ending: Ending::Omni,
            associations: 1,
            facts: None,
        })
    }
}

fn socket(send: i32, recv: i32, no_delay: i32) -> Result<SocketPlan, RemoteErrno> {
    Ok(SocketPlan {
        send_buffer: from_wire::size(send)?,
        recv_buffer: from_wire::size(recv)?,
        nodelay: no_delay != 0,
        ..SocketPlan::default()
    })
}

pub(super) fn stream_job(request: &StreamRequest) -> Result<ServerJob, RemoteErrno> {
    let recv = from_wire::ring(
        from_wire::derived(request.receive_size)?,
        0,
        request.recv_alignment,
        request.recv_offset,
    )?;
    let common = Common {
        transport: TransportId::Tcp,
        flow: Flow::SEND,
        family: request.ipfamily,
        port: request.port,
        // A byte count comes as a positive number, too: the end of the connection
        // comes long before that many seconds.
        test_length: request.test_length,
        measure_cpu: request.measure_cpu,
        cpu_rate: request.cpu_rate,
        copy_avoidance: request.so_rcvavoid,
    };
    let socket = socket(
        request.send_buf_size,
        request.recv_buf_size,
        request.no_delay,
    )?;
    common.job(socket, RingPlan::default(), recv)
}

pub(super) fn stream_response(request: &StreamRequest, ready: &Ready) -> Frame {
    let message = StreamResponse {
        recv_buf_size: to_wire::size(ready.setup.recv_buffer),
        receive_size: to_wire::size(ready.setup.recv_size),
        no_delay: i32::from(ready.setup.nodelay),
        measure_cpu: i32::from(request.measure_cpu != 0),
        send_buf_size: to_wire::size(ready.setup.send_buffer),
        data_port_number: to_wire::signed(ready.data_port),
        cpu_rate: cpu_rate(request.measure_cpu, ready),
        so_rcvavoid: i32::from(request.so_rcvavoid == 1),
        so_sndavoid: i32::from(request.so_sndavoid == 1),
        ..StreamResponse::default()
    };
    message.encode(Header::response(RequestKind::TcpStream))
}

pub(super) fn stream_results(result: &EndResult) -> Frame {
    let cpu = Cpu::of(result);
    let message = StreamResults {
        bytes_received: netperf_model::figures::count(result.tally.bytes_received),
        recv_calls: to_wire::wrapping(result.tally.recv_calls),
        elapsed_time: to_wire::float(result.elapsed),
        cpu_util: cpu.util,
        cpu_method: cpu.method,
        num_cpus: cpu.count,
        recv_buf_size: to_wire::size(result.recv_buffer_end),
        send_buf_size: to_wire::size(result.send_buffer_end),
        ..StreamResults::default()
    };
    message.encode(Header::results(RequestKind::TcpStream))
}

pub(super) fn maerts_job(request: &MaertsRequest) -> Result<ServerJob, RemoteErrno> {
    let send = from_wire::ring(
        from_wire::derived(request.send_size)?,
        0,
        request.send_alignment,
        request.send_offset,
    )?;
    let common = Common {
        transport: TransportId::Tcp,
        flow: Flow::RECEIVE,
        family: request.ipfamily,
        port: request.port,
        test_length: request.test_length,
        measure_cpu: request.measure_cpu,
        cpu_rate: request.cpu_rate,
        copy_avoidance: 0,
    };
    let socket = socket(
        request.send_buf_size,
        request.recv_buf_size,
        request.no_delay,
    )?;
    common.job(socket, send, RingPlan::default())
}

pub(super) fn maerts_response(request: &MaertsRequest, ready: &Ready) -> Frame {
    let message = MaertsResponse {
        recv_buf_size: to_wire::size(ready.setup.recv_buffer),
        send_size: to_wire::size(ready.setup.send_size),
        no_delay: i32::from(ready.setup.nodelay),
        measure_cpu: i32::from(request.measure_cpu != 0),
        send_buf_size: to_wire::size(ready.setup.send_buffer),
        data_port_number: to_wire::signed(ready.data_port),
        cpu_rate: cpu_rate(request.measure_cpu, ready),
        so_rcvavoid: i32::from(request.so_rcvavoid == 1),
        so_sndavoid: i32::from(request.so_sndavoid == 1),
        ..MaertsResponse::default()
    };
    message.encode(Header::response(RequestKind::TcpMaerts))
}

pub(super) fn maerts_results(result: &EndResult) -> Frame {
    let cpu = Cpu::of(result);
    let message = MaertsResults {
        bytes_sent: netperf_model::figures::count(result.tally.bytes_sent),
        send_calls: to_wire::wrapping(result.tally.send_calls),
        elapsed_time: to_wire::float(result.elapsed),
        cpu_util: cpu.util,
        cpu_method: cpu.method,
        num_cpus: cpu.count,
        ..MaertsResults::default()
    };
    message.encode(Header::results(RequestKind::TcpMaerts))
}

pub(super) fn rr_job(kind: RequestKind, request: &RrRequest) -> Result<ServerJob, RemoteErrno> {
    let udp = kind == RequestKind::UdpRr;
    let flow = if kind == RequestKind::TcpCc {
        Flow::CC
    } else if kind == RequestKind::TcpCrr {
        Flow::CRR
    } else {
        Flow::RR
    };
    let common = Common {
        transport: if udp {
            TransportId::Udp
        } else {
            TransportId::Tcp
        },
        flow,
        family: request.ipfamily,
        port: request.port,
        test_length: request.test_length,
        measure_cpu: request.measure_cpu,
        cpu_rate: request.cpu_rate,
        copy_avoidance: 0,
    };
    let no_delay = if udp { 0 } else { request.no_delay };
    let socket = socket(request.send_buf_size, request.recv_buf_size, no_delay)?;
    let send = from_wire::ring(None, 0, request.send_alignment, request.send_offset)?;
    let recv = from_wire::ring(None, 0, request.recv_alignment, request.recv_offset)?;
    let job = common.job(socket, send, recv)?;
    let size = |size: i32| from_wire::derived(size)?.ok_or(errno::INVALID).map(Some);
    if flow == Flow::CC {
        return Ok(job);
    }
    Ok(ServerJob {
        request: size(request.request_size)?,
        response: size(request.response_size)?,
        ..job
    })
}

pub(super) fn rr_response(kind: RequestKind, request: &RrRequest, ready: &Ready) -> Frame {
    let message = RrResponse {
        recv_buf_size: to_wire::size(ready.setup.recv_buffer),
        no_delay: i32::from(ready.setup.nodelay),
        measure_cpu: i32::from(request.measure_cpu != 0),
        test_length: request.test_length,
        send_buf_size: to_wire::size(ready.setup.send_buffer),
        data_port_number: to_wire::signed(ready.data_port),
        cpu_rate: cpu_rate(request.measure_cpu, ready),
        so_rcvavoid: i32::from(request.so_rcvavoid == 1),
        so_sndavoid: i32::from(request.so_sndavoid == 1),
    };
    message.encode(Header::response(kind))
}

pub(super) fn rr_results(kind: RequestKind, result: &EndResult) -> Frame {
    let cpu = Cpu::of(result);
    let tally = &result.tally;
    let message = RrResults {
        // The field counts both directions (control-protocol.md 2.7.3).
        bytes_received: to_wire::wrapping(tally.bytes_received.wrapping_add(tally.bytes_sent)),
        recv_calls: to_wire::wrapping(tally.recv_calls),
        trans_received: to_wire::wrapping(tally.transactions),
        elapsed_time: to_wire::float(result.elapsed),
        cpu_util: cpu.util,
        cpu_method: cpu.method,
        num_cpus: cpu.count,
        ..RrResults::default()
    };
    message.encode(Header::results(kind))
}

pub(super) fn udp_stream_job(request: &UdpStreamRequest) -> Result<ServerJob, RemoteErrno> {
    let message = from_wire::derived(request.message_size)?.ok_or(errno::INVALID)?;
    let recv = from_wire::ring(
        Some(message),
        0,
        request.recv_alignment,
        request.recv_offset,
    )?;
    let common = Common {
        transport: TransportId::Udp,
        flow: Flow::SEND,
        family: request.ipfamily,
        port: request.port,
        test_length: request.test_length,
        measure_cpu: request.measure_cpu,
        cpu_rate: request.cpu_rate,
        copy_avoidance: 0,
    };
    let mut socket = socket(-1, request.recv_buf_size, 0)?;
    socket.connected_datagram = request.recv_connected != 0;
    let job = common.job(socket, RingPlan::default(), recv)?;
    Ok(ServerJob {
        ending: Ending::OddDatagram(message),
        ..job
    })
}

pub(super) fn udp_stream_response(request: &UdpStreamRequest, ready: &Ready) -> Frame {
    let message = UdpStreamResponse {
        recv_buf_size: to_wire::size(ready.setup.recv_buffer),
        send_buf_size: to_wire::size(ready.setup.send_buffer),
        measure_cpu: i32::from(request.measure_cpu != 0),
        test_length: request.test_length,
        data_port_number: to_wire::signed(ready.data_port),
        cpu_rate: cpu_rate(request.measure_cpu, ready),
        so_rcvavoid: i32::from(request.so_rcvavoid == 1),
        so_sndavoid: i32::from(request.so_sndavoid == 1),
    };
    message.encode(Header::response(RequestKind::UdpStream))
}

pub(super) fn udp_stream_results(result: &EndResult) -> Frame {
    let cpu = Cpu::of(result);
    let message = UdpStreamResults {
        messages_recvd: to_wire::wrapping(result.tally.recv_calls),
        bytes_received: to_wire::wrapping(result.tally.bytes_received),
        elapsed_time: to_wire::float(result.elapsed),
        // This one test says "not measured" with -1.
        cpu_util: if result.cpu.is_some() { cpu.util } else { -1.0 },
        cpu_method: cpu.method,
        num_cpus: cpu.count,
    };
    message.encode(Header::results(RequestKind::UdpStream))
}

fn cpu_rate(measure_cpu: i32, ready: &Ready) -> f32 {
    if measure_cpu == 0 {
        0.0
    } else {
        ready.cpu_rate
    }
}

/// CPU utilisation as classic results have it, zeros when not measured.
#[derive(Default)]
struct Cpu {
    util: f32,
    method: i32,
    count: i32,
}

impl Cpu {
    fn of(result: &EndResult) -> Self {
        result.cpu.map_or_else(Self::default, |cpu| Self {
            util: to_wire::float(cpu.busy),
            method: to_wire::signed(cpu.method.code()),
            count: to_wire::signed(cpu.cpus),
        })
    }
}
