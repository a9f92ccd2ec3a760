use super::*;
use netperf_model::{Arrival, RateUnit};
use std::collections::BTreeMap;

fn queue(flows: u32) -> DueQueue {
    let rate = RatePlan {
        per_second: 1000.0,
        unit: RateUnit::Transactions,
        arrival: Arrival::Constant,
        seed: None,
    };
    DueQueue::of_thread(&rate, flows, 0, 1)
}

#[test]
fn flows_come_in_the_order_in_which_they_are_due() {
    let mut queue = queue(3);
    queue.begin();
    let mut order = Vec::new();
    for now in [0, 1_000_000, 2_000_000, 3_000_000] {
        while let Some(token) = queue.due(now) {
            order.push(token);
            queue.sent(token, token, now, true);
            queue.put_off(token);
        }
    }
    assert_eq!(order, [0, 1, 2, 0]);
    assert_eq!(queue.in_flight(), 4);
    assert!(queue.wait(3_000_000).unwrap() <= Duration::from_millis(1));
}

#[test]
fn responses_belong_to_the_requests_of_their_flow() {
    let mut queue = queue(2);
    queue.begin();
    queue.sent(0, 0, 5, true);
    queue.sent(1, 1, 1_000_007, true);
    queue.sent(0, 0, 2_000_000, true);
    assert!(queue.answered(1, &[], 1_000_010, true));
    assert!(!queue.answered(1, &[], 1_000_010, true));
    assert!(queue.answered(0, &[], 100, true));
    assert!(queue.answered(0, &[], 2_000_050, false));
    assert!(!queue.answered(0, &[], 3_000_000, true));
    let (latency, paced) = queue.balance(false);
    assert_eq!((latency.count, latency.min, latency.max), (2, 10, 100));
    assert_eq!(
        (paced.sent, paced.unanswered, paced.most_in_flight),
        (3, 0, 3)
    );
    let service = paced.service.unwrap();
    assert_eq!((service.min, service.max), (3, 95));
}

#[test]
fn places_are_used_again_and_nothing_is_lost_from_the_account() {
    let mut queue = queue(2);
    queue.begin();
    for round in 0..3 {
        let mut sent = 0;
        while queue.has_room() {
            queue.sent(0, sent % 2, 0, true);
            sent += 1;
        }
        assert_eq!(sent, MOST_IN_FLIGHT, "{round}");
        for index in 0..MOST_IN_FLIGHT {
            assert!(queue.answered(index % 2, &[], 1, true));
        }
    }
    queue.sent(0, 1, 0, true);
    queue.forget(1);
    queue.sent(0, 0, 0, true);
    let (latency, paced) = queue.balance(false);
    assert_eq!(latency.count, 3 * MOST_IN_FLIGHT as u64);
    assert_eq!(paced.unanswered, 2);
    assert_eq!(paced.sent, 3 * MOST_IN_FLIGHT as u64 + 2);
}

#[test]
fn a_response_to_nothing_counts_for_nothing() {
    let mut queue = queue(1);
    assert!(!queue.answered(0, &[], 1, true));
    queue.sent(0, 0, 7, true);
    assert_eq!(queue.oldest_sent(0), Some(7));
    queue.forget(0);
    assert_eq!(queue.oldest_sent(0), None);
    assert!(!queue.answered(0, &[], 8, true));
    assert_eq!(queue.balance(false).0.count, 0);
}

#[test]
fn a_response_belongs_to_the_request_of_its_number() {
    for bytes in [1, 2, 8] {
        let mut queue = queue(1);
        queue.number(Some(bytes));
        let mut head = [0; 8];
        let head = &mut head[..usize::from(bytes)];
        let mut heads = Vec::new();
        for number in 0..1000 {
            queue.write_number(0, head);
            heads.push(head.to_vec());
            queue.sent(0, 0, number, true);
            // Every fourth is lost, and two responses change places.
            let answers = match number % 4 {
                1 => vec![number],
                3 => vec![number, number - 1],
                _ => Vec::new(),
            };
            for number in answers {
                let head = &heads[usize::try_from(number).unwrap()];
                assert!(queue.answered(0, head, number + 5, true), "{number}");
                assert!(!queue.answered(0, head, number + 5, true), "{number}");
            }
        }
        for _ in 0..3 {
            queue.sent(0, 0, 0, true);
        }
        assert!(queue.in_flight() < 40);
        let (latency, paced) = queue.balance(false);
        assert_eq!(latency.count, 750);
        assert_eq!((paced.unanswered, paced.lost), (253, Some(250)));
        let service = paced.service.unwrap();
        assert_eq!((service.min, service.max), (5, 5));
    }
}

#[test]
fn responses_after_an_outage_belong_to_later_requests() {
    let mut queue = queue(1);
    queue.number(Some(1));
    for _ in 0..200 {
        queue.sent(0, 0, 0, true);
    }
    // More are lost than a number of one byte distinguishes.
    queue.forget(0);
    let mut head = [0];
    for _ in 0..300 {
        queue.write_number(0, &mut head);
        queue.sent(0, 0, 0, true);
        assert!(queue.answered(0, &head, 5, true));
    }
    let (latency, paced) = queue.balance(false);
    assert_eq!((latency.count, paced.lost), (300, Some(200)));
}

#[test]
fn a_request_in_flight_at_the_end_took_at_least_the_time_until_then() {
    let mut queue = queue(1);
    queue.begin();
    queue.sent(0, 0, 0, true);
    std::thread::sleep(Duration::from_millis(5));
    let (latency, paced) = queue.balance(true);
    assert_eq!((latency.count, paced.unanswered, paced.lost), (1, 1, None));
    assert!(latency.max >= 5_000_000);
}

/// Time between requests of a path, nanoseconds.
const GAP: u64 = 1000;

/// A path with requests of one-byte numbers at a constant rate.
struct Path {
    queue: DueQueue,
    /// Numbers of responses under way, by their time and request.
    responses: BTreeMap<(u64, u64), [u8; 1]>,
    /// Responses to requests from this one on are recorded.
    recorded_from: u64,
    sent: u64,
}

impl Path {
    fn new(recorded_from: u64) -> Self {
        let mut queue = queue(1);
        queue.number(Some(1));
        Self {
            queue,
            responses: BTreeMap::new(),
            recorded_from,
            sent: 0,
        }
    }

    /// Sends so many requests, whose responses take this time; `None` loses them.
    fn sends(&mut self, requests: u64, takes: Option<u64>) {
        for _ in 0..requests {
            let now = self.sent * GAP;
            self.receive(now);
            let mut head = [0];
            self.queue.write_number(0, &mut head);
            self.queue.sent(0, 0, now, true);
            let response = |takes| ((now + takes, self.sent), head);
            self.responses.extend(takes.map(response));
            self.sent += 1;
        }
    }

    fn receive(&mut self, until: u64) {
        while let Some(next) = self.responses.first_entry() {
            let (at, request) = *next.key();
            if at > until {
                break;
            }
            let head = next.remove();
            let counts = request >= self.recorded_from;
            self.queue.answered(0, &head, at, counts);
        }
    }

    /// Recorded responses, and their shortest and longest time.
    fn service(mut self) -> (u64, u64, u64) {
        self.receive(u64::MAX);
        let service = self.queue.balance(false).1.service.unwrap();
        (service.count, service.min, service.max)
    }
}

#[test]
fn responses_are_matched_again_after_an_outage_of_any_length() {
    for takes in [GAP / 2, 100 * GAP, 700 * GAP, 3000 * GAP] {
        for lost in (120..1100).step_by(67).chain([128, 256, 512, 768, 5000]) {
            let settled = 5000 + lost + 2 * takes / GAP + 1500;
            let mut path = Path::new(settled);
            path.sends(5000, Some(takes));
            path.sends(lost, None);
            path.sends(20_000, Some(takes));
            let expected = (25_000 + lost - settled, takes, takes);
            assert_eq!(path.service(), expected, "{takes} {lost}");
        }
    }
}

#[test]
fn responses_are_matched_again_after_the_path_has_changed() {
    for before in [GAP / 2, 100 * GAP, 700 * GAP] {
        for after in [GAP / 2, 300 * GAP, 512 * GAP, 3000 * GAP] {
            let settled = 5000 + 2 * (before + after) / GAP + 8000;
            let mut path = Path::new(settled);
            path.sends(5000, Some(before));
            path.sends(20_000, Some(after));
            let expected = (25_000 - settled, after, after);
            assert_eq!(path.service(), expected, "{before} {after}");
        }
    }
}

#[test]
fn lost_responses_of_a_long_path_are_told_from_others() {
    let takes = 700 * GAP;
    let mut path = Path::new(0);
    for lost in (1..60).chain(1..60) {
        path.sends(150, Some(takes));
        path.sends(lost, None);
    }
    let (count, min, max) = path.service();
    assert_eq!((count, min, max), (118 * 150, takes, takes));
}

#[test]
fn an_outage_that_takes_all_space_ends() {
    let mut queue = queue(2);
    queue.number(Some(1));
    let mut sent = 0;
    while queue.makes_room(0, sent) {
        queue.sent(0, usize::from(sent % 2 == 1), sent, true);
        sent += 1;
    }
    assert!(!queue.makes_room(0, STALE));
    assert!(queue.makes_room(1, 2 * STALE) && queue.makes_room(0, 2 * STALE));
    let mut head = [0];
    for now in 2 * STALE..2 * STALE + 1000 {
        assert!(queue.makes_room(0, now));
        queue.write_number(0, &mut head);
        queue.sent(0, 0, now, true);
        // The first response may be taken for that to an old request with the same number.
        assert!(queue.answered(0, &head, now + 5, now > 2 * STALE));
    }
    let service = queue.balance(false).1.service.unwrap();
    assert_eq!((service.count, service.max), (999, 5));
}
