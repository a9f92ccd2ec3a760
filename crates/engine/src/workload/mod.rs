//! The loops that are timed. Each exists once, whatever moves the bytes.

pub mod connect;
pub mod message;
pub mod rr;
pub mod stream;
