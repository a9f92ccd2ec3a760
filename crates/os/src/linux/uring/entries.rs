//! Calls of [`EntryCall`] by a ring.

use std::io;

use io_uring::opcode;
use io_uring::squeue::Entry;
use io_uring::types::Fd;

use super::Uring;
use crate::entries::EntryCall;
use crate::linux::entries::LowMemory;

impl Uring {
    /// Makes a call. `None` if rings do not have it.
    ///
    /// # Errors
    /// Whatever the call, or `io_uring_enter(2)`, reports.
    pub fn make(&mut self, call: &EntryCall<'_>) -> Option<io::Result<()>> {
        let mut memory = match LowMemory::new() {
            Ok(memory) => memory,
            Err(error) => return Some(Err(error)),
        };
        let arguments = match call.place(&mut memory) {
            Ok(placed) => placed.arguments,
            Err(error) => return Some(Err(error)),
        };
        let entry = entry(call, arguments)?;
        // SAFETY: the memory lasts until the call is over.
        Some(unsafe { self.call(entry, None) }.map(drop))
    }
}

fn entry(call: &EntryCall<'_>, [a, b, c, d, e]: [u32; 5]) -> Option<Entry> {
    let at = |address: u32| std::ptr::with_exposed_provenance::<libc::c_char>(to_usize(address));
    let (first, number) = (Fd(signed(a)), signed(c));
    Some(match call {
        EntryCall::MakeFolder(_) => opcode::MkDirAt::new(first, at(b)).mode(c).build(),
        EntryCall::Rename(..) => opcode::RenameAt::new(first, at(b), Fd(signed(c)), at(d)).build(),
        EntryCall::Read(_) | EntryCall::Write(_) | EntryCall::Make(_) => {
            opcode::OpenAt::new(first, at(b))
                .flags(number)
                .mode(d)
                .build()
        }
        EntryCall::Remove(_) => opcode::UnlinkAt::new(first, at(b)).build(),
        EntryCall::Open(..) => opcode::Socket::new(signed(a), signed(b), number).build(),
        EntryCall::Bind(..) => opcode::Bind::new(first, at(b).cast(), c).build(),
        EntryCall::Connect(..) => opcode::Connect::new(first, at(b).cast(), c).build(),
        EntryCall::Mark(_) => opcode::SetSockOpt::new(first, b, c, at(d).cast(), e).build(),
        EntryCall::Execute(_)
        | EntryCall::GiveAway(_)
        | EntryCall::Permit(_)
        | EntryCall::SetUpRing
        | EntryCall::Signal(_)
        | EntryCall::Limit(_) => return None,
    })
}

/// The bits of a number.
const fn signed(bits: u32) -> i32 {
    i32::from_ne_bytes(bits.to_ne_bytes())
}

/// An address below 4 GiB.
fn to_usize(address: u32) -> usize {
    usize::try_from(address).unwrap_or_default()
}
