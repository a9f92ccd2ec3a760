//! How netserver is to move its bytes, and what came of it, in the extension block.

use netperf_model::{EndPlan, Feature, IoCounts, IoMethod, IoPlan, SocketPlan, Tally};
use netperf_wire::messages::{Extension, ItemKind};

/// Bits of the second byte of [`ItemKind::DataPath`].
const ZEROCOPY: u8 = 1;
const DISCARD: u8 = 2;
const SEGMENTS: u8 = 4;
const SPLICE: u8 = 8;

/// Numbers of the options in [`ItemKind::SocketOptions`].
const BUSY_POLL: u8 = 1;
const QUICK_ACK: u8 = 2;
const NOT_SENT_LOW_AT: u8 = 3;
const MARK: u8 = 4;
const FLOW_LABEL: u8 = 5;
const PACING: u8 = 6;

/// A request that this end does not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotUnderstood;

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
    let socket = &end.socket;
    let options = [
        (BUSY_POLL, socket.busy_poll),
        (QUICK_ACK, socket.quickack.then_some(1)),
        (NOT_SENT_LOW_AT, socket.notsent_lowat),
        (MARK, socket.mark),
        (FLOW_LABEL, socket.flow_label),
        (PACING, socket.pacing_rate),
    ];
    let asked = options
        .into_iter()
        .filter_map(|(number, value)| value.map(|value| (number, value)));
    let value: Vec<u8> = asked
        .flat_map(|(number, value)| [vec![number], value.to_be_bytes().to_vec()].concat())
        .collect();
    if !value.is_empty() {
        extension.push(ItemKind::SocketOptions, &value);
    }
    if let Some(device) = &socket.device {
        extension.push(ItemKind::BindDevice, device.as_bytes());
    }
}

/// What netperf asks for.
///
/// # Errors
/// When it asks for something that is not known here, which must not be left out.
pub(crate) fn asked(extension: &Extension, end: &mut EndPlan) -> Result<(), NotUnderstood> {
    if let Some(value) = extension.value(ItemKind::DataPath) {
        end.io = data_path(value).ok_or(NotUnderstood)?;
    }
    if let Some(value) = extension.value(ItemKind::SocketOptions) {
        for option in value.chunks(5) {
            set_option(&mut end.socket, option).ok_or(NotUnderstood)?;
        }
    }
    end.socket.device = extension
        .value(ItemKind::BindDevice)
        .map(|name| String::from_utf8_lossy(name).into_owned());
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

fn set_option(socket: &mut SocketPlan, option: &[u8]) -> Option<()> {
    let [number, a, b, c, d] = <[u8; 5]>::try_from(option).ok()?;
    let value = u32::from_be_bytes([a, b, c, d]);
    match number {
        BUSY_POLL => socket.busy_poll = Some(value),
        QUICK_ACK => socket.quickack = value != 0,
        NOT_SENT_LOW_AT => socket.notsent_lowat = Some(value),
        MARK => socket.mark = Some(value),
        PACING => socket.pacing_rate = Some(value),
        FLOW_LABEL if value <= SocketPlan::MOST_FLOW_LABEL => socket.flow_label = Some(value),
        _ => return None,
    }
    Some(())
}

/// Says that all that was asked for beyond OMNI is in force.
pub(crate) fn confirm(extension: &mut Extension) {
    extension.push(ItemKind::AsAsked, &[]);
}

/// Whether netserver does all that it was asked for.
pub(crate) fn confirmed(extension: &Extension) -> bool {
    extension.value(ItemKind::AsAsked).is_some()
}

/// The names of what this end can do.
pub(crate) fn words(features: &[Feature]) -> String {
    let words: Vec<&str> = features.iter().map(|feature| feature.word()).collect();
    words.join(" ")
}

/// What a peer can do; names that are not known here cannot be asked for.
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

/// What went on underneath netserver's messages; `tally` gets their whole number.
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

    #[test]
    fn what_is_asked_for_arrives() {
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
                busy_poll: Some(50),
                quickack: true,
                notsent_lowat: Some(16_384),
                mark: Some(7),
                flow_label: Some(0xf_ffff),
                pacing_rate: Some(125_000_000),
                device: Some("eth0".to_owned()),
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

    #[test]
    fn an_end_that_is_asked_for_nothing_is_sent_nothing() {
        let mut extension = Extension::default();
        ask(&mut extension, &EndPlan::default());
        assert_eq!(extension, Extension::default());
    }

    #[test]
    fn what_is_not_known_is_refused_and_not_left_out() {
        for (kind, value) in [
            (ItemKind::DataPath, [9, 0, 0, 0, 0, 0].as_slice()),
            (ItemKind::DataPath, &[0, 0x80, 0, 0, 0, 0]),
            (ItemKind::DataPath, &[0, 0, 0xff, 0, 0, 0]),
            (ItemKind::DataPath, &[0]),
            (ItemKind::SocketOptions, &[9, 0, 0, 0, 1]),
            (ItemKind::SocketOptions, &[1, 0]),
        ] {
            let mut extension = Extension::default();
            extension.push(kind, value);
            let got = asked(&extension, &mut EndPlan::default());
            assert_eq!(got, Err(NotUnderstood), "{kind:?} {value:?}");
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
