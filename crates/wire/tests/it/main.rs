//! Integration tests, a module for each subject.

mod captures;
mod extension;
mod layouts;
mod properties;
mod quirks;
mod vectors;
