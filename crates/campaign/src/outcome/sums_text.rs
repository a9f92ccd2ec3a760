//! Sums of rounds for a person.

use std::collections::BTreeMap;

use netperf_stats::moments::median;
use netperf_text::columns::aligned;
use netperf_text::unit::{Unit, quantity};

use super::{CampaignMember, MemberSum, RoundSum};
use crate::progress::plural;

/// Most rounds in the text.
const MOST_ROUNDS: usize = 10;
/// Most members in the text.
const MOST_MEMBERS: usize = 20;

/// The sums as the text of a campaign shows them: a line for each round, and a line for each member
/// with the medians of all rounds.
pub(super) fn lines(sums: &[RoundSum], members: &[CampaignMember]) -> Vec<String> {
    let rounds = sums.iter().take(MOST_ROUNDS);
    let mut lines: Vec<String> = rounds.map(of_round).collect();
    let hidden = sums.len().saturating_sub(MOST_ROUNDS);
    if hidden > 0 {
        lines.push(format!("and {}: see --json", plural(hidden, "more round")));
    }
    lines.extend(of_members(sums, members));
    lines
}

fn of_round(sum: &RoundSum) -> String {
    let bits = sum.bits_per_second;
    let bits = bits.map(|sum| quantity(sum, Unit::BitsPerSecond));
    let transactions = sum.transactions_per_second;
    let transactions = transactions.map(|sum| quantity(sum, Unit::TransactionsPerSecond));
    let all: Vec<String> = bits.into_iter().chain(transactions).collect();
    let all = if all.is_empty() {
        "nothing".to_owned()
    } else {
        all.join(" and ")
    };
    let mut line = format!(
        "Round {}: {all} together, of {} of {}",
        sum.round + 1,
        sum.cells,
        plural(sum.cells + sum.missing, "cell")
    );
    let demand = [
        (sum.demand_microseconds_per_transaction, "transaction"),
        (sum.demand_microseconds_per_kibibyte, "KiB"),
    ];
    for (demand, work) in demand {
        if let Some(demand) = demand {
            let demand = quantity(demand * 1e-6, Unit::Seconds);
            line.push_str(&format!("; {demand} of CPU time per {work}"));
        }
    }
    line
}

/// A column of the members.
type MemberColumn = (&'static str, fn(&MemberSum) -> Option<f64>, Unit);

/// The columns of the members; one without any value is left out.
const COLUMNS: [MemberColumn; 5] = [
    ("sent", |one| one.sent_bits_per_second, Unit::BitsPerSecond),
    (
        "received",
        |one| one.received_bits_per_second,
        Unit::BitsPerSecond,
    ),
    (
        "asked",
        |one| one.sent_transactions_per_second,
        Unit::TransactionsPerSecond,
    ),
    (
        "answered",
        |one| one.received_transactions_per_second,
        Unit::TransactionsPerSecond,
    ),
    ("CPU", |one| one.cpu_percent, Unit::Percent),
];

fn of_members(sums: &[RoundSum], members: &[CampaignMember]) -> Vec<String> {
    let mut each: BTreeMap<usize, Vec<MemberSum>> = BTreeMap::new();
    for sum in sums.iter().flat_map(|sum| &sum.members) {
        each.entry(sum.member).or_default().push(*sum);
    }
    let is_used =
        |(_, value, _): &MemberColumn| each.values().flatten().any(|one| value(one).is_some());
    let columns: Vec<MemberColumn> = COLUMNS.into_iter().filter(is_used).collect();
    if columns.is_empty() {
        return Vec::new();
    }
    let titles = columns.iter().map(|(title, ..)| (*title).to_owned());
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once("member".to_owned()).chain(titles).collect()];
    for (member, sums) in each.iter().take(MOST_MEMBERS) {
        let cell = |(_, value, unit): &MemberColumn| {
            let values: Vec<f64> = sums.iter().filter_map(value).collect();
            median(&values).map_or_else(String::new, |value| quantity(value, unit.clone()))
        };
        let name = members.get(*member).map(|one| one.member.name.clone());
        let name = name.unwrap_or_default();
        rows.push(
            std::iter::once(name)
                .chain(columns.iter().map(cell))
                .collect(),
        );
    }
    let numbers: Vec<usize> = (1..=columns.len()).collect();
    let table = aligned(&rows, &numbers);
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    let hidden = each.len().saturating_sub(MOST_MEMBERS);
    if hidden > 0 {
        lines.push(format!("and {}: see --json", plural(hidden, "more member")));
    }
    lines
}
