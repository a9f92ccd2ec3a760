//! The codec against captured exchanges, the wire document and arbitrary bytes.

mod captures;
mod extension;
mod layouts;
mod properties;
mod quirks;
mod vectors;
