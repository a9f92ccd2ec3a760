//! Time that a test may go on behind its end, whatever its peer does.

use std::time::Duration;

/// Time for which a peer may still send, and answer. Data that waits in the network needs some of it.
pub const OF_PEER: Duration = Duration::from_secs(10);
/// Time for which own data, which a slow path holds up, may stay unacknowledged.
pub const OF_OWN_DATA: Duration = Duration::from_secs(30);
