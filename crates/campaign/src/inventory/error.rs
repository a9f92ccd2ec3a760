//! Errors of an inventory.

use std::fmt;

use netperf_web::escape;
use thiserror::Error;

/// An inventory that cannot be used.
#[derive(Debug, Error)]
pub enum InventoryError {
    /// Bytes that are no text.
    #[error("not text (UTF-8)")]
    NotText,
    /// There is nothing in it.
    #[error("no member: the list is empty")]
    Empty,
    /// JSON with an error.
    #[error("not valid JSON: {0}")]
    Json(serde_json::Error),
    /// JSON of another form than was asked for.
    #[error("not the output of {0}: {1}")]
    Shape(&'static str, String),
    /// Output of a tool in a form that is not read.
    #[error(transparent)]
    Other(#[from] NotAnInventory),
    /// An error in a line, by its number.
    #[error("line {0}: {1}")]
    Line(usize, BadLine),
    /// A group is given, and the inventory has none.
    #[error("--group is only for an inventory of Ansible")]
    Group,
    /// The inventory does not have the group.
    #[error("no group {}: the groups are {}", escape::line(.0), escape::line(.1))]
    NoGroup(String, String),
    /// The topology cannot be read.
    #[error("the topology: {0}")]
    Topology(Box<Self>),
    /// A list of host names in short form that cannot be read.
    #[error("the host list {list}: {1}", list = escape::line(.0))]
    Hostlist(String, BadHostlist),
    /// Members that cannot take part, one a line.
    #[error("{}", lines(.0))]
    Members(Vec<BadMember>),
}

fn lines(members: &[BadMember]) -> String {
    let lines: Vec<String> = members.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Output of a tool in a form that is not read, and the option for one that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotAnInventory {
    /// The table of `kubectl get pods`.
    #[error("this is the table of kubectl: add -o json")]
    PodTable,
    /// `kubectl get pods -o yaml`.
    #[error("this is YAML of kubectl: use -o json")]
    KubernetesYaml,
    /// An inventory file of Ansible in the format INI.
    #[error("this is an inventory file of Ansible: use ansible-inventory -i FILE --list")]
    AnsibleIni,
    /// An inventory of Ansible as YAML.
    #[error("this is an inventory of Ansible as YAML: use ansible-inventory -i FILE --list")]
    AnsibleYaml,
    /// The table of sinfo.
    #[error("this is the table of sinfo: use scontrol -o show node")]
    SlurmTable,
    /// A topology.
    #[error("this is a topology: give it to --topology, and scontrol -o show node as inventory")]
    Topology,
    /// JSON of something else.
    #[error(
        "this JSON is neither a list of pods (kubectl get pods -o json), nor of \
         ansible-inventory --list, nor one member a line"
    )]
    Json,
}

impl NotAnInventory {
    /// Recognises the first line of an output.
    pub(super) fn recognise(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next()?, words.next());
        Some(match (first, second) {
            ("NAME", Some("READY" | "STATUS")) | ("NAMESPACE", Some("NAME")) => Self::PodTable,
            ("PARTITION" | "NODELIST", Some(_)) => Self::SlurmTable,
            ("apiVersion:" | "kind:", _) => Self::KubernetesYaml,
            ("all:" | "---", _) => Self::AnsibleYaml,
            (group, None) if is_group(group) => Self::AnsibleIni,
            (word, _) if word.starts_with("SwitchName=") || word.starts_with("BlockName=") => {
                Self::Topology
            }
            _ => return None,
        })
    }
}

/// Returns true for a heading of an INI file, which an address with brackets is not.
fn is_group(word: &str) -> bool {
    let inner = word
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_err())
}

/// An error in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadLine {
    /// Neither a name nor an address.
    #[error("the first word is neither a host name nor an address")]
    Host,
    /// A user that is none.
    #[error("the user before @ is not valid: use letters, digits and -_.+, not beginning with -")]
    Login,
    /// A port that is none.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// A member without a port.
    #[error("control has no port: it is HOST:PORT")]
    NoPort,
    /// A word that is no label.
    #[error("{}: expected label=value, data=ADDRESS,... or name=NAME", escape::line(.0))]
    Word(String),
    /// A label twice.
    #[error("{}= occurs twice", escape::line(.0))]
    Twice(String),
    /// A data address that is none.
    #[error("data={}: expected IP addresses, with commas between", escape::line(.0))]
    Data(String),
    /// A word for whether there is an agent that is none.
    #[error("agent={}: expected yes or no", escape::line(.0))]
    Agent(String),
    /// A host that mpirun names by its number in an allocation.
    #[error("relative node +nN is not supported: use the name of the host")]
    Relative,
    /// A word that a hostfile does not have.
    #[error("{}: expected slots=N, max_slots=N or label=value", escape::line(.0))]
    Slots(String),
    /// A word of scontrol that is no `Key=value`.
    #[error("not a line of scontrol show node")]
    Scontrol,
    /// A line of a topology that is none.
    #[error("not a line of scontrol show topology")]
    Switch,
    /// A member that is no JSON object of its form.
    #[error("not a member: {}", escape::line(.0))]
    Json(String),
}

/// An error in a list of host names in short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadHostlist {
    /// A bracket without its counterpart.
    #[error("a bracket is not closed")]
    Bracket,
    /// A range that is none.
    #[error("a range is not of the form 1-4")]
    Range,
    /// Too many names.
    #[error("more than {} names", super::hostlist::MOST)]
    Many,
}

/// A member that cannot take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMember {
    /// Its name in the inventory.
    pub name: String,
    /// Why.
    pub why: WhyBad,
}

impl fmt::Display for BadMember {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = escape::line(&self.why.to_string());
        write!(formatter, "{}: {why}", escape::line(&self.name))
    }
}

/// Number of occurrences.
fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Why a member cannot take part, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WhyBad {
    /// A pod that is not ready.
    #[error("not ready ({0}): wait until it is, or delete it")]
    NotReady(String),
    /// A pod that is being deleted.
    #[error("terminating: print the list again when it is gone")]
    Terminating,
    /// A pod that has ended.
    #[error("ended ({0}): delete it")]
    Ended(String),
    /// A pod whose container was started again.
    #[error(
        "restarted {}: see kubectl logs --previous, and delete it or accept it with \
         --allow-restarted", times(*.0)
    )]
    Restarted(u64),
    /// A pod without an address.
    #[error("no address: print the list again when it has one")]
    NoAddress,
    /// A node that is not ready.
    #[error("its node {0} is not ready: leave it out")]
    Node(String),
    /// A node that another member is on.
    #[error(
        "on node {node}, as {other}: use one agent a node, or accept it with --allow-shared-nodes"
    )]
    SharedNode {
        /// The node.
        node: String,
        /// The other member.
        other: String,
    },
    /// A state of Slurm in which a node runs nothing.
    #[error("state {0}: see scontrol show node, or leave it out")]
    State(String),
    /// A variable of Ansible that is encrypted.
    #[error("{0} is encrypted: netperf takes no secrets of Ansible")]
    Encrypted(&'static str),
    /// A variable of Ansible that contains a template.
    #[error("{0} is a template, which ansible-inventory does not expand: set its value")]
    Template(&'static str),
    /// A variable that is not valid.
    #[error("{0} is not valid: expected {1}")]
    Variable(&'static str, &'static str),
    /// The topology does not have the node.
    #[error("its node {0} is not in the topology: print it again")]
    NotInTopology(String),
    /// A name that is not valid.
    #[error("not a valid name: use letters, digits and -._:/@+, at most 253")]
    Name,
    /// An address for data that is not that of one host.
    #[error("{0}: not the address of a host")]
    Data(std::net::IpAddr),
    /// Another member has the name.
    #[error("occurs twice: leave one out, or give each its own name")]
    SameName,
    /// Another member has the address of the control connection.
    #[error("{control} is also {other}: leave one out")]
    SameControl {
        /// The other member.
        other: String,
        /// The address.
        control: String,
    },
}
