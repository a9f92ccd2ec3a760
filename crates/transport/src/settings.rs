//! The settings of the model's table at a socket: set, read back, and tried.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::{
    Family, Feature, InterfaceName, Setting, SettingLayer, SettingValue, Settings, SocketPlan,
    TransportId,
};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{Socket, Type, flow_label, rights};

use crate::socket::{any, create};

/// Representation of a setting in the kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    /// As an integer, no larger than an `int` can be.
    Int(IntOption),
    /// As 32 bits.
    Bits(IntOption),
    /// As an integer that only a connection keeps.
    OnConnection(IntOption),
    /// As the name of an interface (`SO_BINDTODEVICE`).
    Device,
    /// As a lease (`IPV6_FLOWLABEL_MGR`).
    FlowLabel,
}

const fn mechanism(setting: Setting) -> Mechanism {
    match setting {
        Setting::PacingRate => Mechanism::Int(IntOption::MaxPacingRate),
        Setting::BusyPoll => Mechanism::Int(IntOption::BusyPoll),
        Setting::QuickAck => Mechanism::OnConnection(IntOption::QuickAck),
        Setting::NotSentLowAt => Mechanism::Int(IntOption::NotSentLowAt),
        Setting::Device => Mechanism::Device,
        Setting::Mark => Mechanism::Bits(IntOption::Mark),
        Setting::FlowLabel => Mechanism::FlowLabel,
    }
}

/// Which side of a test a socket is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It sends first, or connects.
    Asks,
    /// It is connected to, or answers.
    Answers,
}

/// Applies the settings that a socket can have before it is connected.
///
/// # Errors
/// The setting that the kernel refused, and why.
pub fn set_extras(
    socket: &Socket,
    plan: &SocketPlan,
    side: Side,
) -> Result<(), (Feature, io::Error)> {
    for (setting, value) in plan.settings.iter() {
        apply(socket, setting, value, side).map_err(|error| (Feature::Setting(setting), error))?;
    }
    Ok(())
}

fn apply(socket: &Socket, setting: Setting, value: SettingValue, side: Side) -> io::Result<()> {
    let fd = socket.as_fd();
    match (mechanism(setting), value) {
        (Mechanism::Int(option), SettingValue::Number(number)) => {
            sockopt::set(fd, option, i32::try_from(number).unwrap_or(i32::MAX))
        }
        (Mechanism::Bits(option), SettingValue::Number(number)) => {
            rights::set(fd, option, i32::from_ne_bytes(number.to_ne_bytes()))
        }
        (Mechanism::OnConnection(_), _) => Ok(()),
        (Mechanism::Device, SettingValue::Name(device)) => {
            rights::bind_device(socket, device.as_str().as_bytes())
        }
        (Mechanism::FlowLabel, SettingValue::Number(label)) => {
            // A connection that is accepted has no address to write a label to.
            let stream = || socket.r#type().is_ok_and(|kind| kind == Type::STREAM);
            if side == Side::Answers && stream() {
                flow_label::reflect(fd)
            } else {
                flow_label::lease(fd, label)
            }
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Applies the settings that only a connection can have.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn set_on_connection(fd: BorrowedFd<'_>, plan: &SocketPlan) -> io::Result<()> {
    for (setting, value) in plan.settings.iter() {
        if let (Mechanism::OnConnection(option), SettingValue::Number(number)) =
            (mechanism(setting), value)
        {
            sockopt::set(fd, option, i32::try_from(number).unwrap_or(i32::MAX))?;
        }
    }
    Ok(())
}

/// Settings in force at a socket that has been given those asked for. A setting that only a
/// connection has, or that cannot be read, is in force as asked: the test fails otherwise.
#[must_use]
pub fn in_force(socket: &Socket, asked: &Settings) -> Settings {
    let mut settings = Settings::default();
    for (setting, value) in asked.iter() {
        settings.set(setting, read_back(socket, setting, value));
    }
    settings
}

fn read_back(socket: &Socket, setting: Setting, asked: SettingValue) -> Option<SettingValue> {
    match mechanism(setting) {
        Mechanism::Int(option) | Mechanism::Bits(option) => {
            let value = sockopt::fetch(socket.as_fd(), option).ok()?;
            let value = u32::from_ne_bytes(value.to_ne_bytes());
            Some(SettingValue::Number(value))
        }
        Mechanism::Device => {
            let name = socket.device().ok()??;
            let name = std::str::from_utf8(&name).ok()?;
            let name = InterfaceName::new(name.trim_end_matches('\0'))?;
            Some(SettingValue::Name(name))
        }
        Mechanism::OnConnection(_) | Mechanism::FlowLabel => Some(asked),
    }
}

/// Tries whether this kernel has a setting, on a socket that is never connected. Reading an
/// option takes no privilege; setting it may be refused later.
///
/// # Errors
/// Whatever socket(2) or getsockopt(2) reports.
pub(crate) fn probe(setting: Setting) -> io::Result<()> {
    let transport = match setting.row().over {
        SettingLayer::Tcp => TransportId::Tcp,
        SettingLayer::Ip => TransportId::Udp,
    };
    match mechanism(setting) {
        Mechanism::Int(option) | Mechanism::Bits(option) | Mechanism::OnConnection(option) => {
            sockopt::fetch(any(transport)?.as_fd(), option).map(drop)
        }
        Mechanism::Device => Ok(()),
        Mechanism::FlowLabel => create(transport, Family::V6).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_back_as_the_kernel_has_them() {
        let socket = any(TransportId::Tcp).unwrap();
        let asked = Settings::default()
            .with(Setting::NotSentLowAt, 16_384)
            .with(Setting::PacingRate, 1_000_000);
        let plan = SocketPlan {
            settings: asked,
            ..SocketPlan::default()
        };
        set_extras(&socket, &plan, Side::Asks).unwrap();
        assert_eq!(in_force(&socket, &asked), asked);
        sockopt::set(socket.as_fd(), IntOption::NotSentLowAt, 5000).unwrap();
        let changed = asked.with(Setting::NotSentLowAt, 5000);
        assert_eq!(in_force(&socket, &asked), changed);
    }
}
