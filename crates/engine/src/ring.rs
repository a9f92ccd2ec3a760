//! The ring of buffers that a direction cycles through, one per call (control-protocol.md 3.1).

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use netperf_model::plan::TouchPlan;
use netperf_model::sizes::to_usize;
use netperf_os::memory;

/// Default contents, repeated from buffer to buffer.
const PATTERN: &[u8; 8] = b"netperf\0";

/// Bytes of a ring whose buffers have no larger alignment than asked for.
const LARGE: usize = 1 << 30;

/// Layout of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLayout {
    /// Bytes per buffer.
    pub size: u32,
    /// Number of buffers.
    pub width: u32,
    /// Least alignment of each buffer, bytes. A buffer has the alignment of
    /// [`netperf_os::memory::alignment`] where that is larger.
    pub align: u32,
    /// Offset from the alignment, bytes.
    pub offset: u32,
}

impl RingLayout {
    /// Bytes of memory.
    ///
    /// # Errors
    /// As [`Ring::new`], apart from reading.
    pub(crate) fn bytes(self) -> io::Result<u64> {
        let (total, ..) = self.placed()?;
        Ok(u64::try_from(total).unwrap_or(u64::MAX))
    }

    /// Bytes of memory, distance between two buffers, and alignment of each.
    fn placed(self) -> io::Result<(usize, usize, usize)> {
        let (align, offset) = (to_usize(self.align.max(1)), to_usize(self.offset));
        let (size, width) = (to_usize(self.size.max(1)), to_usize(self.width.max(1)));
        if !align.is_power_of_two() {
            return Err(invalid("the alignment is not a power of two"));
        }
        let placed = |align: usize| {
            let stride = size.checked_next_multiple_of(align)?;
            let total = stride.checked_mul(width)?.checked_add(align)?;
            Some((total.checked_add(offset)?, stride, align))
        };
        // Many small buffers can take much more memory at the larger alignment.
        let aligned = placed(align.max(memory::alignment(size)));
        aligned
            .filter(|(total, ..)| *total <= LARGE)
            .or_else(|| placed(align))
            .ok_or_else(|| invalid("the buffers would take more memory than can be addressed"))
    }
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
    /// The buffers have their contents.
    is_filled: bool,
}

impl Ring {
    /// Lays out and fills a ring.
    ///
    /// # Errors
    /// `InvalidInput` for an alignment that is not a power of two, `ENOMEM`, and whatever reading
    /// the file reports.
    pub fn new(layout: RingLayout, fill: Option<&Path>) -> io::Result<Self> {
        let mut ring = Self::unfilled(layout)?;
        match fill {
            Some(path) => ring.fill_from(path)?,
            None => ring.fill_with_pattern(),
        }
        ring.is_filled = true;
        Ok(ring)
    }

    /// Lays out a ring. The kernel provides most of its memory when it is filled or used.
    ///
    /// # Errors
    /// As [`Self::new`], apart from reading.
    pub(crate) fn unfilled(layout: RingLayout) -> io::Result<Self> {
        let size = to_usize(layout.size);
        let (total, stride, align) = layout.placed()?;
        let bytes = memory::zeroed(total)?;
        let first = bytes.as_ptr().align_offset(align) + to_usize(layout.offset);
        Ok(Self {
            bytes,
            size,
            first,
            last: first + (to_usize(layout.width.max(1)) - 1) * stride,
            stride,
            next: first,
            touch: TouchPlan::default(),
            is_filled: false,
        })
    }

    /// Fills a ring that has no contents yet with the default ones.
    #[cold]
    pub(crate) fn fill(&mut self) {
        if !self.is_filled {
            self.fill_with_pattern();
            self.is_filled = true;
        }
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
        // The pattern goes on from buffer to buffer.
        let mut at = 0;
        for start in self.starts() {
            let mut rest = &mut self.bytes[start..start + self.size];
            while !rest.is_empty() {
                let part = PATTERN.get(at..).unwrap_or_default();
                let (now, later) = rest.split_at_mut(part.len().min(rest.len()));
                now.copy_from_slice(&part[..now.len()]);
                at = (at + now.len()) % PATTERN.len();
                rest = later;
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

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Writes the first bytes of a buffer and reads the next ones, so that the CPU's cache has
/// them, dirty or clean, when the kernel takes the buffer.
pub(crate) fn touch(plan: TouchPlan, buffer: &mut [u8]) {
    let dirty = usize::try_from(plan.dirty).unwrap_or(0).min(buffer.len());
    let (dirtied, rest) = buffer.split_at_mut(dirty);
    for byte in dirtied {
        *byte = byte.wrapping_add(1);
    }
    let clean = usize::try_from(plan.clean).unwrap_or(0).min(rest.len());
    let sum = rest[..clean]
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    std::hint::black_box(sum);
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

    /// Addresses of all buffers of a ring.
    fn addresses(layout: RingLayout) -> Vec<usize> {
        let mut ring = Ring::new(layout, None).unwrap();
        let mut address = |_| {
            let buffer = ring.advance();
            assert_eq!(buffer.len(), to_usize(layout.size));
            buffer.as_ptr() as usize
        };
        (0..layout.width).map(&mut address).collect()
    }

    const SIZES: [u32; 16] = [
        1,
        2,
        63,
        64,
        65,
        100,
        1472,
        4095,
        4096,
        4097,
        9000,
        16_384,
        65_507,
        65_535,
        131_072,
        1 << 20,
    ];

    #[test]
    fn a_buffer_starts_on_a_cache_line_and_a_large_one_on_a_page() {
        for size in SIZES {
            let boundary = if size < 4096 { 64 } else { 4096 };
            // 8 is the default of -a.
            let addresses = addresses(RingLayout {
                size,
                align: 8,
                offset: 0,
                ..LAYOUT
            });
            let distance = to_usize(size.next_multiple_of(boundary));
            for pair in addresses.windows(2) {
                assert_eq!(pair[0] % to_usize(boundary), 0, "{size}");
                assert_eq!(pair[1] - pair[0], distance, "{size}");
            }
        }
    }

    #[test]
    fn a_larger_alignment_and_an_offset_move_every_buffer() {
        for size in [1, 64, 100, 4096, 65_507] {
            for align in [1, 8, 256, 4096, 8192] {
                for offset in [0, 3, 64, 5000] {
                    let layout = RingLayout {
                        size,
                        width: 3,
                        align,
                        offset,
                    };
                    let boundary = align.max(if size < 4096 { 64 } else { 4096 });
                    let addresses = addresses(layout);
                    let distance = to_usize(size.next_multiple_of(boundary));
                    for (number, address) in addresses.iter().enumerate() {
                        assert_eq!(
                            (address - to_usize(offset)) % to_usize(boundary),
                            0,
                            "{layout:?}"
                        );
                        assert_eq!(address - addresses[0], number * distance, "{layout:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn many_small_buffers_that_would_exceed_the_limit_lie_closer() {
        let layout = |width| RingLayout {
            size: 1,
            width,
            align: 8,
            offset: 0,
        };
        let distance = |width| layout(width).placed().unwrap().1;
        assert_eq!(distance(16_000_000), 64);
        assert_eq!(distance(20_000_000), 8);
        // Memory decides about larger ones.
        assert!(layout(u32::MAX).placed().is_ok());
    }

    #[test]
    fn the_pattern_goes_on_from_buffer_to_buffer() {
        let mut ring = Ring::new(LAYOUT, None).unwrap();
        assert_eq!(ring.advance(), b"netperf\0ne");
        assert_eq!(ring.advance(), b"tperf\0netp");
    }

    #[test]
    fn a_short_file_is_read_again_from_its_beginning() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, b"abc").unwrap();
        let mut ring = Ring::new(LAYOUT, Some(file.path())).unwrap();
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
