//! Times of operations as a transcript shows them, and a distribution that has them.

use netperf_model::Latency;
use netperf_model::latency::Bucket;
use netperf_report::format::classic::rows;

use super::scan::{Read, scan};

/// Operations of a distribution made from percentiles.
const OPERATIONS: u64 = 1000;

/// What every time of such a distribution has beyond whole microseconds: it must
/// be dropped, not rounded.
const BEYOND: u64 = 700;

/// The labels of the decades with their width.
const LABELS: [&str; 8] = [
    "UNIT_USEC     ",
    "TEN_USEC      ",
    "HUNDRED_USEC  ",
    "UNIT_MSEC     ",
    "TEN_MSEC      ",
    "HUNDRED_MSEC  ",
    "UNIT_SEC      ",
    "TEN_SEC       ",
];

/// Statistics in microseconds, those that were printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    pub(crate) shortest: Option<u64>,
    pub(crate) half: Option<u64>,
    pub(crate) ninety: Option<u64>,
    pub(crate) ninety_nine: Option<u64>,
    pub(crate) longest: Option<u64>,
    pub(crate) mean: Option<f64>,
    pub(crate) deviation: Option<f64>,
    /// The distribution of a histogram.
    pub(crate) histogram: Option<Latency>,
}

impl Times {
    /// Takes in the value of a selector, if it is one of these.
    pub(crate) fn take(&mut self, name: &str, value: &str) {
        let real = || value.parse::<f64>().ok().filter(|value| *value >= 0.0);
        match name {
            "MIN_LATENCY" => self.shortest = value.parse().ok(),
            "P50_LATENCY" => self.half = value.parse().ok(),
            "P90_LATENCY" => self.ninety = value.parse().ok(),
            "P99_LATENCY" => self.ninety_nine = value.parse().ok(),
            "MAX_LATENCY" => self.longest = value.parse().ok(),
            "MEAN_LATENCY" => self.mean = real(),
            "STDDEV_LATENCY" => self.deviation = real(),
            _ => {}
        }
    }

    /// A distribution that has what was printed; `None` when nothing was kept.
    pub(crate) fn latency(&self) -> Option<Latency> {
        if self.histogram.is_some() {
            return self.histogram.clone();
        }
        // Up to which operation, counted from the shortest, which time holds.
        let steps = [
            (1, self.shortest),
            (500, self.half),
            (900, self.ninety),
            (990, self.ninety_nine),
            (OPERATIONS, self.longest),
        ];
        let printed: Vec<u64> = steps.iter().filter_map(|(_, time)| *time).collect();
        if printed.is_empty() && self.mean.is_none() && self.deviation.is_none() {
            return None;
        }
        let mut buckets = Vec::new();
        let (mut before, mut time) = (0, printed.first().copied().unwrap_or(0));
        for (upto, printed) in steps {
            time = printed.unwrap_or(time);
            let at = time * 1000 + BEYOND;
            buckets.push(bucket(at, upto - before));
            before = upto;
        }
        Some(self.with_moments(buckets))
    }

    fn with_moments(&self, buckets: Vec<Bucket>) -> Latency {
        let times = || buckets.iter().map(|bucket| bucket.from);
        let count: f64 = "1000".parse().expect("the number of operations");
        let mean = self.mean.unwrap_or(0.0) * 1000.0;
        let deviation = self.deviation.unwrap_or(0.0) * 1000.0;
        Latency {
            count: OPERATIONS,
            min: times().min().unwrap_or(0),
            max: times().max().unwrap_or(0),
            sum: mean * count,
            sum_of_squares: (mean * mean + deviation * deviation) * count,
            clock_error: 0.0,
            buckets,
        }
    }
}

fn bucket(at: u64, count: u64) -> Bucket {
    Bucket {
        from: at,
        to: at,
        count,
    }
}

/// The distribution of the histogram in a text, if there is one.
pub(crate) fn histogram(text: &str) -> Option<Latency> {
    text.contains("\nHistogram of ").then_some(())?;
    let mut found = Latency::default();
    for line in text.lines() {
        let decade = LABELS.iter().position(|label| line.starts_with(label));
        if let Some(decade) = decade {
            let counts = scan(rows::H.template, &line[14..]).expect("a decade");
            let one = 1000 * 10_u64.pow(u32::try_from(decade).expect("a decade"));
            for (column, count) in (0..).zip(&counts) {
                add(&mut found, column * one, count);
            }
        }
        if let Some(beyond) = scan(rows::H9.template, line) {
            add(&mut found, 100_000_000_000, &beyond[0]);
        }
    }
    Some(found)
}

fn add(to: &mut Latency, at: u64, count: &Read) {
    let count = u64::try_from(count.int()).expect("a count");
    if count > 0 {
        to.count += count;
        to.buckets.push(bucket(at, count));
    }
}
