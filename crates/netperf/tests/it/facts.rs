//! Facts about both hosts: real ones where the peer can tell, `unknown` where it cannot.

use netperf_testkit::{Invocation, Netserver, Place, Programs, Values, ours};

const FACTS: &str = "LOCAL_SYSNAME,LOCAL_RELEASE,LOCAL_MACHINE,LOCAL_INTERFACE_NAME,\
                     REMOTE_SYSNAME,REMOTE_RELEASE,REMOTE_VERSION,REMOTE_MACHINE,\
                     REMOTE_CPU_MODEL,REMOTE_CPU_FREQUENCY,REMOTE_INTERFACE_NAME,\
                     REMOTE_INTERFACE_VENDOR,REMOTE_DRIVER_NAME,REMOTE_SECURITY_TYPE,\
                     REMOTE_SECURITY_TYPE_ID,THROUGHPUT";

/// Output of a run of this length on loopback, with CPU measured and repeated: residue has had its
/// chance by then.
fn run(client: &Programs, server: &Programs, length: &str, selected: &str) -> Values {
    let server = Netserver::start(server, &Place::Here);
    let port = server.port().to_string();
    let global = [
        "-H",
        "127.0.0.1",
        "-p",
        &port,
        "-l",
        length,
        "-C",
        "-i",
        "3,3",
    ];
    let finished = Invocation::new(&client.netperf)
        .args(global)
        .args(["-I", "99,99", "-t", "omni", "--", "-k", selected])
        .spawn()
        .finish();
    Values::parse(&finished.expect_clean().stdout)
}

#[test]
fn our_ends_tell_each_other_what_they_are() {
    let values = run(&ours!(), &ours!(), "0.2", FACTS);
    assert_eq!(values.text("REMOTE_SYSNAME"), "Linux");
    for fact in ["SYSNAME", "RELEASE", "MACHINE", "INTERFACE_NAME"] {
        let of = |whose: &str| values.text(&format!("{whose}_{fact}")).to_owned();
        assert_eq!(of("LOCAL"), of("REMOTE"), "both ends are one host");
        assert_ne!(of("REMOTE"), "unknown");
    }
    assert_ne!(values.text("REMOTE_VERSION"), "unknown");
}

#[test]
fn a_stock_netserver_cannot_tell_and_its_residue_is_not_printed() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let values = run(&ours!(), &stock, "0.2", FACTS);
    assert_ne!(values.text("LOCAL_SYSNAME"), "unknown");
    for fact in [
        "SYSNAME",
        "RELEASE",
        "VERSION",
        "MACHINE",
        "CPU_MODEL",
        "INTERFACE_NAME",
        "DRIVER_NAME",
        "SECURITY_TYPE",
    ] {
        assert_eq!(values.text(&format!("REMOTE_{fact}")), "unknown");
    }
    assert_eq!(values.text("REMOTE_CPU_FREQUENCY"), "0");
    assert_eq!(values.text("REMOTE_SECURITY_TYPE_ID"), "0");
    assert_eq!(values.text("REMOTE_INTERFACE_VENDOR"), "0xfffffffe");
    assert!(values.number("THROUGHPUT") > 0.0);
}

#[test]
fn a_stock_netperf_that_wants_every_value_is_served_by_our_netserver() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let values = run(&stock, &ours!(), "-100000", "all");
    assert!(values.number("THROUGHPUT") > 0.0);
    assert!((0.0..=100.5).contains(&values.number("REMOTE_CPU_UTIL")));
}
