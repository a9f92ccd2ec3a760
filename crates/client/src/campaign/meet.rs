//! How a coordinator and its agents meet.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use netperf_campaign::inventory::{
    EngineName, InventoryMember, InventorySource, host_and_port, joined,
};
use netperf_campaign::protocol::{Order, Reply, VERSION};
use netperf_measure::clock;
use netperf_model::{KeyRing, Secret};
use netperf_program::threads::spawn;

use super::peer::AgentLink;
use super::run::{CampaignRun, Member};

/// Labels of an agent, at most.
const MOST_LABELS: usize = 32;
/// Threads that connect to agents.
const CONNECTING: usize = 16;
/// Agents that prove the key at the same time.
const JOINING: usize = 64;
/// Interval between looks for agents that join.
const LOOK: Duration = Duration::from_millis(20);

impl CampaignRun<'_> {
    /// Connects to all agents, or waits until as many have joined.
    ///
    /// # Errors
    /// One line that names the member.
    pub(super) fn connect(&mut self, secret: &Secret) -> Result<(), String> {
        let wanted: Vec<(usize, String)> = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.entry.agent && member.peer.is_none())
            .map(|(index, member)| (index, member.entry.control.clone()))
            .collect();
        let count = wanted.len();
        self.progress
            .state(&format!("connecting to {count} agents"));
        let share = wanted.len().div_ceil(CONNECTING).max(1);
        let connected: Vec<(usize, Result<AgentLink, String>)> = std::thread::scope(|scope| {
            let connect = |part: &[(usize, String)]| -> Vec<_> {
                let one = |(index, control): &(usize, String)| {
                    (*index, AgentLink::connect(control, secret))
                };
                part.iter().map(one).collect()
            };
            let threads: Vec<_> = wanted
                .chunks(share)
                .map(|part| (part, spawn(scope, move || connect(part))))
                .collect();
            let joined = threads.into_iter().map(|(part, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_default(),
                Err(error) => {
                    let refused = part.iter();
                    let refused = refused.map(|(index, _)| (*index, Err(error.to_string())));
                    refused.collect()
                }
            });
            joined.flatten().collect()
        });
        for (index, peer) in connected {
            let name = self.name(index);
            let peer = peer.map_err(|why| {
                // Many are called what they are reached by.
                let named = why.starts_with(&format!("{name}: "));
                if named { why } else { format!("{name}: {why}") }
            })?;
            if let Some(member) = self.members.get_mut(index) {
                member.peer = Some(peer);
            }
        }
        Ok(())
    }

    /// Waits until `count` agents have joined at this address.
    ///
    /// # Errors
    /// One line.
    pub(super) fn wait_for(
        &mut self,
        (listener, count): (&TcpListener, usize),
        keys: &KeyRing,
        within: Duration,
    ) -> Result<(), String> {
        let until = clock::now().plus(within);
        let system = |error: std::io::Error| netperf_program::output::system_text(&error);
        listener.set_nonblocking(true).map_err(system)?;
        // Handshakes take round trips, and whoever says nothing takes its time.
        let (proven, joining) = mpsc::channel();
        let under_way = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            while self.members.len() < count {
                self.take_joined(&joining, count);
                let joined = self.members.len();
                self.progress
                    .say(&format!("{joined} of {count} agents have joined"));
                if joined >= count {
                    break;
                }
                if until.left().is_zero() {
                    let seconds = within.as_secs();
                    return Err(format!(
                        "{joined} of {count} agents joined within {seconds} s"
                    ));
                }
                if self.signals.next().is_some() {
                    return Err("interrupted".to_owned());
                }
                let room = under_way.load(Ordering::Relaxed) < JOINING;
                let Some((stream, _)) = room.then(|| listener.accept().ok()).flatten() else {
                    std::thread::sleep(LOOK);
                    continue;
                };
                stream.set_nonblocking(false).map_err(system)?;
                let (proven, under_way) = (proven.clone(), &under_way);
                under_way.fetch_add(1, Ordering::Relaxed);
                let started = spawn(scope, move || {
                    // Whoever does not prove the key is not counted.
                    if let Ok(peer) = AgentLink::accept(stream, keys) {
                        // Enough have joined where nobody takes it.
                        let _taken = proven.send(peer);
                    }
                    under_way.fetch_sub(1, Ordering::Relaxed);
                });
                if started.is_err() {
                    under_way.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    }

    /// Makes members of the agents that have proven the key, until there are so many.
    fn take_joined(&mut self, joining: &mpsc::Receiver<AgentLink>, count: usize) {
        while self.members.len() < count {
            let Ok(peer) = joining.try_recv() else {
                return;
            };
            let address = peer.address().unwrap_or_default();
            let joined = self.members.len();
            self.members.push(Member {
                peer: Some(peer),
                ..Member::new(InventoryMember {
                    name: format!("{address}-{joined}"),
                    control: joined_address(&address),
                    source: InventorySource {
                        engine: EngineName::Join,
                        ..InventorySource::default()
                    },
                    agent: true,
                    ..InventoryMember::default()
                })
            });
        }
    }

    /// Greets all agents.
    ///
    /// # Errors
    /// One line that names the member.
    pub(super) fn greet(&mut self) -> Result<(), String> {
        let hello = Order::Hello {
            version: VERSION,
            campaign: self.id.clone(),
            silence: Some(self.own_silence()),
        };
        let present = self.present().into_iter();
        let orders = present.map(|index| (index, hello.clone()));
        self.ask(orders, |member, reply| {
            let Reply::Hello {
                version,
                program,
                host,
                port,
                cpus,
                place,
            } = reply
            else {
                return Ok(false);
            };
            if *version != VERSION {
                return Err(format!("it has version {version} of the protocol"));
            }
            member.version = Some(program.clone());
            member.cpus = Some(*cpus);
            // An inventory knows better.
            for (label, value) in place.labels.iter().take(MOST_LABELS) {
                let labels = &mut member.entry.labels;
                labels.entry(label.clone()).or_insert_with(|| value.clone());
            }
            if member.entry.source.engine == EngineName::Join {
                let (address, _) = host_and_port(&member.entry.control);
                member.entry.control = joined(&address, port);
                member.entry.data = address.parse().ok().into_iter().collect();
                member.entry.name.clone_from(host);
                member.entry.source.id.clone_from(host);
                member.entry.source.uid.clone_from(&place.uid);
            }
            Ok(true)
        })?;
        self.rename();
        Ok(())
    }

    /// Gives members of the same name different ones.
    pub(super) fn rename(&mut self) {
        let mut seen = std::collections::BTreeSet::new();
        for member in &mut self.members {
            let name = member.entry.name.clone();
            let mut number = 2;
            while !seen.insert(member.entry.name.clone()) {
                member.entry.name = format!("{name}-{number}");
                number += 1;
            }
        }
    }
}

fn joined_address(address: &str) -> String {
    joined(address, netperf_campaign::inventory::PORT)
}
