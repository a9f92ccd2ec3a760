//! Places of nodes: `kubectl get nodes -o json`, or `scontrol show topology`.

use std::collections::BTreeMap;

use super::error::{BadLine, InventoryError, WhyBad};
use super::{Members, hostlist, kubernetes};

/// Labels of nodes.
#[derive(Debug, Default)]
pub(super) struct Topology(BTreeMap<String, TopologyPlace>);

#[derive(Debug)]
struct TopologyPlace {
    labels: BTreeMap<String, String>,
    is_ready: bool,
}

impl Topology {
    /// Adds a node.
    pub(super) fn add(&mut self, node: &str, labels: BTreeMap<String, String>, is_ready: bool) {
        let place = TopologyPlace { labels, is_ready };
        self.0.insert(node.to_owned(), place);
    }

    /// Gives members the labels of their nodes, and refuses those whose node is not ready. Labels
    /// of a member itself stay.
    pub(super) fn label(&self, members: &mut Members) {
        for mut member in std::mem::take(&mut members.good) {
            let node = member.labels.get("node").unwrap_or(&member.name).clone();
            match self.0.get(&node) {
                None => members.refuse(member.name, WhyBad::NotInTopology(node)),
                Some(place) if !place.is_ready => members.refuse(member.name, WhyBad::Node(node)),
                Some(place) => {
                    for (key, value) in &place.labels {
                        let own = member.labels.entry(key.clone());
                        _ = own.or_insert_with(|| value.clone());
                    }
                    members.good.push(member);
                }
            }
        }
    }
}

/// Reads a topology.
pub(super) fn read(text: &str) -> Result<Topology, InventoryError> {
    let mut topology = Topology::default();
    if text.trim_start().starts_with('{') {
        for (kind, object) in kubernetes::objects(text)? {
            if kind != "Node" {
                let what = format!("a {kind}, and not a node");
                return Err(InventoryError::Shape("kubectl get nodes -o json", what));
            }
            object.add_to(&mut topology);
        }
        return Ok(topology);
    }
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line
            .split_whitespace()
            .filter_map(|word| word.split_once('='));
        let Some(first) = words.next() else {
            if line.trim().is_empty() {
                continue;
            }
            return Err(InventoryError::Line(number, BadLine::Switch));
        };
        let ("SwitchName" | "BlockName", rack) = first else {
            return Err(InventoryError::Line(number, BadLine::Switch));
        };
        let words: BTreeMap<&str, &str> = words.collect();
        // Switches of other levels connect switches.
        if words.get("Level").is_some_and(|level| *level != "0") {
            continue;
        }
        let nodes = words.get("Nodes").copied().unwrap_or_default();
        let names = hostlist::names(nodes)
            .map_err(|problem| InventoryError::Hostlist(nodes.to_owned(), problem))?;
        for node in names {
            let labels = BTreeMap::from([("rack".to_owned(), rack.to_owned())]);
            topology.add(&node, labels, true);
        }
    }
    Ok(topology)
}
