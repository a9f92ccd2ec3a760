//! Stamps that a network device makes of packets itself: whether it can, and whether it does
//! (the kernel's Documentation/networking/timestamping.rst, "Hardware Timestamping
//! Configuration").

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

use super::call::checked;
use super::net::{RawRequest, ethtool, interface_name};

/// `ETHTOOL_GET_TS_INFO` (linux/ethtool.h).
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// struct ethtool_ts_info (linux/ethtool.h).
#[repr(C)]
#[derive(Default)]
struct RawInfo {
    cmd: u32,
    stamping: u32,
    clock: i32,
    departures: u32,
    reserved: [u32; 3],
    arrivals: u32,
    reserved_too: [u32; 3],
}

/// struct hwtstamp_config (linux/net_tstamp.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// None are defined.
    flags: u32,
    /// Which departures are stamped, `HWTSTAMP_TX_OFF` and so on.
    departures: u32,
    /// Which arrivals are stamped, `HWTSTAMP_FILTER_NONE` and so on.
    arrivals: u32,
}

impl Setting {
    /// Every departure that is asked for and every arrival.
    pub const ALL: Self = Self {
        flags: 0,
        departures: libc::HWTSTAMP_TX_ON,
        arrivals: libc::HWTSTAMP_FILTER_ALL,
    };

    /// Returns true if everything can be stamped with it.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        self.departures == Self::ALL.departures && self.arrivals == Self::ALL.arrivals
    }
}

/// Timestamping capabilities of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ability {
    /// Whatever is sent.
    pub departures: bool,
    /// Whatever is received.
    pub arrivals: bool,
    /// Some of what is received, such as the packets of PTP.
    pub some_arrivals: bool,
}

/// Asks what of packets an interface's device can stamp.
///
/// # Errors
/// `ENODEV` when there is no such interface, `EOPNOTSUPP` when its driver says nothing.
pub fn ability(interface: &str) -> io::Result<Ability> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut info = RawInfo {
        cmd: ETHTOOL_GET_TS_INFO,
        ..RawInfo::default()
    };
    // SAFETY: the struct is the one that the command in it says.
    unsafe { ethtool(&socket, interface, (&raw mut info).cast()) }?;
    let can = |flags: u32| info.stamping & flags == flags;
    let raw = can(libc::SOF_TIMESTAMPING_RAW_HARDWARE);
    let sends = raw && can(libc::SOF_TIMESTAMPING_TX_HARDWARE);
    let receives = raw && can(libc::SOF_TIMESTAMPING_RX_HARDWARE);
    let all = info.arrivals & (1 << libc::HWTSTAMP_FILTER_ALL) != 0;
    let others = info.arrivals & !(1 << libc::HWTSTAMP_FILTER_NONE) != 0;
    Ok(Ability {
        departures: sends && info.departures & (1 << libc::HWTSTAMP_TX_ON) != 0,
        arrivals: receives && all,
        some_arrivals: receives && others,
    })
}

/// `SIOCGHWTSTAMP`: what an interface's device stamps now.
///
/// # Errors
/// `ENODEV` when there is no such interface, `EOPNOTSUPP` or `ENOTTY` when its driver cannot
/// tell.
pub fn setting(interface: &str) -> io::Result<Setting> {
    let mut setting = Setting::default();
    call(interface, libc::SIOCGHWTSTAMP, &mut setting)?;
    Ok(setting)
}

/// `SIOCSHWTSTAMP`: has an interface's device stamp; what it does then, which may be more.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`, `ERANGE` when the device cannot.
pub fn set(interface: &str, wanted: Setting) -> io::Result<Setting> {
    let mut setting = wanted;
    call(interface, libc::SIOCSHWTSTAMP, &mut setting)?;
    Ok(setting)
}

fn call(interface: &str, what: libc::c_ulong, setting: &mut Setting) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut request = RawRequest {
        name: interface_name(interface)?,
        data: (&raw mut *setting).cast(),
        rest: [0; 24 - size_of::<usize>()],
    };
    #[expect(
        clippy::useless_conversion,
        reason = "the type of a request differs between C libraries"
    )]
    let what = what.try_into().map_err(io::Error::other)?;
    // SAFETY: the request is laid out as an ifreq whose data points to a hwtstamp_config;
    // both outlive the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut request) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_no_device_that_stamps() {
        assert_eq!(ability("lo").unwrap(), Ability::default());
        assert!(setting("lo").is_err());
        assert!(set("lo", Setting::ALL).is_err());
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        for name in ["no-such-cable", "an interface with a long name"] {
            assert!(ability(name).is_err() && setting(name).is_err());
        }
        assert_eq!(size_of::<RawInfo>(), 44);
        assert!(Setting::ALL.is_all() && !Setting::default().is_all());
    }
}
