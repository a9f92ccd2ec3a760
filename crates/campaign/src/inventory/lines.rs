//! Hosts, one a line: plain lists, hostfiles of MPI and `scontrol show hostnames`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::error::{BadLine, InventoryError};
use super::{EngineName, InventoryMember, InventorySource, Members, address_of, control, is_login};

/// Words of a hostfile that are for mpirun only.
const FOR_MPI: [&str; 4] = ["slots", "max_slots", "max-slots", "count"];

/// Returns true if a line has a word of a hostfile of MPI.
pub(super) fn has_slots(text: &str) -> bool {
    let mut words = text.lines().flat_map(|line| words(line).skip(1));
    words.any(|word| is_for_mpi(word).is_some())
}

/// Reads hosts.
pub(super) fn read(
    text: &str,
    engine: EngineName,
    default_port: u16,
) -> Result<Members, InventoryError> {
    let mut members = Members::default();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = words(line);
        if let Some(first) = words.next() {
            let member = member(first, words, engine, default_port);
            let member = member.map_err(|problem| InventoryError::Line(number, problem))?;
            members.good.push(member);
        }
    }
    Ok(members)
}

/// Labels in words, as in a line.
pub(super) fn labels(text: &str) -> Result<BTreeMap<String, String>, BadLine> {
    let mut labels = BTreeMap::new();
    for word in text.split_whitespace() {
        let (key, value) = label(word, false)?;
        if labels.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(BadLine::Twice(key.to_owned()));
        }
    }
    Ok(labels)
}

/// Words of a line, without a comment.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let line = line.split('#').next().unwrap_or_default();
    line.split_whitespace()
}

/// Returns true for a valid word of mpirun.
fn is_for_mpi(word: &str) -> Option<bool> {
    let (key, value) = word.split_once('=')?;
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    FOR_MPI.contains(&key).then_some(is_number)
}

fn member<'t>(
    first: &str,
    words: impl Iterator<Item = &'t str>,
    engine: EngineName,
    default_port: u16,
) -> Result<InventoryMember, BadLine> {
    let is_mpi = engine == EngineName::Mpi;
    if is_mpi && first.starts_with(['+', '^']) {
        return Err(BadLine::Relative);
    }
    let (login, word) = match first.split_once('@') {
        Some((login, word)) => (Some(login), word),
        None => (None, first),
    };
    if !login.is_none_or(is_login) {
        return Err(BadLine::Login);
    }
    let (host, port) = address_of(word)?;
    // A number behind a colon is that of the processes in a hostfile.
    let (word, port) = if is_mpi { (host, None) } else { (word, port) };
    let (mut name, mut data, mut agent) = (None, None, None);
    let mut labels = BTreeMap::new();
    for word in words {
        match is_for_mpi(word).filter(|_| is_mpi) {
            Some(true) => continue,
            Some(false) => return Err(BadLine::Slots(word.to_owned())),
            None => {}
        }
        let (key, value) = label(word, is_mpi)?;
        let is_new = match key {
            "data" => data.replace(addresses(value)?).is_none(),
            "agent" => agent.replace(yes_or_no(value)?).is_none(),
            "name" => name.replace(value.to_owned()).is_none(),
            _ => labels.insert(key.to_owned(), value.to_owned()).is_none(),
        };
        if !is_new {
            return Err(BadLine::Twice(key.to_owned()));
        }
    }
    Ok(InventoryMember {
        name: name.unwrap_or_else(|| word.to_owned()),
        login: login.map(str::to_owned),
        control: control(host, port.unwrap_or(default_port)),
        data: data.unwrap_or_default(),
        labels,
        agent: agent.unwrap_or(true),
        source: InventorySource {
            engine,
            id: first.to_owned(),
            uid: None,
        },
    })
}

/// Key and value of a word.
fn label(word: &str, is_mpi: bool) -> Result<(&str, &str), BadLine> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let pair = word
        .split_once('=')
        .filter(|(key, value)| !key.is_empty() && key.chars().all(plain) && !value.is_empty());
    pair.ok_or_else(|| {
        if is_mpi {
            BadLine::Slots(word.to_owned())
        } else {
            BadLine::Word(word.to_owned())
        }
    })
}

fn yes_or_no(text: &str) -> Result<bool, BadLine> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(BadLine::Agent(text.to_owned())),
    }
}

/// IP addresses with commas between.
fn addresses(text: &str) -> Result<Vec<IpAddr>, BadLine> {
    let wrong = |_| BadLine::Data(text.to_owned());
    text.split(',')
        .map(|address| address.parse().map_err(wrong))
        .collect()
}
