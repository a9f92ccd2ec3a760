//! CPU utilisation of client and server.

use super::{Figure, missing};
use crate::chart::{Bar, Bars, Body, Chart};
use crate::record::{CpuLoad, Record};
use crate::table::Table;
use crate::unit::{Quantity, Unit};
use crate::words::shown;

/// Busy time outside the named parts.
const REST: &str = "other";

pub(super) fn figure(records: &[Record]) -> Figure {
    let mut bars = Vec::new();
    let mut kinds: Vec<&str> = Vec::new();
    let title = "CPU utilisation of client and server";
    let head = [
        "of",
        "in percent of",
        "busy",
        "user",
        "system",
        "interrupts",
        "soft interrupts",
        REST,
        "busiest CPU",
    ];
    let mut table = Table::new(title, 2, &head);
    for record in records {
        for end in [&record.local, &record.remote] {
            let Some(cpu) = &end.cpu else { continue };
            let name = super::name(records, record, end.role);
            bars.push(bar(name.clone(), cpu));
            table.rows.push(row(name, cpu));
            if !kinds.contains(&cpu.of) {
                kinds.push(cpu.of);
            }
        }
    }
    let advice = "it is measured with -c and -C";
    let lacks = |record: &Record| record.local.cpu.is_none() && record.remote.cpu.is_none();
    let mut missing = missing(records, lacks, "CPU utilisation", advice);
    for record in records.iter().filter(|record| !lacks(record)) {
        for end in [&record.local, &record.remote] {
            if end.cpu.is_none() {
                missing.push(format!(
                    "No CPU utilisation of {} in {}.",
                    end.role, record.label
                ));
            }
        }
    }
    let mut charts = Vec::new();
    if !bars.is_empty() {
        let parts = CpuLoad::PARTS
            .iter()
            .chain([&REST])
            .map(|&part| part.to_owned());
        let bars = Bars {
            unit: Unit::Percent,
            parts: parts.collect(),
            bars,
            reach: 100.0,
        };
        let chart = Chart::new("cpu", 0, title, Body::Bars(bars));
        charts.push((chart, table));
    }
    let of = if kinds.is_empty() {
        "all CPUs".to_owned()
    } else {
        kinds.join("; or of ")
    };
    Figure {
        id: "cpu",
        heading: "CPU".to_owned(),
        about: format!(
            "In percent of {of}. What no part accounts for is \"{REST}\": nice, stolen, or not told apart."
        ),
        charts,
        missing,
    }
}

fn bar(name: String, cpu: &CpuLoad) -> Bar {
    let known = cpu.parts.iter().enumerate();
    let mut parts: Vec<(usize, f64)> = known
        .filter_map(|(index, part)| Some((index, (*part)?)))
        .collect();
    let rest = cpu.rest().or(cpu.busy);
    parts.extend(rest.map(|rest| (CpuLoad::PARTS.len(), rest)));
    let sum = parts.iter().map(|(_, share)| share).sum();
    Bar {
        name,
        parts,
        total: cpu.busy.unwrap_or(sum),
    }
}

fn row(name: String, cpu: &CpuLoad) -> Vec<String> {
    let percent =
        |value: Option<f64>| shown(value.map(|value| Quantity::new(value, Unit::Percent)));
    let of = match cpu.cpus {
        Some(count) => format!("{} ({count})", cpu.of),
        None => cpu.of.to_owned(),
    };
    let mut row = vec![name, of, percent(cpu.busy)];
    row.extend(cpu.parts.map(percent));
    row.push(percent(cpu.rest()));
    let peak = cpu
        .peak
        .map(|(which, busy)| format!("CPU {which}, {}", percent(Some(busy))));
    row.push(shown(peak));
    row
}
