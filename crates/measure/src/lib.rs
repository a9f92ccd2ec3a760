//! Measuring: the clock, CPU utilisation, and how sure a mean is.

pub mod clock;
pub mod confidence;
pub mod cpu;
