//! Processes beside netserver, for what it may not do itself or must not wait for.
//!
//! Each is no child of netserver, so its end needs no care, has no descriptor but its channels, and
//! ends when netserver closes its ends of these.

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use netperf_os::privileges;
use netperf_os::process::{self, Forked};

/// Starts a process of this name, which serves at its own ends of channels.
///
/// # Errors
/// When there are too many processes or open files.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "the new process returns to nothing of the listener"
)]
pub fn start(
    name: &CStr,
    own: &[BorrowedFd<'_>],
    serve: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    if process::fork_no_child()? == Forked::Child {
        let _served = begin(name, own).and_then(|()| serve());
        std::process::exit(0);
    }
    Ok(())
}

fn begin(name: &CStr, own: &[BorrowedFd<'_>]) -> io::Result<()> {
    process::set_name(name);
    process::block_signals()?;
    // A process that leads its group already needs no new one.
    let _leads = process::new_session();
    process::close_standard_streams()?;
    process::close_all_but(own);
    privileges::no_new_privileges()?;
    process::set_not_dumpable()
}
