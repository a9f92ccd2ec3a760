use std::num::NonZeroUsize;

use netperf_stats::testing::Dice;

use super::*;
use crate::pattern::Uplinks;

const BOTH: [PairDirections; 2] = [PairDirections::Separate, PairDirections::Together];

fn pairs_of(members: &ScheduleMembers, directions: PairDirections, seed: u64) -> RoundSchedule {
    let request = PatternRequest {
        directions,
        seed,
        ..PatternRequest::of(Pattern::Pairs)
    };
    RoundSchedule::of(&request, members).unwrap()
}

/// A lower bound of the rounds of all pairs: each host has only so many cells in a round, and so
/// does each uplink.
fn fewest_rounds(directions: PairDirections, members: &ScheduleMembers) -> usize {
    let all = (0..members.count).flat_map(|from| {
        let to = (0..members.count).map(move |to| Cell { from, to });
        to.filter(|cell| members.can_send(*cell))
    });
    let mut hosts: BTreeMap<usize, usize> = BTreeMap::new();
    let mut links: BTreeMap<(usize, usize, bool), (usize, usize)> = BTreeMap::new();
    let mut between = 0;
    for cell in all {
        for (link, flows) in crossed(cell, members) {
            let (used, of) = links.entry(link).or_default();
            *used += 1;
            *of = flows;
        }
        let is_second = cell.from > cell.to && members.can_send(cell.back());
        if directions == PairDirections::Together && is_second {
            continue;
        }
        let ends = BTreeSet::from([members.host(cell.from), members.host(cell.to)]);
        between += usize::from(ends.len() == 2);
        for host in ends {
            *hosts.entry(host).or_default() += 1;
        }
    }
    let at_once = (hosts.len() / 2).max(1);
    let of_hosts = hosts.values().copied().max().unwrap_or(0);
    let of_links = links.values().map(|(used, flows)| used.div_ceil(*flows));
    of_links
        .chain([of_hosts, between.div_ceil(at_once)])
        .max()
        .unwrap_or(0)
}

/// A whole number below `end`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small numbers"
)]
fn below(dice: &mut Dice, end: usize) -> usize {
    (dice.roll() * end as f64) as usize
}

fn flows(flows: usize) -> NonZeroUsize {
    NonZeroUsize::new(flows).unwrap()
}

/// Every cell of members is there once, no host has two pairs in a round, no uplink more flows
/// than it may.
fn assert_complete(schedule: &RoundSchedule, members: &ScheduleMembers) {
    let mut seen = vec![false; members.count * members.count];
    for round in &schedule.rounds {
        let mut busy: Vec<Option<Cell>> = vec![None; members.count];
        let mut links: BTreeMap<(usize, usize, bool), usize> = BTreeMap::new();
        for cell in round {
            let slot = &mut seen[cell.from * members.count + cell.to];
            assert!(!*slot && cell.from != cell.to, "{cell:?}");
            *slot = true;
            for member in [cell.from, cell.to] {
                let busy = &mut busy[members.host(member)];
                assert!(busy.is_none_or(|of| of == *cell || of == cell.back()));
                *busy = Some(*cell);
            }
            for (link, flows) in crossed(*cell, members) {
                let used = links.entry(link).or_default();
                *used += 1;
                assert!(*used <= flows, "{link:?}");
            }
        }
    }
    let cells = seen.iter().filter(|seen| **seen).count();
    assert_eq!(cells, members.count * (members.count - 1));
}

#[test]
fn pairs_are_disjoint_and_complete_in_as_few_rounds_as_possible() {
    for count in (2..=33).chain([64, 65, 127, 200]) {
        let members = ScheduleMembers::of(count);
        for directions in BOTH {
            let schedule = pairs_of(&members, directions, count as u64);
            assert_complete(&schedule, &members);
            assert_eq!(schedule.isolation, Isolation::Hosts);
            let one_way = count - 1 + count % 2;
            let wanted = match directions {
                PairDirections::Separate => 2 * one_way,
                PairDirections::Together => one_way,
            };
            assert_eq!(schedule.rounds.len(), wanted, "{count}");
            assert_eq!(fewest_rounds(directions, &members), wanted, "{count}");
            let is_alone = |round: &Vec<Cell>| {
                let cells: BTreeSet<&Cell> = round.iter().collect();
                round.iter().all(|cell| !cells.contains(&cell.back()))
            };
            let alone = directions == PairDirections::Separate;
            assert!(schedule.rounds.iter().all(|round| is_alone(round) == alone));
        }
    }
}

/// Members in racks of random sizes, with uplinks of random capacity, perhaps in zones.
fn random_racks(dice: &mut Dice, count: usize) -> ScheduleMembers {
    let racks = 2 + below(dice, count.div_ceil(3));
    let groups: Vec<usize> = (0..count).map(|_| below(dice, racks)).collect();
    let without = below(dice, 4) == 0;
    let rack = |(member, rack): (usize, &usize)| (!without || member % 7 != 0).then_some(*rack);
    let mut uplinks = vec![Uplinks {
        label: "rack".to_owned(),
        groups: groups.iter().enumerate().map(rack).collect(),
        flows: (0..racks).map(|_| flows(1 + below(dice, 8))).collect(),
    }];
    if below(dice, 2) == 0 {
        uplinks.push(Uplinks {
            label: "zone".to_owned(),
            groups: groups.iter().map(|rack| Some(rack % 2)).collect(),
            flows: vec![flows(1 + below(dice, 12)); 2],
        });
    }
    ScheduleMembers {
        uplinks,
        ..ScheduleMembers::of(count)
    }
}

#[test]
fn no_uplink_has_more_flows_than_its_capacity_and_rounds_are_few() {
    rounds_are_few(19);
}

#[test]
#[ignore = "nightly: schedules of each number of hosts up to 200"]
fn no_uplink_has_more_flows_than_its_capacity_with_any_number_of_hosts() {
    rounds_are_few(1);
}

/// Judges schedules of up to 200 hosts, each `step` more than the one before.
fn rounds_are_few(step: usize) {
    let mut dice = Dice::new(7);
    let mut worst: f64 = 1.0;
    for count in (2..=200).step_by(step) {
        let members = random_racks(&mut dice, count);
        let directions = BOTH[count % 2];
        let schedule = pairs_of(&members, directions, count as u64);
        assert_complete(&schedule, &members);
        assert_eq!(schedule.isolation, Isolation::Uplinks);
        let fewest = fewest_rounds(directions, &members);
        let rounds = schedule.rounds.len();
        assert!(rounds >= fewest);
        assert!(2 * rounds <= 3 * fewest, "{count}: {rounds} of {fewest}");
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let ratio = rounds as f64 / fewest as f64;
        worst = worst.max(ratio);
    }
    println!("at most {worst:.3} times the lower bound");
}

#[test]
fn four_racks_of_sixteen_with_uplinks_of_four_flows_need_192_rounds() {
    let racks: Vec<String> = (0..64).map(|member| format!("r{}", member / 16)).collect();
    let racks: Vec<Option<&str>> = racks.iter().map(|rack| Some(rack.as_str())).collect();
    let members = ScheduleMembers {
        uplinks: vec![Uplinks::by_label("rack", &racks, flows(4))],
        ..ScheduleMembers::of(64)
    };
    // 16 x 48 cells leave each rack.
    for directions in BOTH {
        assert_eq!(fewest_rounds(directions, &members), 192);
        let schedule = pairs_of(&members, directions, 1);
        assert_complete(&schedule, &members);
        let rounds = schedule.rounds.len();
        assert!((192..=211).contains(&rounds), "{rounds}");
    }
    // Wide uplinks are no limit, and the circle method is kept.
    let wide = ScheduleMembers {
        uplinks: vec![Uplinks::by_label("rack", &racks, flows(16))],
        ..ScheduleMembers::of(64)
    };
    assert_eq!(
        pairs_of(&wide, PairDirections::Together, 1).rounds.len(),
        63
    );
}

#[test]
fn two_hundred_hosts_are_planned_with_little_work() {
    planned_with_little_work(200, 2_700_000);
}

#[test]
#[ignore = "nightly: a thousand hosts"]
fn a_thousand_hosts_are_planned_with_little_work() {
    planned_with_little_work(1000, 300_000_000);
}

/// Plans so many hosts, 25 in a rack, and judges the number of rounds and of words that were
/// examined, which take about a nanosecond each.
fn planned_with_little_work(hosts: usize, most: u64) {
    let members = ScheduleMembers::of(hosts);
    let schedule = pairs_of(&members, PairDirections::Together, 1);
    let cells = hosts * (hosts - 1);
    assert_eq!(
        (schedule.rounds.len(), schedule.cells()),
        (hosts - 1, cells)
    );
    let racks = ScheduleMembers {
        uplinks: vec![Uplinks {
            label: "rack".to_owned(),
            groups: (0..hosts).map(|member| Some(member / 25)).collect(),
            flows: vec![flows(6); hosts / 25],
        }],
        ..ScheduleMembers::of(hosts)
    };
    let order = shuffled(hosts, 3);
    let (rounds, examined) = colouring::rounds(&racks, PairDirections::Together, &order);
    let fewest = fewest_rounds(PairDirections::Together, &racks);
    println!(
        "{} rounds, at least {fewest}, {examined} words",
        rounds.len()
    );
    assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), cells);
    assert!(
        2 * rounds.len() <= 3 * fewest,
        "{} of {fewest}",
        rounds.len()
    );
    assert!(examined < most, "{examined}");
}

#[test]
fn a_seed_gives_the_same_schedule_again_and_another_seed_another() {
    let members = ScheduleMembers::of(10);
    let of = |seed| pairs_of(&members, PairDirections::Separate, seed);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).rounds, of(2).rounds);
}

#[test]
fn members_of_one_host_are_not_measured_at_the_same_time() {
    let members = ScheduleMembers {
        hosts: vec![0, 0, 1, 2, 2, 3],
        ..ScheduleMembers::of(6)
    };
    for directions in BOTH {
        let schedule = pairs_of(&members, directions, 1);
        assert_complete(&schedule, &members);
        let fewest = fewest_rounds(directions, &members);
        assert!(2 * schedule.rounds.len() <= 3 * fewest);
    }
}

#[test]
fn patterns_of_one_round_have_their_cells() {
    let of = |pattern, directions| {
        let request = PatternRequest {
            directions,
            hub: 1,
            ..PatternRequest::of(pattern)
        };
        let found = RoundSchedule::of(&request, &ScheduleMembers::of(4)).unwrap();
        let pairs = |round: &Vec<Cell>| round.iter().map(|cell| (cell.from, cell.to)).collect();
        found
            .rounds
            .iter()
            .map(pairs)
            .collect::<Vec<Vec<(usize, usize)>>>()
    };
    let separate = |pattern| of(pattern, PairDirections::Separate);
    assert_eq!(separate(Pattern::Incast), [[(0, 1), (2, 1), (3, 1)]]);
    assert_eq!(separate(Pattern::Fanout), [[(1, 0), (1, 2), (1, 3)]]);
    assert_eq!(
        separate(Pattern::Bisection),
        [[(0, 2), (1, 3)], [(2, 0), (3, 1)]]
    );
    let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
    assert_eq!(separate(Pattern::Ring)[0], ring);
    assert_eq!(of(Pattern::Ring, PairDirections::Together)[0].len(), 8);
    assert_eq!(separate(Pattern::Mesh)[0].len(), 12);
    assert_eq!(separate(Pattern::Mesh).len(), 1);
}

#[test]
fn a_bisection_has_halves_by_label_or_random_ones() {
    let zones = [Some("a"), Some("b"), Some("a"), Some("b")];
    let members = ScheduleMembers {
        uplinks: vec![Uplinks::by_label("zone", &zones, flows(9))],
        ..ScheduleMembers::of(4)
    };
    let mut request = PatternRequest::of(Pattern::Bisection);
    let found = RoundSchedule::of(&request, &members).unwrap();
    assert_eq!(
        found.rounds[0],
        [Cell { from: 0, to: 1 }, Cell { from: 2, to: 3 }]
    );
    request.random_halves = 5;
    let found = RoundSchedule::of(&request, &ScheduleMembers::of(9)).unwrap();
    assert_eq!(found.rounds.len(), 10);
    assert!(found.rounds.iter().all(|round| round.len() == 4));
    let distinct: BTreeSet<_> = found.rounds.iter().collect();
    assert!(distinct.len() > 6);
}

#[test]
fn listed_cells_share_a_round_if_they_share_no_host() {
    let cell = |from, to| Cell { from, to };
    let request = PatternRequest {
        list: vec![cell(0, 1), cell(2, 3), cell(1, 2), cell(0, 1)],
        ..PatternRequest::of(Pattern::List)
    };
    let found = RoundSchedule::of(&request, &ScheduleMembers::of(4)).unwrap();
    let wanted = [
        vec![cell(0, 1), cell(2, 3)],
        vec![cell(1, 2)],
        vec![cell(0, 1)],
    ];
    assert_eq!(found.rounds, wanted);
    let of = |list, receive_only| {
        let request = PatternRequest {
            list,
            ..request.clone()
        };
        let members = ScheduleMembers {
            receive_only,
            ..ScheduleMembers::of(4)
        };
        RoundSchedule::of(&request, &members).unwrap_err()
    };
    assert_eq!(
        of(vec![cell(0, 4)], vec![]),
        Unschedulable::UnknownMember(4)
    );
    assert_eq!(of(vec![cell(3, 3)], vec![]), Unschedulable::ToItself(3));
    assert_eq!(of(vec![cell(3, 0)], vec![3]), Unschedulable::CannotSend(3));
    assert_eq!(of(vec![], vec![]), Unschedulable::Empty);
}

#[test]
fn members_that_cannot_send_receive_only() {
    let members = ScheduleMembers {
        receive_only: vec![2, 5],
        hosts: vec![0, 1, 2, 3, 4, 5, 5],
        ..ScheduleMembers::of(7)
    };
    for directions in BOTH {
        let schedule = pairs_of(&members, directions, 4);
        let cells: BTreeSet<Cell> = schedule.rounds.iter().flatten().copied().collect();
        assert_eq!(cells.len(), 5 * 6);
        assert_eq!(schedule.cells(), cells.len());
        assert!(cells.iter().all(|cell| ![2, 5].contains(&cell.from)));
    }
    let none = ScheduleMembers {
        receive_only: vec![0, 1],
        ..ScheduleMembers::of(2)
    };
    let request = PatternRequest::of(Pattern::Mesh);
    assert_eq!(
        RoundSchedule::of(&request, &none),
        Err(Unschedulable::Empty)
    );
    let one = ScheduleMembers::of(1);
    assert_eq!(
        RoundSchedule::of(&request, &one),
        Err(Unschedulable::TooFewMembers(1))
    );
}

#[test]
fn the_first_rounds_alone_are_left() {
    let mut schedule = pairs_of(&ScheduleMembers::of(5), PairDirections::Separate, 0);
    schedule.truncate(3);
    assert_eq!(schedule.rounds.len(), 3);
}
