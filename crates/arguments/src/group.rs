//! The headings options stand under.

/// A heading of help, man page and manual, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
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
    /// Definition of an operation.
    Operation,
    /// Addresses and ports of the data connection.
    Addresses,
    /// Options of the data sockets.
    Sockets,
    /// Methods of moving bytes.
    Paths,
    /// The buffers data lies in.
    Buffers,
    /// Listening addresses of netserver.
    Listening,
    /// Access to netserver.
    Access,
    /// Limits of sessions.
    Limits,
    /// Operation of netserver.
    Running,
    /// Logs, limits and privileges.
    Operations,
    /// Members of a campaign, and what starts them.
    Campaign,
    /// Which results of a history are meant.
    History,
    /// About the program itself.
    About,
    /// Kept for old scripts.
    Compatibility,
}

impl Group {
    /// The heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
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
            Self::Access => "Access",
            Self::Limits => "Limits",
            Self::Running => "Running",
            Self::Operations => "Operation as a service",
            Self::Campaign => "Members and agents",
            Self::History => "Results",
            Self::About => "About the program",
            Self::Compatibility => "Accepted for old scripts",
        }
    }
}
