//! The headings options stand under.

/// A heading of help, man page and manual, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// Test, length and repetitions.
    Test,
    /// Hosts, ports and families of the control connection.
    Hosts,
    /// Output.
    Output,
    /// CPU utilisation and placement.
    Cpu,
    /// Repetitions and statistics.
    Statistics,
    /// Speed limits.
    Pacing,
    /// The buffers data lies in.
    Buffers,
    /// Methods of moving bytes.
    Paths,
    /// Options of the data sockets.
    Sockets,
    /// Definition of an operation.
    Operation,
    /// Addresses and ports of the data connection.
    Addresses,
    /// Listening addresses of netserver.
    Listening,
    /// Access to netserver.
    Access,
    /// Operation of netserver.
    Running,
    /// Logs, limits and privileges.
    Operations,
    /// Which results of a history are meant.
    History,
    /// About the program itself.
    About,
    /// Kept for old scripts.
    Compatibility,
}

impl Group {
    /// All, in order.
    pub(crate) const ALL: [Self; 18] = [
        Self::Test,
        Self::Hosts,
        Self::Output,
        Self::Cpu,
        Self::Statistics,
        Self::Pacing,
        Self::Operation,
        Self::Addresses,
        Self::Sockets,
        Self::Paths,
        Self::Buffers,
        Self::Listening,
        Self::Access,
        Self::Running,
        Self::Operations,
        Self::History,
        Self::About,
        Self::Compatibility,
    ];

    /// The heading.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Test => "The test",
            Self::Hosts => "Hosts and the control connection",
            Self::Output => "Output",
            Self::Cpu => "CPUs",
            Self::Statistics => "Repetition and confidence",
            Self::Pacing => "Pacing",
            Self::Buffers => "Buffers",
            Self::Sockets => "Sockets",
            Self::Paths => "Data paths",
            Self::Operation => "Operations",
            Self::Addresses => "Addresses of the data connection",
            Self::Listening => "Listening",
            Self::Access => "Access and limits",
            Self::Running => "Running",
            Self::Operations => "Operation as a service",
            Self::History => "Results",
            Self::About => "About the program",
            Self::Compatibility => "Accepted for old scripts",
        }
    }
}
