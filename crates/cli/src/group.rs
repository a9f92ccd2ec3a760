//! The headings options stand under.

/// A heading of help, man page and manual, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// What is done, how long and how often.
    Test,
    /// Hosts, ports and families of the control connection.
    Hosts,
    /// What is printed.
    Output,
    /// CPU utilisation and placement.
    Cpu,
    /// How often it is repeated.
    Statistics,
    /// Speed limits.
    Pacing,
    /// The buffers data lies in.
    Buffers,
    /// How bytes are moved.
    Paths,
    /// Options of the data sockets.
    Sockets,
    /// What an operation is.
    Operation,
    /// Addresses and ports of the data connection.
    Addresses,
    /// Where netserver listens.
    Listening,
    /// Who may use netserver, and for what.
    Access,
    /// How netserver runs.
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
            Self::Compatibility => "Kept for old scripts",
        }
    }
}
