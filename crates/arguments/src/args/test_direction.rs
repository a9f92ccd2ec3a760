//! The direction of an OMNI test.

/// Which ways an OMNI test's data goes, as `-d` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestDirection {
    /// netperf sends.
    pub sends: bool,
    /// netperf receives.
    pub receives: bool,
    /// Every operation uses a new connection (`crr`, `cc`).
    pub connects: bool,
}
