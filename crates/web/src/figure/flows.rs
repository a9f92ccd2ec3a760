//! The results of each flow.

use super::{Figure, distinct, look, name};
use crate::chart::{Bar, Bars, Body, Chart};
use crate::record::Record;
use crate::table::Table;
use crate::unit::{Quantity, Unit};

pub(super) fn figure(records: &[Record]) -> Figure {
    let rates = records.iter().flat_map(|record| &record.flows);
    let units = distinct(rates.map(|(_, rate)| &rate.unit));
    let charts = units.into_iter().enumerate();
    let charts = charts.map(|(number, unit)| one(records, unit, number));
    let charts: Vec<_> = charts.collect();
    let missing = if charts.is_empty() {
        vec!["No file has results of several flows.".to_owned()]
    } else {
        Vec::new()
    };
    Figure {
        id: "flows",
        heading: "Flows".to_owned(),
        about: "Throughput of each flow over the whole run, at the receiver if that is known, and \
                its share of the sum."
            .to_owned(),
        charts,
        missing,
    }
}

fn one(records: &[Record], unit: &Unit, index: usize) -> (Chart, Table) {
    let mut bars = Vec::new();
    let mut table = Table::new("Flows", 1, &["flow", "rate", "share"]);
    for (number, record) in records.iter().enumerate() {
        let own = || record.flows.iter().filter(|(_, rate)| rate.unit == *unit);
        let sum: f64 = own().map(|(_, rate)| rate.value).sum();
        for (flow, rate) in own() {
            let (colour, _) = look(records, number, 0);
            let name = name(records, record, flow);
            let share = if sum > 0.0 {
                rate.value / sum * 100.0
            } else {
                0.0
            };
            let share = Quantity::new(share, Unit::Percent).to_string();
            table.rows.push(vec![name.clone(), rate.to_string(), share]);
            bars.push(Bar {
                name,
                parts: vec![(colour, rate.value)],
                total: rate.value,
            });
        }
    }
    let bars = Bars {
        unit: unit.clone(),
        parts: Vec::new(),
        bars,
        reach: 0.0,
    };
    (Chart::new("flows", index, "Flows", Body::Bars(bars)), table)
}
