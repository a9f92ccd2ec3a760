//! Sending evenly at a rate, and the clock of requests that are sent at times of their own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::latency::Recording;
use netperf_model::{EndPlan, IoMethod, Lateness, Paced, RatePlan, RateUnit, Tally};
use netperf_os::alarm;
use netperf_os::wait;

use crate::due::arrivals::{SECOND, nanos};
use crate::stop::{Ended, Phase, Stop};
use crate::workload::open::Ticker;

/// How long before something is due a sleep ends; the rest is waited for awake, as no sleep
/// ends to the microsecond.
pub(crate) const AHEAD: u64 = 100_000;
/// No sleep is longer, whatever it waits for.
const LONGEST: u64 = 100_000_000;
/// How much of the time that a sender was held up it makes up for, nanoseconds.
pub(crate) const MADE_UP: u64 = 1_000_000_000;

/// Spaces what is sent evenly, by the amount that was sent so far: what was missed is made up
/// for, up to a second of it.
#[derive(Clone, Debug)]
pub(crate) struct Rated {
    plan: RatePlan,
    spins: bool,
    rings: u32,
    began: Option<Moment>,
    over: Option<Moment>,
    /// Time that is not made up for, nanoseconds.
    given_up: u64,
    lateness: Recording,
}

impl Rated {
    /// What a plan asks for; `None` where it is nothing, or for requests.
    pub(crate) fn of(plan: &EndPlan) -> Option<Self> {
        let rate = plan
            .rate
            .filter(|rate| rate.unit != RateUnit::Transactions)?;
        Some(Self {
            plan: rate,
            spins: plan.io.method == IoMethod::Poll,
            rings: alarm::fired(),
            began: None,
            over: None,
            given_up: 0,
            lateness: Recording::new(),
        })
    }

    /// Waits until the next message of so many bytes is due; the reason to end if the wait
    /// brought one.
    pub(crate) fn wait<S: Stop>(
        &mut self,
        size: usize,
        stop: &mut S,
        tally: &Tally,
    ) -> Option<Ended> {
        let began = *self.began.get_or_insert_with(|| {
            wait::sleep_exactly();
            clock::now()
        });
        let due = self.due(size, tally);
        loop {
            let now = clock::now().nanos_since(began);
            if now >= due {
                self.lateness.record_nanos(now - due);
                self.given_up += (now - due).saturating_sub(MADE_UP);
                return None;
            }
            if stop.phase() != Phase::Running {
                return Some(Ended::TimeOver);
            }
            if self.spins || due - now <= AHEAD {
                std::hint::spin_loop();
            } else {
                // The bell's signals cut the sleep short.
                let left = (due - now - AHEAD).min(LONGEST);
                wait::sleep(Duration::from_nanos(left));
            }
            let rings = alarm::fired();
            if rings != self.rings {
                self.rings = rings;
                if stop.phase() == Phase::Running {
                    if let Some(ended) = stop.interrupted(tally) {
                        return Some(ended);
                    }
                }
            }
        }
    }

    /// When the next message is due, nanoseconds since the beginning: when all that was sent
    /// before it should have been.
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact up to 2^53 bits, a petabyte"
    )]
    fn due(&self, size: usize, tally: &Tally) -> u64 {
        let dropped = tally.failed_sends;
        let units = match self.plan.unit {
            RateUnit::Bits => 8 * (tally.bytes_sent + dropped * size as u64),
            RateUnit::Transactions | RateUnit::Packets => tally.send_calls + dropped,
        };
        self.given_up + nanos(units as f64 * SECOND / self.plan.per_second)
    }

    /// The loop is over.
    pub(crate) fn over(&mut self) {
        self.over.get_or_insert_with(clock::now);
    }

    /// What came of it.
    pub(crate) fn paced(&self, tally: &Tally) -> Paced {
        let ended = self.over.unwrap_or_else(clock::now);
        let seconds = self
            .began
            .map_or(0.0, |began| ended.since(began).as_secs_f64());
        let first = u64::from(self.plan.unit == RateUnit::Packets);
        Paced {
            due: nanos(seconds * self.plan.per_second) + first,
            sent: match self.plan.unit {
                RateUnit::Bits => 8 * tally.bytes_sent,
                RateUnit::Transactions | RateUnit::Packets => tally.send_calls,
            },
            seconds,
            lateness: Lateness::Whole(self.lateness.latency()),
            ..Paced::default()
        }
    }
}

/// The clock of an open loop, and its wait for a socket.
#[derive(Debug)]
pub(crate) struct Polling {
    began: Moment,
    socket: OwnedFd,
    rings: u32,
    spins: bool,
}

impl Polling {
    /// Begins now; `socket` is a descriptor of its own.
    pub(crate) fn new(socket: OwnedFd, method: IoMethod) -> Self {
        wait::sleep_exactly();
        Self {
            began: clock::now(),
            socket,
            rings: alarm::fired(),
            spins: method == IoMethod::Poll,
        }
    }
}

impl Ticker for Polling {
    #[inline]
    fn now(&mut self) -> u64 {
        clock::now().nanos_since(self.began)
    }

    #[inline]
    fn rang(&mut self) -> bool {
        let rings = alarm::fired();
        let rang = rings != self.rings;
        self.rings = rings;
        rang
    }

    fn wait(&mut self, now: u64, until: u64, room: bool) -> io::Result<()> {
        let left = until.saturating_sub(now);
        if self.spins || left <= AHEAD {
            std::hint::spin_loop();
            return Ok(());
        }
        let within = Duration::from_nanos((left - AHEAD).min(LONGEST));
        // A signal is seen by the bell's count of rings.
        wait::readable_within(self.socket.as_fd(), room, within).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::message::testing::Manual;
    use netperf_model::Arrival;

    fn rated(per_second: f64, unit: RateUnit) -> Rated {
        Rated::of(&EndPlan {
            rate: Some(RatePlan {
                per_second,
                unit,
                arrival: Arrival::Constant,
                seed: None,
            }),
            ..EndPlan::default()
        })
        .unwrap()
    }

    #[test]
    fn messages_are_not_sent_before_they_are_due() {
        let mut rated = rated(8_000.0, RateUnit::Bits);
        let (mut stop, mut tally) = (Manual::patient(), Tally::default());
        let start = clock::now();
        for _ in 0..4 {
            assert_eq!(rated.wait(5, &mut stop, &tally), None);
            tally.bytes_sent += 5;
        }
        // 5 bytes are due every 5 milliseconds, the first at once.
        assert!(start.elapsed() >= Duration::from_millis(15));
        rated.over();
        let paced = rated.paced(&tally);
        assert_eq!((paced.sent, paced.lateness.count()), (160, 4));
    }

    #[test]
    fn what_is_sent_in_part_is_due_by_its_bytes_and_what_is_dropped_is_not_sent_again() {
        let rated = rated(8.0, RateUnit::Bits);
        let tally = Tally {
            bytes_sent: 3,
            failed_sends: 2,
            ..Tally::default()
        };
        assert_eq!(rated.due(10, &tally), 23_000_000_000);
    }

    #[test]
    fn what_was_missed_is_made_up_for_but_for_more_than_a_second() {
        let mut rated = rated(1000.0, RateUnit::Packets);
        let (mut stop, mut tally) = (Manual::patient(), Tally::default());
        assert_eq!(rated.wait(1, &mut stop, &tally), None);
        // As if it had been away for five seconds.
        rated.began = rated.began.map(|began| began.minus(Duration::from_secs(5)));
        tally.send_calls = 1;
        assert_eq!(rated.wait(1, &mut stop, &tally), None);
        assert!(rated.given_up >= 3_999_000_000, "{}", rated.given_up);
        // The next 900 are due already, and 1100 are not.
        let away = rated.began.unwrap().elapsed().as_nanos();
        tally.send_calls = 900;
        assert!(u128::from(rated.due(1, &tally)) < away);
    }

    #[test]
    fn a_wait_ends_with_the_time() {
        let mut rated = rated(0.1, RateUnit::Packets);
        let (mut stop, mut tally) = (Manual::stopping_after(0), Tally::default());
        assert_eq!(
            rated.wait(1, &mut stop, &tally),
            None,
            "the first is due at once"
        );
        tally.send_calls = 1;
        assert_eq!(rated.wait(1, &mut stop, &tally), Some(Ended::TimeOver));
    }
}
