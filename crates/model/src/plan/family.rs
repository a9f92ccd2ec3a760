//! Address families.

/// Requested address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Family {
    /// Any family that the name resolves to.
    #[default]
    Unspecified,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Name of the family in messages and in the banner.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unspecified => "AF_UNSPEC",
            Self::V4 => "AF_INET",
            Self::V6 => "AF_INET6",
        }
    }

    /// Number of the family in `SOURCE_FAMILY` and `DEST_FAMILY` (Linux values).
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Unspecified => 0,
            Self::V4 => 2,
            Self::V6 => 10,
        }
    }
}
