//! Both ends of a run of netperf.

use serde_json::Value;

use super::super::field::{at, facts, list, number, text, whole};
use super::mean;
use crate::record::{Cpu, End};

/// What is known of a host and of its socket, and what it is called.
const FACTS: &[(&str, &str)] = &[
    ("host.system", "system"),
    ("host.release", "kernel"),
    ("host.version", "kernel version"),
    ("host.machine", "architecture"),
    ("host.system_model", "machine"),
    ("host.cpu_model", "CPU"),
    ("host.cpu_frequency_megahertz", "CPU frequency, MHz"),
    ("host.interface.name", "interface"),
    ("host.interface.driver", "driver"),
    ("host.interface.driver_version", "driver version"),
    ("host.interface.firmware", "firmware"),
    ("host.interface.bus", "bus"),
    ("host.security.kind", "security framework"),
    ("host.security.mode", "security mode"),
    ("agreed.send_size_bytes", "bytes in each send"),
    ("agreed.recv_size_bytes", "bytes in each receive"),
    ("agreed.send_buffer_bytes", "send socket buffer, bytes"),
    ("agreed.recv_buffer_bytes", "receive socket buffer, bytes"),
    ("requested.bind_cpu", "bound to CPU"),
];

/// The end that the document calls `side`.
pub(super) fn end(document: &Value, side: &str, role: &'static str) -> End {
    let own = at(document, side).unwrap_or(&Value::Null);
    let mut facts = facts(own, FACTS);
    // `none` could be told not to be there, which is not worth a row.
    facts.retain(|(_, value)| value != "none");
    let last = list(document, "iterations").last().unwrap_or(&Value::Null);
    if let Some(control) = text(last, &format!("{side}.congestion_control")) {
        facts.push(("congestion control".to_owned(), control));
    }
    End {
        role,
        name: text(own, "name"),
        address: text(own, "address"),
        facts,
        cpu: cpu(document, side),
    }
}

fn cpu(document: &Value, side: &str) -> Option<Cpu> {
    let field = |name: &str| format!("{side}.cpu.{name}_percent");
    let busy = mean(document, &field("busy"))?;
    let mut parts = ["user", "system", "irq", "softirq"].map(|name| mean(document, &field(name)));
    // A netserver of another make, and some methods, do not tell them apart.
    if busy > 0.0 && parts.iter().flatten().sum::<f64>() <= 0.0 {
        parts = [None; 4];
    }
    let last = list(document, "iterations").last()?;
    let peak = whole(last, &format!("{side}.cpu.peak_cpu")).zip(number(last, &field("peak_busy")));
    Some(Cpu {
        of: "all CPUs of the host",
        cpus: whole(last, &format!("{side}.cpu.cpus")),
        busy: Some(busy),
        parts,
        peak,
    })
}
