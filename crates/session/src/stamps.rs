//! The moments of transactions as the bytes of an appendix (docs/spec/extension.md, "Time
//! stamps").

use netperf_model::{DeviceStamp, Stamp, Stamper, Stamps};
use netperf_wire::messages::{Extension, ItemKind};

use crate::paths::NotUnderstood;
use crate::series::AppendixReader;

/// The version that is written; stamps of another one cannot be read.
const VERSION: u8 = 1;
/// Bytes of a transaction. A reader skips what a later netserver has behind them.
const STAMP: u16 = 36;
/// Bytes of a transaction that the device stamped, too.
const WITH_DEVICE: u16 = 52;
/// Bytes of a transaction of one of many flows: the device's stamps are 0 if there are none.
const WITH_FLOW: u16 = 56;
/// Bytes of a numbered datagram, with its type of service.
const WITH_TOS: u16 = 60;
/// The second byte where datagrams have the numbers of requests.
const NUMBERED: u8 = 1;
/// Stamps by the kernel, in its own time.
const SOFTWARE: u8 = 1;
/// Stamps by the device, by its own clock, beside those by the kernel.
const HARDWARE: u8 = 2;

/// Asks netserver to stamp.
pub(crate) fn ask(extension: &mut Extension, by: Stamper) {
    let by = match by {
        Stamper::Kernel => SOFTWARE,
        Stamper::Device => HARDWARE,
    };
    extension.push(ItemKind::Timestamps, &[by]);
}

/// Which stamps netperf asks for.
///
/// # Errors
/// When it asks for some that are not known here.
pub(crate) fn asked(extension: &Extension) -> Result<Option<Stamper>, NotUnderstood> {
    match extension.value(ItemKind::Timestamps) {
        None => Ok(None),
        Some([SOFTWARE]) => Ok(Some(Stamper::Kernel)),
        Some([HARDWARE]) => Ok(Some(Stamper::Device)),
        Some(_) => Err(NotUnderstood),
    }
}

/// The bytes of stamps.
pub(crate) fn encode(stamps: &Stamps) -> Vec<u8> {
    let by_device = stamps.each.iter().any(|stamp| stamp.device.is_some());
    let of_flows = stamps.each.iter().any(|stamp| stamp.flow > 0);
    let size = match (stamps.numbered, of_flows, by_device) {
        (true, _, _) => WITH_TOS,
        (false, true, _) => WITH_FLOW,
        (false, false, true) => WITH_DEVICE,
        (false, false, false) => STAMP,
    };
    let mut bytes = vec![VERSION, u8::from(stamps.numbered)];
    bytes.extend(size.to_be_bytes());
    let count = u32::try_from(stamps.each.len()).unwrap_or(u32::MAX);
    for word in [stamps.every, stamps.incomplete, count] {
        bytes.extend(word.to_be_bytes());
    }
    for stamp in &stamps.each {
        bytes.extend(stamp.number.to_be_bytes());
        for moment in [stamp.sending, stamp.sent, stamp.arrived, stamp.received] {
            bytes.extend(moment.to_be_bytes());
        }
        if by_device || of_flows || stamps.numbered {
            let device = stamp.device.unwrap_or_default();
            bytes.extend([device.sent, device.arrived].map(u64::to_be_bytes).concat());
        }
        if of_flows || stamps.numbered {
            bytes.extend(stamp.flow.to_be_bytes());
        }
        if stamps.numbered {
            // One more than it is; 0 where it is unknown.
            let tos = stamp.tos.map_or(0, |tos| u32::from(tos) + 1);
            bytes.extend(tos.to_be_bytes());
        }
    }
    bytes
}

/// The stamps in these bytes; `None` where they are none.
pub(crate) fn decode(bytes: &[u8]) -> Option<Stamps> {
    let mut bytes = AppendixReader(bytes);
    let numbered = match bytes.take::<2>()? {
        [VERSION, 0] => false,
        [VERSION, NUMBERED] => true,
        _ => return None,
    };
    let size = usize::from(u16::from_be_bytes(bytes.take()?));
    let (every, incomplete) = (bytes.word()?, bytes.word()?);
    let length = size.checked_mul(usize::try_from(bytes.word()?).ok()?)?;
    if size < usize::from(STAMP) {
        return None;
    }
    let stamps = bytes.part(length)?.chunks_exact(size);
    let get = |stamp| get(AppendixReader(stamp), numbered);
    let each: Option<Vec<Stamp>> = stamps.map(get).collect();
    Some(Stamps {
        numbered,
        every,
        incomplete,
        each: each?,
    })
}

fn get(mut bytes: AppendixReader<'_>, numbered: bool) -> Option<Stamp> {
    let mut stamp = Stamp {
        number: bytes.word()?,
        sending: bytes.long()?,
        sent: bytes.long()?,
        arrived: bytes.long()?,
        received: bytes.long()?,
        ..Stamp::default()
    };
    let device = bytes.long().zip(bytes.long());
    stamp.flow = bytes.word().unwrap_or_default();
    let tos = bytes.word().and_then(|tos| tos.checked_sub(1));
    stamp.tos = tos.and_then(|tos| u8::try_from(tos).ok());
    // Without a device those of a flow, and of numbered datagrams, are 0.
    let stamped = device.filter(|device| (stamp.flow == 0 && !numbered) || *device != (0, 0));
    stamp.device = stamped.map(|(sent, arrived)| DeviceStamp { sent, arrived });
    Some(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps() -> Stamps {
        let stamp = |number: u32| Stamp {
            flow: 0,
            number,
            begun: 0,
            sending: u64::MAX - 3,
            sent: 1 << 60,
            arrived: u64::from(number),
            received: 7,
            device: None,
            tos: None,
        };
        Stamps {
            numbered: false,
            every: 4,
            incomplete: 2,
            each: (1..4).map(stamp).collect(),
        }
    }

    #[test]
    fn stamps_cross_whole() {
        assert_eq!(decode(&encode(&stamps())), Some(stamps()));
        assert_eq!(decode(&encode(&Stamps::default())), Some(Stamps::default()));
        let mut by_device = stamps();
        for stamp in &mut by_device.each {
            let (sent, arrived) = (u64::from(stamp.number), u64::MAX);
            stamp.device = Some(DeviceStamp { sent, arrived });
        }
        assert_eq!(decode(&encode(&by_device)), Some(by_device.clone()));
        for mut of_flows in [stamps(), by_device] {
            for stamp in &mut of_flows.each {
                stamp.flow = 40_000 + stamp.number;
            }
            assert_eq!(decode(&encode(&of_flows)), Some(of_flows));
        }
    }

    #[test]
    fn numbered_datagrams_cross_with_their_type_of_service() {
        let mut numbered = stamps();
        numbered.numbered = true;
        for (stamp, tos) in numbered.each.iter_mut().zip([None, Some(0), Some(0xff)]) {
            stamp.tos = tos;
        }
        assert_eq!(decode(&encode(&numbered)), Some(numbered));
    }

    #[test]
    fn no_part_of_stamps_is_taken_for_some_and_no_number_of_them_is_believed() {
        let whole = encode(&stamps());
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length]), None, "{length}");
        }
        let mut much = whole.clone();
        much[12..16].copy_from_slice(&[0xff; 4]);
        assert_eq!(decode(&much), None);
        let mut short = whole;
        short[2..4].copy_from_slice(&[0, 35]);
        assert_eq!(decode(&short), None);
    }

    #[test]
    fn stamp_requests_that_are_unknown_are_refused() {
        let mut extension = Extension::default();
        assert_eq!(asked(&extension), Ok(None));
        for by in [Stamper::Kernel, Stamper::Device] {
            let mut extension = Extension::default();
            ask(&mut extension, by);
            assert_eq!(asked(&extension), Ok(Some(by)));
        }
        extension.push(ItemKind::Timestamps, &[3]);
        assert_eq!(asked(&extension), Err(NotUnderstood));
    }
}
