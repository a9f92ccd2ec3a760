//! Workloads and the loops that are timed.
