//! Hosts around a switch, each with its own cable whose rate can be limited.

use std::path::Path;
use std::time::Duration;

use crate::net::{self, Namespace};
use crate::require::{require, root};
use crate::{Bottleneck, Invocation, Place, Running, eventually};

/// Hosts at the ports of a switch. All are removed when dropped.
///
/// No device has an offload, so a packet is a frame of 1,514 bytes at most. The device of each
/// host is called `cable`, the port of the switch to host 3 `port3`.
#[derive(Debug)]
pub struct Star {
    switch: Namespace,
    hosts: Vec<Namespace>,
    /// A process of the switch, through which its counters are read.
    idle: Running,
}

impl Star {
    /// Creates so many hosts. `None`, after saying so, where root or a program is missing; see
    /// [`require`].
    pub fn new(count: u8) -> Option<Self> {
        let present = net::runs("ethtool", "--version");
        let usable = root() && require(present, "ethtool", "install ethtool");
        usable.then(|| Self::created(count))
    }

    fn created(count: u8) -> Self {
        net::sweep();
        let switch = Namespace::new();
        switch.shell("ip link add switch type bridge\nip link set switch up");
        let hosts: Vec<_> = (0..count).map(|_| Namespace::new()).collect();
        let off = "tso off gso off gro off tx off rx off >/dev/null";
        for (number, host) in hosts.iter().enumerate() {
            let port = format!("port{number}");
            switch.shell(&format!(
                "ip link add {port} type veth peer name cable netns {}\n\
                 ethtool -K {port} {off}\n\
                 ip link set {port} master switch up",
                host.name()
            ));
            host.shell(&format!(
                "ethtool -K cable {off}\n\
                 ip address add {}/24 dev cable\n\
                 ip link set cable up",
                address(number)
            ));
        }
        let idle = Invocation::new(Path::new("sleep"))
            .arg("infinity")
            .within(&switch.place())
            .spawn();
        let star = Self {
            switch,
            hosts,
            idle,
        };
        let up = |host: &Namespace| host.ip(&["link", "show", "cable"]).contains("state UP");
        let all_up = eventually(Duration::from_secs(10), || star.hosts.iter().all(up));
        assert!(all_up, "the veth pairs did not come up");
        star
    }

    fn host(&self, number: usize) -> &Namespace {
        self.hosts.get(number).expect("a host of the star")
    }

    /// To run programs at a host.
    pub fn place(&self, number: usize) -> Place {
        self.host(number).place()
    }

    /// IPv4 address of a host.
    pub fn address(&self, number: usize) -> String {
        assert!(number < self.hosts.len());
        address(number)
    }

    /// Runs a shell script at a host, as root of its network. Its output.
    ///
    /// # Panics
    /// When a command fails.
    pub fn shell(&self, number: usize, script: &str) -> String {
        self.host(number).shell(script)
    }

    /// Limits what a host sends.
    pub fn limit_sending(&self, number: usize, bottleneck: Bottleneck) {
        let bucket = bottleneck.words();
        self.host(number)
            .shell(&format!("tc qdisc replace dev cable root {bucket}"));
    }

    /// Limits what the switch sends to a host.
    pub fn limit_receiving(&self, number: usize, bottleneck: Bottleneck) {
        let bucket = bottleneck.words();
        self.switch
            .shell(&format!("tc qdisc replace dev port{number} root {bucket}"));
    }

    /// Delays what a host receives and what it sends; only where the kernel has netem.
    pub fn delay(&self, number: usize, receiving: Duration, sending: Duration) {
        let netem = |device: &str, delay: Duration| {
            let micros = delay.as_micros();
            format!("tc qdisc replace dev {device} root netem delay {micros}us")
        };
        self.switch
            .shell(&netem(&format!("port{number}"), receiving));
        self.host(number).shell(&netem("cable", sending));
    }

    /// Pulls a host's cable out.
    pub fn cut(&self, number: usize) {
        self.switch.shell(&format!("ip link set port{number} down"));
    }

    /// Puts it back.
    pub fn mend(&self, number: usize) {
        self.switch.shell(&format!("ip link set port{number} up"));
        let host = self.host(number);
        let up = || host.ip(&["link", "show", "cable"]).contains("state UP");
        assert!(eventually(Duration::from_secs(10), up), "no carrier");
    }

    /// Bytes that all hosts together have sent into the switch.
    pub fn bytes(&self) -> u64 {
        let file = format!("/proc/{}/net/dev", self.idle.pid());
        let shown = std::fs::read_to_string(file).expect("counters");
        let received = |line: &str| {
            let (name, counts) = line.split_once(':')?;
            let count = counts.split_whitespace().next()?;
            let is_port = name.trim().starts_with("port");
            count.parse::<u64>().ok().filter(|_| is_port)
        };
        shown.lines().filter_map(received).sum()
    }

    /// True if a process runs at a host.
    pub fn runs(&self, number: usize, pid: u32) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let inode = |path: String| {
            std::fs::metadata(path)
                .ok()
                .map(|one| (one.dev(), one.ino()))
        };
        let own = inode(format!("/run/netns/{}", self.host(number).name()));
        own.is_some() && inode(format!("/proc/{pid}/ns/net")) == own
    }

    /// Established TCP connections of a host, one a line.
    pub fn connections(&self, number: usize) -> String {
        self.host(number).shell("ss -Htan state established")
    }
}

fn address(number: usize) -> String {
    format!("198.18.3.{}", number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_reach_each_other_until_a_cable_is_pulled_out_netns() {
        let Some(star) = Star::new(3) else { return };
        let ping = format!(
            "ping -q -c 1 -W 5 {} >/dev/null && echo yes || true",
            star.address(2)
        );
        assert_eq!(star.shell(0, &ping), "yes\n");
        assert!(star.bytes() > 0);
        star.cut(2);
        let ping = ping.replace("-W 5", "-W 1");
        assert_eq!(star.shell(1, &ping), "");
        star.mend(2);
        let again = || star.shell(1, &ping) == "yes\n";
        assert!(eventually(Duration::from_secs(20), again));
    }
}
