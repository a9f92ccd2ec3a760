//! netserver's end of a test without the type of its program.

use std::io;
use std::os::fd::BorrowedFd;

use netperf_model::{Address, EndJob, EndNeeds, EndResult, EndSetup};
use netperf_os::Socket;

use crate::error::EngineError;
use crate::program::Program;
use crate::run::TestEnd;

/// netserver's end of a test, ready to run once: [`TestEnd`] without the type of its program.
pub trait PreparedServer {
    /// Sizes of the socket and the buffers in force.
    fn setup(&self) -> &EndSetup;

    /// The port that netperf must use, 0 where there is none.
    fn data_port(&self) -> u32;

    /// Address of the data socket; `None` while it is not bound.
    fn address(&self) -> Option<&Address>;

    /// The ports of all data sockets, where each flow has its own.
    fn ports(&self) -> &[u16];

    /// Runs the end, as [`TestEnd::serve`].
    ///
    /// # Errors
    /// When the data connection cannot be accepted or breaks.
    fn serve(self: Box<Self>, control: Option<BorrowedFd<'_>>) -> Result<EndResult, EngineError>;
}

impl<P: Program> PreparedServer for TestEnd<P> {
    fn setup(&self) -> &EndSetup {
        self.setup()
    }

    fn data_port(&self) -> u32 {
        self.data_port()
    }

    fn address(&self) -> Option<&Address> {
        self.address()
    }

    fn ports(&self) -> &[u16] {
        self.ports()
    }

    fn serve(self: Box<Self>, control: Option<BorrowedFd<'_>>) -> Result<EndResult, EngineError> {
        (*self).serve(control)
    }
}

/// Prepares netserver's end, as [`TestEnd::prepare_behind`].
pub type PrepareServer = fn(
    Option<Socket>,
    EndJob,
    &mut dyn FnMut(EndNeeds) -> io::Result<()>,
) -> Result<Box<dyn PreparedServer>, EngineError>;

/// Prepares netserver's end in the program `P`, as [`TestEnd::prepare_behind`].
///
/// # Errors
/// As [`TestEnd::prepare`].
pub fn prepare_server<P: Program>(
    handoff: Option<Socket>,
    job: EndJob,
    reserve: &mut dyn FnMut(EndNeeds) -> io::Result<()>,
) -> Result<Box<dyn PreparedServer>, EngineError> {
    Ok(Box::new(TestEnd::<P>::prepare_behind(
        handoff, job, reserve,
    )?))
}
