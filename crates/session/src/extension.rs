//! The extension block between two ends of this program (docs/spec/extension.md).
//!
//! netperf asks in the request. A netserver that knows the block answers in the response; the
//! response of any other cannot be mistaken for such an answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netperf_model::host::{
    FactsWanted, HostFacts, PciIds, SecurityFacts, SecurityKind, SecurityMode, tidy,
};
use netperf_model::many::{Placement, WorkerThreads, Workers, cpu_list, cpu_list_text};
use netperf_model::{Abilities, Address, CpuMethod, EndFlows, PlacePlan, TransportId};
use netperf_wire::messages::{Extension, ItemKind, OmniResponse};
use netperf_wire::{FixedStr, Frame, Header, Message, RemoteErrno, RequestKind, Stage};

use crate::paths::NotUnderstood;
use crate::{access, paths};

/// The kinds in a request that only a coordinator sends.
pub(crate) fn coordination(frame: &Frame) -> Vec<u8> {
    of_request(frame).map_or_else(Vec::new, |asked| asked.coordination())
}

/// Says that these are not offered here.
pub(crate) fn refuse_coordination(kinds: &[u8], frame: &mut Frame) {
    let mut told = Extension::default();
    told.push_optional(ItemKind::NotOffered, kinds);
    append(&told, Stage::Response, frame);
}

/// Writes items behind an answer. Where one does not fit the answer is a refusal that names it.
pub(crate) fn append(extension: &Extension, stage: Stage, frame: &mut Frame) {
    if let Err(error) = extension.encode_over(stage, frame) {
        let header = Header::response(frame.request()).with_errno(RemoteErrno::EMSGSIZE);
        *frame = access::refusal_record(header, &error.to_string());
    }
}

/// The item kind by which netserver treats netperf as part of a campaign.
pub(crate) fn campaigning(stage: Stage, frame: &Frame) -> Option<u8> {
    let told = Extension::decode(stage, frame).ok().flatten()?;
    told.coordination().first().copied()
}

/// The bit of [`ItemKind::Wants`] that asks for the facts of netserver's host.
const WANTS_FACTS: u32 = 1;

/// The bit of [`ItemKind::Wants`] that asks for its settings besides, as an appendix.
const WANTS_SETTINGS: u32 = 4;

/// The bit of [`ItemKind::Wants`] that asks what netserver can do.
const WANTS_ABILITIES: u32 = 2;

/// The bit of [`ItemKind::Wants`] that asks why netserver does not serve the client.
const WANTS_REASON: u32 = 8;

/// The bit of [`ItemKind::Wants`] that asks whether netserver is bound to the CPU of the request.
const WANTS_CPU: u32 = 16;

/// Asks why netserver does not serve this client, and what it can do if it does.
pub(crate) fn ask_reason(extension: &mut Extension) {
    let wants = WANTS_ABILITIES | WANTS_REASON;
    extension.push(ItemKind::Wants, &wants.to_be_bytes());
}

/// Returns true if a request asks why netserver does not serve the client.
pub(crate) fn wants_reason(frame: &Frame) -> bool {
    frame.request() == RequestKind::CpuCalibrate
        && of_request(frame).is_some_and(|asked| wants(&asked) & WANTS_REASON != 0)
}

/// Asks what netserver can do: a stock one does not answer that.
pub(crate) fn greet(extension: &mut Extension) {
    extension.push(ItemKind::Wants, &WANTS_ABILITIES.to_be_bytes());
}

/// True if a request asks for netserver's capabilities.
pub(crate) fn is_greeting(extension: &Extension) -> bool {
    wants(extension) & WANTS_ABILITIES != 0
}

/// Tells what this netserver can do.
pub(crate) fn tell_abilities(abilities: &Abilities, frame: &mut Frame) {
    let words = |transports: &[TransportId]| {
        let words = transports.iter().map(|transport| transport.row().option);
        words.collect::<Vec<&str>>().join(" ")
    };
    let mut extension = Extension::default();
    extension.push(
        ItemKind::Transports,
        words(&abilities.transports).as_bytes(),
    );
    if let Some(flows) = abilities.flows {
        extension.push(ItemKind::MostFlows, &flows.to_be_bytes());
    }
    let features = paths::words(&abilities.features);
    extension.push(ItemKind::Features, features.as_bytes());
    if !abilities.off.is_empty() {
        extension.push_optional(ItemKind::TransportsOff, words(&abilities.off).as_bytes());
    }
    if !abilities.features_off.is_empty() {
        let off = paths::words(&abilities.features_off);
        extension.push_optional(ItemKind::FeaturesOff, off.as_bytes());
    }
    append(&extension, Stage::Response, frame);
}

/// The capabilities of a netserver; `None` from a stock one.
pub(crate) fn abilities(frame: &Frame) -> Option<Abilities> {
    let extension = Extension::decode(Stage::Response, frame).ok().flatten()?;
    // A name that is not known here is of a transport that cannot be asked for.
    let transports = |words: &str| -> Vec<TransportId> {
        words
            .split(' ')
            .filter_map(TransportId::from_option)
            .collect()
    };
    let words = text(&extension, ItemKind::Transports)?;
    let off = text(&extension, ItemKind::TransportsOff).unwrap_or_default();
    let features = text(&extension, ItemKind::Features).unwrap_or_default();
    let features_off = text(&extension, ItemKind::FeaturesOff).unwrap_or_default();
    Some(Abilities {
        transports: transports(&words),
        off: transports(&off),
        flows: number(&extension, ItemKind::MostFlows),
        features: paths::features(&features),
        features_off: paths::features(&features_off),
    })
}

/// Asks for a transport that OMNI itself cannot name, and tells what goes with it.
pub(crate) fn ask_for_transport(
    extension: &mut Extension,
    transport: TransportId,
    place: &PlacePlan,
    own: Option<&Address>,
) {
    if transport.row().stock {
        return;
    }
    extension.push(ItemKind::Transport, transport.row().option.as_bytes());
    if let Some(own) = own.filter(|own| own.inet().is_none()) {
        extension.push(ItemKind::SocketAddress, own.to_string().as_bytes());
    }
    if let Some(device) = &place.device {
        extension.push(ItemKind::Device, device.as_bytes());
    }
    if let Some(unit) = place.unit {
        extension.push(ItemKind::Unit, &unit.to_be_bytes());
    }
    if let Some(sap) = place.sap {
        extension.push(ItemKind::AccessPoint, &[sap]);
    }
    if place.window.is_some() || place.recv_window.is_some() {
        let windows = [place.window, place.recv_window].map(Option::unwrap_or_default);
        extension.push(
            ItemKind::Window,
            windows.map(u32::to_be_bytes).as_flattened(),
        );
    }
}

/// The transport that is asked for by name.
///
/// # Errors
/// The name, where this end does not know it.
pub(crate) fn transport(extension: &Extension) -> Result<Option<TransportId>, String> {
    let Some(word) = text(extension, ItemKind::Transport) else {
        return Ok(None);
    };
    TransportId::from_option(&word).map(Some).ok_or(word)
}

/// The address of the sender's data socket, for a transport without IP addresses. With IP,
/// data goes only between the two hosts of the control connection.
pub(crate) fn socket_address(extension: &Extension, transport: TransportId) -> Option<Address> {
    let told: Address = text(extension, ItemKind::SocketAddress)?.parse().ok()?;
    Some(told).filter(|told| !transport.is_inet() && told.domain() == transport.row().domain)
}

/// Location of netserver's data socket.
pub(crate) fn place(extension: &Extension) -> PlacePlan {
    let (window, recv_window) = windows(extension);
    PlacePlan {
        directory: None,
        device: text(extension, ItemKind::Device),
        unit: number(extension, ItemKind::Unit).map(|unit| i32::from_be_bytes(unit.to_be_bytes())),
        sap: match extension.value(ItemKind::AccessPoint) {
            Some([sap]) => Some(*sap),
            Some(_) | None => None,
        },
        window,
        recv_window,
    }
}

/// The windows for sending and receiving; 0 stands for no request.
fn windows(extension: &Extension) -> (Option<u32>, Option<u32>) {
    let value = extension.value(ItemKind::Window).unwrap_or_default();
    let mut windows = value.chunks_exact(4).map(|frames| {
        let frames = <[u8; 4]>::try_from(frames).map(u32::from_be_bytes);
        frames.ok().filter(|&frames| frames > 0)
    });
    (windows.next().flatten(), windows.next().flatten())
}

/// Asks for many flows, and for how they are served.
pub(crate) fn ask_for_flows(extension: &mut Extension, flows: u32, workers: &Workers) {
    extension.push(ItemKind::Flows, &flows.to_be_bytes());
    extension.push(ItemKind::FlowCounts, &[]);
    if let Some(threads) = workers.threads {
        extension.push(ItemKind::Threads, &threads.to_be_bytes());
    }
    if !workers.cpus.is_empty() {
        let text = cpu_list_text(&workers.cpus);
        extension.push(ItemKind::Cpus, text.as_bytes());
    }
    if let Some(place) = workers.place {
        extension.push(ItemKind::Placement, place.to_string().as_bytes());
    }
}

/// The number of flows requested, and their threads.
///
/// # Errors
/// When an item is invalid.
pub(crate) fn flows(extension: &Extension) -> Result<Option<EndFlows>, NotUnderstood> {
    let Some(flows) = number(extension, ItemKind::Flows) else {
        return Ok(None);
    };
    if flows == 0 {
        return Err(NotUnderstood);
    }
    let word = |kind| text(extension, kind);
    let cpus = word(ItemKind::Cpus).map(|list| cpu_list(&list).ok_or(NotUnderstood));
    let place = word(ItemKind::Placement).map(|word| Placement::named(&word).ok_or(NotUnderstood));
    let workers = Workers {
        threads: number(extension, ItemKind::Threads),
        cpus: cpus.transpose()?.unwrap_or_default(),
        place: place.transpose()?,
    };
    Ok(Some(EndFlows::new(flows, workers)))
}

/// Number of port ranges that fit into a response.
const MOST_RUNS_OF_PORTS: usize = 60;

/// Adds the ports of the flows, if each has a separate one.
pub(crate) fn tell_ports(ports: &[u16], extension: &mut Extension) {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for port in ports {
        match runs.last_mut() {
            Some((first, count)) if first.checked_add(*count) == Some(*port) => *count += 1,
            Some(_) | None => runs.push((*port, 1)),
        }
    }
    if !runs.is_empty() && runs.len() <= MOST_RUNS_OF_PORTS {
        let bytes = runs.iter().flat_map(|(first, count)| [*first, *count]);
        let bytes: Vec<u8> = bytes.flat_map(u16::to_be_bytes).collect();
        extension.push(ItemKind::Ports, &bytes);
    }
}

/// The ports that a response tells, in order; none where flows share one.
pub(crate) fn ports(frame: &Frame) -> Vec<u16> {
    let extension = Extension::decode(Stage::Response, frame).ok().flatten();
    let bytes = extension
        .as_ref()
        .and_then(|extension| extension.value(ItemKind::Ports))
        .unwrap_or_default();
    let runs = bytes.chunks_exact(4).filter_map(|run| {
        let [first, second, third, fourth] = *<&[u8; 4]>::try_from(run).ok()?;
        let (first, count) = (
            u16::from_be_bytes([first, second]),
            u16::from_be_bytes([third, fourth]),
        );
        Some(first..first.saturating_add(count))
    });
    runs.flatten().collect()
}

/// Tells by how many threads flows were served, and where those ran.
pub(crate) fn tell_worker_threads(worker_threads: &WorkerThreads, extension: &mut Extension) {
    extension.push(ItemKind::Threads, &worker_threads.threads.to_be_bytes());
    let cpus = cpu_list_text(&worker_threads.cpus);
    // A list of CPUs that does not fit its item is left out: cut, it would be another
    // list.
    if !cpus.is_empty() && cpus.len() <= ItemKind::Cpus.space() {
        extension.push(ItemKind::Cpus, cpus.as_bytes());
    }
}

/// The threads that results tell of.
pub(crate) fn worker_threads(frame: &Frame) -> Option<WorkerThreads> {
    let extension = Extension::decode(Stage::Results, frame).ok().flatten()?;
    let cpus = text(&extension, ItemKind::Cpus).and_then(|list| cpu_list(&list));
    Some(WorkerThreads {
        threads: number(&extension, ItemKind::Threads)?,
        cpus: cpus.unwrap_or_default(),
    })
}

fn number(extension: &Extension, kind: ItemKind) -> Option<u32> {
    let bytes = extension.value(kind)?.try_into().ok()?;
    Some(u32::from_be_bytes(bytes))
}

fn text(extension: &Extension, kind: ItemKind) -> Option<String> {
    extension.value(kind).and_then(told_text)
}

/// Asks for the facts and settings of netserver's host, which netperf sends its data to at this
/// address, and whether netserver is bound to a CPU.
pub(crate) fn ask_for_facts(extension: &mut Extension, of: Option<IpAddr>, binds: bool) {
    let facts = of.map_or(0, |_| WANTS_FACTS | WANTS_SETTINGS);
    let wants = facts | if binds { WANTS_CPU } else { 0 };
    if wants != 0 {
        extension.push(ItemKind::Wants, &wants.to_be_bytes());
    }
    match of {
        Some(IpAddr::V4(to)) => extension.push(ItemKind::DataAddress, &to.octets()),
        Some(IpAddr::V6(to)) => extension.push(ItemKind::DataAddress, &to.octets()),
        None => {}
    }
}

/// Returns true if a request asks whether netserver is bound to a CPU.
pub(crate) fn wants_cpu(extension: &Extension) -> bool {
    wants(extension) & WANTS_CPU != 0
}

/// Tells whether netserver is bound to the CPU of the request.
pub(crate) fn tell_cpu(refused: Option<i32>, told: &mut Extension) {
    let errno = refused.unwrap_or(0);
    told.push_optional(ItemKind::CpuRefused, &errno.to_be_bytes());
}

/// The error number if netserver is not bound to the CPU of the request.
pub(crate) fn cpu_refused(told: &Extension) -> Option<i32> {
    let bytes = told.value(ItemKind::CpuRefused)?.first_chunk()?;
    Some(i32::from_be_bytes(*bytes)).filter(|errno| *errno != 0)
}

/// Asks for a CPU method; netserver uses its own where it does not have it.
pub(crate) fn ask_for_method(extension: &mut Extension, method: CpuMethod) {
    if let Ok(code) = u8::try_from(method.code()) {
        extension.push(ItemKind::CpuMethod, &[code]);
    }
}

/// The request's extension; one that is broken is as good as none.
pub(crate) fn of_request(frame: &Frame) -> Option<Extension> {
    Extension::decode(Stage::Request, frame).ok().flatten()
}

/// The facts that a request asks for.
pub(crate) fn facts_wanted(extension: &Extension) -> Option<FactsWanted> {
    let bits = wants(extension);
    let address = extension.value(ItemKind::DataAddress).and_then(ip);
    (bits & WANTS_FACTS != 0).then_some(FactsWanted {
        reached_at: address,
        settings: bits & WANTS_SETTINGS != 0,
    })
}

fn wants(extension: &Extension) -> u32 {
    number(extension, ItemKind::Wants).unwrap_or(0)
}

/// The CPU method that is wanted, if it is one that can be.
pub(crate) fn cpu_method(extension: &Extension) -> Option<CpuMethod> {
    let [code] = extension.value(ItemKind::CpuMethod)? else {
        return None;
    };
    match CpuMethod::from_code(u32::from(*code)) {
        CpuMethod::None | CpuMethod::Other(_) => None,
        method @ (CpuMethod::ProcStat | CpuMethod::Looper) => Some(method),
    }
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(bytes).into());
    }
    let bytes = <[u8; 16]>::try_from(bytes).ok()?;
    Some(Ipv6Addr::from(bytes).to_canonical())
}

/// Repeats the transport that was asked for by name, and tells where the data socket is.
pub(crate) fn confirm(extension: &mut Extension, transport: TransportId, at: Option<&Address>) {
    if transport.row().stock {
        return;
    }
    extension.push(ItemKind::Transport, transport.row().option.as_bytes());
    if let Some(at) = at.filter(|at| at.inet().is_none()) {
        extension.push(ItemKind::SocketAddress, at.to_string().as_bytes());
    }
}

/// Puts facts into a response: into the fields that are there for them, and the rest
/// behind it. `message` is what the response says otherwise.
pub(crate) fn tell(
    facts: &HostFacts,
    message: OmniResponse,
    extension: &mut Extension,
    frame: &mut Frame,
) {
    let security = &facts.security;
    let kind = security.kind.map_or(0, SecurityKind::id);
    let mode = security.mode.map_or(0, SecurityMode::id);
    let message = OmniResponse {
        cpu_frequency: facts.cpu_frequency.unwrap_or(0),
        security_info: u32::from(kind) << 16 | u32::from(mode),
        system_model: fixed(facts.system_model.as_deref()),
        cpu_model: fixed(facts.cpu_model.as_deref()),
        security_string: fixed(security.specific.as_deref()),
        ..message
    };
    message.encode_over(frame);
    extension.push(ItemKind::FieldsSet, &[]);
    for (kind, text) in texts(&mut facts.clone()) {
        if let Some(text) = text {
            extension.push_optional(kind, text.as_bytes());
        }
    }
    if let Some(ids) = facts.interface.pci {
        let [a, b, c, d] =
            [ids.vendor, ids.device, ids.subvendor, ids.subdevice].map(u16::to_be_bytes);
        extension.push_optional(ItemKind::PciIds, &[a, b, c, d].concat());
    }
}

/// Facts that are texts, each in an item.
fn texts(facts: &mut HostFacts) -> [(ItemKind, &mut Option<String>); 10] {
    let interface = &mut facts.interface;
    [
        (ItemKind::Sysname, &mut facts.sysname),
        (ItemKind::Release, &mut facts.release),
        (ItemKind::Version, &mut facts.version),
        (ItemKind::Machine, &mut facts.machine),
        (ItemKind::Interface, &mut interface.name),
        (ItemKind::Slot, &mut interface.slot),
        (ItemKind::Driver, &mut interface.driver),
        (ItemKind::DriverVersion, &mut interface.driver_version),
        (ItemKind::Firmware, &mut interface.firmware),
        (ItemKind::Bus, &mut interface.bus),
    ]
}

fn fixed<const N: usize>(text: Option<&str>) -> FixedStr<N> {
    FixedStr::from_str_truncated(text.unwrap_or_default())
}

/// The facts that a response tells; `None` from a stock netserver, whatever residue its
/// response holds.
pub(crate) fn told(message: &OmniResponse, frame: &Frame) -> Option<HostFacts> {
    let extension = Extension::decode(Stage::Response, frame).ok().flatten()?;
    extension.value(ItemKind::FieldsSet)?;
    let [_, kind, _, mode] = message.security_info.to_be_bytes();
    let mut facts = HostFacts {
        system_model: told_text(message.system_model.as_bytes()),
        cpu_model: told_text(message.cpu_model.as_bytes()),
        cpu_frequency: Some(message.cpu_frequency).filter(|megahertz| *megahertz > 0),
        security: SecurityFacts {
            kind: SecurityKind::from_id(kind),
            mode: SecurityMode::from_id(mode),
            specific: told_text(message.security_string.as_bytes()),
        },
        ..HostFacts::default()
    };
    facts.interface.pci = extension.value(ItemKind::PciIds).and_then(pci_ids);
    for (kind, fact) in texts(&mut facts) {
        *fact = text(&extension, kind);
    }
    Some(facts)
}

/// A peer's text as one line; a character that was cut in two is a mark.
fn told_text(bytes: &[u8]) -> Option<String> {
    tidy(&String::from_utf8_lossy(bytes))
}

fn pci_ids(bytes: &[u8]) -> Option<PciIds> {
    let [a, b, c, d, e, f, g, h] = <[u8; 8]>::try_from(bytes).ok()?;
    Some(PciIds {
        vendor: u16::from_be_bytes([a, b]),
        device: u16::from_be_bytes([c, d]),
        subvendor: u16::from_be_bytes([e, f]),
        subdevice: u16::from_be_bytes([g, h]),
    })
}
