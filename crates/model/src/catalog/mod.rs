//! The catalogues: every transport and every test name, one row each.

pub mod tests;
pub mod transports;
