//! A snapshot of this host, from /proc/net (proc(5)).

use std::fs;
use std::io;

use super::{CounterSnapshot, HostCounter, SnapshotForm, SnapshotOrigin};
use crate::clock;

/// Columns of /proc/net/dev.
const INTERFACE: [&str; 16] = [
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "rx_fifo_errors",
    "rx_frame_errors",
    "rx_compressed",
    "rx_multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "tx_fifo_errors",
    "tx_collisions",
    "tx_carrier_errors",
    "tx_compressed",
];

/// Values of the files that count nothing (RFC 1213, RFC 4022).
const NO_COUNTERS: [(&str, &str); 7] = [
    ("Ip", "Forwarding"),
    ("Ip", "DefaultTTL"),
    ("Tcp", "RtoAlgorithm"),
    ("Tcp", "RtoMin"),
    ("Tcp", "RtoMax"),
    ("Tcp", "MaxConn"),
    ("Tcp", "CurrEstab"),
];

/// The counters of this host, or of the network namespace of this process.
///
/// # Errors
/// When /proc/net cannot be read.
pub fn snapshot() -> io::Result<CounterSnapshot> {
    let read = |file: &str| fs::read_to_string(format!("/proc/net/{file}"));
    let mut counters = interfaces(&read("dev")?);
    counters.extend(protocols(&read("snmp")?));
    counters.extend(protocols(&read("netstat").unwrap_or_default()));
    // Without IPv6 there is no such file.
    counters.extend(version6(&read("snmp6").unwrap_or_default()));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let origin = SnapshotOrigin {
        time: clock::since_epoch().as_secs_f64(),
        boot: boot.trim().to_owned(),
    };
    Ok(CounterSnapshot {
        form: SnapshotForm::Own,
        origin: Some(origin),
        counters,
    })
}

fn counter(section: &str, name: &str, value: &str) -> Option<HostCounter> {
    let counts = !NO_COUNTERS.contains(&(section, name));
    let value = value.parse().ok().filter(|_| counts)?;
    Some(HostCounter {
        section: section.to_owned(),
        name: name.to_owned(),
        value,
    })
}

/// /proc/net/dev: an interface a line.
fn interfaces(text: &str) -> Vec<HostCounter> {
    let each = text.lines().filter_map(|line| {
        let (interface, values) = line.split_once(':')?;
        Some((interface.trim(), values.split_whitespace()))
    });
    each.flat_map(|(interface, values)| {
        let named = INTERFACE.into_iter().zip(values);
        named.filter_map(move |(name, value)| counter(interface, name, value))
    })
    .collect()
}

/// /proc/net/snmp and /proc/net/netstat: a line of names, and a line of values.
fn protocols(text: &str) -> Vec<HostCounter> {
    let mut counters = Vec::new();
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (mut names, mut values) = (names.split_whitespace(), values.split_whitespace());
        let protocol = names.next().and_then(|word| word.strip_suffix(':'));
        let Some(protocol) = protocol.filter(|_| values.next().is_some()) else {
            continue;
        };
        counters.extend(
            names
                .zip(values)
                .filter_map(|(name, value)| counter(protocol, name, value)),
        );
    }
    counters
}

/// /proc/net/snmp6: a name and a value a line. The name begins with its protocol.
fn version6(text: &str) -> Vec<HostCounter> {
    let each = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        let end = name.find('6')? + 1;
        let (protocol, name) = name.split_at_checked(end)?;
        counter(protocol, name, value.trim())
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(counters: &[HostCounter]) -> Vec<(&str, &str, u64)> {
        let each = counters.iter();
        each.map(|one| (one.section.as_str(), one.name.as_str(), one.value))
            .collect()
    }

    #[test]
    fn host_counters_are_read_from_each_file_of_the_kernel() {
        let dev = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes\n  \
                   eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615\n";
        let of_dev = interfaces(dev);
        assert_eq!(of_dev.len(), 16);
        assert_eq!(each(&of_dev)[8], ("eth0", "tx_bytes", 9));
        assert_eq!(each(&of_dev)[15], ("eth0", "tx_compressed", u64::MAX));
        let snmp = "Ip: Forwarding InReceives\nIp: 2 7\nTcp: MaxConn InSegs\nTcp: -1 5\n";
        assert_eq!(
            each(&protocols(snmp)),
            [("Ip", "InReceives", 7), ("Tcp", "InSegs", 5)]
        );
        let of_6 = version6("Ip6InReceives    \t22\nUdpLite6InDatagrams 1\nnoname 3\n");
        assert_eq!(
            each(&of_6),
            [("Ip6", "InReceives", 22), ("UdpLite6", "InDatagrams", 1)]
        );
    }
}
