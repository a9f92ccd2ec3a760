//! Plans of the options about many flows.

use std::time::Duration;

use crate::common::{error, run};
use netperf_model::{Many, Placement, Workers};

fn many(line: &str) -> Many {
    run(line).plan.many.expect("many flows")
}

#[test]
fn without_an_option_about_flows_there_is_the_plain_loop() {
    assert_eq!(run("-t TCP_RR -T 0,1").plan.many, None);
}

#[test]
fn flows_have_no_margins_and_threads_of_their_number_unless_asked() {
    let wanted = Many {
        flows: 64,
        warmup: Duration::ZERO,
        cooldown: Duration::ZERO,
        begin_at: None,
        lead: Duration::ZERO,
        local: Workers::default(),
        remote: Workers::default(),
    };
    assert_eq!(many("--flows 64"), wanted);
    assert!(!many("--flows 64").has_margins());
    // The name may stand behind the dashes, too.
    assert_eq!(many("-- --flows=64"), wanted);
}

#[test]
fn one_number_of_threads_is_for_both_ends_and_two_are_one_for_each() {
    let threads = |line: &str| {
        let many = many(line);
        (many.local.threads, many.remote.threads)
    };
    assert_eq!(threads("--threads 2"), (Some(2), Some(2)));
    assert_eq!(threads("--threads 2,4"), (Some(2), Some(4)));
    assert_eq!(threads("--threads ,4"), (None, Some(4)));
    assert_eq!(many("--threads 2").flows, 1);
}

#[test]
fn margins_have_units() {
    let many = many("--warmup 500ms --cooldown 2");
    assert_eq!(many.warmup, Duration::from_millis(500));
    assert_eq!(many.cooldown, Duration::from_secs(2));
    assert!(many.has_margins());
}

#[test]
fn a_list_of_cpus_goes_before_the_rule_and_tells_the_number_of_threads() {
    let many = many("--flows 9 --cpus 0-2,8 --place spread");
    assert_eq!(many.local.cpus, [0, 1, 2, 8]);
    assert_eq!(many.local.threads, Some(4));
    assert_eq!(
        (many.local.place, many.remote.place),
        (None, Some(Placement::Spread))
    );
    let many = self::many("--remote-cpus 3 --threads 2 --place node:1");
    assert_eq!(many.remote.cpus, [3]);
    assert_eq!(many.remote.threads, Some(2));
    assert_eq!(many.local.place, Some(Placement::Node(1)));
}

#[test]
fn the_letter_for_cpus_takes_lists_for_threads_besides_what_it_always_took() {
    for classic in ["-T 1", "-T 0,1", "-T 0,", "-T ,1"] {
        assert_eq!(run(classic).plan.many, None, "{classic}");
    }
    let cpus = |line: &str| {
        let many = many(line);
        (many.local.cpus, many.remote.cpus)
    };
    assert_eq!(cpus("-T 0-2"), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!(cpus("-T 0-1:2,4"), (vec![0, 1], vec![2, 4]));
    assert_eq!(cpus("--bind-cpu :3"), (vec![], vec![3]));
    assert_eq!(many("--flows 8 -T 0-1").local.threads, Some(2));
    assert_eq!(run("-T 0-1").plan.local.bind, None);
    let unclear = error("-T 0-3,4-7").to_string();
    assert!(unclear.contains("0-3:4-7"), "{unclear}");
    let unclear = error("--bind-cpu 0-3,4-7").to_string();
    assert!(unclear.contains("is not"), "{unclear}");
}

#[test]
fn calls_that_wait_take_a_thread_for_each_flow() {
    let threads = |line: &str| {
        let many = many(line);
        (many.local.threads, many.remote.threads)
    };
    assert_eq!(threads("--flows 8 --io blocking"), (Some(8), Some(8)));
    assert_eq!(threads("--flows 8 --io blocking,epoll"), (Some(8), None));
    assert_eq!(
        threads("--flows 8 --io poll --threads 2"),
        (Some(2), Some(2))
    );
    assert_eq!(threads("--flows 2 --io blocking --threads 4").0, Some(4));
    let error = error("--flows 8 --io blocking --threads 2").to_string();
    assert!(error.contains("--threads 8"), "{error}");
}

#[test]
fn a_value_that_makes_no_sense_is_refused() {
    for line in [
        "--flows 0",
        "--flows 1000001",
        "--threads 0",
        "--warmup -1",
        "--cooldown soon",
        "--cpus 3-1",
        "--cpus a",
        "--place sideways",
        "--place node:",
    ] {
        let error = error(line).to_string();
        assert!(error.contains("is not"), "{line}: {error}");
    }
    let near = error("--place spraed").to_string();
    assert!(near.contains("did you mean spread?"), "{near}");
}
