//! Inventories: the members of a campaign, read from the output of the tools of engines.
//!
//! The normal form is one JSON object a line, a [`InventoryMember`] each. Every other form is recognised by
//! its content. A member that cannot take part is refused by its name.

mod ansible;
mod error;
mod hostlist;
mod kubernetes;
mod lines;
mod slurm;
mod table;
#[cfg(test)]
mod tests;
mod topology;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use error::{BadHostlist, BadLine, BadMember, InventoryError, NotAnInventory, WhyBad};
pub use table::table;

use crate::protocol::HostPlace;

/// Port of netserver unless an inventory or an option has another.
pub const DEFAULT_PORT: u16 = 12865;
/// Most characters of a name or a host.
const LONGEST: usize = 253;
/// [`DEFAULT_PORT`] as text.
pub const PORT: &str = "12865";

/// A host that takes part in a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventoryMember {
    /// Its name in results.
    pub name: String,
    /// User with whom ssh logs in; its own choice without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Host and port of the control connection, `HOST:PORT`; an IPv6 address has brackets.
    pub control: String,
    /// Addresses for data; that of the control connection if there is none.
    #[serde(default)]
    pub data: Vec<IpAddr>,
    /// Its place: `node`, `rack`, `zone`, `region` and others.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Origin of the entry.
    #[serde(default)]
    pub source: InventorySource,
    /// False for a stock netserver, which is a target only.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub agent: bool,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_yes(value: &bool) -> bool {
    *value
}

/// Origin of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventorySource {
    /// The engine.
    #[serde(default)]
    pub engine: EngineName,
    /// Its name for the member.
    #[serde(default)]
    pub id: String,
    /// Identity that a replacement does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// An engine that starts agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineName {
    /// Kubernetes.
    Kubernetes,
    /// Ansible.
    Ansible,
    /// Slurm.
    Slurm,
    /// mpirun.
    Mpi,
    /// None: a list of hosts.
    #[default]
    Lines,
    /// Any: the agent connected to the coordinator.
    Join,
}

impl EngineName {
    /// The engine of a word of `--from`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "kubernetes" => Self::Kubernetes,
            "ansible" => Self::Ansible,
            "slurm" => Self::Slurm,
            "mpi" => Self::Mpi,
            "lines" => Self::Lines,
            _ => return None,
        })
    }
}

/// Variables of the environment from which an agent knows its place: labels; the node, as the
/// manifests of Kubernetes and Slurm set it; and the identity of the pod.
pub const PLACE_VARIABLES: [&str; 4] =
    ["NETPERF_LABELS", "NODE_NAME", "SLURMD_NODENAME", "POD_UID"];

/// The place of the own host by these variables.
///
/// # Errors
/// One line about a label.
pub fn own_place(variable: impl Fn(&str) -> Option<String>) -> Result<HostPlace, String> {
    let [labels, node, slurm_node, uid] = PLACE_VARIABLES.map(|name| {
        let value = variable(name).filter(|value| !value.is_empty());
        (name, value)
    });
    let text = labels.1.unwrap_or_default();
    let mut labels = lines::labels(&text).map_err(|bad| format!("{}: {bad}", labels.0))?;
    if let Some(node) = node.1.or(slurm_node.1) {
        labels.entry("node".to_owned()).or_insert(node);
    }
    Ok(HostPlace { labels, uid: uid.1 })
}

/// Options for reading an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryOptions {
    /// The form; recognised by content without one.
    pub from: Option<EngineName>,
    /// Port of members for which the inventory has none.
    pub port: u16,
    /// Group of an Ansible inventory; all of it without one.
    pub group: Option<String>,
    /// Output of `kubectl get nodes -o json` or of `scontrol show topology`, for labels.
    pub topology: Option<Vec<u8>>,
    /// Accept agents that were restarted.
    pub allow_restarted: bool,
    /// Accept several agents on one node.
    pub allow_shared_nodes: bool,
}

impl Default for InventoryOptions {
    fn default() -> Self {
        Self {
            from: None,
            port: DEFAULT_PORT,
            group: None,
            topology: None,
            allow_restarted: false,
            allow_shared_nodes: false,
        }
    }
}

/// Reads an inventory.
///
/// # Errors
/// The first error in the form, or all members that cannot take part.
pub fn read(
    bytes: &[u8],
    options: &InventoryOptions,
) -> Result<Vec<InventoryMember>, InventoryError> {
    let text = text(bytes)?;
    let form = match options.from {
        Some(engine) => InventoryForm::of(engine, text),
        None => recognise(text)?,
    };
    if options.group.is_some() && form != InventoryForm::Ansible {
        return Err(InventoryError::Group);
    }
    let mut read = match form {
        InventoryForm::Kubernetes => kubernetes::read(text, options)?,
        InventoryForm::Ansible => ansible::read(text, options)?,
        InventoryForm::SlurmNodes => slurm::read(text, options)?,
        InventoryForm::Hosts(engine) => lines::read(text, engine, options.port)?,
        InventoryForm::Members => members(text)?,
    };
    if let Some(topology) = &options.topology {
        topology::read(self::text(topology)?)
            .map_err(|error| InventoryError::Topology(Box::new(error)))?
            .label(&mut read);
    }
    read.check()
}

/// The normal form: one JSON object a line.
#[must_use]
pub fn json_lines(members: &[InventoryMember]) -> String {
    let line = |member: &InventoryMember| {
        // A member has no map with keys that are not text, and so can be written.
        serde_json::to_string(member).map_or_else(|_| String::new(), |line| line + "\n")
    };
    members.iter().map(line).collect()
}

/// A form of an inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InventoryForm {
    Kubernetes,
    Ansible,
    /// `scontrol show node`.
    SlurmNodes,
    /// Hosts, one a line.
    Hosts(EngineName),
    /// The normal form.
    Members,
}

impl InventoryForm {
    /// The form that an engine's tool writes.
    fn of(engine: EngineName, text: &str) -> Self {
        match engine {
            EngineName::Kubernetes => Self::Kubernetes,
            EngineName::Ansible => Self::Ansible,
            EngineName::Slurm if text.trim_start().starts_with("NodeName=") => Self::SlurmNodes,
            EngineName::Lines if text.trim_start().starts_with('{') => Self::Members,
            EngineName::Slurm | EngineName::Mpi | EngineName::Lines | EngineName::Join => {
                Self::Hosts(engine)
            }
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, InventoryError> {
    let text = std::str::from_utf8(bytes).map_err(|_| InventoryError::NotText)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The form of a text, by its content.
fn recognise(text: &str) -> Result<InventoryForm, InventoryError> {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = first else {
        return Err(InventoryError::Empty);
    };
    if first.starts_with('{') {
        return recognise_json(text, first);
    }
    if first.starts_with("NodeName=") {
        return Ok(InventoryForm::SlurmNodes);
    }
    if let Some(other) = NotAnInventory::recognise(first) {
        return Err(InventoryError::Other(other));
    }
    let has_slots = lines::has_slots(text);
    let engine = if has_slots {
        EngineName::Mpi
    } else {
        EngineName::Lines
    };
    Ok(InventoryForm::Hosts(engine))
}

/// The keys by which JSON is recognised.
#[derive(Deserialize)]
struct Marks {
    kind: Option<serde::de::IgnoredAny>,
    #[serde(rename = "_meta")]
    meta: Option<serde::de::IgnoredAny>,
}

fn recognise_json(text: &str, first: &str) -> Result<InventoryForm, InventoryError> {
    // An object that ends in its line is a member, or all of it.
    let whole = serde_json::from_str::<Marks>(text);
    match (whole, serde_json::from_str::<Marks>(first)) {
        (Ok(marks), _) if marks.kind.is_some() => Ok(InventoryForm::Kubernetes),
        (Ok(marks), _) if marks.meta.is_some() => Ok(InventoryForm::Ansible),
        (_, Ok(_)) => Ok(InventoryForm::Members),
        (Ok(_), Err(_)) => Err(InventoryError::Other(NotAnInventory::Json)),
        (Err(error), Err(_)) => Err(InventoryError::Json(error)),
    }
}

/// Reads the normal form.
fn members(text: &str) -> Result<Members, InventoryError> {
    let mut members = Members::default();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let mut member: InventoryMember = serde_json::from_str(line)
            .map_err(|error| InventoryError::Line(number, BadLine::Json(without_place(&error))))?;
        if member.source.id.is_empty() {
            member.source.id.clone_from(&member.name);
        }
        let (host, port) =
            address_of(&member.control).map_err(|problem| InventoryError::Line(number, problem))?;
        if !member.login.as_deref().is_none_or(is_login) {
            return Err(InventoryError::Line(number, BadLine::Login));
        }
        let port = port.ok_or(InventoryError::Line(number, BadLine::NoPort))?;
        member.control = control(host, port);
        members.good.push(member);
    }
    Ok(members)
}

/// An error of JSON without the position, which is that in one line of many.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Members as they are read, and those that are refused.
#[derive(Debug, Default)]
struct Members {
    good: Vec<InventoryMember>,
    bad: Vec<BadMember>,
}

impl Members {
    fn refuse(&mut self, name: impl Into<String>, why: WhyBad) {
        let name = name.into();
        self.bad.push(BadMember { name, why });
    }

    /// The members, if each is fit and occurs once.
    fn check(mut self) -> Result<Vec<InventoryMember>, InventoryError> {
        for member in &self.good {
            let is_good = is_name(&member.name);
            if !is_good {
                let name = member.name.clone();
                let why = WhyBad::Name;
                self.bad.push(BadMember { name, why });
            }
            if let Some(address) = member.data.iter().find(|one| !is_one_host(**one)) {
                let name = member.name.clone();
                let why = WhyBad::Data(*address);
                self.bad.push(BadMember { name, why });
            }
        }
        self.bad.extend(duplicates(&self.good));
        if !self.bad.is_empty() {
            return Err(InventoryError::Members(self.bad));
        }
        if self.good.is_empty() {
            return Err(InventoryError::Empty);
        }
        Ok(self.good)
    }
}

/// Members whose name or control address an earlier one has.
fn duplicates(members: &[InventoryMember]) -> Vec<BadMember> {
    let mut names = BTreeMap::new();
    let mut controls: BTreeMap<&str, &str> = BTreeMap::new();
    let mut bad = Vec::new();
    for member in members {
        let name = member.name.clone();
        if names.insert(member.name.as_str(), ()).is_some() {
            let why = WhyBad::SameName;
            bad.push(BadMember { name, why });
        } else if let Some(other) = controls.insert(&member.control, &member.name) {
            let (other, control) = (other.to_owned(), member.control.clone());
            let why = WhyBad::SameControl { other, control };
            bad.push(BadMember { name, why });
        }
    }
    bad
}

/// Returns true for a name that can be in a file name, a command line and a table.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_graphic() && !"\"'`\\$;&|<>(){}*?!".contains(letter);
    !name.is_empty() && name.len() <= LONGEST && !name.starts_with('-') && name.chars().all(plain)
}

/// Returns true for a host name, or an address without brackets.
pub(crate) fn is_host(host: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:%".contains(letter);
    let is_address = host
        .split('%')
        .next()
        .is_some_and(|address| address.parse::<IpAddr>().is_ok());
    !host.is_empty()
        && host.len() <= LONGEST
        && !host.starts_with('-')
        && host.chars().all(plain)
        && (is_address || !host.contains([':', '%']))
        && host.parse().map_or(true, is_one_host)
}

/// Returns true for the name of a user that can be in a command line.
fn is_login(login: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
    !login.is_empty()
        && login.len() <= LONGEST
        && !login.starts_with('-')
        && login.chars().all(plain)
}

/// Returns true for the address of one host: no group, no broadcast, and none that stands for any.
pub(crate) const fn is_one_host(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_broadcast = match address {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(_) => false,
    };
    !address.is_multicast() && !address.is_unspecified() && !is_broadcast
}

/// Host and port of a control connection.
fn control(host: &str, port: u16) -> String {
    joined(host, &port.to_string())
}

/// Host and port of `HOST`, `HOST:PORT`, `[ADDRESS]:PORT` or an IPv6 address without brackets.
fn address_of(word: &str) -> Result<(&str, Option<u16>), BadLine> {
    let (host, port) = if let Some(rest) = word.strip_prefix('[') {
        let (host, behind) = rest.split_once(']').ok_or(BadLine::Host)?;
        match behind.strip_prefix(':') {
            None if behind.is_empty() => (host, None),
            None => return Err(BadLine::Host),
            Some(port) => (host, Some(port)),
        }
    } else {
        match word.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            Some(_) | None => (word, None),
        }
    };
    if !is_host(host) {
        return Err(BadLine::Host);
    }
    let port = port.map(|port| self::port(port).ok_or(BadLine::Port));
    Ok((host, port.transpose()?))
}

/// A port from 1 to 65535, in digits.
pub(crate) fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0)
}

/// Label for the place of a node: the name in an inventory for a label of Kubernetes.
fn place_of(key: &str) -> Option<&'static str> {
    let (domain, name) = key.rsplit_once('/').unwrap_or(("", key));
    let topology = [
        "topology.kubernetes.io",
        "failure-domain.beta.kubernetes.io",
    ];
    match name {
        "rack" => Some("rack"),
        "zone" if topology.contains(&domain) => Some("zone"),
        "region" if topology.contains(&domain) => Some("region"),
        _ => None,
    }
}

/// Host and port of an address; the port without one is [`PORT`].
#[must_use]
pub fn host_and_port(text: &str) -> (String, String) {
    let or_default = |port: &str| if port.is_empty() { PORT } else { port }.to_owned();
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host.to_owned(), or_default(rest.trim_start_matches(':')));
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host.to_owned(), or_default(port)),
        // An IPv6 address without brackets has no port.
        _ => (text.to_owned(), PORT.to_owned()),
    }
}

/// The address in one piece.
#[must_use]
pub fn joined(host: &str, port: &str) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
