//! Choice of the method that measures CPU utilisation, at both ends. The looper keeps every
//! processor busy, at the lowest priority.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netperf_testkit::{Netserver, Place, Programs, Values, machine, ours};

const SELECTED: &str = "LOCAL_CPU_METHOD,LOCAL_CPU_UTIL,LOCAL_CPU_PEAK_ID,LOCAL_CPU_COUNT,\
                        REMOTE_CPU_METHOD,REMOTE_CPU_UTIL,REMOTE_CPU_PEAK_ID,REMOTE_CPU_COUNT,\
                        LOCAL_SD,REMOTE_SD";

fn run(client: &Programs, server: &Netserver, words: &[&str]) -> String {
    let finished = client.client_of(server).args(words).spawn().finish();
    finished.expect_clean().stdout
}

/// A fifth of a second, for our client.
const BRIEF: [&str; 2] = ["--time", "200ms"];
const SECOND: [&str; 2] = ["-l", "1"];

fn measured(client: &Programs, server: &Netserver, words: &[&str]) -> Values {
    let length = if client.is_stock() { SECOND } else { BRIEF };
    let words = [&length, words, &["-t", "TCP_RR", "--", "-k", SELECTED]].concat();
    Values::parse(&run(client, server, &words))
}

fn makes_sense(values: &Values, whose: &str) {
    let number = |what: &str| values.number(&format!("{whose}_{what}"));
    assert!((0.0..=101.0).contains(&number("CPU_UTIL")), "{values:?}");
    let count = number("CPU_COUNT");
    assert!(count >= 1.0, "{values:?}");
    assert!((0.0..count).contains(&number("CPU_PEAK_ID")), "{values:?}");
    // -1 is that of a method that measured nothing.
    assert!(number("SD") >= 0.0, "{values:?}");
}

#[test]
fn both_ends_measure_with_the_method_that_netperf_asks_for() {
    both_ends_measure("procstat", "S");
}

#[test]
#[ignore = "nightly: the looper keeps all processors busy"]
fn both_ends_measure_with_the_looper_that_netperf_asks_for() {
    both_ends_measure("looper", "L");
}

fn both_ends_measure(method: &str, letter: &str) {
    let _slot = machine::slot();
    let server = ours!().serve();
    let values = measured(&ours!(), &server, &["-c", "-C", "--cpu-method", method]);
    for whose in ["LOCAL", "REMOTE"] {
        assert_eq!(values.text(&format!("{whose}_CPU_METHOD")), letter);
        makes_sense(&values, whose);
    }
}

#[test]
fn a_method_that_a_stock_netserver_lacks_can_be_had_at_this_end_alone() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let _slot = machine::slot();
    let server = Netserver::start(&stock, &Place::Here);
    let values = measured(&ours!(), &server, &["-c", "--cpu-method", "looper"]);
    assert_eq!(values.text("LOCAL_CPU_METHOD"), "L");
    makes_sense(&values, "LOCAL");
}

#[test]
#[ignore = "nightly: the looper beside a second of an original"]
fn a_netserver_has_a_method_of_its_own_for_clients_that_do_not_ask() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let _machine = machine::whole();
    let options = ["-D", "--cpu-method", "looper"];
    let server = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
    let values = measured(&stock, &server, &["-C"]);
    assert_eq!(values.text("REMOTE_CPU_METHOD"), "L");
    makes_sense(&values, "REMOTE");
}

#[test]
#[ignore = "nightly: the rate of the looper on an idle machine"]
fn the_rate_of_each_method_can_be_had_from_both_ends() {
    let _machine = machine::whole();
    let server = ours!().serve();
    let rate = |words: &[&str]| -> f64 { run(&ours!(), &server, words).parse().expect("a rate") };
    for test in ["LOC_CPU", "REM_CPU"] {
        // Ticks of the kernel.
        assert!((rate(&["-t", test]) - 100.0).abs() < 0.5);
        assert!(rate(&["-t", test, "--cpu-method", "looper"]) > 100_000.0);
    }
}

/// netserver has to wait for the end of these, as nothing tells it.
#[test]
#[ignore = "nightly: keeps all processors busy"]
fn no_host_is_busier_than_it_can_be_in_a_connection_test_however_long_netserver_waits() {
    let _machine = machine::whole();
    let server = ours!().serve();
    let selected = "REMOTE_CPU_UTIL,REMOTE_CPU_PEAK_UTIL";
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        for flows in ["1", "2"] {
            let client = ours!().client_of(&server);
            let client = client.args(["-C", "--time", "200ms", "--flows", flows]);
            let options = ["-t", "TCP_CRR", "--", "-k", selected];
            let finished = client.args(options).spawn().finish();
            let values = Values::parse(&finished.expect_clean().stdout);
            for name in selected.split(',') {
                let percent = values.number(name);
                assert!((0.0..=100.01).contains(&percent), "{values:?}");
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}
