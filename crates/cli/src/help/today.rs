//! The options that a user of today needs; all others stand under `--help classic`, and at the end
//! of the man page.

use crate::entry::OptionEntry;

/// Their names.
const OF_TODAY: &[&str] = &[
    // The test.
    "test",
    "udp",
    "reverse",
    "time",
    "count",
    "bidirectional",
    "sequence",
    "flows",
    "threads",
    "warmup",
    "cooldown",
    // Hosts.
    "host",
    "port",
    "local-host",
    "ipv4",
    "ipv6",
    "iperf2",
    "iperf3",
    "passphrase",
    "key-file",
    "one-port",
    // Output.
    "human",
    "json",
    "json-stream",
    "live",
    "interim",
    "latency",
    "series",
    "timestamps",
    "history",
    "output",
    "unit",
    "brand",
    "keyval",
    "csv",
    // CPUs.
    "local-cpu",
    "remote-cpu",
    "bind-cpu",
    // Statistics.
    "iterations",
    "confidence",
    "until",
    "until-confidence",
    // Pacing.
    "rate",
    "arrival",
    "pacing-rate",
    "remote-pacing-rate",
    // Operations.
    "send-size",
    "recv-size",
    "request-size",
    "burst",
    "protocol",
    // Sockets and paths.
    "socket-buffer",
    "remote-socket-buffer",
    "no-delay",
    "congestion",
    "segment-size",
    "fast-open",
    "dscp",
    "bind-device",
    "data-port",
    "io",
    "zerocopy",
    "batch",
    "segment-offload",
    "busy-poll",
    // The program.
    "help",
    "list",
    "version",
];

/// Returns true for one of them.
#[must_use]
pub fn is_of_today(entry: &OptionEntry) -> bool {
    OF_TODAY.contains(&entry.long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry;
    use crate::options::SUITES;

    #[test]
    fn help_all_names_exist_and_are_some_sixty() {
        let omni = SUITES.iter().flat_map(entry::suite);
        let all: Vec<&str> = entry::global()
            .into_iter()
            .chain(omni)
            .map(|entry| entry.long)
            .collect();
        for name in OF_TODAY {
            assert!(all.contains(name), "{name}");
        }
        assert!((60..=70).contains(&OF_TODAY.len()), "{}", OF_TODAY.len());
    }
}
