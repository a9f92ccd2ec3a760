//! The distribution of times of a run that goes on.

use netperf_model::Latency;
use netperf_model::latency::Bucket;

/// What several loops keep; `None` where none does.
pub(super) fn together(loops: Vec<Vec<Bucket>>) -> Option<Latency> {
    let each = loops.into_iter().map(of);
    each.reduce(|mut all, one| {
        all.merge(&one);
        all
    })
}

/// What came since an earlier look.
pub(super) fn since(now: &Latency, before: &Latency) -> Latency {
    let mut earlier = before.buckets.iter().peekable();
    let more = now.buckets.iter().filter_map(|bucket| {
        let same = earlier.next_if(|known| known.from == bucket.from);
        let count = bucket.count - same.map_or(0, |known| known.count.min(bucket.count));
        (count > 0).then_some(Bucket { count, ..*bucket })
    });
    of(more.collect())
}

/// A distribution of which the ranges are known and no more: its extremes are theirs, and
/// there are no moments.
fn of(buckets: Vec<Bucket>) -> Latency {
    Latency {
        count: buckets.iter().map(|bucket| bucket.count).sum(),
        min: buckets.first().map_or(0, |bucket| bucket.from),
        max: buckets.last().map_or(0, |bucket| bucket.to),
        buckets,
        ..Latency::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(at: u64, count: u64) -> Bucket {
        Bucket {
            from: at,
            to: at,
            count,
        }
    }

    #[test]
    fn only_what_came_since_the_last_look_counts() {
        let before = of(vec![bucket(10, 5), bucket(30, 1)]);
        let now = of(vec![bucket(10, 5), bucket(20, 2), bucket(30, 4)]);
        let since = since(&now, &before);
        assert_eq!(since.buckets, [bucket(20, 2), bucket(30, 3)]);
        assert_eq!((since.count, since.min, since.max), (5, 20, 30));
    }

    #[test]
    fn loops_that_keep_nothing_have_no_distribution() {
        assert_eq!(together(Vec::new()), None);
        let both = together(vec![
            vec![bucket(10, 1)],
            vec![bucket(10, 2), bucket(20, 1)],
        ]);
        let both = both.unwrap();
        assert_eq!((both.count, both.max), (4, 20));
    }
}
