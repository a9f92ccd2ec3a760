//! Hosts of Ansible: `ansible-inventory --list`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Map, Value};

use super::error::{InventoryError, WhyBad};
use super::{
    EngineName, InventoryMember, InventoryOptions, InventorySource, Members, control, is_host, port,
};

/// The key that is no group.
const META: &str = "_meta";
/// Variables that are labels. Others may be secrets.
const LABELS: [&str; 5] = ["node", "rack", "row", "zone", "region"];
/// Begin of variables that are for netperf: labels but for `netperf_port` and `netperf_data`.
const OURS: &str = "netperf_";

/// Reads hosts.
pub(super) fn read(text: &str, options: &InventoryOptions) -> Result<Members, InventoryError> {
    let whole: Value = serde_json::from_str(text).map_err(InventoryError::Json)?;
    let shape = |what: &str| InventoryError::Shape("ansible-inventory --list", what.to_owned());
    let whole = whole.as_object().ok_or_else(|| shape("no object"))?;
    let variables = whole.get(META).and_then(|meta| meta.get("hostvars"));
    let variables = variables.and_then(Value::as_object);
    let variables = variables.ok_or_else(|| shape("no _meta.hostvars"))?;
    let hosts = match &options.group {
        Some(group) => hosts_of(whole, group)?,
        None => {
            let groups = whole.keys().filter(|key| *key != META);
            let listed = groups.flat_map(|group| list(whole, group, "hosts"));
            listed.chain(variables.keys().map(String::as_str)).collect()
        }
    };
    let mut members = Members::default();
    let none = Map::new();
    for host in hosts {
        let of_host = variables.get(host).and_then(Value::as_object);
        match member(host, of_host.unwrap_or(&none), options.port) {
            Ok(member) => members.good.push(member),
            Err(why) => members.refuse(host, why),
        }
    }
    Ok(members)
}

/// A list of names of a group; empty without one.
fn list<'v>(whole: &'v Map<String, Value>, group: &str, key: &str) -> Vec<&'v str> {
    let list = whole.get(group).and_then(|group| group.get(key));
    let list = list.and_then(Value::as_array);
    let names = list.into_iter().flatten().filter_map(Value::as_str);
    names.collect()
}

/// The hosts of a group and of its children.
fn hosts_of<'v>(
    whole: &'v Map<String, Value>,
    group: &'v str,
) -> Result<BTreeSet<&'v str>, InventoryError> {
    let known = |name: &str| {
        let is_child = || {
            whole
                .keys()
                .any(|key| list(whole, key, "children").contains(&name))
        };
        name != META && (whole.contains_key(name) || is_child())
    };
    if !known(group) {
        let groups: Vec<&str> = whole
            .keys()
            .map(String::as_str)
            .filter(|key| *key != META)
            .collect();
        return Err(InventoryError::NoGroup(group.to_owned(), groups.join(", ")));
    }
    let (mut hosts, mut seen, mut waiting) = (BTreeSet::new(), BTreeSet::new(), vec![group]);
    while let Some(group) = waiting.pop() {
        // A group can be a child of several, and a damaged inventory can have circles.
        if seen.insert(group) {
            hosts.extend(list(whole, group, "hosts"));
            waiting.extend(list(whole, group, "children"));
        }
    }
    Ok(hosts)
}

fn member(
    name: &str,
    variables: &Map<String, Value>,
    default: u16,
) -> Result<InventoryMember, WhyBad> {
    let host = text(variables, "ansible_host")?.unwrap_or_else(|| name.to_owned());
    if !is_host(&host) {
        return Err(WhyBad::Variable(
            "ansible_host",
            "a host name or an address",
        ));
    }
    let wrong = WhyBad::Variable("netperf_port", "a number from 1 to 65535");
    let port = match text(variables, "netperf_port")? {
        Some(text) => port(&text).ok_or(wrong)?,
        None => default,
    };
    let mut labels = BTreeMap::new();
    for (key, value) in variables {
        let label = match key.strip_prefix(OURS) {
            Some("port" | "data" | "agent") => None,
            Some(label) => Some(label),
            None => LABELS.contains(&key.as_str()).then_some(key.as_str()),
        };
        if let Some((label, value)) = label.zip(plain(value)) {
            labels.insert(label.to_owned(), value);
        }
    }
    Ok(InventoryMember {
        name: name.to_owned(),
        login: None,
        control: control(&host, port),
        data: data(variables)?,
        labels,
        agent: is_agent(variables)?,
        source: InventorySource {
            engine: EngineName::Ansible,
            id: name.to_owned(),
            uid: None,
        },
    })
}

/// `netperf_agent`: whether the host has an agent.
fn is_agent(variables: &Map<String, Value>) -> Result<bool, WhyBad> {
    const KEY: &str = "netperf_agent";
    match text(variables, KEY)?.as_deref() {
        None | Some("yes" | "true") => Ok(true),
        Some("no" | "false") => Ok(false),
        Some(_) => Err(WhyBad::Variable(KEY, "yes or no")),
    }
}

/// A text, a number or a truth value as text; none for a template.
fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty() && !text.contains("{{")).then_some(text)
}

/// A variable that must be a plain text, if there is one.
fn text(variables: &Map<String, Value>, key: &'static str) -> Result<Option<String>, WhyBad> {
    match variables.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains("{{") => Err(WhyBad::Template(key)),
        Some(Value::Object(_)) => Err(WhyBad::Encrypted(key)),
        Some(value) => plain(value)
            .map(Some)
            .ok_or(WhyBad::Variable(key, "a text")),
    }
}

/// `netperf_data`: a list of addresses, or a text with commas.
fn data(variables: &Map<String, Value>) -> Result<Vec<IpAddr>, WhyBad> {
    const KEY: &str = "netperf_data";
    let words = match variables.get(KEY) {
        Some(Value::Array(list)) => list.iter().filter_map(plain).collect(),
        _ => text(variables, KEY)?.into_iter().collect::<Vec<String>>(),
    };
    let addresses = words.iter().flat_map(|word| word.split(','));
    let addresses: Result<_, _> = addresses.map(|word| word.trim().parse()).collect();
    addresses.map_err(|_| WhyBad::Variable(KEY, "IP addresses"))
}
