//! The labs: surroundings that the machine itself does not have.

use crate::net::ip;
use crate::require::skip;
use crate::{Place, environment};

/// A lab, started by a recipe that then runs the tests inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lab {
    /// A virtual machine whose kernel has everything (`lab/vm`).
    Vm,
    /// A client, a router with slow links and a server (`lab/netns`).
    Netns,
    /// Hosts with sshd, which the tests make (`just lab-ssh`).
    Ssh,
    /// Hosts with Slurm, which the tests make (`just lab-slurm`).
    Slurm,
}

impl Lab {
    /// Value of `NETPERF_LAB` inside.
    fn mark(self) -> &'static str {
        match self {
            Self::Vm => "vm",
            Self::Netns => "netns",
            Self::Ssh => "ssh",
            Self::Slurm => "slurm",
        }
    }

    /// Says whether this is the lab. Elsewhere the test is to be skipped, in
    /// continuous integration too, which goes through both labs on its own.
    pub fn is_here(self) -> bool {
        let mark = self.mark();
        let place = environment("NETPERF_LAB");
        let known = [Self::Vm, Self::Netns, Self::Ssh, Self::Slurm].map(Self::mark);
        let is_known = place.as_deref().is_none_or(|place| known.contains(&place));
        assert!(is_known, "no lab: {place:?}");
        let here = place.as_deref() == Some(mark);
        if !here {
            skip(&format!("runs in the lab: `just lab-{mark}`"));
        }
        here
    }
}

/// The hosts of `lab/netns`; panics outside.
#[derive(Debug)]
pub struct Routed {
    client: String,
    router: String,
    server: String,
    /// The server's IPv4 address.
    pub server_v4: String,
    /// The server's IPv6 address.
    pub server_v6: String,
    /// Rate of the router's links, in 10^6 bits a second of Ethernet frames.
    pub rate: f64,
}

impl Routed {
    /// As the environment names them.
    pub fn here() -> Self {
        let told = |name: &str| environment(name).unwrap_or_else(|| panic!("{name} is not set"));
        Self {
            client: told("LAB_CLIENT"),
            router: told("LAB_ROUTER"),
            server: told("LAB_SERVER"),
            server_v4: told("LAB_SERVER_ADDRESS"),
            server_v6: told("LAB_SERVER_ADDRESS6"),
            rate: told("LAB_RATE").parse().expect("a rate"),
        }
    }

    /// Place for clients.
    pub fn client(&self) -> Place {
        Place::Namespace(self.client.clone())
    }

    /// Place for servers.
    pub fn server(&self) -> Place {
        Place::Namespace(self.server.clone())
    }

    /// Sets the MTU of what the router sends towards the server. The server
    /// does not know, and no host knows a path's MTU any more.
    pub fn narrow(&self, mtu: u32) {
        let mtu = mtu.to_string();
        ip(&["-n", &self.router, "link", "set", "server", "mtu", &mtu]);
        for family in ["-4", "-6"] {
            ip(&["-n", &self.client, family, "route", "flush", "cache"]);
        }
    }

    /// Sets what the router's link to the client carries, in 10^6 bits a second, and how much
    /// waits in front of it, in milliseconds of that rate.
    pub fn downstream(&self, rate: f64, queue: u32) {
        let (rate, queue) = (format!("{rate}mbit"), format!("{queue}ms"));
        let bucket = ["tbf", "rate", &rate, "burst", "16384", "latency", &queue];
        let tc = ["tc", "qdisc", "change", "dev", "client", "root"];
        ip(&[&["netns", "exec", &self.router], &tc[..], &bucket].concat());
    }

    /// The MTU of the path to an address, as far as the client has found out.
    pub fn path_mtu(&self, address: &str) -> Option<u32> {
        let route = ip(&["-n", &self.client, "route", "get", address]);
        let (_, mtu) = route.split_once(" mtu ")?;
        mtu.split_whitespace().next()?.parse().ok()
    }
}
