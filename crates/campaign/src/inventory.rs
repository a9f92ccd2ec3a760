//! Members of a campaign from the output of the engine that started their agents.
//!
//! Formats are recognised by content: a PodList of Kubernetes (`kubectl get pods -o json`),
//! `ansible-inventory --list`, host files of MPI, `scontrol show hostnames`, plain lines, and the
//! normal form, one JSON object a line.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// Port of a control connection without another one.
pub const PORT: &str = "12865";

/// A member, in the normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InventoryMember {
    /// Name in the campaign.
    pub name: String,
    /// Host and port of the control connection, such as `10.0.0.1:12865` or `[2001:db8::1]:12865`.
    pub control: String,
    /// Addresses for data; the first is used. Without any, that of the control connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// Labels such as `node`, `rack` and `zone`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Where the entry comes from.
    #[serde(default)]
    pub source: InventorySource,
    /// False for a stock netserver, which is a target only.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub agent: bool,
}

/// Origin of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InventorySource {
    /// The engine: `kubernetes`, `ansible`, `mpi`, `lines`.
    pub engine: String,
    /// Name at the engine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Identifier that a replacement does not have.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_yes(value: &bool) -> bool {
    *value
}

/// An error in an inventory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadInventory {
    /// A line is none of a format.
    #[error("line {0}: {1}")]
    Line(usize, String),
    /// It is JSON, but of no known kind.
    #[error(
        "JSON of an unknown kind: expected a PodList, ansible-inventory --list, or one member a line"
    )]
    Kind,
    /// A member cannot take part.
    #[error("{0}: {1}")]
    Member(String, String),
    /// Nobody is in it.
    #[error("there is no member in it")]
    Empty,
}

/// Reads an inventory.
///
/// # Errors
/// The first problem, by line or name.
pub fn read(text: &str) -> Result<Vec<InventoryMember>, BadInventory> {
    let members = match serde_json::from_str::<Value>(text) {
        Ok(value) if value["kind"] == "PodList" || value["kind"] == "List" => pods(&value)?,
        Ok(value) if value["_meta"]["hostvars"].is_object() => ansible(&value),
        Ok(value) if value["control"].is_string() => lines(text)?,
        Ok(Value::Object(_) | Value::Array(_)) => return Err(BadInventory::Kind),
        Ok(_) | Err(_) => lines(text)?,
    };
    if members.is_empty() {
        return Err(BadInventory::Empty);
    }
    let keys: [fn(&InventoryMember) -> String; 2] = [
        |one: &InventoryMember| one.name.clone(),
        |one: &InventoryMember| one.control.clone(),
    ];
    for key in keys {
        let mut seen = BTreeSet::new();
        if let Some(twice) = members.iter().find(|one| !seen.insert(key(one))) {
            let why = format!("{} is in it twice", key(twice));
            return Err(BadInventory::Member(twice.name.clone(), why));
        }
    }
    Ok(members)
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

fn named(name: &str, host: &str, engine: &str) -> InventoryMember {
    let (host, port) = host_and_port(host);
    InventoryMember {
        name: name.to_owned(),
        control: joined(&host, &port),
        source: InventorySource {
            engine: engine.to_owned(),
            id: name.to_owned(),
            uid: String::new(),
        },
        agent: true,
        ..InventoryMember::default()
    }
}

/// Plain lines, host files of MPI, and the normal form: `host[:port] [key=value ...]`.
fn lines(text: &str) -> Result<Vec<InventoryMember>, BadInventory> {
    let mut members = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('{') {
            let member = serde_json::from_str(line)
                .map_err(|error| BadInventory::Line(number, error.to_string()))?;
            members.push(member);
            continue;
        }
        members.push(plain(line).map_err(|why| BadInventory::Line(number, why))?);
    }
    Ok(members)
}

fn plain(line: &str) -> Result<InventoryMember, String> {
    let mut words = line.split_whitespace();
    let host = words.next().unwrap_or_default();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-_:[]%".contains(letter);
    if host.starts_with('-') || !host.chars().all(fits) {
        return Err(format!("{} is no host", line.escape_default()));
    }
    let (name, _) = host_and_port(host);
    let mut member = named(&name, host, "lines");
    for word in words {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("expected key=value, not {}", word.escape_default()))?;
        match key {
            "name" => value.clone_into(&mut member.name),
            "data" => member.data = value.split(',').map(str::to_owned).collect(),
            "agent" => member.agent = value != "no",
            // Of MPI; one agent serves all slots.
            "slots" | "max_slots" | "max-slots" => "mpi".clone_into(&mut member.source.engine),
            label => {
                member.labels.insert(label.to_owned(), value.to_owned());
            }
        }
    }
    Ok(member)
}

/// `ansible-inventory --list`.
fn ansible(value: &Value) -> Vec<InventoryMember> {
    let Some(hosts) = value["_meta"]["hostvars"].as_object() else {
        return Vec::new();
    };
    let text = |vars: &Value, key: &str| match &vars[key] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let member = |(name, vars): (&String, &Value)| {
        let host = text(vars, "ansible_host").unwrap_or_else(|| name.clone());
        let port = text(vars, "netperf_port").unwrap_or_else(|| PORT.to_owned());
        let mut member = named(name, &joined(&host, &port), "ansible");
        member.data.extend(text(vars, "netperf_data"));
        for label in ["node", "rack", "zone"] {
            if let Some(value) = text(vars, label) {
                member.labels.insert(label.to_owned(), value);
            }
        }
        member
    };
    hosts.iter().map(member).collect()
}

/// A PodList of Kubernetes.
fn pods(value: &Value) -> Result<Vec<InventoryMember>, BadInventory> {
    let empty = Vec::new();
    let items = value["items"].as_array().unwrap_or(&empty);
    items.iter().map(pod).collect()
}

fn pod(pod: &Value) -> Result<InventoryMember, BadInventory> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&pod["metadata"]["name"]);
    let refused = |why: String| BadInventory::Member(format!("pod {name}"), why);
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return Err(refused(
            "it is being terminated; list the pods again".to_owned(),
        ));
    }
    let phase = text(&pod["status"]["phase"]);
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    let conditions = pod["status"]["conditions"].as_array();
    if phase != "Running" || !conditions.is_some_and(|all| all.iter().any(ready)) {
        let why = format!("it is not ready ({phase}); wait until it is: kubectl wait");
        return Err(refused(why));
    }
    let containers = pod["status"]["containerStatuses"].as_array();
    let restarts = containers.into_iter().flatten();
    let restarts: u64 = restarts
        .filter_map(|one| one["restartCount"].as_u64())
        .sum();
    if restarts > 0 {
        let why = format!("it was restarted {restarts} times; delete it, and list again");
        return Err(refused(why));
    }
    let address = text(&pod["status"]["podIP"]);
    if address.is_empty() {
        return Err(refused("it has no address".to_owned()));
    }
    let ports = pod["spec"]["containers"].as_array().into_iter().flatten();
    let port = ports
        .flat_map(|one| one["ports"].as_array().cloned().unwrap_or_default())
        .find_map(|port| port["containerPort"].as_u64());
    let port = port.map_or_else(|| PORT.to_owned(), |port| port.to_string());
    let mut member = named(&name, &joined(&address, &port), "kubernetes");
    member.data = vec![address];
    member.source.uid = text(&pod["metadata"]["uid"]);
    let node = text(&pod["spec"]["nodeName"]);
    if !node.is_empty() {
        member.labels.insert("node".to_owned(), node);
    }
    let labels = pod["metadata"]["labels"].as_object();
    for (key, value) in labels.into_iter().flatten() {
        let short = key.rsplit('/').next().unwrap_or(key);
        if matches!(short, "rack" | "zone") {
            member.labels.insert(short.to_owned(), text(value));
        }
    }
    Ok(member)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn controls(text: &str) -> Vec<String> {
        let members = read(text).unwrap_or_else(|bad| panic!("{bad}"));
        members.into_iter().map(|one| one.control).collect()
    }

    #[test]
    fn plain_lines_and_host_files_name_members() {
        let text = "# rack 1\nh1\nh2:999 rack=r1 data=10.0.0.2,10.1.0.2\n[2001:db8::1]:7 name=six\n\
                    n4 slots=8\nold agent=no\n";
        assert_eq!(
            controls(text),
            [
                "h1:12865",
                "h2:999",
                "[2001:db8::1]:7",
                "n4:12865",
                "old:12865"
            ]
        );
        let members = read(text).unwrap();
        assert_eq!(members[1].labels["rack"], "r1");
        assert_eq!(members[1].data, ["10.0.0.2", "10.1.0.2"]);
        assert_eq!(members[2].name, "six");
        assert_eq!(members[3].source.engine, "mpi");
        assert!(!members[4].agent);
        let normal: Vec<String> = members
            .iter()
            .map(|one| serde_json::to_string(one).unwrap())
            .collect();
        assert_eq!(read(&normal.join("\n")).unwrap(), members);
        assert_eq!(read(&normal[0]).unwrap(), members[..1]);
    }

    #[test]
    fn ansible_gives_addresses_and_labels() {
        let text = json!({
            "_meta": {"hostvars": {
                "web1": {"ansible_host": "10.0.0.1", "rack": "r1", "netperf_port": 7},
                "web2": {},
            }},
            "all": {"children": ["ungrouped"]},
        });
        assert_eq!(controls(&text.to_string()), ["10.0.0.1:7", "web2:12865"]);
    }

    fn pod_list(change: impl Fn(&mut Value)) -> String {
        let mut pod = json!({
            "metadata": {"name": "p1", "uid": "u1", "labels": {"topology.kubernetes.io/zone": "z1"}},
            "spec": {"nodeName": "n1", "containers": [{"ports": [{"containerPort": 12865}]}]},
            "status": {
                "phase": "Running", "podIP": "10.78.1.2",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"restartCount": 0}],
            },
        });
        change(&mut pod);
        json!({"kind": "PodList", "items": [pod]}).to_string()
    }

    #[test]
    fn pods_that_are_not_as_they_were_started_are_refused_by_name() {
        let members = read(&pod_list(|_| ())).unwrap();
        assert_eq!(members[0].control, "10.78.1.2:12865");
        assert_eq!(members[0].labels["node"], "n1");
        assert_eq!(members[0].labels["zone"], "z1");
        assert_eq!(members[0].source.uid, "u1");
        type Case = (&'static str, fn(&mut Value));
        let cases: [Case; 5] = [
            ("being terminated", |pod| {
                pod["metadata"]["deletionTimestamp"] = json!("x")
            }),
            ("not ready (Pending)", |pod| {
                pod["status"]["phase"] = json!("Pending")
            }),
            ("not ready", |pod| pod["status"]["conditions"] = json!([])),
            ("restarted 2 times", |pod| {
                pod["status"]["containerStatuses"][0]["restartCount"] = json!(2)
            }),
            ("no address", |pod| pod["status"]["podIP"] = json!(null)),
        ];
        for (said, change) in cases {
            let line = read(&pod_list(change)).unwrap_err().to_string();
            assert!(
                line.starts_with("pod p1: ") && line.contains(said),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_no_inventory_is_named() {
        let said = |text: &str| read(text).unwrap_err().to_string();
        assert!(said("").contains("no member"));
        assert!(said("{}").contains("unknown kind"));
        assert!(said("h1\nh2 rack\n").starts_with("line 2: expected key=value"));
        assert!(said("h1 a=1\n-H\n").starts_with("line 2: -H is no host"));
        assert!(said("{\"control\": 1}\nx").starts_with("line 1: "));
        assert!(said("h1\nh1:7\n").contains("twice"));
        assert!(said("a name=x\na name=y\n").contains("a:12865 is in it twice"));
    }
}
