use super::*;

/// Transactions a millisecond apart, each with stack times of 1, 2, 3 and 4 µs, an
/// answer of 5 µs, and the given times on the wire; netserver's clock is ahead by what
/// `clock` says for the true time.
fn seen(wire: &[(u64, u64)], clock: impl Fn(u64) -> i64) -> (Stamps, Stamps) {
    const ERA: u64 = 1_700_000_000_000_000_000;
    let ahead = |time: u64| (ERA + time).checked_add_signed(clock(time)).unwrap();
    let (mut client, mut server) = (Stamps::default(), Stamps::default());
    for (number, (there, back)) in (1..).zip(wire) {
        let start = u64::from(number) * 1_000_000;
        let arrived = start + 1_000 + there;
        let answered = arrived + 2_000 + 5_000 + 3_000;
        client.each.push(Stamp {
            flow: 0,
            number,
            begun: ERA + start - 600,
            sending: ERA + start,
            sent: ERA + start + 1_000,
            arrived: ERA + answered + back,
            received: ERA + answered + back + 4_000,
            device: None,
            tos: None,
        });
        server.each.push(Stamp {
            flow: 0,
            number,
            begun: 0,
            arrived: ahead(arrived),
            received: ahead(arrived + 2_000),
            sending: ahead(arrived + 7_000),
            sent: ahead(answered),
            device: None,
            tos: None,
        });
    }
    (client, server)
}

/// Both ways mostly wait, differently, and once in a while do not.
fn busy() -> Vec<(u64, u64)> {
    let wait = |index: u64, most: u64| (index * 7919) % most;
    (0..200)
        .map(|index| {
            (
                30_000 + wait(index, 90_000),
                30_000 + wait(index + 3, 40_000),
            )
        })
        .collect()
}

fn close(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not {b}");
}

#[test]
fn an_offset_of_the_clocks_is_found_within_its_error() {
    for ahead in [0, 1, -250_000, 3_600_000_000_000, -86_400_000_000_001] {
        let (client, server) = seen(&busy(), |_| ahead);
        let all = OneWay::of(&client, &server).unwrap();
        let found = all.clock;
        close(real((found.nanos - ahead).into()), 0.0, found.error);
        assert!(found.error < 40_000.0, "{found:?}");
        assert_eq!(found.drift, None);
        assert_eq!((all.transactions, all.discarded), (200, 0));
    }
}

#[test]
fn a_wire_that_takes_the_same_both_ways_is_split_exactly() {
    let (client, server) = seen(&[(30_000, 30_000); 5], |_| 777_777);
    let all = OneWay::of(&client, &server).unwrap();
    let took = Part::ALL.map(|part| all.part(part).mean);
    let truth = [
        600.0, 1_000.0, 30_000.0, 2_000.0, 5_000.0, 3_000.0, 30_000.0, 4_000.0,
    ];
    for (took, truth) in took.into_iter().zip(truth) {
        close(took, truth, 1.0);
    }
    assert_eq!(all.clock.nanos, 777_777);
}

#[test]
fn the_transactions_of_many_flows_are_paired_and_follow_one_clock() {
    let drifting = |time: u64| 2_000_000 + i64::try_from(time / 2_000).unwrap();
    let (client, server) = seen(&[(10_000, 10_000); 200], drifting);
    // Every second transaction is of the other flow, and numbers begin anew in each.
    let of_flows = |stamps: Stamps, ports: [u32; 2]| {
        let mut all = Stamps::default();
        for (other, port) in (0..).zip(ports) {
            let own = stamps.each.iter().filter(|stamp| stamp.number % 2 == other);
            let each = (1..).zip(own).map(|(number, stamp)| Stamp {
                flow: port,
                number,
                ..*stamp
            });
            all.add(Stamps {
                every: other + 1,
                incomplete: 1,
                numbered: false,
                each: each.collect(),
            });
        }
        all
    };
    let one = OneWay::of(&client, &server).unwrap();
    let client = of_flows(client, [40_001, 40_000]);
    let all = OneWay::of(&client, &of_flows(server.clone(), [40_001, 40_000])).unwrap();
    assert_eq!((all.clock, all.parts), (one.clock, one.parts));
    assert_eq!((all.transactions, all.discarded, all.every), (200, 2, 2));
    let translated = of_flows(server, [50_001, 50_000]);
    assert_eq!(OneWay::of(&client, &translated), None);
    assert_eq!([1, 3, 5000].map(Stamps::most), [8192, 2730, 8]);
}

#[test]
fn a_wait_in_one_direction_is_seen_in_that_direction() {
    let mut wire = vec![(30_000, 30_000); 50];
    for transaction in wire.iter_mut().skip(1).step_by(2) {
        transaction.0 += 400_000;
    }
    let (client, server) = seen(&wire, |_| -5_000_000);
    let all = OneWay::of(&client, &server).unwrap();
    close(all.part(Part::WireThere).max, 430_000.0, 1.0);
    close(all.part(Part::WireThere).min, 30_000.0, 1.0);
    close(all.part(Part::WireBack).max, 30_000.0, 1.0);
}

#[test]
fn a_clock_that_runs_faster_is_followed() {
    // 500 parts per million, over a fifth of a second: 100 µs.
    let drifting = |time: u64| 2_000_000 + i64::try_from(time / 2_000).unwrap();
    let (client, server) = seen(&[(10_000, 10_000); 200], drifting);
    let all = OneWay::of(&client, &server).unwrap();
    let drift = all.clock.drift.expect("a drift");
    close(drift, 500_000.0, all.clock.drift_error);
    close(all.part(Part::WireThere).max, 10_000.0, 200.0);
    close(all.part(Part::WireBack).min, 10_000.0, 200.0);
    close(real(all.clock.nanos.into()), 2_050_500.0, all.clock.error);
}

#[test]
fn the_offset_is_bounded_by_all_exchanges_together() {
    // No exchange is fast both ways: each alone leaves 100 microseconds.
    let wire: Vec<(u64, u64)> = (0..200)
        .map(|index| {
            if index % 2 == 0 {
                (10_000, 190_000)
            } else {
                (190_000, 10_000)
            }
        })
        .collect();
    for ahead in [0, -3_000_000, 5_000_000_000_123] {
        let (client, server) = seen(&wire, |_| ahead);
        let found = OneWay::of(&client, &server).unwrap().clock;
        close(real((found.nanos - ahead).into()), 0.0, 20.0);
        assert!((10_000.0..10_200.0).contains(&found.error), "{found:?}");
        assert_eq!(found.drift, None);
        // 20 microseconds in a fifth of a second.
        close(found.drift_error, 100_000.0, 2000.0);
    }
}

#[test]
fn a_clock_that_was_set_during_the_run_makes_the_bound_wider() {
    let step = |time: u64| if time > 100_000_000 { 70_000 } else { 0 };
    let (client, server) = seen(&[(10_000, 10_000); 200], step);
    let found = OneWay::of(&client, &server).unwrap().clock;
    assert!(found.error > 10_000.0, "{found:?}");
    let (first, later) = (
        real(found.nanos.into()),
        real((found.nanos - 70_000).into()),
    );
    assert!(first.abs().min(later.abs()) <= 70_000.0, "{found:?}");
}

/// Numbers without a pattern, below a limit.
fn scattered(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn the_true_offset_lies_within_the_bound() {
    for seed in 0..200 {
        let mut number = scattered(seed);
        let exchanges = 1 + number(60);
        let wire: Vec<(u64, u64)> = (0..exchanges)
            .map(|_| (1_000 + number(400_000), 1_000 + number(400_000)))
            .collect();
        let ahead = i64::try_from(number(1_000_000_000)).unwrap();
        let drift = i64::try_from(number(400_000)).unwrap() - 200_000;
        let truth = |time: u64| ahead + i64::try_from(time).unwrap() * drift / 1_000_000_000;
        let (client, server) = seen(&wire, truth);
        let found = OneWay::of(&client, &server).unwrap().clock;
        let middle = 1_001_000 + (exchanges - 1) * 500_000;
        let off = real((found.nanos - truth(middle)).into());
        close(off, 0.0, found.error + 2.0);
        let drifted = found.drift.unwrap_or(0.0) - real(drift.into());
        close(drifted, 0.0, found.drift_error + 50.0);
    }
}

#[test]
fn only_what_both_ends_saw_whole_is_used() {
    let (mut client, mut server) = seen(&busy(), |_| 0);
    client.each.remove(10);
    server.each.truncate(150);
    server.each.remove(20);
    // A clock was set back in the middle of one.
    client.each[30].received = 0;
    server.incomplete = 4;
    let all = OneWay::of(&client, &server).unwrap();
    assert_eq!((all.transactions, all.discarded), (147, 5));
    server.each.clear();
    assert_eq!(OneWay::of(&client, &server), None);
}
