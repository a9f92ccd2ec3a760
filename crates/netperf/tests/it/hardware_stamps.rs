//! `--timestamps hardware` where no device stamps, and where one says that it does.

use std::time::Duration;

use netperf_os::hwstamp::{self, Setting};
use netperf_testkit::require::root;
use netperf_testkit::{
    Finished, Invocation, Lab, LoopbackOnly, Netserver, Place, TwoHosts, eventually, ours,
};

/// Exit status for what an end cannot do.
const UNSUPPORTED: i32 = 3;

fn run(place: &Place, server: &Netserver, address: &str) -> Finished {
    let port = server.port().to_string();
    Invocation::new(&ours!().netperf)
        .args(["-H", address, "-p", &port, "--time", "300ms", "-P", "0"])
        .args(["-t", "UDP_RR", "--timestamps", "hardware", "--json"])
        .within(place)
        .run()
}

/// Refused in one line that says this.
#[track_caller]
fn is_refused(finished: Finished, words: &[&str]) {
    let finished = finished.expect_exit(UNSUPPORTED);
    let line = &finished.stderr;
    assert_eq!(line.lines().count(), 1, "{}", finished.account());
    for word in ["--timestamps hardware"].iter().chain(words) {
        assert!(line.contains(word), "{}", finished.account());
    }
}

#[test]
fn loopback_is_named_as_what_has_no_device() {
    let server = ours!().serve();
    let finished = run(&Place::Here, &server, "127.0.0.1");
    is_refused(finished, &["the interface lo has no device"]);
}

#[test]
fn a_cable_between_namespaces_is_named_as_what_has_no_device_netns() {
    if !root() {
        return;
    }
    let hosts = TwoHosts::new();
    let server = Netserver::start(&ours!(), &hosts.server());
    let finished = run(&hosts.client(), &server, TwoHosts::SERVER_V4);
    is_refused(finished, &["the interface cable has no device"]);
}

fn ip(words: &str) -> String {
    let finished = Invocation::new(std::path::Path::new("ip"))
        .args(words.split_whitespace())
        .run();
    finished.expect_clean().stdout
}

/// Two network cards with a cable between, one of them in another host.
fn cards() -> (LoopbackOnly, &'static str) {
    let other = LoopbackOnly::new();
    let Place::Namespace(name) = other.place() else {
        panic!("a host of its own");
    };
    ip(&format!("link set nic1 netns {name}"));
    ip("addr replace 198.18.7.1/24 dev nic0");
    ip("link set nic0 up");
    ip(&format!("-n {name} addr add 198.18.7.2/24 dev nic1"));
    ip(&format!("-n {name} link set nic1 up"));
    // The driver of a card takes its time to see the cable.
    let is_up = |words: &str| ip(words).contains("LOWER_UP");
    let both = || is_up("link show nic0") && is_up(&format!("-n {name} link show nic1"));
    assert!(eventually(Duration::from_secs(20), both), "no carrier");
    (other, "198.18.7.2")
}

#[test]
fn cards_that_can_stamp_are_switched_on_and_back_and_what_they_leave_out_is_said() {
    if !Lab::Vm.is_here() {
        return;
    }
    let before = hwstamp::setting("nic0").expect("what the driver says");
    assert!(!before.is_all());
    // netserver's is not told to stamp, and netperf may not tell it.
    let (other, address) = cards();
    let server = Netserver::start(&ours!(), &other.place());
    let finished = run(&Place::Here, &server, address).expect_exit(UNSUPPORTED);
    let said = &finished.stderr;
    assert!(said.contains("--timestamps hardware"), "{said}");
    assert!(said.contains("hwstamp_ctl"), "{said}");
    assert_eq!(hwstamp::setting("nic0").expect("a setting"), before);
    drop((server, other));

    let ability = hwstamp::set("nic1", Setting::ALL).expect("a card that is told to stamp");
    assert!(ability.is_all());
    let (other, address) = cards();
    let server = Netserver::start(&ours!(), &other.place());
    let finished = run(&Place::Here, &server, address);
    if finished.status.success() {
        let document = finished.document();
        let found = &document["iterations"][0]["one_way"];
        assert_eq!(found["clock"], "hardware", "{found}");
        assert!(found["transactions"].as_u64() > Some(0), "{found}");
    } else {
        // Emulated cards take the order and stamp nothing.
        is_refused(finished, &["supports timestamps but delivered none"]);
    }
    assert_eq!(hwstamp::setting("nic0").expect("a setting"), before);
}
