//! What our own ends say to each other in the extension block (docs/spec/extension.md).
//!
//! netperf asks in the request; a netserver that knows the block answers in the
//! response, any other says nothing that could be taken for an answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netperf_model::CpuMethod;
use netperf_model::host::{
    FactsWanted, HostFacts, InterfaceFacts, PciIds, SecurityFacts, SecurityKind, SecurityMode, tidy,
};
use netperf_wire::messages::{Extension, ItemKind, OmniResponse};
use netperf_wire::{FixedStr, Frame, Message, Stage};

/// The bit of [`ItemKind::Wants`] that asks for the facts of netserver's host.
const WANTS_FACTS: u32 = 1;

/// Asks for the facts of netserver's host, which netperf sends its data to at `to`.
pub(crate) fn ask_for_facts(extension: &mut Extension, to: IpAddr) {
    extension.push(ItemKind::Wants, &WANTS_FACTS.to_be_bytes());
    match to {
        IpAddr::V4(to) => extension.push(ItemKind::DataAddress, &to.octets()),
        IpAddr::V6(to) => extension.push(ItemKind::DataAddress, &to.octets()),
    }
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

/// Whether facts are wanted.
pub(crate) fn facts_wanted(extension: &Extension) -> Option<FactsWanted> {
    let bits = extension.value(ItemKind::Wants)?;
    let bits = u32::from_be_bytes(bits.try_into().ok()?);
    let address = extension.value(ItemKind::DataAddress).and_then(ip);
    (bits & WANTS_FACTS != 0).then_some(FactsWanted {
        reached_at: address,
    })
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

/// Puts facts into a response: into the fields that are there for them, and the rest
/// behind it. `message` is what the response says otherwise.
pub(crate) fn tell(facts: &HostFacts, message: OmniResponse, frame: &mut Frame) {
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
    let mut extension = Extension::default();
    extension.push(ItemKind::FieldsSet, &[]);
    for (kind, text) in texts(facts) {
        if let Some(text) = text {
            extension.push(kind, text.as_bytes());
        }
    }
    if let Some(ids) = facts.interface.pci {
        let [a, b, c, d] =
            [ids.vendor, ids.device, ids.subvendor, ids.subdevice].map(u16::to_be_bytes);
        extension.push(ItemKind::PciIds, &[a, b, c, d].concat());
    }
    extension.encode_over(Stage::Response, frame);
}

fn texts(facts: &HostFacts) -> [(ItemKind, &Option<String>); 10] {
    let interface = &facts.interface;
    [
        (ItemKind::Sysname, &facts.sysname),
        (ItemKind::Release, &facts.release),
        (ItemKind::Version, &facts.version),
        (ItemKind::Machine, &facts.machine),
        (ItemKind::Interface, &interface.name),
        (ItemKind::Slot, &interface.slot),
        (ItemKind::Driver, &interface.driver),
        (ItemKind::DriverVersion, &interface.driver_version),
        (ItemKind::Firmware, &interface.firmware),
        (ItemKind::Bus, &interface.bus),
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
    let text = |kind| extension.value(kind).and_then(told_text);
    let [_, kind, _, mode] = message.security_info.to_be_bytes();
    Some(HostFacts {
        sysname: text(ItemKind::Sysname),
        release: text(ItemKind::Release),
        version: text(ItemKind::Version),
        machine: text(ItemKind::Machine),
        system_model: told_text(message.system_model.as_bytes()),
        cpu_model: told_text(message.cpu_model.as_bytes()),
        cpu_frequency: Some(message.cpu_frequency).filter(|megahertz| *megahertz > 0),
        interface: InterfaceFacts {
            name: text(ItemKind::Interface),
            pci: extension.value(ItemKind::PciIds).and_then(pci_ids),
            slot: text(ItemKind::Slot),
            driver: text(ItemKind::Driver),
            driver_version: text(ItemKind::DriverVersion),
            firmware: text(ItemKind::Firmware),
            bus: text(ItemKind::Bus),
        },
        security: SecurityFacts {
            kind: SecurityKind::from_id(kind),
            mode: SecurityMode::from_id(mode),
            specific: told_text(message.security_string.as_bytes()),
        },
    })
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
