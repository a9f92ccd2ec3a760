//! Variables of the environment with which netserver starts the agent of campaigns, a process of
//! netperf.

/// Variable with the descriptor of the connection to the listener.
pub const CONTROL: &str = "NETPERF_AGENT_CONTROL";
/// Variable with the descriptor at which sessions pass their connections.
pub const DOOR: &str = "NETPERF_AGENT_DOOR";
/// Variables from which an agent knows its place; those of `netperf_campaign::inventory`, which
/// not every build has.
pub const PLACE_VARIABLES: [&str; 4] =
    ["NETPERF_LABELS", "NODE_NAME", "SLURMD_NODENAME", "POD_UID"];
