//! Timestamping by network devices: finding the device, its missing features, and enabling it
//! (the kernel's Documentation/networking/timestamping.rst).

use std::io;
use std::net::IpAddr;

use netperf_os::hwstamp::{self, Ability, Setting};
use netperf_os::net::{self, InterfaceAddress};
use thiserror::Error;

/// Why a device does not stamp; with the name of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Lacking {
    /// No interface leads to the peer.
    #[error("the interface for the data is not known")]
    NoRoute,
    /// The interface has no such device.
    #[error("the interface {0} has no device that stamps packets (ethtool -T {0})")]
    Device(String),
    /// The device does not stamp packets that it sends.
    #[error("the device of {0} does not stamp what it sends (ethtool -T {0})")]
    Departures(String),
    /// The device does not stamp packets that it receives.
    #[error("the device of {0} does not stamp what it receives (ethtool -T {0})")]
    Arrivals(String),
    /// The device does not stamp all packets that it receives.
    #[error("the device of {0} stamps only some of what it receives, such as PTP (ethtool -T {0})")]
    SomeArrivals(String),
    /// Stamping is off.
    #[error(
        "timestamps of the device of {0} are off: switch them on (hwstamp_ctl -i {0} -t 1 -r 1)"
    )]
    SwitchedOff(String),
    /// Stamping cannot be switched on, with the reason.
    #[error(
        "timestamps of the device of {0} cannot be switched on: {1} (it takes CAP_NET_ADMIN, or hwstamp_ctl \
         -i {0} -t 1 -r 1 beforehand)"
    )]
    NotSwitched(String, String),
}

/// The interface that data to `remote` leaves from: loopback for an address of this host.
pub(crate) fn interface_to(remote: IpAddr) -> Option<String> {
    let all = net::interface_addresses().ok()?;
    let named = |wanted: &dyn Fn(&InterfaceAddress) -> bool| {
        let found = all.iter().find(|entry| wanted(entry));
        found.map(|entry| entry.name.clone())
    };
    let remote = remote.to_canonical();
    let own = remote.is_loopback() || all.iter().any(|entry| entry.address == remote);
    if own {
        return named(&|entry| entry.address.is_loopback());
    }
    let source = net::source_address((remote, 0).into()).ok()?;
    named(&|entry| entry.address == source)
}

/// The interface that data to `remote` leaves from, if its device can stamp all of it.
fn able(remote: IpAddr) -> Result<String, Lacking> {
    let interface = interface_to(remote).ok_or(Lacking::NoRoute)?;
    // A driver that says nothing has nothing to say.
    let ability = hwstamp::ability(&interface).unwrap_or_default();
    match lack(ability) {
        Some(lacking) => Err(lacking(interface)),
        None => Ok(interface),
    }
}

const fn lack(ability: Ability) -> Option<fn(String) -> Lacking> {
    let Ability {
        departures,
        arrivals,
        some_arrivals,
    } = ability;
    match (departures, arrivals, some_arrivals) {
        (true, true, _) => None,
        (false, false, false) => Some(Lacking::Device),
        (false, _, _) => Some(Lacking::Departures),
        (true, false, true) => Some(Lacking::SomeArrivals),
        (true, false, false) => Some(Lacking::Arrivals),
    }
}

/// Checks that the device that data to `remote` leaves from stamps all of it now. It is not
/// touched.
///
/// # Errors
/// What it lacks.
pub fn check(remote: IpAddr) -> Result<(), Lacking> {
    let interface = able(remote)?;
    let setting = hwstamp::setting(&interface);
    is_on(interface, &setting)
}

fn is_on(interface: String, setting: &io::Result<Setting>) -> Result<(), Lacking> {
    match setting {
        Ok(setting) if !setting.is_all() => Err(Lacking::SwitchedOff(interface)),
        // Not every driver can tell: whether there are stamps shows in the end.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A device that stamps; what was changed for that is changed back when this is dropped.
#[derive(Debug)]
pub struct Switched {
    interface: String,
    before: Option<Setting>,
}

impl Switched {
    /// Enables timestamps of all packets on the device for data to `remote`.
    ///
    /// # Errors
    /// The missing feature.
    pub fn on(remote: IpAddr) -> Result<Self, Lacking> {
        let interface = able(remote)?;
        let before = hwstamp::setting(&interface).ok();
        if before.is_some_and(|setting| setting.is_all()) {
            let before = None;
            return Ok(Self { interface, before });
        }
        let set = hwstamp::set(&interface, Setting::ALL);
        Self::set(interface, before, set)
    }

    /// `set` is what the device has become.
    fn set(
        interface: String,
        before: Option<Setting>,
        set: io::Result<Setting>,
    ) -> Result<Self, Lacking> {
        match set {
            Ok(setting) if setting.is_all() => Ok(Self { interface, before }),
            Ok(_) => Err(Lacking::SomeArrivals(interface)),
            Err(error) => Err(not_switched(interface, &error)),
        }
    }

    /// The interface.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }
}

fn not_switched(interface: String, error: &io::Error) -> Lacking {
    Lacking::NotSwitched(interface, netperf_model::system_text(error))
}

impl Drop for Switched {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // An error means that the interface is gone.
            let _gone = hwstamp::set(&self.interface, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn loopback_has_no_device_and_is_named() {
        let here = Ipv4Addr::LOCALHOST.into();
        for lacking in [check(here).unwrap_err(), Switched::on(here).unwrap_err()] {
            let words = lacking.to_string();
            assert!(words.contains("interface lo has no device"), "{words}");
        }
    }

    #[test]
    fn an_address_of_this_host_is_reached_by_loopback() {
        for entry in net::interface_addresses().unwrap() {
            let name = interface_to(entry.address);
            assert_eq!(name.as_deref(), Some("lo"), "{entry:?}");
        }
    }

    #[test]
    fn an_address_of_another_host_is_not_reached_by_loopback() {
        // Of TEST-NET-2, which no host has.
        let other = interface_to(Ipv4Addr::new(198, 51, 100, 1).into());
        assert_ne!(other.as_deref(), Some("lo"));
    }

    #[test]
    fn missing_parts_of_device_stamps_are_told_apart() {
        let ability = |departures, arrivals, some_arrivals| Ability {
            departures,
            arrivals,
            some_arrivals,
        };
        assert!(lack(ability(true, true, true)).is_none());
        let lacks = |ability| lack(ability).map(|lacking| lacking("eth0".into()));
        let eth0 = || "eth0".to_owned();
        assert_eq!(
            lacks(ability(true, false, true)),
            Some(Lacking::SomeArrivals(eth0()))
        );
        assert_eq!(
            lacks(ability(true, false, false)),
            Some(Lacking::Arrivals(eth0()))
        );
        assert_eq!(
            lacks(ability(false, true, true)),
            Some(Lacking::Departures(eth0()))
        );
        assert_eq!(lacks(Ability::default()), Some(Lacking::Device(eth0())));
    }

    #[test]
    fn a_device_is_off_only_if_it_says_so() {
        let said = |setting| is_on("eth0".into(), &setting);
        assert_eq!(said(Ok(Setting::ALL)), Ok(()));
        assert_eq!(said(Err(io::ErrorKind::Unsupported.into())), Ok(()));
        let off = Err(Lacking::SwitchedOff("eth0".into()));
        assert_eq!(said(Ok(Setting::default())), off);
    }

    #[test]
    fn a_device_that_was_told_to_stamp_has_to_stamp_everything() {
        let told = |set| Switched::set("eth0".into(), None, set);
        assert_eq!(told(Ok(Setting::ALL)).unwrap().interface(), "eth0");
        assert_eq!(
            told(Ok(Setting::default())).unwrap_err(),
            Lacking::SomeArrivals("eth0".into())
        );
        // EPERM.
        let refused = told(Err(io::Error::from_raw_os_error(1))).unwrap_err();
        let why = "Operation not permitted".to_owned();
        assert_eq!(refused, Lacking::NotSwitched("eth0".into(), why));
    }
}
