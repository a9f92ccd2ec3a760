//! The program that an end is part of, as a type: netserver contains only the loops of its end.
//! netperf contains those of both ends, each once: without `-H` it is netserver, too.

use std::fmt;

use netperf_model::EndJob;

/// The program that an end is part of.
pub trait Program: Copy + fmt::Debug + Sync + 'static {
    /// It contains netperf's end.
    const ASKS: bool;

    /// Returns true for netperf's end.
    #[must_use]
    fn is_netperf(job: &EndJob) -> bool {
        Self::ASKS && job.is_netperf()
    }
}

/// Either end, in the program netperf.
#[derive(Clone, Copy, Debug)]
pub enum NetperfProgram {}

impl Program for NetperfProgram {
    const ASKS: bool = true;
}

/// netserver's end, in a program that has no other.
#[derive(Clone, Copy, Debug)]
pub enum NetserverProgram {}

impl Program for NetserverProgram {
    const ASKS: bool = false;
}
