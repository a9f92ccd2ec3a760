//! Facts about a host and about the interface of the data connection.
//!
//! `None` is unknown. A property that is known to be absent, such as the driver of a loopback
//! interface, is [`NONE`] or 0.

use crate::escape::is_unprintable;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::fields::{NamedTexts, known};
use crate::words::words;

/// The text of a property that is known to be absent.
pub const NONE: &str = "none";

/// Facts about a host. Null: unknown; `none`: known to be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "host")]
pub struct HostFacts {
    /// Name of the operating system (uname(2)).
    #[serde(rename = "system")]
    pub sysname: Option<String>,
    /// Release of its kernel.
    pub release: Option<String>,
    /// Version of its kernel: how and when it was built.
    pub version: Option<String>,
    /// Hardware, such as `x86_64`.
    pub machine: Option<String>,
    /// Model of the machine.
    pub system_model: Option<String>,
    /// Model of the CPU.
    pub cpu_model: Option<String>,
    /// Clock frequency of the CPU, MHz; the highest possible one if that is known.
    #[serde(rename = "cpu_frequency_megahertz")]
    pub cpu_frequency: Option<u32>,
    /// The interface that data passes through.
    pub interface: InterfaceFacts,
    /// The security framework.
    pub security: SecurityFacts,
    /// Settings that results depend on, by name: of the kernel by their names in sysctl, of
    /// CPUs and clock, and of the interface. Only those that the host has.
    #[serde(with = "NamedTexts")]
    pub settings: Option<Vec<(String, String)>>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "interface")]
pub struct InterfaceFacts {
    /// Its name.
    pub name: Option<String>,
    /// The number of its slot, or else its PCI address.
    pub slot: Option<String>,
    /// Its place on the bus, as the driver reports it.
    pub bus: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// The driver's version.
    pub driver_version: Option<String>,
    /// The version of its firmware.
    pub firmware: Option<String>,
    /// Its PCI ids, all 0 if it is not a PCI device.
    pub pci: Option<PciIds>,
}

/// Identifiers of a PCI device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "pci")]
pub struct PciIds {
    /// Vendor of the chip.
    pub vendor: u16,
    /// Type of the chip.
    pub device: u16,
    /// Vendor of the board.
    pub subvendor: u16,
    /// Type of the board.
    pub subdevice: u16,
}

/// Request for the facts of netserver's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactsWanted {
    /// The address that netperf sends data to, which tells the interface; `None` where
    /// it did not say.
    pub reached_at: Option<IpAddr>,
    /// True if the settings of the host are wanted with the results.
    pub settings: bool,
}

/// The security framework of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "security")]
pub struct SecurityFacts {
    /// Its name.
    #[serde(deserialize_with = "known")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub kind: Option<SecurityKind>,
    /// Its mode.
    #[serde(deserialize_with = "known")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub mode: Option<SecurityMode>,
    /// The policy, profile or mode, in the framework's own word.
    pub specific: Option<String>,
}

words! {
    /// The security frameworks that decide about every access.
    ///
    /// The numbers are printed by `LOCAL_SECURITY_TYPE_ID` and travel between two ends of
    /// this program; they never change. 0 is a framework that could not be told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum SecurityKind {
        /// None of them.
        #[serde(rename = "none")]
        None = "none",
        /// SELinux.
        #[serde(rename = "SELinux")]
        SeLinux = "SELinux",
        /// AppArmor.
        AppArmor = "AppArmor",
        /// Smack.
        Smack = "Smack",
        /// TOMOYO.
        #[serde(rename = "TOMOYO")]
        Tomoyo = "TOMOYO",
    }
}

words! {
    /// Mode of a security framework; the numbers as of [`SecurityKind`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum SecurityMode {
        /// It does nothing.
        Disabled = "Disabled",
        /// It complains and lets pass.
        Permissive = "Permissive",
        /// It refuses.
        Enforcing = "Enforcing",
    }
}

impl SecurityKind {
    /// Its number, from 1.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8 + 1
    }

    /// The framework with this number.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

impl SecurityMode {
    /// Its number, from 1.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8 + 1
    }

    /// The mode with this number.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }
}

/// A text as a fact is kept: one line, single blanks, nothing that a terminal would
/// obey. `None` when nothing is left of it.
#[must_use]
pub fn tidy(text: &str) -> Option<String> {
    let blank = |c: char| c.is_whitespace() || is_unprintable(c);
    let words: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_back_to_its_framework_and_mode() {
        for kind in SecurityKind::ALL {
            assert_eq!(SecurityKind::from_id(kind.id()), Some(kind));
        }
        for mode in SecurityMode::ALL {
            assert_eq!(SecurityMode::from_id(mode.id()), Some(mode));
        }
        assert_eq!(SecurityKind::from_id(0), None);
        assert_eq!(SecurityMode::from_id(200), None);
    }

    #[test]
    fn a_fact_is_one_line_without_anything_a_terminal_obeys() {
        assert_eq!(
            tidy("  Standard PC\t(i440FX)\n").as_deref(),
            Some("Standard PC (i440FX)")
        );
        assert_eq!(tidy("a\u{1b}[31mb").as_deref(), Some("a [31mb"));
        assert_eq!(tidy(" \n\0"), None);
    }
}
