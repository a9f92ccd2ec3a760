//! Moments by the clock of a network device, seen from the clock of its system.
//!
//! The clock of a device may never have been set. Each packet has two stamps, the kernel's and
//! the device's: a packet leaves the kernel before the device, and arrives at the device before
//! the kernel. That bounds the offset of the two clocks, as requests and responses bound that of
//! two hosts. Unlike reading the device's clock, it takes no privilege.

use super::offset::OffsetLine;
use super::{Pair, Stamp, Stamps, best, between, in_time, real, whole};

/// Stamps whose moments at the device are told by the system's clock, and how far those can
/// be from the truth, nanoseconds. `None` where the device stamped nothing.
pub(super) fn in_system_time(stamps: &Stamps) -> Option<(Stamps, f64)> {
    let stamped = |stamp: &&Stamp| stamp.device.is_some();
    let sent = stamps.each.iter().filter(stamped).map(|stamp| stamp.sent);
    let first = sent.min()?;
    let mut pairs: Vec<Pair> = stamps
        .each
        .iter()
        .filter_map(|stamp| seen(stamp, first))
        .collect();
    in_time(&mut pairs);
    let base = i64::try_from(best(&pairs)?.twice_offset.div_euclid(2)).ok()?;
    let line = OffsetLine::through(&pairs, base)?;
    let each = stamps.each.iter().filter_map(|stamp| {
        let device = stamp.device?;
        let ahead = i128::from(base) + i128::from(whole(line.offset_at(at(stamp, first))));
        let told = |moment: u64| u64::try_from(i128::from(moment) - ahead).ok();
        Some(Stamp {
            sent: told(device.sent)?,
            arrived: told(device.arrived)?,
            ..*stamp
        })
    });
    let stamps = Stamps {
        each: each.collect(),
        ..*stamps
    };
    Some((stamps, line.clock(base).error))
}

/// The way from the kernel into the device and from there back, as if it were one to another
/// host.
fn seen(stamp: &Stamp, first: u64) -> Option<Pair> {
    let device = stamp.device?;
    let there = Stamp {
        arrived: device.sent,
        sent: device.arrived,
        ..Stamp::default()
    };
    Pair::new(*stamp, there, first)
}

fn at(stamp: &Stamp, first: u64) -> f64 {
    real(between(first, stamp.sent))
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceStamp, OneWay, Part};
    use super::*;

    const ERA: u64 = 1_700_000_000_000_000_000;
    /// The clock of netperf's device began with the machine, that of netserver's device is
    /// ahead by leap seconds.
    const CLIENT_DEVICE: u64 = 77_000_000_000;
    const SERVER_AHEAD: u64 = 37_000_000_000;

    /// Transactions a millisecond apart: 30 us on the wire each way, 2 us from device to
    /// kernel or back at the least, and more in most.
    fn seen_by_both() -> (Stamps, Stamps) {
        let (mut client, mut server) = (Stamps::default(), Stamps::default());
        for number in 1..200_u32 {
            let start = u64::from(number) * 1_000_000;
            let more = u64::from(number % 7) * 1_000;
            let left = start + 3_000 + more;
            let arrived = left + 30_000;
            let answered = arrived + 20_000;
            let back = answered + 30_000;
            client.each.push(Stamp {
                flow: 0,
                number,
                begun: ERA + start,
                sending: ERA + start,
                sent: ERA + start + 1_000,
                arrived: ERA + back + 2_000 + more,
                received: ERA + back + 9_000 + more,
                device: Some(DeviceStamp {
                    sent: CLIENT_DEVICE + left,
                    arrived: CLIENT_DEVICE + back,
                }),
                tos: None,
            });
            server.each.push(Stamp {
                flow: 0,
                number,
                begun: 0,
                arrived: ERA + arrived + 2_000,
                received: ERA + arrived + 4_000,
                sending: ERA + answered - 5_000,
                sent: ERA + answered - 2_000,
                device: Some(DeviceStamp {
                    arrived: ERA + SERVER_AHEAD + arrived,
                    sent: ERA + SERVER_AHEAD + answered,
                }),
                tos: None,
            });
        }
        (client, server)
    }

    #[test]
    fn device_stamps_are_converted_to_the_clock_of_their_system() {
        let (client, _) = seen_by_both();
        let (told, error) = in_system_time(&client).unwrap();
        assert_eq!(told.each.len(), 199);
        assert!(error <= 2_001.0, "{error}");
        for (told, stamp) in told.each.iter().zip(&client.each) {
            let truth = ERA + stamp.device.unwrap().sent - CLIENT_DEVICE;
            let off = told.sent.abs_diff(truth);
            assert!(real(off.into()) <= error + 1.0, "{off} {error}");
        }
    }

    #[test]
    fn the_wire_between_devices_does_not_have_the_way_into_them() {
        let (client, server) = seen_by_both();
        let by_devices = OneWay::by_devices(&client, &server).unwrap();
        for way in [Part::WireThere, Part::WireBack] {
            let took = by_devices.part(way);
            assert!((took.max - 30_000.0).abs() <= 2.0, "{took:?}");
        }
        let by_kernels = OneWay::of(&client, &server).unwrap();
        assert!(by_kernels.part(Part::WireThere).max > 36_000.0);
        let [own, other] = by_devices.devices.unwrap();
        assert!(by_devices.clock.error >= own + other && other <= 2_001.0);
    }

    #[test]
    fn without_a_stamp_of_the_device_nothing_is_told() {
        let (mut client, server) = seen_by_both();
        client.each.iter_mut().for_each(|stamp| stamp.device = None);
        assert_eq!(OneWay::by_devices(&client, &server), None);
    }
}
