//! The one 64-bit float that a stock program does not arrange for the wire.

/// A 64-bit float in two big-endian words, low word first.
///
/// The words of other doubles are swapped before the word conversion, so that they come
/// out in order. XTI_TCP_STREAM forgets to, and this is what a little-endian stock
/// server then sends (control-protocol.md 2.7.7).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LowWordFirst(pub f64);

impl LowWordFirst {
    /// From the bytes in the record.
    #[must_use]
    pub const fn from_wire(bytes: [u8; 8]) -> Self {
        Self(f64::from_bits(u64::from_be_bytes(bytes).rotate_left(32)))
    }

    /// The bytes in the record.
    #[must_use]
    pub const fn to_wire(self) -> [u8; 8] {
        self.0.to_bits().rotate_left(32).to_be_bytes()
    }
}
