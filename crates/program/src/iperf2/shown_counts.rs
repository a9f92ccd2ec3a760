//! Counters of the directions of streams that have rows: their threads write, and the thread that
//! prints reads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use netperf_engine::iperf2::TransferCounts;
use netperf_iperf2::states::account::DatagramAccount;
use netperf_measure::clock::{self, Moment};
use netperf_model::figures::whole;
use netperf_model::iperf2::{DelayMoments, MovedCounts};

/// Counters of one direction of a stream, which its thread writes.
#[derive(Debug, Default)]
pub struct ShownCounts {
    /// Bytes and calls.
    pub moved: TransferCounts,
    /// Delays by interval, if they are shown.
    delays: Option<IntervalDelays>,
    /// When a direction of a client began, once it has.
    begun: OnceLock<Moment>,
    /// Its time to the last byte, once it has ended.
    elapsed: OnceLock<Duration>,
}

impl ShownCounts {
    /// Counters of a connection whose reads of at most `largest` bytes are sorted by size.
    pub fn sorting(largest: usize) -> Self {
        Self {
            moved: TransferCounts::sorting(largest),
            ..Self::default()
        }
    }

    /// The same counters, with delays.
    pub fn timing(self) -> Self {
        Self {
            delays: Some(IntervalDelays::default()),
            ..self
        }
    }

    /// The direction begins, unless it has.
    pub fn begin(&self) {
        self.begun.get_or_init(clock::now);
    }

    /// When it began.
    pub fn begun(&self) -> Option<Moment> {
        self.begun.get().copied()
    }

    /// The direction has ended; it took this time.
    pub fn end(&self, elapsed: Duration) {
        self.elapsed.get_or_init(|| elapsed);
    }

    /// Its time, once it has ended.
    pub fn elapsed(&self) -> Option<Duration> {
        self.elapsed.get().copied()
    }

    /// Takes over the account of a flow.
    pub fn take(&self, account: &DatagramAccount) {
        self.moved.set(account.bytes, account.order.arrived);
        self.moved
            .datagrams
            .publish(&account.order, account.jitter());
        if let (Some(delays), Some((transit, number))) = (&self.delays, account.last_transit()) {
            // A datagram without a time has no new one.
            if delays.numbers.swap(number, Ordering::Relaxed) != number {
                delays.add(transit);
            }
        }
    }

    /// True if the delays of blocks are shown.
    pub const fn shows_delays(&self) -> bool {
        self.delays.is_some()
    }

    /// Adds the delay of a block, microseconds.
    pub fn add_delay(&self, delay: f64) {
        if let Some(delays) = &self.delays {
            delays.add(delay);
        }
    }

    /// Jitter, microseconds.
    pub fn jitter(&self) -> u64 {
        whole(self.moved.datagrams.read(0).jitter)
    }

    /// Delays since the last call.
    pub fn end_interval(&self) -> DelayMoments {
        let delays = self.delays.as_ref();
        delays.map(IntervalDelays::end).unwrap_or_default()
    }

    /// Counts so far.
    pub fn now(&self) -> MovedCounts {
        let counts = self.moved.moved();
        let order = self.moved.datagrams.read(counts.calls).order;
        MovedCounts {
            datagrams: order.highest,
            lost: order.lost,
            late: order.out_of_order,
            ..counts
        }
    }
}

/// Delays by interval. The writer uses two places in turn, so that the reader has the interval that
/// it ends for itself.
#[derive(Debug, Default)]
struct IntervalDelays {
    /// Number of the interval that runs.
    interval: AtomicU64,
    /// Delays that the account of the flow had when the last was added.
    numbers: AtomicU64,
    places: [DelayPlace; 2],
}

impl IntervalDelays {
    const fn place(&self, interval: u64) -> &DelayPlace {
        let [even, odd] = &self.places;
        if interval % 2 == 0 { even } else { odd }
    }

    /// Adds a delay, microseconds. Only one thread does.
    fn add(&self, delay: f64) {
        let interval = self.interval.load(Ordering::Acquire);
        let place = self.place(interval);
        let (of, mut moments) = place.read();
        if of != interval {
            moments = DelayMoments::default();
        }
        moments.add(delay);
        place.write(interval, &moments);
    }

    /// Ends the interval.
    fn end(&self) -> DelayMoments {
        let interval = self.interval.fetch_add(1, Ordering::AcqRel);
        match self.place(interval).read() {
            (of, moments) if of == interval => moments,
            _ => DelayMoments::default(),
        }
    }
}

/// Moments of an interval, which are read as they were written: the version is odd meanwhile.
#[derive(Debug, Default)]
struct DelayPlace {
    version: AtomicU64,
    interval: AtomicU64,
    count: AtomicU64,
    /// Bits of the other fields.
    moments: [AtomicU64; 4],
}

impl DelayPlace {
    fn write(&self, interval: u64, moments: &DelayMoments) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.interval.store(interval, Ordering::Relaxed);
        self.count.store(moments.count, Ordering::Relaxed);
        let fields = [moments.min, moments.max, moments.mean, moments.squares];
        for (place, field) in self.moments.iter().zip(fields) {
            place.store(field.to_bits(), Ordering::Relaxed);
        }
        self.version.store(version + 2, Ordering::Release);
    }

    /// The number of the interval, and its moments.
    fn read(&self) -> (u64, DelayMoments) {
        loop {
            let version = self.version.load(Ordering::Acquire);
            let interval = self.interval.load(Ordering::Relaxed);
            let count = self.count.load(Ordering::Relaxed);
            let fields = self.moments.each_ref();
            let fields = fields.map(|field| f64::from_bits(field.load(Ordering::Relaxed)));
            fence(Ordering::Acquire);
            if version % 2 == 0 && self.version.load(Ordering::Relaxed) == version {
                let [min, max, mean, squares] = fields;
                let moments = DelayMoments {
                    count,
                    min,
                    max,
                    mean,
                    squares,
                };
                return (interval, moments);
            }
            // A writer takes less than a microsecond.
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_belong_to_the_interval_in_which_they_were_added() {
        let counts = ShownCounts::default().timing();
        let delays = counts.delays.as_ref().unwrap();
        assert_eq!(counts.end_interval().count, 0);
        delays.add(5.0);
        delays.add(7.0);
        let first = counts.end_interval();
        assert_eq!((first.count, first.min, first.max), (2, 5.0, 7.0));
        assert_eq!(counts.end_interval().count, 0);
        assert_eq!(counts.end_interval().count, 0);
        delays.add(9.0);
        let last = counts.end_interval();
        assert_eq!((last.count, last.mean), (1, 9.0));
    }
}
