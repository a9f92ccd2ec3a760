//! OMNI at netserver (control-protocol.md 2.5).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use netperf_model::plan::TouchPlan;
use netperf_model::{
    Address, CpuPlan, CpuUsage, Duplex, EndJob, EndPlan, EndResult, Flow, IoPlan, Limit, PacePlan,
    PlacePlan, Routing, SocketPlan, TransportId,
};
use netperf_wire::messages::{Extension, ItemKind, OmniRequest, OmniResponse, OmniResults};
use netperf_wire::{
    Frame, Header, Message, OmniFlags, RemoteErrno, RequestKind, Stage, words_to_ip,
};

use super::{Ready, from_wire, to_wire};
use crate::appendix::Appendices;
use crate::{extension, numbers, one_port, paths, quality, rate, series, stamps};

/// The job of a request, with the extension of this program's clients.
pub(super) fn job(
    request: &OmniRequest,
    frame: &Frame,
    peer: Option<IpAddr>,
) -> Result<EndJob, RemoteErrno> {
    let asked = extension::of_request(frame).unwrap_or_default();
    let transport = match extension::transport(&asked).map_err(|_| RemoteErrno::EPROTONOSUPPORT)? {
        Some(named) => named,
        None => from_wire::transport(request.socket_type, request.protocol)?,
    };
    let family = from_wire::family(request.ipfamily)?;
    let mut end = end(request, transport)?;
    paths::asked_switches(&asked, &mut end)?;
    let flow = flow(request, end.duplex)?;
    let bind = words_to_ip(request.netserver_ip, request.ipfamily)
        .filter(|address| !address.is_unspecified());
    let (request_size, response_size) = message_sizes(request)?;
    if let (Some(cpu), Some(method)) = (&mut end.cpu, extension::cpu_method(&asked)) {
        cpu.method = method;
    }
    end.place = extension::place(&asked);
    paths::asked(&asked, &mut end)?;
    end.stamps = stamps::asked(&asked)?;
    end.series = series::asked(&asked)?;
    end.rate = rate::asked(&asked)?;
    end.numbers = numbers::read(&asked);
    end.flow_counts = asked.value(ItemKind::FlowCounts).is_some();
    let limit = shortened(from_wire::limit(request.test_length), end.short_by)?;
    // Only an end that alone sends has a rate, or can be told to stop.
    let alone = flow == Flow::RECEIVE;
    let stops = alone && transport.hears_of_an_end();
    if (end.rate.is_some() && !alone) || (end.until && !stops) {
        return Err(RemoteErrno::EINVAL);
    }
    Ok(EndJob {
        request: request_size,
        response: response_size,
        end,
        bind,
        data_from: words_to_ip(request.netperf_ip, request.ipfamily)
            .filter(|address| !address.is_unspecified()),
        port: from_wire::port(request.data_port)?,
        peer: match extension::socket_address(&asked, transport) {
            Some(own) => Some(own),
            None => datagram_peer(request, peer)?.map(Address::Inet),
        },
        facts: extension::facts_wanted(&asked),
        flows: extension::flows(&asked)?,
        ..EndJob::new(transport, family, flow, limit)
    })
}

/// The limit of a test that is so much shorter than its whole seconds.
fn shortened(limit: Limit, short_by: Option<Duration>) -> Result<Limit, RemoteErrno> {
    match (limit, short_by) {
        (limit, None) => Ok(limit),
        (Limit::Time(time), Some(short_by)) => time
            .checked_sub(short_by)
            .map(Limit::Time)
            .ok_or(RemoteErrno::EINVAL),
        (Limit::Units(_) | Limit::Messages(_) | Limit::UntilStopped, Some(_)) => {
            Err(RemoteErrno::EINVAL)
        }
    }
}

/// The request has netserver's view of the direction, a plan has netperf's.
fn flow(request: &OmniRequest, both_ways: bool) -> Result<Flow, RemoteErrno> {
    if both_ways {
        return Ok(Flow::both_ways(Duplex::Same));
    }
    let flow = Flow {
        sends: request.direction.receives(),
        receives: request.direction.transmits(),
        connects: request.flags.contains(OmniFlags::CONNECTION_TEST),
        duplex: None,
    };
    if flow.sends || flow.receives || flow.connects {
        Ok(flow)
    } else {
        Err(RemoteErrno::EINVAL)
    }
}

/// A size above 0 makes a direction one of messages.
fn message_sizes(request: &OmniRequest) -> Result<(Option<u32>, Option<u32>), RemoteErrno> {
    Ok((
        from_wire::derived(request.request_size)?,
        from_wire::derived(request.response_size)?,
    ))
}

fn end(request: &OmniRequest, transport: TransportId) -> Result<EndPlan, RemoteErrno> {
    let flags = request.flags;
    let measures = flags.contains(OmniFlags::MEASURE_CPU);
    Ok(EndPlan {
        socket: socket(request, transport)?,
        send: from_wire::ring(
            from_wire::derived(request.send_size)?,
            request.send_width,
            request.send_alignment,
            request.send_offset,
        )?,
        recv: from_wire::ring(
            from_wire::derived(request.receive_size)?,
            request.recv_width,
            request.recv_alignment,
            request.recv_offset,
        )?,
        cpu: measures.then_some(CpuPlan {
            rate: Some(request.cpu_rate),
            ..CpuPlan::default()
        }),
        bind: None,
        fill: Some(request.fill_file.as_str_lossy())
            .filter(|name| !name.is_empty())
            .map(|name| name.into_owned().into()),
        pace: pace(request),
        touch: touch(request),
        copy_avoidance: request.so_rcvavoid == 1,
        place: PlacePlan::default(),
        io: IoPlan::default(),
        series: None,
        stamps: None,
        flow_counts: false,
        arrivals: false,
        arrivals_every: None,
        failed_sends: false,
        rate: None,
        auto_io: false,
        sequence: false,
        duplex: false,
        one_port: false,
        until: false,
        numbers: None,
        short_by: None,
    })
}

/// An end that only receives is not paced: its sender is.
fn pace(request: &OmniRequest) -> Option<PacePlan> {
    let interval = Duration::from_micros(u64::from(request.interval_usecs));
    let paced = request.interval_burst > 0 && !interval.is_zero();
    (paced && request.direction.transmits()).then_some(PacePlan {
        burst: request.interval_burst,
        interval,
    })
}

/// Counts below 0 come from clients that have no such thing.
fn touch(request: &OmniRequest) -> TouchPlan {
    let count = |count: i32| u32::try_from(count).unwrap_or(0);
    TouchPlan {
        dirty: count(request.send_dirty_count),
        clean: count(request.recv_clean_count),
    }
}

fn socket(request: &OmniRequest, transport: TransportId) -> Result<SocketPlan, RemoteErrno> {
    let flags = request.flags;
    let routed = flags.contains(OmniFlags::ROUTING_ALLOWED);
    let congestion = request.cong_control.as_str_lossy();
    Ok(SocketPlan {
        send_buffer: from_wire::size(request.send_buf_size)?,
        recv_buffer: from_wire::size(request.recv_buf_size)?,
        nodelay: flags.contains(OmniFlags::NO_DELAY) && transport.is_connected(),
        keepalive: flags.contains(OmniFlags::KEEP_ALIVE),
        routing: if routed {
            Routing::Routed
        } else {
            Routing::DirectOnly
        },
        priority: (request.socket_prio >= 0).then_some(request.socket_prio),
        tos: u8::try_from(request.socket_tos).ok().filter(|tos| *tos > 0),
        congestion: (!congestion.is_empty()).then(|| congestion.into_owned()),
        packet_info: flags.contains(OmniFlags::PACKET_INFO),
        defer_accept: flags.contains(OmniFlags::DEFER_ACCEPT),
        fast_open: flags.contains(OmniFlags::FAST_OPEN),
        connected_datagram: flags.contains(OmniFlags::CONNECT_UDP),
        no_fragmentation: flags.contains(OmniFlags::PATH_MTU_DISCOVERY),
        ..SocketPlan::default()
    })
}

/// Destination of datagrams before the first one arrives: the address in the request, or that
/// of the control connection if the request has none.
fn datagram_peer(
    request: &OmniRequest,
    peer: Option<IpAddr>,
) -> Result<Option<SocketAddr>, RemoteErrno> {
    let port = from_wire::port(request.netperf_port)?;
    let address = words_to_ip(request.netperf_ip, request.ipfamily)
        .filter(|address| !address.is_unspecified())
        .or(peer);
    Ok(address
        .filter(|_| port != 0)
        .map(|address| SocketAddr::new(address, port)))
}

pub(super) fn response(request: &OmniRequest, ready: &Ready, tells_cpu: bool) -> Frame {
    let setup = &ready.setup;
    let measures = request.flags.contains(OmniFlags::MEASURE_CPU);
    // A direction that is not used echoes what was asked for.
    let or_echo = |size: Option<u32>, asked: i32| size.map_or(asked, to_wire::signed);
    let width =
        |used: bool, width: u32, asked: u32| to_wire::signed(if used { width } else { asked });
    let (sends, receives) = (setup.send_size.is_some(), setup.recv_size.is_some());
    let message = OmniResponse {
        recv_buf_size: to_wire::size(setup.recv_buffer),
        receive_size: or_echo(setup.recv_size, request.receive_size),
        recv_width: width(receives, setup.recv_width, request.recv_width),
        send_buf_size: to_wire::size(setup.send_buffer),
        send_size: or_echo(setup.send_size, request.send_size),
        send_width: width(sends, setup.send_width, request.send_width),
        flags: OmniFlags::NONE
            .with(OmniFlags::NO_DELAY, setup.nodelay)
            .with(OmniFlags::MEASURE_CPU, measures),
        cpu_rate: match request.cpu_rate {
            _ if !measures => 0.0,
            rate if rate > 0.0 => rate,
            _ => ready.cpu_rate,
        },
        so_rcvavoid: u32::from(request.so_rcvavoid == 1),
        so_sndavoid: u32::from(request.so_sndavoid == 1),
        data_port: ready.data_port,
        interval_burst: pace(request).map_or(0, |_| request.interval_burst),
        interval_usecs: pace(request).map_or(0, |_| request.interval_usecs),
        socket_prio: setup.priority,
        socket_tos: setup.tos,
        ..OmniResponse::default()
    };
    let mut frame = message.encode(Header::response(RequestKind::Omni));
    let mut told = Extension::default();
    extension::confirm(&mut told, ready.transport, ready.address.as_ref());
    extension::tell_ports(&ready.ports, &mut told);
    if ready.as_asked {
        paths::confirm(&mut told, &setup.settings);
    }
    if let Some(token) = &ready.token {
        one_port::tell(&mut told, token);
    }
    numbers::tell(&mut told, ready.numbers);
    if tells_cpu {
        extension::tell_cpu(setup.cpu_refused, &mut told);
    }
    if let Some(facts) = &ready.host {
        extension::tell(facts, message, &mut told, &mut frame);
    }
    if !told.is_empty() {
        extension::append(&told, Stage::Response, &mut frame);
    }
    frame
}

pub(super) fn results(result: &EndResult, failed_sends: bool) -> Frame {
    let (tally, cpu) = (&result.tally, result.cpu);
    let message = OmniResults {
        bytes_received: tally.bytes_received,
        recv_calls: to_wire::wrapping(tally.recv_calls),
        recv_buf_size: to_wire::size(result.recv_buffer_end),
        bytes_sent: tally.bytes_sent,
        send_calls: to_wire::wrapping(tally.send_calls),
        send_buf_size: to_wire::size(result.send_buffer_end),
        failed_sends: to_wire::wrapping(tally.failed_sends),
        trans_received: to_wire::wrapping(tally.transactions),
        elapsed_time: to_wire::float(result.elapsed),
        transport_retrans: to_wire::size(result.retransmissions),
        cong_control: netperf_wire::FixedStr::from_str_truncated(
            result.congestion.as_deref().unwrap_or_default(),
        ),
        ..OmniResults::default()
    };
    let message = match cpu {
        Some(cpu) => with_cpu(message, cpu),
        None => message,
    };
    let mut frame = message.encode(Header::results(RequestKind::Omni));
    let mut told = Extension::default();
    if let Some(worker_threads) = &result.worker_threads {
        extension::tell_worker_threads(worker_threads, &mut told);
    }
    // Counts of system calls, if the data path was requested.
    if let Some(counts) = &result.io {
        paths::tell_counts(&mut told, counts, &result.tally);
    }
    Appendices::of(result).announce(&mut told);
    if let Some(paced) = &result.paced {
        rate::tell(&mut told, paced);
    }
    if let Some(found) = &result.quality {
        quality::tell(&mut told, found);
    }
    if failed_sends || !told.is_empty() {
        told.push_optional(ItemKind::FailedSends, &tally.failed_sends.to_be_bytes());
        extension::append(&told, Stage::Results, &mut frame);
    }
    frame
}

fn with_cpu(message: OmniResults, cpu: CpuUsage) -> OmniResults {
    OmniResults {
        cpu_util: to_wire::float(cpu.busy),
        cpu_percent_user: to_wire::float(cpu.shares.user),
        cpu_percent_system: to_wire::float(cpu.shares.system),
        cpu_percent_iowait: to_wire::float(cpu.shares.iowait),
        cpu_percent_irq: to_wire::float(cpu.shares.irq),
        cpu_percent_swintr: to_wire::float(cpu.shares.softirq),
        cpu_method: cpu.method.code(),
        num_cpus: cpu.cpus,
        peak_cpu_id: cpu.peak_id,
        peak_cpu_util: to_wire::float(cpu.peak_busy),
        ..message
    }
}
