//! Measuring: the clock, times of operations, counters, CPU utilisation, TCP_INFO, the host, and how
//! sure a mean is.

pub mod activity;
pub mod clock;
pub mod confidence;
pub mod contradiction;
pub mod counters;
pub mod cpu;
pub mod cpus;
pub mod device_drops;
pub mod device_stamps;
pub mod fine;
pub mod host;
pub mod host_counters;
pub mod latency;
pub mod overtime;
pub mod reads;
pub mod recorder;
pub mod sampler;
pub mod schedule;
pub mod send_queue;
pub mod series;
pub mod tcp;
