//! Errors of the engine.

use std::io;
use std::path::PathBuf;

use netperf_model::Feature;
use netperf_transport::open::{OpenError, OpenStep};

/// The operation that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Operation {
    /// Creating the data socket and setting its options.
    #[error("cannot create the data socket")]
    Create,
    /// Using an optional feature of the kernel.
    #[error("cannot do {}", .0.option())]
    Extra(Feature),
    /// Binding the data socket.
    #[error("cannot bind the data socket")]
    Bind,
    /// Finding enough free ports in netserver's range of data ports.
    #[error("not enough data ports are free")]
    DataPorts,
    /// Listening for the data connection.
    #[error("cannot listen for the data connection")]
    Listen,
    /// Connecting the data socket.
    #[error("cannot connect the data socket")]
    Connect,
    /// Finding netserver's socket for datagrams behind the port of the control connection.
    #[error("cannot reach netserver with datagrams at its one port")]
    Probe,
    /// Accepting the data connection.
    #[error("cannot accept the data connection")]
    Accept,
    /// Sending data.
    #[error("cannot send data")]
    Send,
    /// Receiving data.
    #[error("cannot receive data")]
    Receive,
    /// Opening or reading a fill file.
    #[error("cannot use the fill file {}", .0.display())]
    Fill(PathBuf),
    /// Opening the file that TCP_SENDFILE sends, or finding it too small (`UnexpectedEof`).
    #[error("cannot send from the file {}", .0.display())]
    SendFile(PathBuf),
    /// Making the ring of buffers.
    #[error("cannot make the buffers")]
    Buffers,
    /// Setting up the timer of the run.
    #[error("cannot set the timer of the run")]
    Timer,
    /// Measuring CPU utilisation.
    #[error("cannot measure CPU utilisation (/proc/stat)")]
    Cpu,
    /// Starting a thread, or putting it on its CPU.
    #[error("cannot run a thread on its CPU")]
    Thread,
    /// Warming up: the user ended the run before anything counted.
    #[error("ended before the warm-up was over (--warmup)")]
    Warmup,
}

/// An operation and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation}: {error}")]
pub struct EngineError {
    /// The operation that failed.
    pub operation: Operation,
    /// Why it failed.
    #[source]
    pub error: io::Error,
}

impl Operation {
    /// Wraps an error; meant for `map_err`.
    pub(crate) fn failed(self) -> impl FnOnce(io::Error) -> EngineError {
        move |error| EngineError {
            operation: self,
            error,
        }
    }

    /// The error for what this build, or this transport, does not do.
    pub(crate) fn unsupported(self) -> EngineError {
        self.failed()(io::ErrorKind::Unsupported.into())
    }
}

impl From<OpenError> for EngineError {
    fn from(OpenError { step, error }: OpenError) -> Self {
        let operation = match step {
            OpenStep::Socket => Operation::Create,
            OpenStep::Buffers => Operation::Buffers,
            OpenStep::Ring => Operation::Extra(Feature::Uring),
            OpenStep::Send => Operation::Send,
            OpenStep::Receive => Operation::Receive,
            OpenStep::Stamps(by) => Operation::Extra(by.feature()),
        };
        operation.failed()(error)
    }
}

/// Wraps the refusal of something that not every kernel does.
pub(crate) fn refused((feature, error): (Feature, io::Error)) -> EngineError {
    Operation::Extra(feature).failed()(error)
}
