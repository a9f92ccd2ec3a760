//! The ring of buffers that a direction cycles through, one per call (control-protocol.md 3.1).

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use netperf_model::plan::TouchPlan;

use crate::due::hooks::touch;

/// Default contents, repeated from buffer to buffer.
const PATTERN: &[u8; 8] = b"netperf\0";

/// More than any test needs, and little enough that a mistyped size is refused
/// rather than driving the machine out of memory.
const MOST_BYTES: usize = 1 << 30;

/// RingLayout of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLayout {
    /// Bytes per buffer.
    pub size: u32,
    /// Number of buffers.
    pub width: u32,
    /// Alignment of each buffer, bytes.
    pub align: u32,
    /// Offset from the alignment, bytes.
    pub offset: u32,
}

/// Buffers of one size, handed out in turn.
#[derive(Debug)]
pub struct Ring {
    bytes: Vec<u8>,
    size: usize,
    /// Offsets of the first buffer and the last.
    first: usize,
    last: usize,
    /// From the beginning of one to that of the next.
    stride: usize,
    /// Offset of the next buffer.
    next: usize,
    touch: TouchPlan,
}

impl Ring {
    /// Lays out and fills a ring.
    ///
    /// # Errors
    /// `InvalidInput` for an alignment that is not a power of two or a ring of more
    /// than 1 GiB, and whatever reading the file reports.
    pub fn new(layout: RingLayout, fill: Option<&Path>) -> io::Result<Self> {
        let (align, offset) = (to_usize(layout.align.max(1)), to_usize(layout.offset));
        let (size, width) = (to_usize(layout.size), to_usize(layout.width.max(1)));
        if !align.is_power_of_two() {
            return Err(invalid("the alignment is not a power of two"));
        }
        let total = size
            .checked_add(align)
            .and_then(|sum| sum.checked_add(offset))
            .and_then(|stride| stride.checked_mul(width))
            .filter(|total| *total <= MOST_BYTES)
            .ok_or_else(|| invalid("the buffers would take more than 1 GiB"))?;
        let bytes = vec![0; total];
        let misaligned = bytes.as_ptr() as usize % align;
        let first = (align - misaligned) % align + offset;
        // Every buffer has the alignment of the first.
        let stride = (total / width) / align * align;
        let mut ring = Self {
            bytes,
            size,
            first,
            last: first + (width - 1) * stride,
            stride,
            next: first,
            touch: TouchPlan::default(),
        };
        match fill {
            Some(path) => ring.fill_from(path)?,
            None => ring.fill_with_pattern(),
        }
        Ok(ring)
    }

    /// Bytes per buffer.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The next buffer.
    #[inline]
    pub fn advance(&mut self) -> &mut [u8] {
        let start = self.next;
        self.next = if start == self.last {
            self.first
        } else {
            start + self.stride
        };
        &mut self.bytes[start..start + self.size]
    }

    /// Touches every buffer that [`Self::advance_touched`] hands out.
    pub(crate) const fn touch_with(&mut self, touch: TouchPlan) {
        self.touch = touch;
    }

    /// The next buffer, touched as planned (`-k` and `-K`).
    #[inline]
    pub(crate) fn advance_touched(&mut self) -> &mut [u8] {
        let plan = self.touch;
        let buffer = self.advance();
        if plan != TouchPlan::default() {
            touch(plan, buffer);
        }
        buffer
    }

    /// The buffer that was handed out last.
    #[inline]
    pub(crate) fn latest(&self) -> &[u8] {
        let start = self.latest_start();
        &self.bytes[start..start + self.size]
    }

    /// The buffer that was handed out last, to write to.
    #[inline]
    pub(crate) fn latest_mut(&mut self) -> &mut [u8] {
        let start = self.latest_start();
        &mut self.bytes[start..start + self.size]
    }

    fn latest_start(&self) -> usize {
        if self.next == self.first {
            self.last
        } else {
            self.next - self.stride
        }
    }

    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..=self.last).step_by(self.stride)
    }

    fn fill_with_pattern(&mut self) {
        let mut pattern = PATTERN.iter().copied().cycle();
        for start in self.starts() {
            for (byte, value) in self.bytes[start..start + self.size]
                .iter_mut()
                .zip(&mut pattern)
            {
                *byte = value;
            }
        }
    }

    /// Fills the ring from a file, from its beginning again whenever it ends.
    fn fill_from(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        for start in self.starts() {
            let mut rest = &mut self.bytes[start..start + self.size];
            let mut rewound = false;
            while !rest.is_empty() {
                match file.read(rest)? {
                    0 if rewound => return Err(invalid("the file is empty")),
                    0 => {
                        file.rewind()?;
                        rewound = true;
                    }
                    count => {
                        rest = &mut rest[count..];
                        rewound = false;
                    }
                }
            }
        }
        Ok(())
    }
}

fn to_usize(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: RingLayout = RingLayout {
        size: 10,
        width: 3,
        align: 64,
        offset: 5,
    };

    #[test]
    fn every_buffer_lies_at_the_offset_from_its_alignment() {
        let mut ring = Ring::new(LAYOUT, None).unwrap();
        for _ in 0..7 {
            let buffer = ring.advance();
            assert_eq!(buffer.len(), 10);
            assert_eq!(buffer.as_ptr() as usize % 64, 5);
        }
    }

    #[test]
    fn the_pattern_goes_on_from_buffer_to_buffer() {
        let mut ring = Ring::new(LAYOUT, None).unwrap();
        assert_eq!(ring.advance(), b"netperf\0ne");
        assert_eq!(ring.advance(), b"tperf\0netp");
    }

    #[test]
    fn a_short_file_is_read_again_from_its_beginning() {
        let path = std::env::temp_dir().join(format!("netperf-ring-{}", std::process::id()));
        std::fs::write(&path, b"abc").unwrap();
        let mut ring = Ring::new(LAYOUT, Some(&path)).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(ring.advance(), b"abcabcabca");
        assert_eq!(ring.advance(), b"bcabcabcab");
    }

    #[test]
    fn nonsense_is_refused_and_not_allocated() {
        assert!(Ring::new(RingLayout { align: 3, ..LAYOUT }, None).is_err());
        assert!(
            Ring::new(
                RingLayout {
                    size: u32::MAX,
                    width: u32::MAX,
                    ..LAYOUT
                },
                None
            )
            .is_err()
        );
        assert!(Ring::new(LAYOUT, Some(Path::new("/dev/null"))).is_err());
        assert!(Ring::new(LAYOUT, Some(Path::new("/no/such/file"))).is_err());
    }
}
