//! Rates at which sessions start, of each source and of all.

use std::collections::HashMap;
use std::time::Duration;

use netperf_measure::clock::Moment;
use netperf_model::{Budget, Denied};

use super::proofs::ProofSource;

/// Time over which a rate is an average.
const WINDOW: Duration = Duration::from_secs(10);
/// Largest number of sources.
const MOST_SOURCES: usize = 4096;

/// Starts so far, as the moment at which they would end at the permitted rate.
#[derive(Debug, Default)]
pub(super) struct StartRates {
    all: Option<Moment>,
    sources: HashMap<ProofSource, Moment>,
}

/// The moment with one more start; `None` above the rate.
fn with_one(last: Option<Moment>, rate: u64, now: Moment) -> Option<Moment> {
    let each = Duration::from_nanos(1_000_000_000_u64.checked_div(rate).unwrap_or(u64::MAX));
    let behind = last.map_or(Duration::ZERO, |last| last.since(now));
    (behind + each <= WINDOW).then(|| now.plus(behind + each))
}

impl StartRates {
    /// Counts a start.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub(super) fn count(
        &mut self,
        source: ProofSource,
        rate: Budget,
        now: Moment,
    ) -> Result<(), Denied> {
        let own = self.sources.get(&source).copied();
        let own = with_one(own, rate.each, now).ok_or(Denied::SessionRate(rate.each))?;
        let all = with_one(self.all, rate.all, now).ok_or(Denied::SessionRateOfAll(rate.all))?;
        if self.sources.len() >= MOST_SOURCES {
            self.sources.retain(|_, last| !last.since(now).is_zero());
        }
        if self.sources.len() >= MOST_SOURCES {
            self.sources.clear();
        }
        self.all = Some(all);
        self.sources.insert(source, own);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netperf_measure::clock;
    use netperf_model::Network;

    use super::*;

    fn source(number: u32) -> ProofSource {
        let address = std::net::Ipv4Addr::from(number);
        ProofSource(Some(Network::of_source(address.into(), 64)))
    }

    #[test]
    fn a_source_starts_so_many_sessions_and_leaves_the_rest_to_others() {
        let (mut starts, now) = (StartRates::default(), clock::now());
        let rate = Budget { each: 5, all: 8 };
        let mut count = |number, now| {
            let tries = 0..1000;
            let started = tries.filter(|_| starts.count(source(number), rate, now).is_ok());
            started.count()
        };
        assert_eq!([count(1, now), count(2, now), count(3, now)], [50, 30, 0]);
        let later = now.plus(Duration::from_secs(1));
        assert_eq!([count(1, later), count(3, later)], [5, 3]);
        assert_eq!(count(1, now.plus(3 * WINDOW)), 50);
    }

    #[test]
    fn the_number_of_sources_is_limited() {
        let (mut starts, now) = (StartRates::default(), clock::now());
        let rate = Budget {
            each: 1,
            all: u64::MAX,
        };
        for number in 0..10_000 {
            assert!(starts.count(source(number), rate, now).is_ok());
            assert!(starts.sources.len() <= MOST_SOURCES);
        }
    }
}
