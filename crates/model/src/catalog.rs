//! The catalogues: every transport, test name and socket setting, one row each.

pub mod settings;
pub mod tests;
pub mod transports;
