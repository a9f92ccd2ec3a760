//! Facts about this host: what it is, and where a data connection leaves it.
//!
//! Files are read below a root directory, so that a test can describe any machine.

mod interface;
mod machine;
mod security;
mod settings;

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;

use netperf_model::host::{HostFacts, tidy};
use netperf_model::{Domain, PlacePlan, TransportId};
use netperf_os::net::{self, DriverInfo, InterfaceAddress, Offload};
use netperf_os::qdisc;
use netperf_os::system::{self, Names};

/// Number of bytes read from a file: enough for the first CPU of `/proc/cpuinfo`.
const LOOKED_AT: u64 = 16 * 1024;

/// The facts of this host; those of the interface are of the one that has the first
/// of `local_addresses` that is an address of this host. Settings are left out.
#[must_use]
pub fn facts(local_addresses: &[IpAddr]) -> HostFacts {
    collect(Path::new("/"), &Kernel::here(), local_addresses)
}

/// Facts including the host's settings, which take about forty more files and a kernel query.
#[must_use]
pub fn facts_and_settings(local_addresses: &[IpAddr]) -> HostFacts {
    let (root, kernel) = (Path::new("/"), Kernel::here());
    let interface = kernel.interface(local_addresses);
    HostFacts {
        settings: Some(with_version(settings::of(root, &kernel, interface))),
        ..collect(root, &kernel, local_addresses)
    }
}

/// Settings of this host that results depend on, and of the interface that has the first of
/// these addresses that is one of it.
#[must_use]
pub fn settings(local_addresses: &[IpAddr]) -> Vec<(String, String)> {
    let kernel = Kernel::here();
    let interface = kernel.interface(local_addresses);
    with_version(settings::of(Path::new("/"), &kernel, interface))
}

/// The settings, with the version of this program in front.
fn with_version(settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let version = ("netperf_version".to_owned(), version);
    std::iter::once(version).chain(settings).collect()
}

/// The name of the interface that has an address; `None` when none has.
#[must_use]
pub fn interface_of(address: IpAddr) -> Option<String> {
    let all = net::interface_addresses().unwrap_or_default();
    interface::name_of(&all, address).map(str::to_owned)
}

/// Names the interface of a link-level test that names none: the one whose address is that of the
/// control connection.
pub fn name_interface(place: &mut PlacePlan, transport: TransportId, address: Option<IpAddr>) {
    let is_open = place.device.is_none() && place.unit.is_none();
    if is_open && transport.row().domain == Domain::Link {
        place.device = address.and_then(interface_of);
    }
}

/// Answers of direct kernel queries.
struct Kernel<'a> {
    names: Names,
    addresses: Vec<InterfaceAddress>,
    driver_info: &'a dyn Fn(&str) -> io::Result<DriverInfo>,
    offload: &'a dyn Fn(&str, Offload) -> io::Result<bool>,
    qdisc: &'a dyn Fn(&str) -> io::Result<String>,
}

impl Kernel<'_> {
    fn here() -> Self {
        Self {
            names: system::names(),
            addresses: net::interface_addresses().unwrap_or_default(),
            driver_info: &net::driver_info,
            offload: &net::offload,
            qdisc: &qdisc::root_of,
        }
    }

    /// The interface that has the first of these addresses that is one of this host.
    fn interface(&self, local_addresses: &[IpAddr]) -> Option<&str> {
        local_addresses
            .iter()
            .find_map(|address| interface::name_of(&self.addresses, *address))
    }
}

fn collect(root: &Path, kernel: &Kernel<'_>, local_addresses: &[IpAddr]) -> HostFacts {
    let cpu = machine::cpu(root);
    let name = kernel.interface(local_addresses);
    HostFacts {
        sysname: tidy(&kernel.names.sysname),
        release: tidy(&kernel.names.release),
        version: tidy(&kernel.names.version),
        machine: tidy(&kernel.names.machine),
        system_model: machine::system_model(root),
        cpu_model: cpu.model,
        cpu_frequency: cpu.frequency,
        interface: name
            .map(|name| interface::facts(root, name, (kernel.driver_info)(name).ok()))
            .unwrap_or_default(),
        security: security::facts(root),
        settings: None,
    }
}

/// The text of a small file; `None` when there is none, or nothing in it.
fn text(root: &Path, path: &str) -> Option<String> {
    tidy(&contents(root, path)?)
}

/// Contents of a small file, or the beginning of a larger one.
fn contents(root: &Path, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(root.join(path)).ok()?;
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
