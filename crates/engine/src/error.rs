//! Errors of the engine.

use std::fmt;
use std::io;
use std::path::PathBuf;

use netperf_model::Feature;

/// The operation that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creating the data socket and setting its options.
    Create,
    /// Using an optional feature of the kernel.
    Extra(Feature),
    /// Binding the data socket.
    Bind,
    /// Listening for the data connection.
    Listen,
    /// Connecting the data socket.
    Connect,
    /// Finding netserver's socket for datagrams behind the port of the control connection.
    Probe,
    /// Accepting the data connection.
    Accept,
    /// Sending data.
    Send,
    /// Receiving data.
    Receive,
    /// Opening or reading a fill file.
    Fill(PathBuf),
    /// Opening the file that TCP_SENDFILE sends, or finding it too small (`UnexpectedEof`).
    SendFile(PathBuf),
    /// Making the ring of buffers.
    Buffers,
    /// Setting up the timer of the run.
    Timer,
    /// Measuring CPU utilisation.
    Cpu,
    /// Starting a thread, or putting it on its CPU.
    Thread,
    /// Warming up: the user ended the run before anything counted.
    Warmup,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create => f.write_str("cannot create the data socket"),
            Self::Extra(feature) => write!(f, "cannot do {}", feature.option()),
            Self::Bind => f.write_str("cannot bind the data socket"),
            Self::Listen => f.write_str("cannot listen for the data connection"),
            Self::Connect => f.write_str("cannot connect the data socket"),
            Self::Probe => f.write_str("cannot reach netserver with datagrams at its one port"),
            Self::Accept => f.write_str("cannot accept the data connection"),
            Self::Send => f.write_str("cannot send data"),
            Self::Receive => f.write_str("cannot receive data"),
            Self::Fill(path) => write!(f, "cannot use the fill file {}", path.display()),
            Self::SendFile(path) => write!(f, "cannot send from the file {}", path.display()),
            Self::Buffers => f.write_str("cannot make the buffers"),
            Self::Timer => f.write_str("cannot set the timer of the run"),
            Self::Cpu => f.write_str("cannot measure CPU utilisation (/proc/stat)"),
            Self::Thread => f.write_str("cannot run a thread on its CPU"),
            Self::Warmup => f.write_str("ended before the warm-up was over (--warmup)"),
        }
    }
}

/// An operation and why it failed.
#[derive(Debug)]
pub struct EngineError {
    /// The operation that failed.
    pub operation: Operation,
    /// Why it failed.
    pub error: io::Error,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.error)
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Operation {
    /// Wraps an error; meant for `map_err`.
    pub(crate) fn failed(self) -> impl FnOnce(io::Error) -> EngineError {
        move |error| EngineError {
            operation: self,
            error,
        }
    }
}

/// Wraps the refusal of something that not every kernel does.
pub(crate) fn refused((feature, error): (Feature, io::Error)) -> EngineError {
    Operation::Extra(feature).failed()(error)
}
