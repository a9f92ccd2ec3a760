//! Version and default sizes.

/// Version that this implementation reports.
pub const VERSION: &str = "3.12";
/// Default length of a block, bytes.
pub const BLOCK: u32 = 128 * 1024;
/// Length of a datagram if the path is not known, bytes.
pub const DATAGRAM: u32 = 1460;
