//! A client and a server with a router between them whose links are slow.
//!
//! Each test creates a separate link, so that many of them run at the same time. A slow link
//! uses almost no processor time: its packets wait in the router.

use std::time::Duration;

use crate::net::{self, Namespace};
use crate::require::{nft, require, root};
use crate::{Netserver, Place, Programs, eventually};

/// Length of a full Ethernet frame without its checksum, in bytes.
pub const FRAME: u32 = 1514;
/// Data of TCP in a full frame, with time stamps and over IPv4.
const TCP_DATA: u32 = 1448;
/// Data of UDP in a full frame, over IPv4.
const UDP_DATA: u32 = 1472;

/// Longest queue in front of a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLimit {
    /// The queue drops packets that would wait longer.
    Time(Duration),
    /// Amount of bytes that wait.
    Bytes(u32),
}

/// Rate and queue of one direction of the router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// 10^3 bits per second of Ethernet frames, without their checksum.
    pub kbit: u32,
    /// Longest queue in front of it.
    pub queue: QueueLimit,
}

impl Bottleneck {
    /// A rate in kbit/s and a queue in milliseconds.
    pub const fn new(kbit: u32, queue_ms: u64) -> Self {
        let queue = QueueLimit::Time(Duration::from_millis(queue_ms));
        Self { kbit, queue }
    }

    /// Rate of the frames, in 10^6 bits per second.
    pub fn rate(&self) -> f64 {
        f64::from(self.kbit) / 1000.0
    }

    /// Throughput of TCP's data in full frames, in 10^6 bits per second.
    pub fn tcp_goodput(&self) -> f64 {
        self.rate() * f64::from(TCP_DATA) / f64::from(FRAME)
    }

    /// Throughput of datagrams of 1,472 bytes, in 10^6 bits per second.
    pub fn udp_goodput(&self) -> f64 {
        self.rate() * f64::from(UDP_DATA) / f64::from(FRAME)
    }

    /// Depth of the token bucket in bytes: two frames, or 10 ms of the rate, by which a loaded
    /// machine may be late.
    pub fn burst(&self) -> u32 {
        (self.kbit * 10 / 8).max(2 * FRAME)
    }

    /// In the words of tc-tbf(8).
    pub(crate) fn words(&self) -> String {
        let (kbit, burst) = (self.kbit, self.burst());
        let limit = match self.queue {
            QueueLimit::Time(time) => format!("latency {}us", time.as_micros()),
            QueueLimit::Bytes(bytes) => format!("limit {bytes}"),
        };
        format!("tbf rate {kbit}kbit burst {burst} {limit}")
    }
}

/// A host of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkHost {
    /// The host for netperf.
    Client,
    /// The host in the middle.
    Router,
    /// The host for netserver.
    Server,
}

/// Three hosts in a row: a client, a router and a server. They are removed when dropped.
///
/// The router has a bottleneck in each direction. No device has an offload, so a packet is a
/// frame of 1,514 bytes at most. The device of each end is called `cable`; those of the router
/// are called `client` and `server`.
#[derive(Debug)]
pub struct RoutedLink {
    client: Namespace,
    router: Namespace,
    server: Namespace,
}

impl RoutedLink {
    /// IPv4 address of the client.
    pub const CLIENT_V4: &str = "198.18.1.1";
    /// IPv4 address of the server.
    pub const SERVER_V4: &str = "198.18.2.1";
    /// IPv6 address of the server.
    pub const SERVER_V6: &str = "fd00:5ca1:2::1";

    /// Creates the hosts, with the same bottleneck in both directions. `None`, after saying so,
    /// where root or a program is missing; see [`require`].
    pub fn new(both: Bottleneck) -> Option<Self> {
        let ethtool = || net::runs("ethtool", "--version");
        let usable = root() && require(ethtool(), "ethtool", "install ethtool") && nft();
        usable.then(|| Self::created(both))
    }

    fn created(both: Bottleneck) -> Self {
        net::sweep();
        let link = Self {
            client: Namespace::new(),
            router: Namespace::new(),
            server: Namespace::new(),
        };
        let bucket = both.words();
        let mut router =
            String::from("sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1\n");
        for (host, name, net) in [(&link.client, "client", 1), (&link.server, "server", 2)] {
            let far = host.name();
            router += &format!("ip link add {name} type veth peer name cable netns {far}\n");
            router += &device(name, net, 254);
            router += &format!("tc qdisc add dev {name} root {bucket}\n");
        }
        link.router.shell(&router);
        for (host, net) in [(&link.client, 1), (&link.server, 2)] {
            let routes = format!(
                "ip route add default via 198.18.{net}.254\n\
                 ip -6 route add default via fd00:5ca1:{net}::254\n"
            );
            host.shell(&(device("cable", net, 1) + &routes));
        }
        let up = |host: &Namespace| host.ip(&["link", "show", "cable"]).contains("state UP");
        let both_up = eventually(Duration::from_secs(5), || {
            up(&link.client) && up(&link.server)
        });
        assert!(both_up, "the veth pairs did not come up");
        link
    }

    fn host(&self, host: LinkHost) -> &Namespace {
        match host {
            LinkHost::Client => &self.client,
            LinkHost::Router => &self.router,
            LinkHost::Server => &self.server,
        }
    }

    /// To run programs at a host.
    pub fn place(&self, host: LinkHost) -> Place {
        self.host(host).place()
    }

    /// Starts a netserver at the server. Ours permits what it keeps from strangers.
    pub fn serve(&self, programs: &Programs) -> Netserver {
        let options = ["-D", "--features", "all"];
        let known = if programs.is_stock() {
            1
        } else {
            options.len()
        };
        Netserver::start_with(programs, &self.server.place(), &options[..known], &[])
    }

    /// Changes what the router sends to an end.
    pub fn set(&self, to: LinkHost, bottleneck: Bottleneck) {
        let (device, bucket) = (router_device(to), bottleneck.words());
        self.router
            .shell(&format!("tc qdisc change dev {device} root {bucket}"));
    }

    /// Runs a shell script at a host, as root of its network. Its output.
    ///
    /// # Panics
    /// When a command fails.
    pub fn shell(&self, host: LinkHost, script: &str) -> String {
        self.host(host).shell(script)
    }

    /// Sets the queueing discipline of the client's device, in the words of tc(8). A
    /// discipline that drops makes local drops there.
    pub fn client_egress(&self, discipline: &str) {
        self.client
            .shell(&format!("tc qdisc replace dev cable root {discipline}"));
    }

    /// Sets the MTU of what the router sends to the server. Neither end knows it.
    pub fn narrow(&self, mtu: u32) {
        self.router.shell(&format!("ip link set server mtu {mtu}"));
    }

    /// A counter of a host's network, by its name in nstat(8): `UdpSndbufErrors`,
    /// `UdpInErrors`, `UdpInDatagrams`, `TcpRetransSegs`, `TcpInSegs` and so on.
    pub fn counter(&self, host: LinkHost, name: &str) -> u64 {
        self.host(host).counter(name)
    }

    /// Packets and bytes of Ethernet frames that arrived at an end since its creation.
    pub fn arrived(&self, end: LinkHost) -> (u64, u64) {
        let files = "cd /sys/class/net/cable/statistics && cat rx_packets rx_bytes";
        let shown = self.host(end).shell(files);
        let mut counts = shown.lines().filter_map(|line| line.parse().ok());
        let mut next = || counts.next().expect("a count");
        (next(), next())
    }

    /// Makes the router drop exact packets to an end, instead of those of the last call: of
    /// those that match (in the words of nft(8), such as `udp length > 100`), the packets
    /// whose number is in `dropped`. Numbers start at 0 and start again after `period`.
    pub fn lose(&self, to: LinkHost, matching: &str, period: u32, dropped: &[u32]) {
        let (device, numbers) = (router_device(to), format!("{dropped:?}"));
        let numbers = numbers.replace('[', "{").replace(']', "}");
        let rules = format!(
            "table inet loss {{
                chain forward {{
                    type filter hook forward priority filter;
                    oifname {device} {matching} numgen inc mod {period} {numbers} counter drop
                }}
            }}"
        );
        self.router.shell("nft flush ruleset");
        self.router.nft(&rules);
    }

    /// Packets that were dropped on purpose.
    pub fn lost(&self) -> u64 {
        net::nft_counter(&self.router.shell("nft list table inet loss"))
    }
}

/// Name of the router's device to an end.
fn router_device(to: LinkHost) -> &'static str {
    match to {
        LinkHost::Client => "client",
        LinkHost::Server => "server",
        LinkHost::Router => panic!("the router has no link to itself"),
    }
}

/// Script that sets up a device: its offloads off, its addresses, and up.
fn device(name: &str, net: u32, number: u32) -> String {
    // `nodad`: an address on probation could not be bound yet.
    format!(
        "ethtool -K {name} tso off gso off gro off tx off rx off >/dev/null\n\
         ip address add 198.18.{net}.{number}/24 dev {name}\n\
         ip address add fd00:5ca1:{net}::{number}/64 dev {name} nodad\n\
         ip link set {name} up\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goodput_of_a_link_is_the_share_of_data_in_its_frames() {
        let link = Bottleneck::new(50_000, 100);
        assert!((link.tcp_goodput() - 47.82).abs() < 0.005);
        assert!((link.udp_goodput() - 48.61).abs() < 0.005);
        assert_eq!(
            link.words(),
            "tbf rate 50000kbit burst 62500 latency 100000us"
        );
        let bytes = Bottleneck {
            queue: QueueLimit::Bytes(20_000),
            ..Bottleneck::new(128, 0)
        };
        assert_eq!(bytes.words(), "tbf rate 128kbit burst 3028 limit 20000");
    }

    #[test]
    fn packets_are_dropped_by_number_netns() {
        let Some(link) = RoutedLink::new(Bottleneck::new(10_000, 100)) else {
            return;
        };
        link.lose(LinkHost::Server, "meta l4proto icmp", 1000, &[1, 3]);
        let ping = format!(
            "ping -q -i 0.02 -W 1 -c 6 {} || true",
            RoutedLink::SERVER_V4
        );
        let shown = link.shell(LinkHost::Client, &ping);
        assert!(
            shown.contains("6 packets transmitted, 4 received"),
            "{shown}"
        );
        assert_eq!(link.lost(), 2);
    }
}
