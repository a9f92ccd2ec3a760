//! The options of netserver.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use netperf_model::{
    BudgetArg, CpuMethod, DataPeers, Family, GuardedFeatures, HostSupport, KeyRing, Limits,
    Network, OnePort, PassphraseText, Policy, PortRange, Require, Startups, TransportSet,
};

use super::HostArg;
use crate::operations::Operations;

/// A client has this long in any case.
const SHORTEST_IDLE_TIME: Duration = Duration::from_secs(1);

/// The options of netserver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerArgs {
    /// `-L`, `-4`, `-6`: where to listen; no host means every address.
    pub listen: HostArg,
    /// `-p`: port number or service name.
    pub port: Option<String>,
    /// `--iperf3`: the port for iperf3 clients.
    pub iperf3: Option<String>,
    /// `-D`: stay in the foreground.
    pub foreground: bool,
    /// `-f`: serve one control connection at a time, in this process.
    pub no_fork: bool,
    /// `-d`: how often.
    pub debug: u32,
    /// `-Z`: passphrase that every control connection must begin with.
    pub passphrase: Option<PassphraseText>,
    /// `--cpu-method`: how to measure CPU utilisation unless the client asks otherwise.
    pub cpu_method: Option<CpuMethod>,
    /// `--config`: a file of settings.
    pub config: Option<PathBuf>,
    /// `--check-config`: a file of settings to look at.
    pub check_config: Option<PathBuf>,
    /// `--iperf2`: port for clients of iperf 2.
    pub iperf2: Option<String>,
    /// Access options.
    pub access: AccessArgs,
    /// Operational options.
    pub operations: Operations,
    /// Options of agents.
    pub agent: AgentArgs,
    /// `--control-keepalive`: how often an idle control connection is probed.
    pub control_keepalive: Option<Duration>,
    /// True if one of `-D -f -L -p --agent` was given: then stdin is not an inetd connection.
    pub standalone: bool,
}

impl ServerArgs {
    /// The port to listen on, as typed or the default.
    #[must_use]
    pub fn port(&self) -> &str {
        self.port
            .as_deref()
            .unwrap_or(crate::environment::DEFAULT_PORT)
    }

    /// The family to listen on.
    #[must_use]
    pub fn family(&self) -> Family {
        self.listen.family.unwrap_or_default()
    }

    /// The access policy.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let access = &self.access;
        Policy {
            allow: access.allow.networks.clone(),
            deny: access.deny.networks.clone(),
            require: access.require,
            one_port: self.one_port(),
            data_ports: access.data_ports,
            transports: access.transports.unwrap_or_default(),
            features: access.features.unwrap_or_default(),
            has_key: false,
            data_peers: access.data_peers.clone().unwrap_or_default(),
            limits: Limits {
                sessions: access.sessions,
                peer_sessions: access.peer_sessions,
                session_rate: access
                    .session_rate
                    .map_or(Limits::SESSION_RATE, |rate| rate.or(Limits::SESSION_RATE)),
                flows: access.flows.unwrap_or(Limits::FLOWS),
                threads: access.threads.unwrap_or(Limits::THREADS),
                memory: access
                    .memory
                    .map_or(Limits::MEMORY, |memory| memory.or(Limits::MEMORY)),
                ports: access
                    .ports
                    .map_or(Limits::PORTS, |ports| ports.or(Limits::PORTS)),
                startups: access.startups.unwrap_or_default(),
                source_bits: access.source_bits.unwrap_or(Limits::SOURCE_BITS),
                test_time: access.test_time,
                send_rate: access.send_rate,
                idle_time: access
                    .idle_time
                    .map_or(Limits::IDLE_TIME, |time| time.max(SHORTEST_IDLE_TIME)),
            },
        }
    }

    /// Credential that a client needs: the configured one, or the strongest available.
    #[must_use]
    pub fn require(&self) -> Require {
        let strongest = match (&self.access.keys, &self.passphrase) {
            (Some(_), _) => Require::Key,
            (None, Some(_)) => Require::Passphrase,
            (None, None) => Require::None,
        };
        self.access.require.unwrap_or(strongest)
    }

    /// The setting of a port for clients that are not those of netperf.
    fn other_clients(&self) -> Option<&'static str> {
        let ports = [("iperf3", &self.iperf3), ("iperf2", &self.iperf2)];
        let given = ports.into_iter().find(|(_, port)| port.is_some());
        given.map(|(name, _)| name)
    }

    /// The contradiction of clients of iperf and a required credential, if there is one. The key
    /// may come from the environment, so a second look follows when keys have been read.
    #[must_use]
    pub fn open_to_iperf(&self, form: NameForm) -> Option<String> {
        let configured = self.access.require.is_none() && self.access.key_file.is_some();
        if self.require() == Require::None && !configured {
            return None;
        }
        let name = self.other_clients()?;
        let dashes = form.dashes();
        Some(format!(
            "{name} clients have neither key nor passphrase: leave out {dashes}{name}, or admit \
             clients without ({dashes}require none)"
        ))
    }

    /// Data accepted at the port of the control connection. A netserver that serves one client
    /// at a time (`-f`) does not listen there during a test.
    #[must_use]
    pub fn one_port(&self) -> OnePort {
        if self.no_fork {
            return OnePort::Off;
        }
        self.access.one_port.unwrap_or_default()
    }

    /// The words with which the process of a session is to start: all that it has to know,
    /// and nothing about connections that are not its own.
    #[must_use]
    pub fn session_words(&self) -> Vec<String> {
        let access = &self.access;
        let seconds = |time: Duration| time.as_secs_f64().to_string();
        let limits = self.policy().limits;
        let number = |count: Option<u32>| count.map(|count| count.to_string());
        // The session gets the passphrase itself in another way.
        let passphrase = self.passphrase.as_ref().map(|_| "***".to_owned());
        let words = [
            ("passphrase", passphrase),
            (
                "cpu-method",
                self.cpu_method.map(|method| method.name().to_owned()),
            ),
            (
                "require",
                access.require.map(|require| require.label().to_owned()),
            ),
            (
                "data-peers",
                access.data_peers.as_ref().map(DataPeers::to_string),
            ),
            (
                "features",
                access.features.map(|features| features.to_string()),
            ),
            (
                "transports",
                access.transports.map(|transports| transports.to_string()),
            ),
            (
                "data-ports",
                access.data_ports.map(|ports| ports.to_string()),
            ),
            ("max-sessions", number(access.sessions)),
            ("max-peer-sessions", number(access.peer_sessions)),
            ("max-flows", number(access.flows)),
            ("max-threads", number(access.threads)),
            ("max-memory", Some(limits.memory.to_string())),
            ("max-ports", Some(limits.ports.to_string())),
            ("max-test-time", access.test_time.map(seconds)),
            (
                "max-send-rate",
                access.send_rate.map(|bits| bits.to_string()),
            ),
            ("idle-time", access.idle_time.map(seconds)),
            ("control-keepalive", self.control_keepalive.map(seconds)),
        ];
        let given = words.into_iter();
        given
            .filter_map(|(name, value)| Some(format!("--{name}={}", value?)))
            .collect()
    }

    /// Marks the values so far as coming from a file; command-line values replace them.
    pub fn seal(&mut self) {
        self.access.allow.sealed = true;
        self.access.deny.sealed = true;
    }

    /// Contradiction between settings, with the remedy.
    pub fn contradiction(&self, form: NameForm) -> Option<String> {
        let dashes = form.dashes();
        let agent = &self.agent;
        let beside = [
            (agent.join.is_some(), "join"),
            (agent.exit_on_eof, "exit-on-eof"),
        ];
        if let Some((_, name)) = beside
            .into_iter()
            .find(|(given, _)| *given && !agent.enabled)
        {
            return Some(format!(
                "{dashes}{name} is for agents of campaigns: add {dashes}agent"
            ));
        }
        if agent.enabled && self.no_fork {
            return Some("an agent serves several connections: leave out -f".to_owned());
        }
        if let Some(name) = self.other_clients().filter(|_| self.no_fork) {
            return Some(format!("{name} clients have a process each: leave out -f"));
        }
        if let Some(line) = self.open_to_iperf(form) {
            return Some(line);
        }
        match self.access.require {
            Some(Require::Passphrase) if self.passphrase.is_none() => Some(format!(
                "{dashes}require is passphrase, and there is none: give one with \
                 {dashes}passphrase (-Z)"
            )),
            _ => None,
        }
    }
}

/// Place in which options have their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameForm {
    /// The command line.
    Typed,
    /// A file of settings.
    InFile,
}

impl NameForm {
    const fn dashes(self) -> &'static str {
        match self {
            Self::Typed => "--",
            Self::InFile => "",
        }
    }
}

/// Options of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentArgs {
    /// `--agent`: take part in campaigns.
    pub enabled: bool,
    /// `--join`: the coordinator to connect to.
    pub join: Option<String>,
    /// `--exit-on-eof`: end with standard input.
    pub exit_on_eof: bool,
}

/// Access options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessArgs {
    /// `--key-file`: the file with the key that clients have to have.
    pub key_file: Option<PathBuf>,
    /// The keys themselves, once they have been read.
    pub keys: Option<Arc<KeyRing>>,
    /// `--require`: what a client must have.
    pub require: Option<Require>,
    /// `--allow`: networks that may connect.
    pub allow: Networks,
    /// `--deny`: networks that may not.
    pub deny: Networks,
    /// `--data-peers`: where data may go.
    pub data_peers: Option<DataPeers>,
    /// `--transports`: transports that tests may use.
    pub transports: Option<TransportSet>,
    /// `--features`: features that strangers may ask for.
    pub features: Option<GuardedFeatures>,
    /// Transports and features of the host, once they have been looked for.
    pub found: Option<HostSupport>,
    /// `--one-port`: what data may come in by the port of the control connection.
    pub one_port: Option<OnePort>,
    /// `--data-ports`: ports that data sockets are bound to.
    pub data_ports: Option<PortRange>,
    /// `--max-sessions`: at the same time.
    pub sessions: Option<u32>,
    /// `--max-peer-sessions`: of one address.
    pub peer_sessions: Option<u32>,
    /// `--max-session-rate`: sessions per second.
    pub session_rate: Option<BudgetArg>,
    /// `--max-flows`: of a test.
    pub flows: Option<u32>,
    /// `--max-threads`: of a test.
    pub threads: Option<u32>,
    /// `--max-memory`: bytes of buffers.
    pub memory: Option<BudgetArg>,
    /// `--max-ports`: data ports.
    pub ports: Option<BudgetArg>,
    /// `--max-startups`: clients that have not proven the key.
    pub startups: Option<Startups>,
    /// `--source-bits`: of IPv6 addresses that are one source.
    pub source_bits: Option<u8>,
    /// `--max-test-time`: the longest test.
    pub test_time: Option<Duration>,
    /// `--max-send-rate`: bits per second.
    pub send_rate: Option<u64>,
    /// `--idle-time`: how long a client may say nothing.
    pub idle_time: Option<Duration>,
}

/// Networks, each use of the option adding to them.
#[derive(Clone, Debug, Default)]
pub struct Networks {
    /// The networks.
    pub networks: Vec<Network>,
    /// True if they come from a file, so that the next ones take their place.
    sealed: bool,
}

impl Networks {
    /// Adds networks, or puts them in the place of those of a file.
    pub fn add(&mut self, networks: Vec<Network>) {
        if std::mem::take(&mut self.sealed) {
            self.networks.clear();
        }
        self.networks.extend(networks);
    }
}

/// The source of the networks does not matter.
impl PartialEq for Networks {
    fn eq(&self, other: &Self) -> bool {
        self.networks == other.networks
    }
}

impl Eq for Networks {}
