//! Output when figures are missing, zero, or not numbers.

use crate::common::{hosts, outcome, run};
use netperf_cli::RunCommand;
use netperf_model::{
    Family, HostFacts, InterfaceFacts, PciIds, SecurityFacts, SecurityKind, SecurityMode,
};
use netperf_report::selectors::original;
use netperf_report::{Needs, banner, final_report, needs};

fn report(run: &RunCommand, figure: f64) -> String {
    final_report(&outcome(run, figure), &run.report).expect("a report")
}

/// Everything that has a separate layout.
const RUNS: &[&str] = &[
    "netperf",
    "netperf -t TCP_MAERTS",
    "netperf -t TCP_SENDFILE",
    "netperf -t TCP_RR",
    "netperf -t TCP_CRR",
    "netperf -t TCP_CC",
    "netperf -t TCP_MSS",
    "netperf -t UDP_STREAM",
    "netperf -t UDP_RR",
    "netperf -t OMNI",
    "netperf -t OMNI -- -k all",
    "netperf -t OMNI -- -d rr -o all",
    "netperf -t OMNI -- -c -O all",
];

#[test]
fn no_figure_prints_as_nan_or_infinity() {
    for words in RUNS {
        for more in [
            "",
            " -v 2",
            " -v 0",
            " -c -C",
            " -c -C -v 2",
            " -N",
            " -f u",
        ] {
            let words = words.replacen("netperf", &format!("netperf -H 192.0.2.1{more}"), 1);
            let words = match more {
                // A port must be named where none is known.
                " -N" if words.contains("--") => words.replace(" -- ", " -- -P ,1 "),
                " -N" => format!("{words} -- -P ,1"),
                _ => words,
            };
            let run = run(&words);
            for figure in [0.0, 1.0, f64::NAN, f64::INFINITY] {
                let text = report(&run, figure).to_lowercase();
                assert!(
                    !text.contains("nan") && !text.contains("inf\n"),
                    "{words}\n{text}"
                );
                assert!(!text.contains("inf "), "{words}\n{text}");
            }
        }
    }
}

#[test]
fn every_selector_of_a_number_prints_one() {
    for words in ["netperf -- -k all", "netperf -N -- -P ,1 -k all"] {
        let run = run(words);
        let text = report(&run, 0.0);
        for line in text.lines() {
            let (name, value) = line.split_once('=').expect("a line of -k");
            let row = original().find(|row| row.name == name).expect("a selector");
            let hex = value.strip_prefix("0x");
            let number = match hex {
                Some(digits) => u32::from_str_radix(digits, 16).is_ok(),
                None => value.parse::<f64>().is_ok_and(f64::is_finite),
            };
            let words = row.format.contains('s') || row.format == "%c";
            assert!(words || number, "{line}");
        }
    }
}

#[test]
fn latency_selectors_print_minus_one_while_statistics_are_not_kept() {
    let run = run("netperf -t TCP_RR -- -k MIN_LATENCY,MEAN_LATENCY,P99_LATENCY");
    assert_eq!(
        report(&run, 1.0),
        "MIN_LATENCY=-1\nMEAN_LATENCY=-1.00\nP99_LATENCY=-1\n"
    );
    let latency = Needs {
        latency: true,
        ..Needs::default()
    };
    assert_eq!(needs(&run.plan, &run.report), Ok(latency));
}

#[test]
fn an_unknown_first_name_is_left_out_like_any_other() {
    let text = |words: &str| report(&run(words), 1.0);
    assert_eq!(
        text("netperf -- -o BOGUS,DIRECTION,PROTOCOL"),
        ",Direction,Protocol\n, Send,TCP\n"
    );
    assert_eq!(text("netperf -- -k BOGUS,DIRECTION"), "DIRECTION=Send\n");
    assert_eq!(text("netperf -P 0 -- -O BOGUS,DIRECTION"), " Send      \n");
}

#[test]
fn the_method_of_a_peer_that_was_never_asked_is_empty_and_the_line_goes_on() {
    let words = "netperf -N -P 0 -- -P ,1 -o DIRECTION,REMOTE_CPU_METHOD,PROTOCOL";
    assert_eq!(report(&run(words), 1.0), "Send,,TCP\n");
}

#[test]
fn negative_verbosity_prints_the_banner_only() {
    let run = run("netperf -v -1");
    assert_eq!(report(&run, 1.0), "");
    assert!(banner(&run.plan, &run.report, &hosts()).is_some());
}

/// A host of which something is known.
fn known_host() -> HostFacts {
    HostFacts {
        sysname: Some("Linux".to_owned()),
        system_model: Some("Standard PC (Q35 + ICH9, 2009)".to_owned()),
        cpu_frequency: Some(2700),
        interface: InterfaceFacts {
            pci: Some(PciIds {
                vendor: 0x1af4,
                ..PciIds::default()
            }),
            ..InterfaceFacts::default()
        },
        security: SecurityFacts {
            kind: Some(SecurityKind::SeLinux),
            mode: Some(SecurityMode::Permissive),
            specific: None,
        },
        ..HostFacts::default()
    }
}

#[test]
fn facts_about_the_hosts_are_printed_and_unknown_only_where_they_are() {
    let facts = "LOCAL_SYSNAME,LOCAL_RELEASE,LOCAL_CPU_FREQUENCY,LOCAL_INTERFACE_VENDOR,\
                 LOCAL_INTERFACE_DEVICE,LOCAL_SECURITY_TYPE,LOCAL_SECURITY_TYPE_ID,\
                 LOCAL_SECURITY_ENABLED,LOCAL_SECURITY_ENABLED_NUM,LOCAL_SECURITY_SPECIFIC,\
                 REMOTE_SYSNAME,REMOTE_CPU_FREQUENCY,REMOTE_INTERFACE_VENDOR,\
                 REMOTE_SECURITY_TYPE_ID";
    let run = run(&format!("netperf -t omni -- -k {facts}"));
    let mut outcome = outcome(&run, 1.0);
    outcome.local_host = known_host();
    let text = final_report(&outcome, &run.report).expect("a report");
    assert_eq!(
        text,
        "LOCAL_SYSNAME=Linux\nLOCAL_RELEASE=unknown\nLOCAL_CPU_FREQUENCY=2700\n\
         LOCAL_INTERFACE_VENDOR=0x1af4\nLOCAL_INTERFACE_DEVICE=0x0000\n\
         LOCAL_SECURITY_TYPE=SELinux\nLOCAL_SECURITY_TYPE_ID=2\n\
         LOCAL_SECURITY_ENABLED=Permissive\nLOCAL_SECURITY_ENABLED_NUM=2\n\
         LOCAL_SECURITY_SPECIFIC=unknown\nREMOTE_SYSNAME=unknown\nREMOTE_CPU_FREQUENCY=0\n\
         REMOTE_INTERFACE_VENDOR=0xfffffffe\nREMOTE_SECURITY_TYPE_ID=0\n"
    );
}

#[test]
fn a_comma_in_a_name_does_not_make_two_fields() {
    let run = run("netperf -t omni -P 0 -- -o REMOTE_SYSTEM_MODEL,LOCAL_SYSTEM_MODEL");
    let mut outcome = outcome(&run, 1.0);
    outcome.remote_host = Some(known_host());
    let text = final_report(&outcome, &run.report).expect("a report");
    assert_eq!(text, "Standard PC (Q35 + ICH9 2009),unknown\n");
}

#[test]
fn an_outcome_without_iterations_prints_nothing() {
    let run = run("netperf");
    let mut outcome = outcome(&run, 1.0);
    outcome.iterations.clear();
    assert_eq!(final_report(&outcome, &run.report).as_deref(), Ok(""));
}

#[test]
fn counts_are_of_the_last_iteration_and_rates_are_means() {
    let run =
        run("netperf -t TCP_RR -P 0 -- -k ELAPSED_TIME,THROUGHPUT,TRANSACTION_RATE,RT_LATENCY");
    let mut outcome = outcome(&run, 1.0);
    let mut second = outcome.iterations[0].clone();
    outcome.iterations[0].local.tally.transactions = 100;
    second.local.tally.transactions = 600;
    second.elapsed = 2.0;
    outcome.iterations.push(second);
    let text = final_report(&outcome, &run.report).expect("a report");
    assert_eq!(
        text,
        "ELAPSED_TIME=1.50\nTHROUGHPUT=200.00\nTRANSACTION_RATE=300.000\nRT_LATENCY=3333.333\n"
    );
}

#[test]
fn the_remote_family_is_the_one_asked_for_or_else_the_one_resolved() {
    let run = run("netperf -H 192.0.2.1 -- -k DEST_FAMILY,DEST_ADDR");
    let text = report(&run, 1.0);
    let expected = format!("DEST_FAMILY={}\nDEST_ADDR=192.0.2.1\n", Family::V4.number());
    assert_eq!(text, expected);
}
