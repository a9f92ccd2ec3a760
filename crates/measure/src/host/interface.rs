//! The interface that data leaves through (sysfs, "class/net").

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use netperf_model::host::{InterfaceFacts, NONE, PciIds, tidy};
use netperf_os::net::{DriverInfo, InterfaceAddress};

use super::text;

/// The interface that has `address`. Every loopback address is the loopback's.
pub(super) fn name_of(all: &[InterfaceAddress], address: IpAddr) -> Option<&str> {
    let address = address.to_canonical();
    let has = |entry: &&InterfaceAddress| {
        entry.address == address || (entry.address.is_loopback() && address.is_loopback())
    };
    all.iter().find(has).map(|entry| entry.name.as_str())
}

/// The facts of the interface called `name`, of which its driver said `said`.
pub(super) fn facts(root: &Path, name: &str, said: Option<DriverInfo>) -> InterfaceFacts {
    let class = root.join("sys/class/net").join(name);
    let device = fs::canonicalize(class.join("device")).ok();
    let pci = device.as_deref().and_then(pci_device);
    // For a known interface, a missing file means a missing feature.
    let known = class.exists();
    let or_none = |value: Option<String>| value.or_else(|| known.then(|| NONE.to_owned()));
    let driver = driver(said, device.as_deref());
    InterfaceFacts {
        name: tidy(name),
        pci: pci
            .as_deref()
            .map_or_else(|| known.then(PciIds::default), ids),
        slot: or_none(pci.as_deref().and_then(|pci| slot(root, pci))),
        driver: or_none(tidy(&driver.driver)),
        driver_version: or_none(tidy(&driver.version)),
        firmware: or_none(tidy(&driver.firmware)),
        bus: or_none(tidy(&driver.bus)),
    }
}

/// Driver information from the driver, or from the device's directory.
fn driver(said: Option<DriverInfo>, device: Option<&Path>) -> DriverInfo {
    let (said, device) = match (said, device) {
        (Some(said), _) => return said,
        (None, None) => return DriverInfo::default(),
        (None, Some(device)) => (device.join("driver"), device),
    };
    let link = fs::canonicalize(said).ok();
    DriverInfo {
        driver: link.as_deref().map(base_name).unwrap_or_default(),
        version: text(device, "driver/module/version").unwrap_or_default(),
        firmware: String::new(),
        bus: base_name(device),
    }
}

/// The PCI device that a device is, or that carries it: a virtio device has its ids.
fn pci_device(device: &Path) -> Option<PathBuf> {
    match subsystem(device)?.as_str() {
        "pci" => Some(device.to_owned()),
        "virtio" | "auxiliary" => {
            let carrier = device.parent()?;
            (subsystem(carrier)? == "pci").then(|| carrier.to_owned())
        }
        // A USB adapter's ancestors are PCI too, but they are not the adapter.
        _ => None,
    }
}

fn subsystem(device: &Path) -> Option<String> {
    let link = fs::read_link(device.join("subsystem")).ok()?;
    Some(base_name(&link))
}

fn base_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn ids(pci: &Path) -> Option<PciIds> {
    let id = |file: &str| {
        let value = text(pci, file)?;
        u16::from_str_radix(value.trim_start_matches("0x"), 16).ok()
    };
    Some(PciIds {
        vendor: id("vendor")?,
        device: id("device")?,
        subvendor: id("subsystem_vendor")?,
        subdevice: id("subsystem_device")?,
    })
}

/// The slot's name where the firmware gave the slots names, the PCI address elsewhere.
fn slot(root: &Path, pci: &Path) -> Option<String> {
    let address = base_name(pci);
    let board = address.split('.').next()?;
    let named = fs::read_dir(root.join("sys/bus/pci/slots"))
        .into_iter()
        .flatten()
        .flatten()
        .find(|slot| text(&slot.path(), "address").as_deref() == Some(board));
    tidy(&named.map_or_else(
        || address.clone(),
        |slot| slot.file_name().to_string_lossy().into_owned(),
    ))
}
