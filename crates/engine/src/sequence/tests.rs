use std::collections::{BTreeMap, HashSet};

use netperf_transport::null::Null;
use proptest::prelude::*;

use super::*;

/// Numbers and times as they arrive.
fn quality(arrivals: impl IntoIterator<Item = (u64, u64, u64)>) -> Quality {
    let mut track = NumberTrack::new();
    for (number, sent, now) in arrivals {
        track.take(number, sent, now);
    }
    track.quality()
}

fn order(numbers: &[u64]) -> Quality {
    quality(numbers.iter().map(|number| (*number, 0, 0)))
}

/// The definitions, applied to all arrivals.
fn exact(numbers: &[u64]) -> Quality {
    let mut quality = Quality::default();
    let (mut seen, mut arrived) = (HashSet::new(), Vec::new());
    for &number in numbers {
        if quality.expected.saturating_sub(number) > REACH {
            quality.too_late += 1;
        } else if !seen.insert(number) {
            quality.duplicated += 1;
        } else {
            // RFC 4737 section 4.2.1: from the earliest arrival with a higher number.
            if let Some(earliest) = arrived.iter().position(|before| *before > number) {
                quality.reordered += 1;
                quality.extent = quality.extent.max((arrived.len() - earliest) as u64);
            }
            arrived.push(number);
            quality.expected = quality.expected.max(number + 1);
        }
    }
    quality.received = arrived.len() as u64;
    quality
}

#[test]
fn datagrams_in_order_are_neither_lost_nor_late_nor_duplicated() {
    let wanted = Quality {
        received: 5,
        expected: 5,
        ..Quality::default()
    };
    assert_eq!(order(&[0, 1, 2, 3, 4]), wanted);
}

#[test]
fn the_extent_is_counted_from_the_first_that_was_ahead() {
    let quality = order(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]);
    assert_eq!((quality.reordered, quality.extent), (3, 6));
    assert_eq!((quality.lost(None), quality.duplicated), (1, 0));
}

#[test]
fn one_that_comes_twice_is_a_duplicate_whenever_it_comes() {
    let quality = order(&[0, 0, 2, 1, 1, 2, 3]);
    assert_eq!((quality.received, quality.duplicated), (4, 3));
    assert_eq!((quality.reordered, quality.lost(None)), (1, 0));
}

#[test]
fn numbers_before_the_window_count_as_too_late_and_stay_lost() {
    let edge = order(&[REACH + 4, 5, 4]);
    assert_eq!((edge.reordered, edge.too_late), (1, 1));
    assert_eq!(edge.lost(None), REACH + 3);
    // A window of old numbers is forgotten when the numbers leap ahead.
    let leap = order(&[0, 1, 2, 3 * REACH, 3 * REACH - 1, 2 * REACH + 2]);
    assert_eq!((leap.reordered, leap.duplicated), (2, 0));
}

#[test]
fn jitter_is_that_of_rfc_3550() {
    // Every other datagram takes 160 more: J approaches 160.
    let arrivals = (0..400).map(|number| (number, number * 1000, number * 1000 + number % 2 * 160));
    let jittered = quality(arrivals);
    assert!((150..=160).contains(&jittered.jitter), "{jittered:?}");
    assert_eq!(
        (jittered.most_variation, jittered.mean_variation),
        (160, 80)
    );
    let one = quality([(0, 0, 7), (1, 1000, 1007 + 1600)]);
    assert_eq!(one.jitter, 100);
}

#[test]
fn clocks_that_have_nothing_in_common_do_not_matter() {
    let ahead = quality([(0, u64::MAX - 5, 0), (1, 94, 110), (2, 194, 200)]);
    let level = quality([(0, 0, 6), (1, 100, 116), (2, 200, 206)]);
    assert_eq!(ahead, level);
    assert_eq!(ahead.most_variation, 10);
}

#[test]
fn a_number_is_read_as_it_was_written_and_nothing_else_is() {
    let numbers = Numbers {
        size: 30,
        began: clock::now(),
    };
    let mut buffer = [7; 75];
    numbers.write(&mut buffer, 5);
    let read_back: Vec<Option<u64>> = buffer
        .chunks(30)
        .map(|datagram| read(datagram).map(|(number, _)| number))
        .collect();
    assert_eq!(read_back, [Some(5), Some(6), None]);
    let mut track = NumberTrack::new();
    track.arrived(&Null, &buffer, 30);
    track.arrived(&Null, &buffer[60..], 15);
    assert_eq!(
        (track.quality().received, track.quality().unnumbered),
        (1, 1)
    );
}

/// Numbers as a bad network delivers them: dropped, repeated, and delayed by some places.
fn disorder() -> impl Strategy<Value = Vec<u64>> {
    let fate = (0_u8..10, 0_u64..200);
    prop::collection::vec((fate, 1_u64..4), 0..400).prop_map(|fates| {
        let (mut at, mut number) = (BTreeMap::new(), 0);
        for (index, ((fate, delay), step)) in (0_u64..).zip(fates) {
            number += if fate == 9 { step * 20_000 } else { step };
            let delay = if fate < 6 { 0 } else { delay };
            if fate != 5 {
                at.entry(index + delay)
                    .or_insert_with(Vec::new)
                    .push(number);
            }
            if fate == 8 {
                at.entry(index + delay / 2)
                    .or_insert_with(Vec::new)
                    .push(number);
            }
        }
        at.into_values().flatten().collect()
    })
}

proptest! {
    #[test]
    fn counts_of_any_order_are_those_of_the_definitions(numbers in disorder()) {
        prop_assert_eq!(order(&numbers), exact(&numbers));
    }
}
