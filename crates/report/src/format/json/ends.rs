//! The two ends: what they were asked to do, what they got, and what they are.

use std::borrow::Cow;

use netperf_model::{
    DataAddress, EndPlan, EndSetup, Family, Host, HostFacts, InterfaceFacts, IoPlan, PacePlan,
    PciIds, RingPlan, Routing, SecurityFacts, Setting, SettingType, SettingValue,
    Settings as SocketSettings, SocketPlan, Stamper,
};

use super::object::Fields;
use super::series::Watch;

/// One end.
#[derive(Debug)]
pub(super) struct End<'a> {
    name: Option<&'a str>,
    address: Option<String>,
    family: Option<&'static str>,
    /// The port of netserver's data socket, as netserver said.
    pub(super) data_port: Option<u32>,
    requested: Requested<'a>,
    agreed: Option<Agreed>,
    host: Option<Facts<'a>>,
}

object!(End<'_> {
    name,
    address,
    family,
    data_port,
    requested,
    agreed,
    host,
});

/// What was asked for; `null` left it to the system.
#[derive(Debug)]
struct Requested<'a> {
    host: &'a str,
    port: &'a str,
    family: &'static str,
    measures_cpu: bool,
    cpu_method: Option<char>,
    bind_cpu: Option<u32>,
    fill_file: Option<Cow<'a, str>>,
    dirty_bytes: u32,
    clean_bytes: u32,
    copy_avoidance: bool,
    numbers_datagrams: bool,
    io: Io,
    series: Option<Watch>,
    timestamps: Option<&'static str>,
    pace: Option<Pace>,
    send_buffers: Ring,
    recv_buffers: Ring,
    socket: Socket<'a>,
}

object!(Requested<'_> {
    host,
    port,
    family,
    measures_cpu,
    cpu_method,
    bind_cpu,
    fill_file,
    dirty_bytes,
    clean_bytes,
    copy_avoidance,
    numbers_datagrams,
    io,
    series,
    timestamps,
    pace,
    send_buffers,
    recv_buffers,
    socket,
});

/// How the end moves its bytes.
#[derive(Debug)]
struct Io {
    method: &'static str,
    chosen_by_trial: bool,
    zero_copy: bool,
    discard: bool,
    messages_per_call: u32,
    segment_offload: bool,
    splice: bool,
}

object!(Io {
    method,
    chosen_by_trial,
    zero_copy,
    discard,
    messages_per_call,
    segment_offload,
    splice,
});

#[derive(Debug)]
struct Pace {
    operations: u32,
    interval_seconds: f64,
}

object!(Pace {
    operations,
    interval_seconds,
});

#[derive(Debug)]
struct Ring {
    size_bytes: Option<u32>,
    count: Option<u32>,
    align_bytes: u32,
    offset_bytes: u32,
}

object!(Ring {
    size_bytes,
    count,
    align_bytes,
    offset_bytes,
});

#[derive(Debug)]
struct Socket<'a> {
    send_buffer_bytes: Option<u32>,
    recv_buffer_bytes: Option<u32>,
    segment_size_bytes: Option<u32>,
    nodelay: bool,
    cork: bool,
    keepalive: bool,
    debug: bool,
    routed: bool,
    priority: Option<i32>,
    type_of_service: Option<u8>,
    congestion_control: Option<&'a str>,
    packet_info: bool,
    defer_accept: bool,
    fast_open: bool,
    connected_datagram: bool,
    no_fragmentation: bool,
    multicast_ttl_hops: Option<u8>,
    settings: SocketSettings,
}

object!(Socket<'_> {
    send_buffer_bytes,
    recv_buffer_bytes,
    segment_size_bytes,
    nodelay,
    cork,
    keepalive,
    debug,
    routed,
    priority,
    type_of_service,
    congestion_control,
    packet_info,
    defer_accept,
    fast_open,
    connected_datagram,
    no_fragmentation,
    multicast_ttl_hops,
    ..settings,
});

/// Every setting of the table under its key: a switch as a boolean, others as `null` where
/// nobody asked.
impl Fields for SocketSettings {
    fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for setting in Setting::all() {
            let (key, value) = (setting.row().json, self.value(setting));
            match value {
                _ if setting.row().value == SettingType::Switch => {
                    map.serialize_entry(key, &value.is_some())?;
                }
                None => map.serialize_entry(key, &None::<u32>)?,
                Some(SettingValue::Number(number)) => map.serialize_entry(key, &number)?,
                Some(SettingValue::Name(name)) => map.serialize_entry(key, name.as_str())?,
            }
        }
        Ok(())
    }
}

/// What the end really has.
#[derive(Debug)]
struct Agreed {
    send_buffer_bytes: Option<u32>,
    recv_buffer_bytes: Option<u32>,
    send_size_bytes: Option<u32>,
    recv_size_bytes: Option<u32>,
    send_buffer_count: u32,
    recv_buffer_count: u32,
    nodelay: bool,
    priority: Option<i32>,
    type_of_service: Option<i32>,
}

object!(Agreed {
    send_buffer_bytes,
    recv_buffer_bytes,
    send_size_bytes,
    recv_size_bytes,
    send_buffer_count,
    recv_buffer_count,
    nodelay,
    priority,
    type_of_service,
});

#[derive(Debug)]
struct Facts<'a> {
    system: Option<&'a str>,
    release: Option<&'a str>,
    version: Option<&'a str>,
    machine: Option<&'a str>,
    system_model: Option<&'a str>,
    cpu_model: Option<&'a str>,
    cpu_frequency_megahertz: Option<u32>,
    interface: Interface<'a>,
    security: Security<'a>,
    settings: Option<Settings<'a>>,
}

/// Settings by their names.
#[derive(Debug)]
struct Settings<'a>(&'a [(String, String)]);

impl serde::Serialize for Settings<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

object!(Facts<'_> {
    system,
    release,
    version,
    machine,
    system_model,
    cpu_model,
    cpu_frequency_megahertz,
    interface,
    security,
    settings,
});

#[derive(Debug)]
struct Interface<'a> {
    name: Option<&'a str>,
    slot: Option<&'a str>,
    bus: Option<&'a str>,
    driver: Option<&'a str>,
    driver_version: Option<&'a str>,
    firmware: Option<&'a str>,
    pci: Option<Pci>,
}

object!(Interface<'_> {
    name,
    slot,
    bus,
    driver,
    driver_version,
    firmware,
    pci,
});

#[derive(Debug)]
struct Pci {
    vendor: u16,
    device: u16,
    subvendor: u16,
    subdevice: u16,
}

object!(Pci {
    vendor,
    device,
    subvendor,
    subdevice,
});

#[derive(Debug)]
struct Security<'a> {
    kind: Option<&'static str>,
    mode: Option<&'static str>,
    specific: Option<&'a str>,
}

object!(Security<'_> {
    kind,
    mode,
    specific,
});

impl<'a> End<'a> {
    /// An end of which only the plan is known.
    pub(super) fn asked(plan: &'a EndPlan, data: &'a DataAddress) -> Self {
        Self {
            name: None,
            address: None,
            family: None,
            data_port: None,
            requested: requested(plan, data),
            agreed: None,
            host: None,
        }
    }

    /// Adds what was found out.
    pub(super) fn know(
        &mut self,
        host: &'a Host,
        setup: Option<EndSetup>,
        facts: Option<&'a HostFacts>,
    ) {
        self.name = Some(&host.name);
        self.address = Some(match host.vsock {
            Some(cid) => cid.to_string(),
            None => host.address.to_string(),
        });
        self.family = Some(match host.vsock {
            Some(_) => "vsock",
            None => family(host.family()),
        });
        self.agreed = setup.map(agreed);
        self.host = facts.map(about);
    }
}

const fn family(family: Family) -> &'static str {
    match family {
        Family::Unspecified => "unspecified",
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

fn requested<'a>(plan: &'a EndPlan, data: &'a DataAddress) -> Requested<'a> {
    Requested {
        host: &data.host,
        port: &data.port,
        family: family(data.family),
        measures_cpu: plan.cpu.is_some(),
        cpu_method: plan.cpu.map(|cpu| cpu.method.letter()),
        bind_cpu: plan.bind,
        fill_file: plan.fill.as_ref().map(|path| path.to_string_lossy()),
        dirty_bytes: plan.touch.dirty,
        clean_bytes: plan.touch.clean,
        copy_avoidance: plan.copy_avoidance,
        numbers_datagrams: plan.sequence,
        io: io(plan),
        series: plan.series.as_ref().map(Watch::of),
        timestamps: plan.stamps.map(Stamper::word),
        pace: plan.pace.filter(|pace| pace.burst > 0).map(pace),
        send_buffers: ring(plan.send),
        recv_buffers: ring(plan.recv),
        socket: socket(&plan.socket),
    }
}

fn io(end: &EndPlan) -> Io {
    let plan: &IoPlan = &end.io;
    Io {
        method: plan.method.label(),
        chosen_by_trial: end.auto_io,
        zero_copy: plan.zerocopy,
        discard: plan.discard,
        messages_per_call: plan.batch.unwrap_or(1),
        segment_offload: plan.segments,
        splice: plan.splice,
    }
}

fn pace(plan: PacePlan) -> Pace {
    Pace {
        operations: plan.burst,
        interval_seconds: plan.interval.as_secs_f64(),
    }
}

const fn ring(plan: RingPlan) -> Ring {
    Ring {
        size_bytes: plan.size,
        count: plan.width,
        align_bytes: plan.align,
        offset_bytes: plan.offset,
    }
}

fn socket(plan: &SocketPlan) -> Socket<'_> {
    Socket {
        send_buffer_bytes: plan.send_buffer,
        recv_buffer_bytes: plan.recv_buffer,
        segment_size_bytes: plan.segment_size,
        nodelay: plan.nodelay,
        cork: plan.cork,
        keepalive: plan.keepalive,
        debug: plan.debug,
        routed: plan.routing == Routing::Routed,
        priority: plan.priority,
        type_of_service: plan.tos,
        congestion_control: plan.congestion.as_deref(),
        packet_info: plan.packet_info,
        defer_accept: plan.defer_accept,
        fast_open: plan.fast_open,
        connected_datagram: plan.connected_datagram,
        no_fragmentation: plan.no_fragmentation,
        multicast_ttl_hops: plan.multicast_ttl,
        settings: plan.settings,
    }
}

/// Numbers below zero say that it was not asked for or refused.
fn agreed(setup: EndSetup) -> Agreed {
    let set = |value: i32| Some(value).filter(|value| *value >= 0);
    Agreed {
        send_buffer_bytes: setup.send_buffer,
        recv_buffer_bytes: setup.recv_buffer,
        send_size_bytes: setup.send_size,
        recv_size_bytes: setup.recv_size,
        send_buffer_count: setup.send_width,
        recv_buffer_count: setup.recv_width,
        nodelay: setup.nodelay,
        priority: set(setup.priority),
        type_of_service: set(setup.tos),
    }
}

fn about(facts: &HostFacts) -> Facts<'_> {
    Facts {
        system: facts.sysname.as_deref(),
        release: facts.release.as_deref(),
        version: facts.version.as_deref(),
        machine: facts.machine.as_deref(),
        system_model: facts.system_model.as_deref(),
        cpu_model: facts.cpu_model.as_deref(),
        cpu_frequency_megahertz: facts.cpu_frequency,
        interface: interface(&facts.interface),
        security: security(&facts.security),
        settings: facts.settings.as_deref().map(Settings),
    }
}

fn interface(facts: &InterfaceFacts) -> Interface<'_> {
    Interface {
        name: facts.name.as_deref(),
        slot: facts.slot.as_deref(),
        bus: facts.bus.as_deref(),
        driver: facts.driver.as_deref(),
        driver_version: facts.driver_version.as_deref(),
        firmware: facts.firmware.as_deref(),
        pci: facts.pci.map(pci),
    }
}

const fn pci(ids: PciIds) -> Pci {
    Pci {
        vendor: ids.vendor,
        device: ids.device,
        subvendor: ids.subvendor,
        subdevice: ids.subdevice,
    }
}

fn security(facts: &SecurityFacts) -> Security<'_> {
    Security {
        kind: facts.kind.map(netperf_model::SecurityKind::label),
        mode: facts.mode.map(netperf_model::SecurityMode::label),
        specific: facts.specific.as_deref(),
    }
}
