//! Stands in for the encrypted control connection in a build without TLS.

use std::convert::Infallible;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_model::{KeyRing, Secret};

use super::NoChannel;

/// An encrypted connection: there is none in this build.
#[derive(Debug)]
pub struct Channel(Infallible);

fn absent() -> NoChannel {
    let text = "this program is built without the feature 'tls'";
    NoChannel::Broken(io::Error::new(io::ErrorKind::Unsupported, text))
}

impl Channel {
    /// Reports that this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn connect(_: BorrowedFd<'_>, _: &Secret, _: Duration) -> Result<Self, NoChannel> {
        Err(absent())
    }

    /// Reports that this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn accept(_: BorrowedFd<'_>, _: &KeyRing, _: Duration) -> Result<(Self, usize), NoChannel> {
        Err(absent())
    }

    /// Never called, as there is no value.
    ///
    /// # Errors
    /// None.
    pub fn send(&mut self, _: BorrowedFd<'_>, _: &[u8], _: Duration) -> io::Result<()> {
        match self.0 {}
    }

    /// Never called, as there is no value.
    ///
    /// # Errors
    /// None.
    pub fn read(&mut self, _: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0 {}
    }

    /// Never called, as there is no value.
    ///
    /// # Errors
    /// None.
    pub fn take_in(&mut self, _: BorrowedFd<'_>) -> io::Result<bool> {
        match self.0 {}
    }
}
