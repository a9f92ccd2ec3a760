//! Reproducible pseudo-random numbers for tests.

/// xorshift64* (S. Vigna: An experimental exploration of Marsaglia's xorshift generators,
/// scrambled, 2016).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A separate sequence for every seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..20 {
            dice.roll();
        }
        dice
    }

    /// A number above 0 and below 1.
    pub fn roll(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = u32::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32).unwrap_or(0);
        (f64::from(high) + 0.5) / (f64::from(u32::MAX) + 1.0)
    }

    /// Standard normal (G. E. P. Box, M. E. Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.roll().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.roll()).cos()
    }
}
