//! Random numbers from a seed.

/// SplitMix64, a generator with a state of 64 bits (G. Steele, D. Lea, C. Flood: Fast Splittable
/// Pseudorandom Number Generators, 2014).
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[inline]
    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_one_of_the_paper() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.roll(), 6_457_827_717_110_365_317);
        assert_eq!(random.roll(), 3_203_168_211_198_807_973);
    }
}
