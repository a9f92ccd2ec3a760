//! The difference of two snapshots.

use std::collections::BTreeMap;

use super::{CounterSnapshot, HostCounter, SnapshotForm};

/// Change of a counter from one snapshot to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterState {
    /// It has counted.
    Counted,
    /// It has counted, past its largest value.
    Wrapped,
    /// It is less than before: it was reset, or is no counter.
    Less,
    /// The earlier snapshot does not have it.
    OnlyAfter,
    /// The later snapshot does not have it.
    OnlyBefore,
}

/// A counter in two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterChange {
    /// An interface or a protocol.
    pub section: String,
    /// Its name there.
    pub name: String,
    /// Its value in the earlier snapshot.
    pub before: Option<u64>,
    /// Its value in the later snapshot.
    pub after: Option<u64>,
    /// Change from one to the other.
    pub state: CounterState,
    /// Events counted between; `None` if unknown.
    pub difference: Option<u64>,
}

/// The difference of two snapshots.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterDifference {
    /// Seconds between them, if both tell their time.
    pub seconds: Option<f64>,
    /// The counters of both, in the order of the later.
    pub changes: Vec<CounterChange>,
}

impl CounterDifference {
    /// Subtracts an earlier snapshot from a later one.
    ///
    /// # Errors
    /// A text about two snapshots that do not belong together.
    pub fn between(
        before: &CounterSnapshot,
        after: &CounterSnapshot,
    ) -> Result<Self, &'static str> {
        let seconds = match (&before.origin, &after.origin) {
            (Some(before), Some(after)) => {
                if before.boot != after.boot {
                    return Err("is of another host, or of before this host was started");
                }
                Some(after.time - before.time)
            }
            (None, _) | (_, None) => None,
        };
        if seconds.is_some_and(|seconds| seconds < 0.0) {
            return Err("was taken after the other snapshot");
        }
        let mut earlier: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for counter in &before.counters {
            earlier.insert(key(counter), counter.value);
        }
        let changes = after.counters.iter().map(|counter| {
            let value = earlier.remove(&key(counter));
            change(counter, value.or(absent(before)), Some(counter.value))
        });
        let mut changes: Vec<CounterChange> = changes.collect();
        if earlier.len() == before.counters.len() {
            return Err("has no counter that the other snapshot has");
        }
        let gone = before.counters.iter();
        let gone = gone.filter(|counter| earlier.contains_key(&key(counter)));
        changes.extend(gone.map(|counter| change(counter, Some(counter.value), absent(after))));
        Ok(Self { seconds, changes })
    }
}

fn key(counter: &HostCounter) -> (&str, &str) {
    (&counter.section, &counter.name)
}

/// The value of a counter that a snapshot does not have.
fn absent(snapshot: &CounterSnapshot) -> Option<u64> {
    (snapshot.form == SnapshotForm::Netstat).then_some(0)
}

fn change(counter: &HostCounter, before: Option<u64>, after: Option<u64>) -> CounterChange {
    let (state, difference) = match (before, after) {
        (Some(before), Some(after)) => counted(before, after),
        (Some(_), None) => (CounterState::OnlyBefore, None),
        (None, _) => (CounterState::OnlyAfter, None),
    };
    CounterChange {
        section: counter.section.clone(),
        name: counter.name.clone(),
        before,
        after,
        state,
        difference,
    }
}

/// Events counted from one value to the other. A counter of 32 or 64 bits has gone past its
/// largest value if that is less than half of its values; otherwise it was reset.
fn counted(before: u64, after: u64) -> (CounterState, Option<u64>) {
    if after >= before {
        return (CounterState::Counted, Some(after - before));
    }
    let (counted, half) = match u32::try_from(before) {
        Ok(_) => (after.wrapping_sub(before) & u64::from(u32::MAX), 1 << 31),
        Err(_) => (after.wrapping_sub(before), 1 << 63),
    };
    if counted < half {
        (CounterState::Wrapped, Some(counted))
    } else {
        (CounterState::Less, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SnapshotOrigin, parsed};
    use super::*;

    fn snapshot(form: SnapshotForm, counters: &[(&str, u64)]) -> CounterSnapshot {
        let counters = counters.iter().map(|(name, value)| HostCounter {
            section: "eth0".to_owned(),
            name: (*name).to_owned(),
            value: *value,
        });
        CounterSnapshot {
            form,
            origin: None,
            counters: counters.collect(),
        }
    }

    fn states(form: SnapshotForm) -> Vec<(String, CounterState, Option<u64>)> {
        let before = snapshot(form, &[("a", 5), ("gone", 4), ("b", u64::from(u32::MAX))]);
        let after = snapshot(form, &[("a", 7), ("new", 3), ("b", 2)]);
        let found = CounterDifference::between(&before, &after).unwrap();
        assert_eq!(found.seconds, None);
        let changes = found.changes.into_iter();
        changes
            .map(|one| (one.name, one.state, one.difference))
            .collect()
    }

    #[test]
    fn host_counters_that_one_snapshot_lacks_have_no_difference_unless_zeros_are_left_out() {
        use CounterState::{Counted, Less, OnlyAfter, OnlyBefore, Wrapped};
        let own = |name: &str| name.to_owned();
        assert_eq!(
            states(SnapshotForm::Ethtool),
            [
                (own("a"), Counted, Some(2)),
                (own("new"), OnlyAfter, None),
                (own("b"), Wrapped, Some(3)),
                (own("gone"), OnlyBefore, None),
            ]
        );
        let netstat = states(SnapshotForm::Netstat);
        assert_eq!(netstat[1], (own("new"), Counted, Some(3)));
        assert_eq!(netstat[3], (own("gone"), Less, None));
    }

    #[test]
    fn host_counters_wrap_at_32_and_64_bits_and_are_otherwise_reset() {
        use CounterState::{Counted, Less, Wrapped};
        let largest = u64::from(u32::MAX);
        assert_eq!(counted(largest, largest + 5), (Counted, Some(5)));
        assert_eq!(counted(largest, 0), (Wrapped, Some(1)));
        assert_eq!(counted(1 << 31, 0), (Less, None));
        assert_eq!(counted((1 << 31) + 1, 0), (Wrapped, Some((1 << 31) - 1)));
        assert_eq!(counted(7, 6), (Less, None));
        assert_eq!(counted(u64::MAX, 9), (Wrapped, Some(10)));
        assert_eq!(counted(1 << 40, 9), (Less, None));
        assert_eq!(counted(7, 7), (Counted, Some(0)));
    }

    #[test]
    fn host_counters_of_other_hosts_other_times_and_other_forms_are_not_subtracted() {
        let at = |time, boot: &str| CounterSnapshot {
            origin: Some(SnapshotOrigin {
                time,
                boot: boot.to_owned(),
            }),
            ..snapshot(SnapshotForm::Own, &[("a", 1)])
        };
        let between = |before, after| CounterDifference::between(&before, &after);
        let found = between(at(1.0, "x"), at(3.5, "x")).unwrap();
        assert_eq!(found.seconds, Some(2.5));
        assert!(between(at(1.0, "x"), at(3.5, "y")).is_err());
        assert!(between(at(3.5, "x"), at(1.0, "x")).is_err());
        let netstat = parsed("Ip:\n    5 total packets received\n").unwrap();
        assert!(between(at(1.0, "x"), netstat).is_err());
    }
}
