//! netperf's plan as OMNI messages (control-protocol.md 2.5), with the extension where a
//! stock netserver would not understand.

use std::time::Duration;

use netperf_model::host::tidy;
use netperf_model::{
    Address, CpuMethod, CpuShares, CpuUsage, Domain, Duplex, EndPlan, EndResult, EndSetup, Feature,
    Limit, Many, Routing, SocketKind, Tally, TestId, TestPlan,
};
use netperf_wire::messages::{Extension, ItemKind, OmniRequest, OmniResponse, OmniResults};
use netperf_wire::{
    Direction, FixedStr, Frame, Message, OmniFlags, RequestKind, Stage, WireProtocol,
    WireSocketType, ip_to_words,
};

use super::{
    Agreement, LocalEnd, header, or_minus_one, seconds, signed, unusual_method, wire_family,
};
use crate::error::SessionError;
use crate::{extension, numbers, one_port, paths, quality, rate, series, stamps};

/// The request for one iteration.
pub(super) fn request(plan: &TestPlan, local: &LocalEnd) -> Result<Frame, SessionError> {
    let remote = &plan.remote;
    let own = local.socket.as_ref().and_then(Address::inet);
    // An interval without operations is nothing to ask for.
    let pace = remote.pace.filter(|pace| pace.burst > 0);
    let message = OmniRequest {
        send_buf_size: or_minus_one(remote.socket.send_buffer),
        send_size: or_minus_one(remote.send.size),
        send_alignment: signed(remote.send.align),
        send_offset: signed(remote.send.offset),
        send_width: remote.send.width.unwrap_or(0),
        request_size: or_minus_one(plan.request),
        recv_buf_size: or_minus_one(remote.socket.recv_buffer),
        receive_size: or_minus_one(remote.recv.size),
        recv_alignment: signed(remote.recv.align),
        recv_offset: signed(remote.recv.offset),
        recv_width: remote.recv.width.unwrap_or(0),
        response_size: or_minus_one(plan.response),
        flags: flags(plan),
        cpu_rate: remote.cpu.and_then(|cpu| cpu.rate).unwrap_or(0.0),
        test_length: test_length(plan),
        so_rcvavoid: i32::from(remote.copy_avoidance),
        so_sndavoid: i32::from(remote.copy_avoidance),
        send_dirty_count: signed(remote.touch.dirty),
        recv_dirty_count: signed(remote.touch.dirty),
        recv_clean_count: signed(remote.touch.clean),
        interval_burst: pace.map_or(0, |pace| pace.burst),
        interval_usecs: pace.map_or(0, |pace| {
            u32::try_from(pace.interval.as_micros()).unwrap_or(u32::MAX)
        }),
        data_port: u32::from(local.data_port),
        ipfamily: wire_family(local.family),
        socket_type: match plan.transport.row().kind {
            SocketKind::Stream => WireSocketType::Stream,
            SocketKind::Datagram => WireSocketType::Datagram,
            SocketKind::SeqPacket => WireSocketType::SeqPacket,
            SocketKind::Dccp => WireSocketType::Dccp,
        },
        protocol: WireProtocol::from_code(u32::from(plan.transport.row().protocol)),
        direction: servers_direction(plan),
        netperf_port: own.map_or(0, |own| u32::from(own.port())),
        netperf_ip: local.address.map_or([0; 4], ip_to_words),
        socket_prio: remote.socket.priority.unwrap_or(-1),
        socket_tos: remote.socket.tos.map_or(-1, i32::from),
        cong_control: text(remote.socket.congestion.as_deref()),
        fill_file: FixedStr::from_str_truncated(&fill_file(remote)),
        ..OmniRequest::default()
    };
    let mut frame = message.encode(header(plan, RequestKind::Omni));
    extend(plan, local, &mut frame)?;
    Ok(frame)
}

/// Asks for what only a netserver of ours can tell. A request that asks for none of it
/// is the one that a stock client would send.
fn extend(plan: &TestPlan, local: &LocalEnd, request: &mut Frame) -> Result<(), SessionError> {
    let mut asked = Extension::default();
    if let Some(method) = unusual_method(plan) {
        extension::ask_for_method(&mut asked, method);
    }
    extension::ask_for_facts(&mut asked, local.facts_of, plan.remote.bind.is_some());
    extension::ask_for_transport(
        &mut asked,
        plan.transport,
        &plan.remote.place,
        local.socket.as_ref(),
    );
    if let Some(many) = plan.many.as_ref().filter(|_| local.all_flows) {
        extension::ask_for_flows(&mut asked, many.flows, &many.remote);
    }
    paths::ask(&mut asked, &plan.remote);
    if let Some(by) = plan.remote.stamps {
        stamps::ask(&mut asked, by);
    }
    if let Some(plan) = plan.remote.series {
        series::ask(&mut asked, plan);
    }
    rate::ask(&mut asked, &plan.remote);
    paths::ask_switches(&mut asked, &plan.remote);
    numbers::tell(&mut asked, plan.remote.numbers);
    if !asked.is_empty() {
        asked.encode_over(Stage::Request, request)?;
    }
    Ok(())
}

fn flags(plan: &TestPlan) -> OmniFlags {
    let socket = &plan.remote.socket;
    OmniFlags::NONE
        .with(OmniFlags::NO_DELAY, socket.nodelay)
        .with(OmniFlags::CONNECTION_TEST, plan.flow.connects)
        .with(OmniFlags::MEASURE_CPU, plan.remote.cpu.is_some())
        .with(
            OmniFlags::ROUTING_ALLOWED,
            socket.routing == Routing::Routed,
        )
        .with(OmniFlags::FAST_OPEN, socket.fast_open)
        .with(OmniFlags::PACKET_INFO, socket.packet_info)
        .with(OmniFlags::CONNECT_UDP, socket.connected_datagram)
        .with(OmniFlags::DEFER_ACCEPT, socket.defer_accept)
        .with(OmniFlags::PATH_MTU_DISCOVERY, socket.no_fragmentation)
        .with(OmniFlags::KEEP_ALIVE, socket.keepalive)
}

/// Warm-up and cool-down of the flows, and the wait for their begin.
pub(super) fn margins(plan: &TestPlan) -> Duration {
    let margins = |many: &Many| many.lead + many.warmup + many.cooldown;
    plan.many.as_ref().map(margins).unwrap_or_default()
}

/// Seconds, rounded up, or minus the number of units; 0 until a signal.
fn test_length(plan: &TestPlan) -> i32 {
    match plan.limit {
        Limit::Time(time) => seconds(time + margins(plan)),
        // The receiver of messages does not count them: the association's end is its end.
        Limit::Units(units) | Limit::Messages(units) => {
            i32::try_from(units).map_or(i32::MIN, |units| -units)
        }
        Limit::UntilStopped => 0,
    }
}

fn servers_direction(plan: &TestPlan) -> Direction {
    // The segment size is read from a connection that carries nothing.
    if plan.test == TestId::TcpMss {
        return Direction::RECEIVE;
    }
    match (plan.flow.sends, plan.flow.receives) {
        (true, true) => Direction::BOTH,
        (true, false) => Direction::RECEIVE,
        (false, true) => Direction::TRANSMIT,
        (false, false) => Direction::NEITHER,
    }
}

fn fill_file(remote: &EndPlan) -> String {
    remote
        .fill
        .as_ref()
        .map(|path| path.display().to_string())
        .unwrap_or_default()
}

fn text<const N: usize>(value: Option<&str>) -> FixedStr<N> {
    FixedStr::from_str_truncated(value.unwrap_or_default())
}

/// The agreement in a response whose error number is 0.
///
/// # Errors
/// When it cannot be decoded or names no port.
pub(super) fn agreement(plan: &TestPlan, frame: &Frame) -> Result<Agreement, SessionError> {
    let response =
        OmniResponse::decode(frame).map_err(|e| SessionError::Malformed(e.to_string()))?;
    let told = Extension::decode(Stage::Response, frame).ok().flatten();
    let told = told.unwrap_or_default();
    if !plan.transport.row().stock && extension::transport(&told) != Ok(Some(plan.transport)) {
        // A stock netserver does not notice what it was asked for.
        return Err(SessionError::Unsupported(plan.transport));
    }
    let settings = paths::confirmed(&told);
    // Each of two sessions asks for what its direction has.
    let apart = plan.flow.duplex == Some(Duplex::Separate);
    let of_direction = [
        Feature::Until,
        Feature::ZeroCopy,
        Feature::Discard,
        Feature::Splice,
    ];
    let mut asked = plan.remote.features().into_iter();
    if settings.is_none() && asked.any(|feature| !(apart && of_direction.contains(&feature))) {
        return Err(SessionError::NotConfirmed);
    }
    let token = one_port::told(frame).filter(|_| plan.remote.one_port);
    if plan.remote.one_port && token.is_none() {
        return Err(SessionError::NotConfirmed);
    }
    let (data_port, address) = data_socket(plan, &response, &told)?;
    let flow = plan.flow;
    // A direction that is not active echoes what was asked for: -1.
    let size = |used: bool, size: i32| u32::try_from(size).ok().filter(|_| used);
    let width = |width: i32| u32::try_from(width).unwrap_or(0);
    Ok(Agreement {
        message: Box::new(frame.clone()),
        setup: EndSetup {
            send_buffer: u32::try_from(response.send_buf_size).ok(),
            recv_buffer: u32::try_from(response.recv_buf_size).ok(),
            send_size: size(flow.receives, response.send_size),
            recv_size: size(flow.sends, response.receive_size),
            send_width: width(response.send_width),
            recv_width: width(response.recv_width),
            nodelay: response.flags.contains(OmniFlags::NO_DELAY),
            priority: response.socket_prio,
            tos: response.socket_tos,
            settings: settings.unwrap_or_default(),
            cpu_refused: extension::cpu_refused(&told),
        },
        data_port,
        address,
        ports: extension::ports(frame),
        numbers: numbers::read(&told).filter(|told| numbers::asked(plan) == Some(*told)),
        token,
        measures_cpu: response.flags.contains(OmniFlags::MEASURE_CPU),
        host: extension::told(&response, frame).map(Box::new),
    })
}

/// Port and address of netserver's data socket.
fn data_socket(
    plan: &TestPlan,
    response: &OmniResponse,
    told: &Extension,
) -> Result<(u32, Option<Address>), SessionError> {
    let address = extension::socket_address(told, plan.transport);
    let port = response.data_port;
    let known = match plan.transport.row().domain {
        Domain::Inet => (1..=u32::from(u16::MAX)).contains(&port),
        Domain::Unix | Domain::Vsock | Domain::Link | Domain::Atm => address.is_some(),
    };
    if known {
        Ok((port, address))
    } else {
        Err(SessionError::Malformed(format!("the data port is {port}")))
    }
}

/// The result in results whose error number is 0.
///
/// `cpu` tells whether netserver measured its CPU: otherwise those fields hold
/// whatever its buffer held before (control-protocol.md 1.6).
///
/// # Errors
/// When they cannot be decoded.
pub(super) fn results(
    plan: &TestPlan,
    cpu: bool,
    frame: &Frame,
) -> Result<EndResult, SessionError> {
    let results = OmniResults::decode(frame).map_err(|e| SessionError::Malformed(e.to_string()))?;
    // The peer's text is printed on a terminal.
    let congestion = tidy(&results.cong_control.as_str_lossy());
    // Set only when this flag was on and a connection was open at the end.
    let congestion_is_set = plan.remote.socket.routing == Routing::Routed
        && plan.transport.is_connected()
        && !plan.flow.connects;
    let mut tally = Tally {
        bytes_sent: results.bytes_sent,
        bytes_received: results.bytes_received,
        send_calls: u64::from(results.send_calls),
        recv_calls: u64::from(results.recv_calls),
        failed_sends: 0,
        transactions: u64::from(results.trans_received),
        unanswered: 0,
    };
    let told = Extension::decode(Stage::Results, frame).ok().flatten();
    let io = told
        .as_ref()
        .and_then(|told| paths::counts(told, &mut tally));
    let failed = told.as_ref().and_then(failed_sends);
    tally.failed_sends = failed.unwrap_or(0);
    let row = plan.transport.row();
    let may_drop = plan.flow.receives && !plan.transport.is_connected() && !row.reliable;
    Ok(EndResult {
        calls_unknown: false,
        process_cpu: None,
        tally,
        sends_unknown: false,
        failed_sends_unknown: failed.is_none() && may_drop,
        elapsed: f64::from(results.elapsed_time),
        cpu: cpu.then(|| cpu_usage(&results)),
        send_buffer_end: u32::try_from(results.send_buf_size).ok(),
        recv_buffer_end: u32::try_from(results.recv_buf_size).ok(),
        retransmissions: u32::try_from(results.transport_retrans).ok(),
        congestion: congestion.filter(|_| congestion_is_set),
        fast_open: None,
        worker_threads: extension::worker_threads(frame),
        settings: None,
        flows: None,
        io,
        series: None,
        stamps: None,
        paced: told.as_ref().and_then(rate::told),
        arrivals: None,
        quality: quality::told(frame),
    })
}

/// Count of netserver's failed sends, which is not valid in a record without it.
fn failed_sends(told: &Extension) -> Option<u64> {
    let bytes = told.value(ItemKind::FailedSends)?.try_into().ok()?;
    Some(u64::from_be_bytes(bytes))
}

fn cpu_usage(results: &OmniResults) -> CpuUsage {
    let percent = |value: f32| {
        let value = f64::from(value);
        if value.is_finite() { value } else { 0.0 }
    };
    CpuUsage {
        method: CpuMethod::from_code(results.cpu_method),
        busy: percent(results.cpu_util),
        shares: CpuShares {
            user: percent(results.cpu_percent_user),
            system: percent(results.cpu_percent_system),
            iowait: percent(results.cpu_percent_iowait),
            irq: percent(results.cpu_percent_irq),
            softirq: percent(results.cpu_percent_swintr),
        },
        cpus: results.num_cpus,
        peak_id: results.peak_cpu_id,
        peak_busy: percent(results.peak_cpu_util),
    }
}
