//! Tests whose data a firewall drops: they fail, name the reason, and find another port.

use std::time::Duration;

use netperf_testkit::{
    Bottleneck, Finished, Invocation, LinkHost, Netserver, Programs, RoutedLink, Running, ours,
};

/// A link whose router drops or rejects all data except that of netserver's port.
struct Firewall {
    link: RoutedLink,
    server: Netserver,
}

impl Firewall {
    /// `None` where root is missing. The verdict is in the words of nft(8).
    fn new(verdict: &str) -> Option<Self> {
        Self::before(&ours!(), verdict)
    }

    /// A firewall before the netserver of these programs.
    fn before(programs: &Programs, verdict: &str) -> Option<Self> {
        let link = RoutedLink::new(Bottleneck::new(10_000, 50))?;
        let server = link.serve(programs);
        let port = server.port();
        let rules = format!(
            "nft 'table inet wall {{
                chain forward {{
                    type filter hook forward priority filter;
                    oifname server meta l4proto {{ tcp, udp }} th dport != {port} {verdict}
                }}
            }}'"
        );
        link.shell(LinkHost::Router, &rules);
        Some(Self { link, server })
    }

    fn run(&self, options: &str) -> Finished {
        self.spawn(options).finish()
    }

    fn spawn(&self, options: &str) -> Running {
        let port = self.server.port().to_string();
        Invocation::new(&ours!().netperf)
            .args(["-H", RoutedLink::SERVER_V4, "-p", &port])
            .args(options.split_whitespace())
            .within(&self.link.place(LinkHost::Client))
            .spawn()
    }

    /// Runs them side by side, as each waits for what never comes.
    fn run_all<const N: usize>(&self, all: [String; N]) -> [Finished; N] {
        let running = all.map(|options| self.spawn(&options));
        running.map(Running::finish)
    }
}

/// The number after a word.
fn port_in(text: &str) -> u16 {
    let (_, after) = text.split_once(" port ").expect("a port");
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("the number of a port")
}

#[test]
fn datagrams_that_all_get_lost_are_a_failure_netns() {
    let Some(wall) = Firewall::new("drop") else {
        return;
    };
    let cases = [
        ("-t UDP_RR", "no transaction was completed"),
        ("-t UDP_STREAM -- -m 1000", "bytes arrived at netserver"),
        ("-t UDP_STREAM -- -m 65507", "(use 1472 bytes at most)"),
    ];
    let runs = wall.run_all(cases.map(|(options, _)| format!("--time 300ms {options}")));
    for ((_, what), run) in cases.into_iter().zip(runs) {
        let (stdout, stderr) = (&run.stdout, &run.stderr);
        assert_eq!(run.status.code(), Some(1), "{}", run.account());
        // The classic table is the same as ever.
        assert!(stdout.starts_with("MIGRATED UDP"), "{stdout}");
        assert!(stdout.contains(" 0.00"), "{stdout}");
        assert!(stderr.starts_with("netperf: "), "{stderr}");
        assert!(stderr.contains(what), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert_ne!(port_in(stderr), wall.server.port());
        let advice = ": open that port, or use --one-port\n";
        assert!(stderr.ends_with(advice), "{stderr}");
    }
    wall.run("-t UDP_RR -l -50 --one-port").expect_clean();
}

#[test]
fn blocked_data_to_a_stock_netserver_is_named_without_another_port_netns() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let Some(wall) = Firewall::before(&stock, "drop") else {
        return;
    };
    let cases = [
        ("-t UDP_RR", "no transaction was completed"),
        ("-t UDP_STREAM -- -m 1000", "bytes arrived at netserver"),
    ];
    let runs = wall.run_all(cases.map(|(options, _)| format!("-l 1 {options}")));
    for ((_, what), run) in cases.into_iter().zip(runs) {
        assert_eq!(run.status.code(), Some(1), "{}", run.account());
        assert!(run.stderr.contains(what), "{}", run.account());
        let end = run.stderr.ends_with(": open that port\n");
        assert!(end, "{}", run.account());
    }
    let run = wall.run("-t UDP_RR -l 1 --one-port auto --json");
    let line = "--one-port auto: not in force: netserver does not support --one-port";
    assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.account());
    let warnings = run.document()["warnings"].to_string();
    assert!(warnings.contains(line), "{}", run.account());
}

#[test]
fn many_flows_without_data_are_a_failure_netns() {
    let Some(wall) = Firewall::new("drop") else {
        return;
    };
    let tests = ["UDP_RR", "UDP_STREAM -- -m 1000"];
    for run in wall.run_all(tests.map(|test| format!("--time 300ms --flows 2 -t {test}"))) {
        assert_eq!(run.status.code(), Some(1), "{}", run.account());
        assert!(run.stderr.contains("firewall"), "{}", run.account());
    }
}

#[test]
fn without_a_netserver_a_test_without_responses_is_a_failure_netns() {
    let Some(wall) = Firewall::new("drop") else {
        return;
    };
    let run = wall.run("-N -l 1 -t UDP_RR -- -P ,7");
    assert_eq!(run.status.code(), Some(1), "{}", run.account());
    let what = run.stderr.contains("no transaction was completed");
    assert!(what, "{}", run.account());
    assert!(!run.stderr.contains("--one-port"), "{}", run.account());
}

#[test]
fn without_a_response_no_latency_is_reported_netns() {
    let Some(wall) = Firewall::new("drop") else {
        return;
    };
    let cause = "no transaction was completed";
    let words = ["--human", "--human -- -e 0.1", "--human --rate 100"];
    for run in wall.run_all(words.map(|words| format!("-t UDP_RR --time 300ms {words}"))) {
        let latency = run.stdout.lines().find(|line| line.starts_with("Latency"));
        assert_eq!(
            latency,
            Some("Latency     no response"),
            "{}",
            run.account()
        );
        let failed = format!("Failed      {cause}");
        assert!(run.stdout.contains(&failed), "{}", run.account());
        assert_eq!(run.stdout.matches(cause).count(), 1, "{}", run.account());
        assert_eq!(run.stderr.matches(cause).count(), 1, "{}", run.account());
    }
    let columns = "P50_LATENCY,MEAN_LATENCY,MAX_LATENCY,MAX_LATENCY_NS";
    let options =
        ["", "-e 0.1"].map(|wait| format!("-t UDP_RR --time 300ms -- {wait} -k {columns}"));
    for run in wall.run_all(options) {
        let printed: Vec<&str> = run.stdout.lines().skip(1).collect();
        let expected = [
            "P50_LATENCY=-1",
            "MEAN_LATENCY=-1.00",
            "MAX_LATENCY=-1",
            "MAX_LATENCY_NS=-1",
        ];
        assert_eq!(printed, expected, "{}", run.account());
    }
}

#[test]
fn json_tells_that_nothing_arrived_netns() {
    let Some(wall) = Firewall::new("drop") else {
        return;
    };
    let options = ["--json", "--json-stream"];
    let [run, streamed] = wall.run_all(options.map(|one| format!("-t UDP_RR --time 300ms {one}")));
    assert_eq!(run.status.code(), Some(1), "{}", run.account());
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(document["complete"], false);
    assert!(document["result"].is_null());
    assert_eq!(document["error"]["exit_status"], 1);
    assert_eq!(document["error"]["message"], run.stderr.trim_end());
    assert_eq!(document["warnings"][0]["code"], "unheard");
    assert_eq!(document["iterations"].as_array().map(Vec::len), Some(1));
    assert_eq!(streamed.status.code(), Some(1), "{}", streamed.account());
    let last = streamed.stdout.lines().last().expect("an event");
    assert!(last.starts_with("{\"event\":\"error\""), "{last}");
}

#[test]
fn a_rejected_data_port_is_named_netns() {
    let Some(wall) = Firewall::new("reject") else {
        return;
    };
    let run = wall.run("-t TCP_RR -l 1");
    assert_eq!(run.status.code(), Some(1), "{}", run.account());
    let last = run.stderr.lines().last().expect("a reason");
    assert_ne!(port_in(last), wall.server.port());
    assert!(last.contains("a firewall probably rejects TCP"), "{last}");
    assert!(
        last.ends_with(": open that port, or use --one-port"),
        "{last}"
    );
}

#[test]
fn a_rejected_data_port_of_several_connections_is_named_netns() {
    let both = [Some(ours!()), Programs::stock()];
    for (index, programs) in both.iter().enumerate() {
        let Some(programs) = programs else {
            continue;
        };
        let Some(wall) = Firewall::before(programs, "reject") else {
            return;
        };
        for (options, has_one_port) in [
            ("-t TCP_STREAM --flows 2", true),
            ("-t TCP_RR --flows 2", true),
            ("-t TCP_CRR", true),
            ("-t TCP_STREAM --bidirectional separate", false),
        ] {
            let run = wall.run(&format!("-l 1 {options} --json"));
            assert_eq!(run.status.code(), Some(1), "{}", run.account());
            let last = run.stderr.lines().last().expect("a reason");
            assert_ne!(port_in(last), wall.server.port());
            assert!(last.contains("a firewall probably rejects TCP"), "{last}");
            let advice = match has_one_port && index == 0 {
                true => ": open that port, or use --one-port",
                false => ": open that port",
            };
            assert!(last.ends_with(advice), "{last}");
            let document = run.document();
            assert_eq!(document["complete"], false, "{}", run.account());
            assert!(document["result"].is_null(), "{}", run.account());
            assert_eq!(document["error"]["exit_status"], 1);
        }
        if index == 0 {
            let run = wall.run("-t TCP_STREAM --flows 2 --time 300ms --one-port auto");
            assert!(run.status.success(), "{}", run.account());
            let line = "netperf: --one-port auto: a firewall probably rejects TCP to port ";
            assert!(run.stderr.starts_with(line), "{}", run.stderr);
            let run = wall.run("-t TCP_STREAM --bidirectional separate --one-port auto -l 1");
            assert_eq!(run.status.code(), Some(1), "{}", run.account());
            let line = "netperf: --one-port auto: not in force: ";
            assert!(run.stderr.starts_with(line), "{}", run.stderr);
        }
    }
}

#[test]
#[ignore = "nightly: 30 seconds until connecting is given up"]
fn blocked_ports_of_several_connections_are_given_up_after_a_stated_time_netns() {
    let both = [(Some(ours!()), true), (Programs::stock(), false)];
    for (programs, is_ours) in both {
        let Some(wall) = programs.and_then(|programs| Firewall::before(&programs, "drop")) else {
            continue;
        };
        let port = wall.server.port().to_string();
        for (options, seconds) in [
            ("-t TCP_STREAM --flows 2", 30),
            ("-t TCP_STREAM --bidirectional separate", 15),
        ] {
            let run = Invocation::new(&ours!().netperf)
                .args(["-H", RoutedLink::SERVER_V4, "-p", &port, "-l", "1"])
                .args(options.split_whitespace())
                .within(&wall.link.place(LinkHost::Client))
                .patience(Duration::from_secs(120))
                .run();
            assert_eq!(run.status.code(), Some(1), "{}", run.account());
            let line = format!(" gave no answer within {seconds} s: a firewall");
            assert!(run.stderr.contains(&line), "{}", run.account());
        }
        let run = wall.run("-t TCP_CRR -l 1");
        assert_eq!(run.status.code(), Some(1), "{}", run.account());
        let advice = ": open that port, or use --one-port\n";
        assert_eq!(run.stderr.ends_with(advice), is_ours, "{}", run.account());
    }
}

#[test]
#[ignore = "nightly: 15 seconds until connecting is given up"]
fn a_blocked_data_port_is_given_up_after_a_stated_time_netns() {
    let Some(wall) = Firewall::new("drop") else {
        return;
    };
    let run = wall.run("-t TCP_STREAM -l 1");
    assert_eq!(run.status.code(), Some(1), "{}", run.account());
    let last = run.stderr.lines().last().expect("a reason");
    assert_ne!(port_in(last), wall.server.port());
    assert!(last.contains(" gave no answer within 15 s: "), "{last}");
    assert!(
        last.ends_with(": open that port, or use --one-port"),
        "{last}"
    );
    let run = wall.run("-t TCP_STREAM -l 1 --one-port auto");
    assert!(run.status.success(), "{}", run.account());
}

#[test]
fn one_port_is_used_on_demand_when_the_data_port_is_blocked_netns() {
    let chosen = "the test uses one port\n";
    for (verdict, test) in [
        ("drop", "UDP_RR"),
        ("drop", "UDP_STREAM -- -m 1000"),
        ("reject", "UDP_RR"),
        ("reject", "TCP_STREAM"),
    ] {
        let Some(wall) = Firewall::new(verdict) else {
            return;
        };
        let options = format!("--time 300ms --one-port auto -t {test}");
        let run = wall.run(&options);
        assert!(run.status.success(), "{}", run.account());
        assert!(
            run.stderr.starts_with("netperf: --one-port auto: "),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(chosen), "{}", run.stderr);
        wall.link.shell(LinkHost::Router, "nft flush ruleset");
        wall.run(&format!("--time 100ms --one-port auto -t {test}"))
            .expect_clean();
    }
}
