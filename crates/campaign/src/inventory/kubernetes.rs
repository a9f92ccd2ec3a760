//! Pods of Kubernetes: `kubectl get pods -o json`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::Value;

use super::error::{InventoryError, WhyBad};
use super::topology::Topology;
use super::{
    EngineName, InventoryMember, InventoryOptions, InventorySource, Members, control, place_of,
};

/// Output of kubectl: a list, or one object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodItems {
    #[serde(default)]
    kind: String,
    items: Option<Vec<Object>>,
}

/// A pod or a node, as far as it matters.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Object {
    kind: String,
    metadata: Metadata,
    spec: PodSpec,
    status: ObjectStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    uid: Option<String>,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    node_name: Option<String>,
    host_network: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectStatus {
    phase: String,
    conditions: Option<Vec<Condition>>,
    #[serde(rename = "podIP")]
    pod_ip: Option<IpAddr>,
    #[serde(rename = "podIPs")]
    pod_ips: Option<Vec<PodIp>>,
    container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct PodIp {
    ip: IpAddr,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatus {
    restart_count: u64,
    state: Value,
}

/// Objects of a list of kubectl with their kinds; a single object is a list of one.
pub(super) fn objects(text: &str) -> Result<Vec<(String, Object)>, InventoryError> {
    let list: PodItems = from_json(text)?;
    let of_items = list.kind.strip_suffix("List").unwrap_or_default();
    let Some(items) = list.items else {
        let is_list = list.kind.ends_with("List");
        let one = if is_list {
            None
        } else {
            Some(from_json(text)?)
        };
        return Ok(one.map(|object| (list.kind, object)).into_iter().collect());
    };
    let kind = |object: &Object| match object.kind.as_str() {
        "" => of_items.to_owned(),
        kind => kind.to_owned(),
    };
    Ok(items.into_iter().map(|item| (kind(&item), item)).collect())
}

fn from_json<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, InventoryError> {
    serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            InventoryError::Shape("kubectl get -o json", error.to_string())
        } else {
            InventoryError::Json(error)
        }
    })
}

/// Reads pods. Nodes among them give the pods their labels.
pub(super) fn read(text: &str, options: &InventoryOptions) -> Result<Members, InventoryError> {
    let mut members = Members::default();
    let mut nodes = Topology::default();
    let mut has_nodes = false;
    for (kind, object) in objects(text)? {
        match kind.as_str() {
            "Pod" => match object.pod(options) {
                Ok(member) => members.good.push(member),
                Err(why) => members.refuse(object.metadata.name, why),
            },
            "Node" => {
                has_nodes = true;
                object.add_to(&mut nodes);
            }
            other => {
                let what = format!("{other} {}, and not a pod", object.metadata.name);
                return Err(InventoryError::Shape("kubectl get pods -o json", what));
            }
        }
    }
    if has_nodes {
        nodes.label(&mut members);
    }
    if !options.allow_shared_nodes {
        refuse_shared_nodes(&mut members);
    }
    Ok(members)
}

/// Refuses members on a node that has one already.
fn refuse_shared_nodes(members: &mut Members) {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for member in std::mem::take(&mut members.good) {
        let node = member.labels.get("node").cloned().unwrap_or_default();
        match first.get(&node) {
            // The same pod twice has a clearer reason.
            Some(other) if *other != member.name => {
                let other = other.clone();
                members.refuse(member.name, WhyBad::SharedNode { node, other });
            }
            _ => {
                first.insert(node, member.name.clone());
                members.good.push(member);
            }
        }
    }
}

impl Object {
    /// The condition `Ready`.
    fn readiness(&self) -> Option<&Condition> {
        let conditions = self.status.conditions.iter().flatten();
        conditions.into_iter().find(|one| one.kind == "Ready")
    }

    fn is_ready(&self) -> bool {
        self.readiness().is_some_and(|ready| ready.status == "True")
    }

    /// Labels of the place.
    fn places(&self) -> impl Iterator<Item = (String, String)> {
        let labels = self.metadata.labels.iter().flatten();
        labels.filter_map(|(key, value)| Some((place_of(key)?.to_owned(), value.clone())))
    }

    /// Adds a node.
    pub(super) fn add_to(&self, nodes: &mut Topology) {
        let labels = self.places().collect();
        nodes.add(&self.metadata.name, labels, self.is_ready());
    }

    /// The member that a pod is.
    fn pod(&self, options: &InventoryOptions) -> Result<InventoryMember, WhyBad> {
        let (metadata, status) = (&self.metadata, &self.status);
        if metadata.deletion_timestamp.is_some() {
            return Err(WhyBad::Terminating);
        }
        if ["Succeeded", "Failed"].contains(&status.phase.as_str()) {
            return Err(WhyBad::Ended(status.phase.clone()));
        }
        if status.phase != "Running" || !self.is_ready() {
            return Err(WhyBad::NotReady(self.lack()));
        }
        let containers = status.container_statuses.iter().flatten();
        let restarts = containers.map(|one| one.restart_count).sum();
        if restarts > 0 && !options.allow_restarted {
            return Err(WhyBad::Restarted(restarts));
        }
        let mut data: Vec<IpAddr> = status.pod_ip.into_iter().collect();
        for PodIp { ip } in status.pod_ips.iter().flatten() {
            if !data.contains(ip) {
                data.push(*ip);
            }
        }
        let first = data.first().ok_or(WhyBad::NoAddress)?;
        let mut labels: BTreeMap<String, String> = self.places().collect();
        let node = self.spec.node_name.clone();
        labels.extend(node.map(|node| ("node".to_owned(), node)));
        let network = if self.spec.host_network {
            "host"
        } else {
            "pod"
        };
        labels.insert("network".to_owned(), network.to_owned());
        Ok(InventoryMember {
            name: metadata.name.clone(),
            login: None,
            control: control(&first.to_string(), options.port),
            data,
            labels,
            agent: true,
            source: InventorySource {
                engine: EngineName::Kubernetes,
                id: metadata.name.clone(),
                uid: metadata.uid.clone(),
            },
        })
    }

    /// Why a pod is not ready: what a container waits for, the condition, or the phase.
    fn lack(&self) -> String {
        let status = &self.status;
        let mut containers = status.container_statuses.iter().flatten();
        let waiting = containers.find_map(|one| one.state.pointer("/waiting/reason")?.as_str());
        let condition = || self.readiness()?.reason.as_deref();
        let lack = waiting.or_else(condition).unwrap_or(&status.phase);
        lack.to_owned()
    }
}
