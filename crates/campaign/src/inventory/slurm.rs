//! Nodes of Slurm: `scontrol show node`, with or without `-o`.

use std::collections::BTreeMap;

use super::error::{BadLine, InventoryError, WhyBad};
use super::{
    EngineName, InventoryMember, InventoryOptions, InventorySource, Members, control, is_host,
};

/// States in which a node runs the processes of a job.
const GOOD: [&str; 10] = [
    "IDLE",
    "ALLOCATED",
    "ALLOC",
    "MIXED",
    "MIX",
    "COMPLETING",
    "PLANNED",
    "RESERVED",
    "MAINTENANCE",
    "CLOUD",
];
/// Marks behind a state with which a node still runs them: maintenance and a plan for a job.
const HARMLESS: [char; 2] = ['$', '-'];

/// Reads nodes.
pub(super) fn read(text: &str, options: &InventoryOptions) -> Result<Members, InventoryError> {
    let mut members = Members::default();
    for node in nodes(text)? {
        match member(&node, options.port) {
            Ok(member) => members.good.push(member),
            Err(why) => members.refuse(node.name, why),
        }
    }
    Ok(members)
}

/// Known facts about a node.
#[derive(Debug, Default)]
struct SlurmNode {
    name: String,
    words: BTreeMap<String, String>,
}

/// The words of each node. A value may contain blanks, as that of `OS` does; what follows belongs
/// to it and has no `=`.
fn nodes(text: &str) -> Result<Vec<SlurmNode>, InventoryError> {
    let mut nodes: Vec<SlurmNode> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for word in line.split_whitespace() {
            match (word.split_once('='), nodes.last_mut()) {
                (Some(("NodeName", name)), _) => nodes.push(SlurmNode {
                    name: name.to_owned(),
                    ..SlurmNode::default()
                }),
                (Some((key, value)), Some(node)) => {
                    let words = &mut node.words;
                    _ = words
                        .entry(key.to_owned())
                        .or_insert_with(|| value.to_owned());
                }
                (None, Some(_)) => {}
                (_, None) => return Err(InventoryError::Line(number, BadLine::Scontrol)),
            }
        }
    }
    Ok(nodes)
}

fn member(node: &SlurmNode, port: u16) -> Result<InventoryMember, WhyBad> {
    let word = |key: &str| {
        let value = node.words.get(key).map(String::as_str);
        value.filter(|value| !value.is_empty() && *value != "(null)")
    };
    let state = word("State").unwrap_or("UNKNOWN");
    if !is_good(state) {
        return Err(WhyBad::State(state.to_owned()));
    }
    let address = word("NodeAddr").unwrap_or(&node.name);
    if !is_host(address) {
        return Err(WhyBad::Variable("NodeAddr", "a host name or an address"));
    }
    let mut labels = BTreeMap::from([("node".to_owned(), node.name.clone())]);
    for (key, label) in [("ActiveFeatures", "features"), ("Partitions", "partition")] {
        labels.extend(word(key).map(|value| (label.to_owned(), value.to_owned())));
    }
    Ok(InventoryMember {
        name: node.name.clone(),
        login: None,
        control: control(address, port),
        data: address.parse().ok().into_iter().collect(),
        labels,
        agent: true,
        source: InventorySource {
            engine: EngineName::Slurm,
            id: node.name.clone(),
            uid: word("BootTime").map(str::to_owned),
        },
    })
}

/// Returns true if every part of a state is one in which processes run.
fn is_good(state: &str) -> bool {
    let state = state.trim_end_matches(HARMLESS);
    state.split('+').all(|part| GOOD.contains(&part))
}
