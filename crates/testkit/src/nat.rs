//! A client behind a router that translates addresses and lets one port through.

use crate::net::{self, Namespace};
use crate::require;
use crate::{Place, eventually};

/// Three machines in a row: a client, a router and a server.
///
/// The router hides the client's network behind its own address, passes on what goes to one
/// port and what comes back, and drops all else, whichever side it comes from.
#[derive(Debug)]
pub struct BehindNat {
    client: Namespace,
    router: Namespace,
    server: Namespace,
}

impl BehindNat {
    /// The server's addresses, of either family.
    pub const SERVER: [&str; 2] = ["203.0.113.2", "2001:db8:2::2"];
    const ROUTER: [&str; 2] = ["203.0.113.1", "2001:db8:2::1"];
    const INSIDE: [&str; 2] = ["192.168.7.1", "fd00:7::1"];
    const CLIENT: [&str; 2] = ["192.168.7.2", "fd00:7::2"];

    /// Makes them, joined. `None`, after saying so, where nothing here can translate.
    pub fn new() -> Option<Self> {
        if !require::nft() {
            return None;
        }
        net::sweep();
        let all = Self {
            client: Namespace::new(),
            router: Namespace::new(),
            server: Namespace::new(),
        };
        for (host, cable, far) in [
            (&all.client, "inside", Self::CLIENT),
            (&all.server, "outside", Self::SERVER),
        ] {
            let near = if cable == "inside" {
                Self::INSIDE
            } else {
                Self::ROUTER
            };
            let name = host.name();
            let ends = [
                "link", "add", cable, "type", "veth", "peer", "name", "cable", "netns", name,
            ];
            all.router.ip(&ends);
            all.router.address(cable, near);
            host.address("cable", far);
        }
        for (family, way) in [("-4", Self::INSIDE[0]), ("-6", Self::INSIDE[1])] {
            let route = [family, "route", "add", "default", "via", way];
            all.client.ip(&route);
        }
        all.router
            .shell("sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
        assert!(
            all.client.is_up("cable") && all.server.is_up("cable"),
            "the veth pairs did not come up"
        );
        Some(all)
    }

    /// Translates, and lets nothing through but this port.
    pub fn only(&self, port: u16) {
        let rules = format!(
            "table inet only {{
                chain forward {{
                    type filter hook forward priority filter; policy drop;
                    ct state established,related accept
                    iifname inside meta l4proto {{ tcp, udp }} th dport {port} accept
                    icmpv6 type {{ packet-too-big }} accept
                    counter comment \"dropped\"
                }}
                chain out {{
                    type nat hook postrouting priority srcnat;
                    oifname outside masquerade random
                }}
            }}"
        );
        self.router.nft(&rules);
    }

    /// Packets that the router dropped.
    pub fn dropped(&self) -> u64 {
        let listed = self.router.shell("nft list chain inet only forward");
        net::nft_counter(&listed)
    }

    /// Place for clients whose addresses are translated.
    pub fn client(&self) -> Place {
        self.client.place()
    }

    /// Between both; what is sent from here is not translated.
    pub fn router(&self) -> Place {
        self.router.place()
    }

    /// Place for servers.
    pub fn server(&self) -> Place {
        self.server.place()
    }
}

impl Namespace {
    fn address(&self, interface: &str, [v4, v6]: [&str; 2]) {
        self.ip(&["addr", "add", &format!("{v4}/24"), "dev", interface]);
        // `nodad`: an address on probation could not be bound yet.
        self.ip(&[
            "addr",
            "add",
            &format!("{v6}/64"),
            "dev",
            interface,
            "nodad",
        ]);
        self.ip(&["link", "set", interface, "up"]);
    }

    fn is_up(&self, interface: &str) -> bool {
        eventually(std::time::Duration::from_secs(5), || {
            self.ip(&["link", "show", interface]).contains("state UP")
        })
    }
}
