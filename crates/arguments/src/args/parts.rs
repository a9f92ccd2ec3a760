//! Values for each end and each direction, and hosts.

use netperf_model::Family;

/// A value for netperf's end and one for netserver's; `None` was not typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerEnd<T> {
    /// netperf's.
    pub local: Option<T>,
    /// netserver's.
    pub remote: Option<T>,
}

/// A value for sending and one for receiving; `None` was not typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerDirection<T> {
    /// For sending.
    pub send: Option<T>,
    /// For receiving.
    pub recv: Option<T>,
}

/// A host and a family, as `-H` and `-L` take them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostArg {
    /// The name or address.
    pub host: Option<String>,
    /// Prefix length behind a `/` (OMNI options only).
    pub random_bits: Option<u8>,
    /// The family in force after `-4`, `-6` and every `-H`.
    pub family: Option<Family>,
}
