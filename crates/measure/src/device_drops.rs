//! Packets that the queueing discipline of an interface drops.

use std::net::IpAddr;

use netperf_os::qdisc;

use crate::device_stamps::interface_to;

/// Counter of the packets that are dropped on their way out of an interface, those of all programs.
#[derive(Debug)]
pub struct DeviceDrops {
    interface: String,
    /// Count at the beginning, modulo 2^32.
    before: u32,
}

impl DeviceDrops {
    /// Counts from now on at the interface that data to `remote` leaves from. `None` if it has no
    /// queueing discipline, or the kernel does not tell.
    #[must_use]
    pub fn towards(remote: IpAddr) -> Option<Self> {
        let interface = interface_to(remote)?;
        let before = qdisc::dropped_by_root_of(&interface).ok()?;
        Some(Self { interface, before })
    }

    /// Name of the interface.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Packets dropped since the beginning; `None` if the kernel no longer tells.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        let now = qdisc::dropped_by_root_of(&self.interface).ok()?;
        Some(now.wrapping_sub(self.before).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_gone_has_no_count() {
        let drops = DeviceDrops {
            // Longer than the name of any interface.
            interface: "no-interface-of-any-host".to_owned(),
            before: 0,
        };
        assert_eq!(drops.interface(), "no-interface-of-any-host");
        assert_eq!(drops.count(), None);
    }
}
