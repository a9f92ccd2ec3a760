//! Measuring: the clock, CPU utilisation, the host, and how sure a mean is.

pub mod clock;
pub mod confidence;
pub mod cpu;
pub mod cpus;
pub mod device_drops;
pub mod device_stamps;
pub mod fine;
pub mod host;
pub mod latency;
pub mod tcp;
