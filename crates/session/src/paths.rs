//! Requests about netserver's end in the extension block: data path, socket options and features
//! that are on or off; and netserver's counts.

use std::time::Duration;

use netperf_model::{
    EndPlan, Feature, InterfaceName, IoCounts, IoMethod, IoPlan, Setting, SettingType,
    SettingValue, Settings, Tally,
};
use netperf_wire::RemoteErrno;
use netperf_wire::messages::{Extension, ItemKind};

/// Bits of the second byte of [`ItemKind::DataPath`].
const ZEROCOPY: u8 = 1;
const DISCARD: u8 = 2;
const SEGMENTS: u8 = 4;
const SPLICE: u8 = 8;

/// A request that this end does not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotUnderstood;

impl From<NotUnderstood> for RemoteErrno {
    fn from(_: NotUnderstood) -> Self {
        Self::EINVAL
    }
}

/// A feature that is on or off.
struct Switch {
    item: ItemKind,
    /// The only value of the item.
    value: &'static [u8],
    is_on: fn(&EndPlan) -> bool,
    switch_on: fn(&mut EndPlan),
}

/// Every such feature, in the order of the message. The value of numbers in datagrams is the
/// version of their layout, that of one port the method: a preamble in front of the data.
const SWITCHES: [Switch; 5] = [
    Switch {
        item: ItemKind::Sequence,
        value: &[1],
        is_on: |end| end.sequence,
        switch_on: |end| end.sequence = true,
    },
    Switch {
        item: ItemKind::Duplex,
        value: &[],
        is_on: |end| end.duplex,
        switch_on: |end| end.duplex = true,
    },
    Switch {
        item: ItemKind::Until,
        value: &[],
        is_on: |end| end.until,
        switch_on: |end| end.until = true,
    },
    Switch {
        item: ItemKind::FailedSends,
        value: &[],
        is_on: |end| end.failed_sends,
        switch_on: |end| end.failed_sends = true,
    },
    Switch {
        item: ItemKind::OnePort,
        value: &[1],
        is_on: |end| end.one_port,
        switch_on: |end| end.one_port = true,
    },
];

/// Asks for the features that are on.
pub(crate) fn ask_switches(extension: &mut Extension, end: &EndPlan) {
    for switch in SWITCHES.iter().filter(|switch| (switch.is_on)(end)) {
        extension.push(switch.item, switch.value);
    }
    if end.arrivals {
        let micros = |every: Duration| u32::try_from(every.as_micros()).unwrap_or(u32::MAX);
        let every = end.arrivals_every.map(|every| micros(every).to_be_bytes());
        extension.push(
            ItemKind::Arrivals,
            every.as_ref().map_or(&[], |every| every),
        );
    }
    if let Some(short_by) = end.short_by {
        let micros = short_by.subsec_micros().to_be_bytes();
        extension.push(ItemKind::ShortBy, &micros);
    }
}

/// Switches on the features that a request asks for.
///
/// # Errors
/// When it asks for another version of one.
pub(crate) fn asked_switches(
    extension: &Extension,
    end: &mut EndPlan,
) -> Result<(), NotUnderstood> {
    for switch in &SWITCHES {
        match extension.value(switch.item) {
            None => {}
            Some(value) if value == switch.value || switch.value.is_empty() => {
                (switch.switch_on)(end);
            }
            Some(_) => return Err(NotUnderstood),
        }
    }
    if let Some(value) = extension.value(ItemKind::Arrivals) {
        end.arrivals = true;
        let micros = value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        end.arrivals_every = micros.map(|micros| Duration::from_micros(micros.into()));
    }
    if let Some(value) = extension.value(ItemKind::ShortBy) {
        let micros = <[u8; 4]>::try_from(value).map_err(|_| NotUnderstood)?;
        let short_by = Duration::from_micros(u32::from_be_bytes(micros).into());
        if short_by >= Duration::from_secs(1) {
            return Err(NotUnderstood);
        }
        end.short_by = Some(short_by);
    }
    Ok(())
}

/// Asks netserver to move its bytes in another way than it usually does.
pub(crate) fn ask(extension: &mut Extension, end: &EndPlan) {
    let io = &end.io;
    if *io != IoPlan::default() {
        let bits = [
            (io.zerocopy, ZEROCOPY),
            (io.discard, DISCARD),
            (io.segments, SEGMENTS),
            (io.splice, SPLICE),
        ];
        let bits = bits.into_iter().filter(|(asked, _)| *asked);
        let bits = bits.fold(0, |bits, (_, bit)| bits | bit);
        let mut value = vec![io.method.code(), bits];
        value.extend(io.batch.unwrap_or(0).to_be_bytes());
        extension.push(ItemKind::DataPath, &value);
    }
    let settings = &end.socket.settings;
    let options = numbers(settings);
    if !options.is_empty() {
        extension.push(ItemKind::SocketOptions, &options);
    }
    put_device(extension, settings);
}

/// The interface that data must pass.
fn put_device(extension: &mut Extension, settings: &Settings) {
    if let Some(SettingValue::Name(device)) = settings.value(Setting::Device) {
        extension.push(ItemKind::BindDevice, device.as_str().as_bytes());
    }
}

/// The interface in a message.
fn device(extension: &Extension) -> Result<Option<SettingValue>, NotUnderstood> {
    let Some(name) = extension.value(ItemKind::BindDevice) else {
        return Ok(None);
    };
    let name = std::str::from_utf8(name).ok().and_then(InterfaceName::new);
    name.map(|name| Some(SettingValue::Name(name)))
        .ok_or(NotUnderstood)
}

/// Socket options in a message: five bytes for each, its number and its value.
fn numbers(settings: &Settings) -> Vec<u8> {
    let mut numbers: Vec<(u8, u32)> = settings
        .iter()
        .filter_map(|(setting, _)| Some((setting.row().number?, settings.number(setting)?)))
        .collect();
    numbers.sort_unstable();
    let bytes = numbers.into_iter().map(|(number, value)| {
        let [a, b, c, d] = value.to_be_bytes();
        [number, a, b, c, d]
    });
    bytes.collect::<Vec<_>>().into_flattened()
}

/// Reads the data path and the socket options of a request.
///
/// # Errors
/// When it asks for something that is not known here, which must not be left out.
pub(crate) fn asked(extension: &Extension, end: &mut EndPlan) -> Result<(), NotUnderstood> {
    if let Some(value) = extension.value(ItemKind::DataPath) {
        end.io = data_path(value).ok_or(NotUnderstood)?;
    }
    if let Some(value) = extension.value(ItemKind::SocketOptions) {
        end.socket.settings = settings(value).ok_or(NotUnderstood)?;
    }
    if let Some(device) = device(extension)? {
        end.socket.settings.set(Setting::Device, Some(device));
    }
    Ok(())
}

fn data_path(value: &[u8]) -> Option<IoPlan> {
    let [method, bits, a, b, c, d] = <[u8; 6]>::try_from(value).ok()?;
    let known = bits & !(ZEROCOPY | DISCARD | SEGMENTS | SPLICE) == 0;
    let plan = IoPlan {
        method: IoMethod::from_code(method)?,
        zerocopy: bits & ZEROCOPY != 0,
        discard: bits & DISCARD != 0,
        batch: Some(u32::from_be_bytes([a, b, c, d])).filter(|batch| *batch > 0),
        segments: bits & SEGMENTS != 0,
        splice: bits & SPLICE != 0,
    };
    let possible = plan
        .batch
        .is_none_or(|batch| batch <= IoPlan::MOST_MESSAGES);
    (known && possible).then_some(plan)
}

/// The socket options in a message; `None` where one is not known here, or not its value.
fn settings(value: &[u8]) -> Option<Settings> {
    let mut settings = Settings::default();
    for option in value.chunks(5) {
        let [number, a, b, c, d] = <[u8; 5]>::try_from(option).ok()?;
        let setting = Setting::from_number(number)?;
        let takes = setting.row().value;
        let value = SettingValue::Number(u32::from_be_bytes([a, b, c, d]));
        let off = takes == SettingType::Switch && value == SettingValue::Number(0);
        settings.set(setting, Some(value).filter(|_| !off));
        if !takes.takes(value) {
            return None;
        }
    }
    Some(settings)
}

/// Says that all that was asked for beyond OMNI is in force, with the settings read back.
pub(crate) fn confirm(extension: &mut Extension, in_force: &Settings) {
    extension.push(ItemKind::AsAsked, &numbers(in_force));
    put_device(extension, in_force);
}

/// The settings in force at netserver, where it does all that it was asked for.
pub(crate) fn confirmed(extension: &Extension) -> Option<Settings> {
    let mut in_force = settings(extension.value(ItemKind::AsAsked)?).unwrap_or_default();
    in_force.set(Setting::Device, device(extension).ok().flatten());
    Some(in_force)
}

/// The names of what this end can do.
pub(crate) fn words(features: &[Feature]) -> String {
    let words: Vec<&str> = features.iter().map(|feature| feature.word()).collect();
    words.join(" ")
}

/// The features of a peer; unknown words are skipped.
pub(crate) fn features(words: &str) -> Vec<Feature> {
    words.split(' ').filter_map(Feature::from_word).collect()
}

/// Tells what went on underneath the messages, and how many there were: a fast path
/// outgrows the 32 bits that OMNI has for them within minutes.
pub(crate) fn tell_counts(extension: &mut Extension, counts: &IoCounts, tally: &Tally) {
    let IoCounts {
        send_calls,
        recv_calls,
        zerocopy_done,
        zerocopy_copied,
    } = *counts;
    let counts = [
        send_calls,
        recv_calls,
        zerocopy_done,
        zerocopy_copied,
        tally.send_calls,
        tally.recv_calls,
    ];
    let bytes: Vec<u8> = counts.into_iter().flat_map(u64::to_be_bytes).collect();
    extension.push(ItemKind::PathCounts, &bytes);
}

/// netserver's counts of system calls; `tally` gets the whole number of messages.
pub(crate) fn counts(extension: &Extension, tally: &mut Tally) -> Option<IoCounts> {
    let value = extension.value(ItemKind::PathCounts)?;
    let mut numbers = value
        .chunks(8)
        .filter_map(|bytes| <[u8; 8]>::try_from(bytes).ok())
        .map(u64::from_be_bytes);
    let counts = IoCounts {
        send_calls: numbers.next()?,
        recv_calls: numbers.next()?,
        zerocopy_done: numbers.next()?,
        zerocopy_copied: numbers.next()?,
    };
    tally.send_calls = numbers.next()?;
    tally.recv_calls = numbers.next()?;
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::SocketPlan;

    /// Each setting with the largest value that it takes.
    fn every_setting() -> Settings {
        let mut settings = Settings::default();
        for setting in Setting::all() {
            let value = match setting.row().value {
                SettingType::Switch => SettingValue::Number(1),
                SettingType::Count | SettingType::Size => SettingValue::Number(u32::MAX),
                SettingType::Within(_, most) => SettingValue::Number(most),
                SettingType::Name => {
                    SettingValue::Name(InterfaceName::new("a-long-name.100").unwrap())
                }
            };
            settings.set(setting, Some(value));
        }
        settings
    }

    #[test]
    fn path_requests_arrive() {
        let end = EndPlan {
            io: IoPlan {
                method: IoMethod::Uring,
                zerocopy: true,
                discard: true,
                batch: Some(64),
                segments: true,
                splice: true,
            },
            socket: SocketPlan {
                settings: every_setting(),
                ..SocketPlan::default()
            },
            ..EndPlan::default()
        };
        let mut extension = Extension::default();
        ask(&mut extension, &end);
        let mut got = EndPlan::default();
        asked(&extension, &mut got).unwrap();
        assert_eq!(got, end);
    }

    /// The numbers and their order never change.
    #[test]
    fn socket_options_stand_in_the_order_of_their_numbers() {
        let settings = Settings::default()
            .with(Setting::PacingRate, 125_000_000)
            .with(Setting::FlowLabel, 0xf_ffff)
            .with(Setting::Mark, 7)
            .with(Setting::NotSentLowAt, 16_384)
            .with(Setting::QuickAck, 1)
            .with(Setting::BusyPoll, 50);
        let end = EndPlan {
            socket: SocketPlan {
                settings,
                ..SocketPlan::default()
            },
            ..EndPlan::default()
        };
        let mut extension = Extension::default();
        ask(&mut extension, &end);
        let expected = [
            [1, 0, 0, 0, 50],
            [2, 0, 0, 0, 1],
            [3, 0, 0, 64, 0],
            [4, 0, 0, 0, 7],
            [5, 0, 15, 255, 255],
            [6, 7, 115, 89, 64],
        ];
        let sent = extension.value(ItemKind::SocketOptions);
        assert_eq!(sent, Some(expected.as_flattened()));
    }

    #[test]
    fn settings_in_force_arrive_and_none_if_none_were_requested() {
        let mut extension = Extension::default();
        assert_eq!(confirmed(&extension), None);
        confirm(&mut extension, &every_setting());
        assert_eq!(confirmed(&extension), Some(every_setting()));
        let mut without = Extension::default();
        confirm(&mut without, &Settings::default());
        assert_eq!(confirmed(&without), Some(Settings::default()));
    }

    #[test]
    fn every_word_and_every_setting_fits_its_item() {
        let words = words(&Feature::all().collect::<Vec<_>>());
        assert!(words.len() <= ItemKind::Features.space(), "{}", words.len());
        let bytes = numbers(&every_setting());
        assert!(bytes.len() <= ItemKind::SocketOptions.space());
        assert!(InterfaceName::MOST <= ItemKind::BindDevice.space());
    }

    #[test]
    fn an_end_that_is_asked_for_nothing_is_sent_nothing() {
        let mut extension = Extension::default();
        ask(&mut extension, &EndPlan::default());
        assert_eq!(extension, Extension::default());
    }

    #[test]
    fn path_requests_that_are_unknown_are_refused() {
        for (kind, value) in [
            (ItemKind::DataPath, [9, 0, 0, 0, 0, 0].as_slice()),
            (ItemKind::DataPath, &[0, 0x80, 0, 0, 0, 0]),
            (ItemKind::DataPath, &[0, 0, 0xff, 0, 0, 0]),
            (ItemKind::DataPath, &[0]),
            (ItemKind::SocketOptions, &[99, 0, 0, 0, 1]),
            (ItemKind::SocketOptions, &[5, 0, 16, 0, 0]),
            (ItemKind::BindDevice, b""),
            (ItemKind::SocketOptions, &[1, 0]),
        ] {
            let mut extension = Extension::default();
            extension.push(kind, value);
            let got = asked(&extension, &mut EndPlan::default());
            assert_eq!(got, Err(NotUnderstood), "{kind:?} {value:?}");
        }
    }

    #[test]
    fn a_switch_arrives_and_another_version_of_it_is_refused() {
        for switch in &SWITCHES {
            let mut end = EndPlan::default();
            (switch.switch_on)(&mut end);
            let (mut extension, mut got) = (Extension::default(), EndPlan::default());
            ask_switches(&mut extension, &end);
            assert_eq!(extension.value(switch.item), Some(switch.value));
            asked_switches(&extension, &mut got).unwrap();
            assert_eq!(got, end);
        }
        for item in [ItemKind::Sequence, ItemKind::OnePort] {
            for value in [&[2][..], &[]] {
                let mut extension = Extension::default();
                extension.push(item, value);
                let got = asked_switches(&extension, &mut EndPlan::default());
                assert_eq!(got, Err(NotUnderstood), "{item:?} {value:?}");
            }
        }
    }

    #[test]
    fn a_part_of_a_second_arrives_and_more_is_refused() {
        let with = |micros: u32| {
            let mut extension = Extension::default();
            extension.push(ItemKind::ShortBy, &micros.to_be_bytes());
            let mut end = EndPlan::default();
            asked_switches(&extension, &mut end).map(|()| end.short_by)
        };
        assert_eq!(with(999_999), Ok(Some(Duration::from_micros(999_999))));
        assert_eq!(with(1_000_000), Err(NotUnderstood));
        let (mut extension, mut got) = (Extension::default(), EndPlan::default());
        let end = EndPlan {
            short_by: Some(Duration::from_millis(700)),
            ..EndPlan::default()
        };
        ask_switches(&mut extension, &end);
        asked_switches(&extension, &mut got).unwrap();
        assert_eq!(got, end);
    }

    #[test]
    fn the_time_between_samples_of_arrivals_is_requested_or_left_to_netserver() {
        let asked = |every: Option<u64>| EndPlan {
            arrivals: true,
            arrivals_every: every.map(Duration::from_micros),
            ..EndPlan::default()
        };
        for end in [asked(None), asked(Some(12_500)), EndPlan::default()] {
            let (mut extension, mut got) = (Extension::default(), EndPlan::default());
            ask_switches(&mut extension, &end);
            asked_switches(&extension, &mut got).unwrap();
            assert_eq!(got, end);
        }
    }

    #[test]
    fn counts_cross_whole() {
        let counted = IoCounts {
            send_calls: u64::MAX,
            recv_calls: 2,
            zerocopy_done: 3,
            zerocopy_copied: 4,
        };
        let messages = Tally {
            send_calls: 1 << 40,
            recv_calls: 7,
            ..Tally::default()
        };
        let (mut extension, mut got) = (Extension::default(), Tally::default());
        tell_counts(&mut extension, &counted, &messages);
        assert_eq!(counts(&extension, &mut got), Some(counted));
        assert_eq!(got, messages);
    }
}
