//! A simulation as the simulator reads it: YAML, and a graph of one node in GML.

use std::fmt::Write as _;
use std::time::Duration;

use super::{SimHost, SimProcess, Simulation};

impl Simulation {
    /// The scenario file.
    pub(super) fn scenario(&self) -> String {
        // A system call takes 5 us, as on a slow router: originals that spin until something is due
        // take a fourth of the time that they take with 1 us, the default.
        let mut text = format!(
            "general:\n  seed: {}\n  stop_time: {}\n  model_unblocked_syscall_latency: true\n  \
             progress: false\nexperimental:\n  use_cpu_pinning: false\n  use_worker_spinning: false\n  \
             unblocked_syscall_latency: 5 us\n",
            self.seed,
            time(self.length)
        );
        if self.counts_bytes || self.notes_left {
            text += "host_option_defaults:\n";
        }
        if self.notes_left {
            text += "  log_level: debug\n";
        }
        if self.counts_bytes {
            text += "  pcap_enabled: true\n  pcap_capture_size: 96 B\n";
        }
        text += &self.graph();
        text += "hosts:\n";
        for (index, host) in self.hosts.iter().enumerate() {
            text += &host.scenario(index);
        }
        text
    }

    fn graph(&self) -> String {
        let link = &self.link;
        let own = [vec![link.delay]];
        let delays: &[Vec<Duration>] = if self.delays.is_empty() {
            &own
        } else {
            &self.delays
        };
        let bits = link.bits_per_second;
        let mut lines = vec!["graph [".to_owned()];
        for id in 0..delays.len() {
            lines.extend([
                "  node [".to_owned(),
                format!("    id {id}"),
                format!("    host_bandwidth_up \"{bits} bit\""),
                format!("    host_bandwidth_down \"{bits} bit\""),
                "  ]".to_owned(),
            ]);
        }
        for (source, row) in delays.iter().enumerate() {
            // An edge goes both ways.
            for (target, delay) in row.iter().enumerate().skip(source) {
                lines.extend([
                    "  edge [".to_owned(),
                    format!("    source {source}"),
                    format!("    target {target}"),
                    format!("    latency \"{}\"", time(*delay)),
                    format!("    packet_loss {:?}", link.loss),
                    "  ]".to_owned(),
                ]);
            }
        }
        lines.push("]".to_owned());
        let graph: String = lines.iter().map(|line| format!("      {line}\n")).collect();
        format!(
            "network:\n  use_shortest_path: false\n  graph:\n    type: gml\n    inline: |\n{graph}"
        )
    }
}

impl SimHost {
    fn scenario(&self, index: usize) -> String {
        let [one, two, three, four] = super::address(index);
        let mut text = format!(
            "  {}:\n    network_node_id: {}\n    ip_addr: {one}.{two}.{three}.{four}\n",
            self.name, self.place
        );
        if let Some(bits) = self.bits_per_second {
            text += &format!("    bandwidth_up: {bits} bit\n    bandwidth_down: {bits} bit\n");
        }
        text += "    processes:\n";
        for process in &self.processes {
            text += &process.scenario();
        }
        text
    }
}

impl SimProcess {
    fn scenario(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        let mut text = format!(
            "    - path: {}\n      args: [{}]\n      start_time: {}\n",
            quoted(&self.program.display().to_string()),
            words.join(", "),
            time(self.start)
        );
        if let Some((at, signal)) = self.signal {
            let at = time(at);
            write!(
                text,
                "      shutdown_time: {at}\n      shutdown_signal: {signal}\n"
            )
            .ok();
        }
        // No process ends so, so that the simulator names the end of each.
        text += "      expected_final_state: {signaled: SIGUSR2}\n";
        text
    }
}

fn time(time: Duration) -> String {
    format!("{} us", time.as_micros())
}

/// A string of YAML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sim::SimLink;

    #[test]
    fn a_scenario_names_hosts_programs_times_and_the_link() {
        let server = SimProcess::new(Path::new("/bin/server"), "-D -4");
        let client = SimProcess::new(Path::new("/bin/client"), "-H server");
        let client = client.signalled(Duration::from_millis(2500), "SIGINT");
        let mut simulation = Simulation::of_two(SimLink::lossless(100, 10), server, client);
        simulation.hosts[0].bits_per_second = Some(400_000_000);
        let text = simulation.scenario();
        for part in [
            "  seed: 1\n",
            "    packet_loss 0.0\n",
            "host_bandwidth_up \"100000000 bit\"\n",
            "latency \"10000 us\"\n",
            "  client:\n    network_node_id: 0\n    ip_addr: 11.0.0.1\n",
            "    bandwidth_up: 400000000 bit\n    bandwidth_down: 400000000 bit\n    processes:\n",
            "args: [\"-H\", \"server\"]\n      start_time: 1000000 us\n",
            "shutdown_time: 2500000 us\n      shutdown_signal: SIGINT\n",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }
}
