use super::*;
use netperf_model::{Arrival, RateUnit};

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
