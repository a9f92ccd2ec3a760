//! Both ends of a run of netperf.

use std::net::IpAddr;

use netperf_model::CpuUsage;
use netperf_model::fields::MeasuredFigure;
use netperf_report::document::{Document, EndDocument, IterationDocument, MeasuredEnd};

use super::{mean, text};
use crate::record::{CpuLoad, RecordEnd, known};

/// One end of a document.
#[derive(Clone, Copy, Debug)]
pub(super) enum DocumentSide {
    /// netperf's.
    Local,
    /// netserver's.
    Remote,
}

impl DocumentSide {
    const fn role(self) -> &'static str {
        match self {
            Self::Local => "client",
            Self::Remote => "server",
        }
    }

    fn measured(self, run: &IterationDocument) -> Option<&MeasuredEnd> {
        match self {
            Self::Local => Some(&run.local),
            Self::Remote => run.remote.as_ref(),
        }
    }
}

/// One end.
pub(super) fn end(document: &Document, side: DocumentSide) -> RecordEnd {
    let own = match side {
        DocumentSide::Local => &document.local,
        DocumentSide::Remote => &document.remote,
    };
    let last = document.iterations.last();
    let last = last.and_then(|run| side.measured(run));
    let mut facts = facts(own);
    let control = last.and_then(|end| end.congestion_control.as_deref());
    facts.extend(known([("congestion control", control.and_then(text))]));
    RecordEnd {
        role: side.role(),
        name: own.name.as_deref().and_then(known_address),
        address: own.address.as_deref().and_then(known_address),
        facts,
        cpu: cpu(document, side),
    }
}

/// A name or an address; `None` of the wildcard address of a socket that is not bound.
fn known_address(name: &str) -> Option<String> {
    let is_wildcard = |ip: IpAddr| ip.is_unspecified();
    text(name).filter(|name| !name.parse().is_ok_and(is_wildcard))
}

/// Facts about host and socket.
fn facts(end: &EndDocument) -> Vec<(String, String)> {
    let host = end.host.clone().unwrap_or_default();
    let (interface, security) = (&host.interface, &host.security);
    let word = |word: &Option<String>| word.as_deref().and_then(text);
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let agreed = |pick: fn(&netperf_model::EndSetup) -> Option<u32>| {
        number(end.agreed.as_ref().and_then(pick))
    };
    let kind = security.kind.map(netperf_model::SecurityKind::label);
    let mode = security.mode.map(netperf_model::SecurityMode::label);
    let mut facts = known([
        ("system", word(&host.sysname)),
        ("kernel", word(&host.release)),
        ("kernel version", word(&host.version)),
        ("architecture", word(&host.machine)),
        ("machine", word(&host.system_model)),
        ("CPU", word(&host.cpu_model)),
        ("CPU frequency, MHz", number(host.cpu_frequency)),
        ("interface", word(&interface.name)),
        ("driver", word(&interface.driver)),
        ("driver version", word(&interface.driver_version)),
        ("firmware", word(&interface.firmware)),
        ("bus", word(&interface.bus)),
        ("security framework", kind.map(str::to_owned)),
        ("security mode", mode.map(str::to_owned)),
        ("bytes in each send", agreed(|setup| setup.send_size)),
        ("bytes in each receive", agreed(|setup| setup.recv_size)),
        (
            "send socket buffer, bytes",
            agreed(|setup| setup.send_buffer),
        ),
        (
            "receive socket buffer, bytes",
            agreed(|setup| setup.recv_buffer),
        ),
        ("bound to CPU", number(end.requested.bind_cpu)),
    ]);
    // An absent property is not worth a row.
    facts.retain(|(_, value)| value != netperf_model::host::NONE);
    facts
}

fn cpu(document: &Document, side: DocumentSide) -> Option<CpuLoad> {
    let usage = |run: &IterationDocument| side.measured(run)?.cpu;
    let average =
        |pick: fn(&CpuUsage) -> f64| mean(document, |run| MeasuredFigure::of(pick(&usage(run)?)).0);
    let busy = average(|cpu| cpu.busy)?;
    let mut parts = [
        average(|cpu| cpu.shares.user),
        average(|cpu| cpu.shares.system),
        average(|cpu| cpu.shares.irq),
        average(|cpu| cpu.shares.softirq),
    ];
    // A stock netserver, and some methods, do not tell the parts apart.
    if busy > 0.0 && parts.iter().flatten().sum::<f64>() <= 0.0 {
        parts = [None; 4];
    }
    let last = document.iterations.last().and_then(usage);
    let peak = last.and_then(|cpu| {
        let number = u64::try_from(cpu.peak_id).ok()?;
        Some((number, MeasuredFigure::of(cpu.peak_busy).0?))
    });
    Some(CpuLoad {
        of: "all CPUs of the host",
        cpus: last.map(|cpu| u64::from(cpu.cpus)),
        busy: Some(busy),
        parts,
        peak,
    })
}
