//! Doubts about the figures of a run of netperf.

use netperf_model::figures::count;
use netperf_report::document::{Document, MeasuredEnd};

use super::text;
use crate::record::{Record, is_loopback};
use crate::unit::{Quantity, Unit, figure};

/// A utilisation from which on a CPU may be the bottleneck, in percent.
const FULL: f64 = 95.0;
/// A share of the data that may be lost at the end of a test without a doubt, in percent.
const LOST: f64 = 0.1;

/// Adds the document's own warnings, and doubts that follow from its figures.
pub(super) fn add(document: &Document, record: &mut Record) {
    let mut doubts: Vec<String> = document
        .warnings
        .iter()
        .filter_map(|warning| text(&warning.message))
        .collect();
    if document.confidence.is_some_and(|reached| !reached.met) {
        doubts.push("The confidence that was asked for was not reached.".to_owned());
    }
    doubts.extend(lost(document));
    let has = |code: &str| document.warnings.iter().any(|warning| warning.code == code);
    // Documents of older versions lack these warnings.
    let ends = match (has("cpu_bound"), on_one_host(record)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    for end in [&record.local, &record.remote].into_iter().take(ends) {
        let peak = end.cpu.as_ref().and_then(|cpu| cpu.peak);
        if let Some((cpu, busy)) = peak.filter(|(_, busy)| *busy >= FULL) {
            let (role, busy) = (end.role, figure(busy));
            doubts.push(format!(
                "CPU {cpu} at {role} was {busy}\u{a0}% busy: it, not the network, may have been the limit."
            ));
        }
    }
    if on_one_host(record) && !has("one_host") {
        doubts.push(
            "Client and server are on one host: the network is not measured, and the CPU \
             utilisation of each is that of both."
                .to_owned(),
        );
    }
    record.doubts.extend(doubts);
}

/// Data that was sent in one direction and did not arrive.
fn lost(document: &Document) -> Option<String> {
    let sends = document.test.sends;
    if sends == document.test.receives {
        return None;
    }
    let (mut sent, mut received) = (0.0, 0.0);
    for run in &document.iterations {
        let (local, remote): (&MeasuredEnd, _) = (&run.local, run.remote.as_ref()?);
        let (from, to) = if sends {
            (local, remote)
        } else {
            (remote, local)
        };
        sent += count(from.counts.sent_bytes?);
        received += count(to.counts.received_bytes);
    }
    let missing = sent - received;
    let percent = missing / sent * 100.0;
    (sent > 0.0 && percent > LOST).then(|| {
        let size = Quantity::new(missing, Unit::Bytes);
        let percent = figure(percent);
        format!("{percent}\u{a0}% of what was sent ({size}) did not arrive.")
    })
}

fn on_one_host(record: &Record) -> bool {
    let same = record.local.address.is_some() && record.local.address == record.remote.address;
    same || is_loopback(record.remote.address.as_deref())
}
