//! Results of numbers in datagrams in the extension block.

use netperf_model::Quality;
use netperf_wire::messages::{Extension, ItemKind};
use netperf_wire::{Frame, Stage};

/// Tells what the numbers told this end.
pub(crate) fn tell(extension: &mut Extension, quality: &Quality) {
    let numbers = (*quality).numbers().map(u64::to_be_bytes);
    extension.push(ItemKind::Quality, numbers.as_flattened());
}

/// The quality that netserver derived from the numbers.
pub(crate) fn told(frame: &Frame) -> Option<Quality> {
    let extension = Extension::decode(Stage::Results, frame).ok().flatten()?;
    let mut numbers = [0; Quality::NUMBERS];
    let bytes = extension.value(ItemKind::Quality)?;
    let chunks = bytes.chunks(8).map(<[u8; 8]>::try_from);
    for (number, chunk) in numbers.iter_mut().zip(chunks) {
        *number = u64::from_be_bytes(chunk.ok()?);
    }
    let whole = bytes.len() == Quality::NUMBERS * 8;
    whole.then(|| Quality::from_numbers(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_wire::Header;

    #[test]
    fn sequence_counts_cross_whole() {
        let quality = Quality::from_numbers([u64::MAX, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1]);
        let mut extension = Extension::default();
        tell(&mut extension, &quality);
        let mut frame = Frame::new(Header::default());
        extension.encode_over(Stage::Results, &mut frame).unwrap();
        assert_eq!(told(&frame), Some(quality));
        assert_eq!(told(&Frame::new(Header::default())), None);
    }
}
