//! Sums over the cells of a round: what all loads of it moved together, and with how much CPU time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Sums of a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundSum {
    /// Round, from 0.
    pub round: usize,
    /// Number of cells in the sums.
    pub cells: usize,
    /// Number of cells without a value, which the sums lack.
    pub missing: usize,
    /// Throughput of all, bits per second.
    pub bits_per_second: Option<f64>,
    /// Transactions per second of all.
    pub transactions_per_second: Option<f64>,
    /// CPU time of all members for their common work; null unless it was measured at each.
    pub demand_microseconds_per_kibibyte: Option<f64>,
    /// The same for transactions.
    pub demand_microseconds_per_transaction: Option<f64>,
    /// Members with CPU utilisation, or with several cells of one direction.
    pub members: Vec<MemberSum>,
}

/// Sums of a member in a round. Those of its row are of its cells as the sender, and those of its
/// column as the receiver; null without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberSum {
    /// Index of the member.
    pub member: usize,
    /// Throughput of its row, bits per second.
    pub sent_bits_per_second: Option<f64>,
    /// Throughput of its column, bits per second.
    pub received_bits_per_second: Option<f64>,
    /// Transactions per second of its row.
    pub sent_transactions_per_second: Option<f64>,
    /// Transactions per second of its column.
    pub received_transactions_per_second: Option<f64>,
    /// CPU utilisation of its host, the mean of what its loads measured at the same time, percent.
    /// Null if it was not measured.
    pub cpu_percent: Option<f64>,
}

/// A sum and the number of its values.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    count: u32,
}

impl Sum {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn sum(self) -> Option<f64> {
        (self.count > 0).then_some(self.sum)
    }

    fn mean(self) -> Option<f64> {
        Some(self.sum()? / f64::from(self.count))
    }
}

/// Share of a cell in the sums of its round.
#[derive(Clone, Copy, Debug, Default)]
pub struct CellWork {
    /// Throughput.
    pub bits_per_second: Option<f64>,
    /// Transaction rate.
    pub transactions_per_second: Option<f64>,
    /// CPU utilisation of the sender and of the receiver.
    pub cpu_percent: [Option<f64>; 2],
}

/// Sums of the two main figures.
#[derive(Clone, Copy, Debug, Default)]
struct MemberWork {
    bits: Sum,
    transactions: Sum,
}

impl MemberWork {
    fn add(&mut self, cell: CellWork) {
        self.bits.add(cell.bits_per_second);
        self.transactions.add(cell.transactions_per_second);
    }

    const fn cells(self) -> u32 {
        self.bits.count + self.transactions.count
    }
}

/// Figures of a member in a round.
#[derive(Clone, Copy, Debug, Default)]
struct OfMember {
    sent: MemberWork,
    received: MemberWork,
    cpu: Sum,
}

/// Figures of a round.
#[derive(Clone, Debug, Default)]
struct OfRound {
    cells: usize,
    missing: usize,
    all: MemberWork,
    members: BTreeMap<usize, OfMember>,
}

/// Adds up cells as they come.
#[derive(Clone, Debug, Default)]
pub struct RoundSums(BTreeMap<usize, OfRound>);

impl RoundSums {
    /// Adds the cell of a round from one member to another.
    pub fn add(&mut self, number: usize, (from, to): (usize, usize), cell: CellWork) {
        let round = self.0.entry(number).or_default();
        if cell
            .bits_per_second
            .or(cell.transactions_per_second)
            .is_none()
        {
            round.missing += 1;
            return;
        }
        let [sends, receives] = cell.cpu_percent;
        round.cells += 1;
        round.all.add(cell);
        let sender = round.members.entry(from).or_default();
        sender.sent.add(cell);
        sender.cpu.add(sends);
        let receiver = round.members.entry(to).or_default();
        receiver.received.add(cell);
        receiver.cpu.add(receives);
    }

    /// The sums of each round with more than one cell, or with CPU utilisation. `cpus` has the number
    /// of processors of each member.
    #[must_use]
    pub fn of(&self, cpus: &[Option<u32>]) -> Vec<RoundSum> {
        let rounds = self.0.iter();
        let sums = rounds.map(|(number, round)| round.sums(*number, cpus));
        sums.filter(|sum| sum.cells + sum.missing > 1 || !sum.members.is_empty())
            .collect()
    }
}

impl OfRound {
    fn sums(&self, number: usize, cpus: &[Option<u32>]) -> RoundSum {
        let (bits, transactions) = (self.all.bits.sum(), self.all.transactions.sum());
        // The CPU time of two kinds of work cannot be told apart.
        let is_mixed = bits.is_some() && transactions.is_some();
        let busy = self.busy(cpus).filter(|_| !is_mixed);
        let demand = |work: f64| busy.filter(|_| work > 0.0).map(|busy| busy * 1e6 / work);
        let several = |one: &OfMember| one.sent.cells() > 1 || one.received.cells() > 1;
        let each = self.members.iter();
        let listed = each.filter(|(_, one)| several(one) || one.cpu.count > 0);
        RoundSum {
            round: number,
            cells: self.cells,
            missing: self.missing,
            bits_per_second: bits,
            transactions_per_second: transactions,
            demand_microseconds_per_kibibyte: bits.and_then(|bits| demand(bits / 8192.0)),
            demand_microseconds_per_transaction: transactions.and_then(demand),
            members: listed
                .map(|(member, one)| MemberSum {
                    member: *member,
                    sent_bits_per_second: one.sent.bits.sum(),
                    received_bits_per_second: one.received.bits.sum(),
                    sent_transactions_per_second: one.sent.transactions.sum(),
                    received_transactions_per_second: one.received.transactions.sum(),
                    cpu_percent: one.cpu.mean(),
                })
                .collect(),
        }
    }

    /// Processors that all members of the round had in use; `None` unless each is known.
    fn busy(&self, cpus: &[Option<u32>]) -> Option<f64> {
        let each = self.members.iter().map(|(member, one)| {
            let cpus = (*cpus.get(*member)?)?;
            Some(one.cpu.mean()? / 100.0 * f64::from(cpus))
        });
        each.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::CampaignMember;
    use super::super::sums_text::lines;
    use super::*;
    use crate::inventory::{InventoryOptions, read};

    fn moved(bits: f64, cpu: [f64; 2]) -> CellWork {
        CellWork {
            bits_per_second: Some(bits),
            cpu_percent: cpu.map(Some),
            ..CellWork::default()
        }
    }

    const CPUS: [Option<u32>; 3] = [Some(4); 3];

    fn members() -> Vec<CampaignMember> {
        let members = read("a\nb\nc\n".as_bytes(), &InventoryOptions::default()).unwrap();
        let member = |member| CampaignMember {
            member,
            version: None,
            cpus: Some(4),
            clock: None,
            lost: None,
        };
        members.into_iter().map(member).collect()
    }

    /// The lines about rounds, with ordinary spaces.
    fn plain(sums: &[RoundSum]) -> Vec<String> {
        let lines = lines(sums, &members()).into_iter();
        lines.map(|line| line.replace('\u{a0}', " ")).collect()
    }

    #[test]
    fn sums_of_a_round_are_those_of_rows_columns_and_all() {
        let mut sums = RoundSums::default();
        // b and c send to a at the same time; the CPU of a is measured by both loads.
        sums.add(0, (1, 0), moved(8192e3, [10.0, 50.0]));
        sums.add(0, (2, 0), moved(16384e3, [15.0, 52.0]));
        let found = sums.of(&CPUS);
        let of = |member, sent, received, cpu| MemberSum {
            member,
            sent_bits_per_second: sent,
            received_bits_per_second: received,
            cpu_percent: Some(cpu),
            ..MemberSum::default()
        };
        // 4 x (0.51 + 0.10 + 0.15) processors for 3000 KiB a second.
        let demand = found[0].demand_microseconds_per_kibibyte.unwrap();
        assert!((demand - 4.0 * 0.76 * 1e6 / 3000.0).abs() < 1e-6);
        let expected = RoundSum {
            round: 0,
            cells: 2,
            missing: 0,
            bits_per_second: Some(24_576e3),
            demand_microseconds_per_kibibyte: Some(demand),
            members: vec![
                of(0, None, Some(24_576e3), 51.0),
                of(1, Some(8192e3), None, 10.0),
                of(2, Some(16384e3), None, 15.0),
            ],
            ..RoundSum::default()
        };
        assert_eq!(found, [expected]);
        let text = plain(&found);
        assert_eq!(
            text,
            [
                "Round 1: 24.6 Mbit/s together, of 2 of 2 cells; 1.01 ms of CPU time per KiB",
                "member         sent     received     CPU",
                "a                    24.6 Mbit/s  51.0 %",
                "b       8.19 Mbit/s               10.0 %",
                "c       16.4 Mbit/s               15.0 %",
            ]
        );
    }

    #[test]
    fn sums_name_cells_that_they_lack_and_have_no_demand_without_every_cpu() {
        let mut sums = RoundSums::default();
        sums.add(3, (0, 1), moved(1e6, [10.0, 20.0]));
        let unmeasured = CellWork {
            cpu_percent: [Some(10.0), None],
            ..moved(2e6, [10.0, 0.0])
        };
        sums.add(3, (0, 2), unmeasured);
        sums.add(3, (1, 2), CellWork::default());
        let found = sums.of(&CPUS);
        assert_eq!((found[0].cells, found[0].missing), (2, 1));
        assert_eq!(found[0].bits_per_second, Some(3e6));
        assert_eq!(found[0].demand_microseconds_per_kibibyte, None);
        let text = plain(&found);
        assert_eq!(text[0], "Round 4: 3.00 Mbit/s together, of 2 of 3 cells");
        // A round of one cell without CPU utilisation has nothing to add up.
        let mut sums = RoundSums::default();
        let requests = CellWork {
            transactions_per_second: Some(5.0),
            ..CellWork::default()
        };
        sums.add(0, (0, 1), requests);
        assert_eq!(sums.of(&CPUS), []);
    }
}
