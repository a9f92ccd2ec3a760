//! Interop with netperf 2.7.0, both ways round: every test name, both families,
//! on loopback and over a cable. What the two ends counted must agree; how fast
//! they were is the business of `just bench`.
//!
//! A landing runs three of the twelve configurations, in which each pairing, family and net occurs,
//! with amounts and short times; the night runs all twelve for a second each.

use std::path::Path;
use std::sync::Mutex;

use crate::interop_cases::{Bench, Case, Extent, Pairing, cases, with_amounts};
use netperf_testkit::{
    Netserver, Place, Programs, Scratch, TwoHosts, environment, machine, note, ours, require,
};

/// Tests run side by side in one configuration: they are judged by their
/// counts, and those of connections wait four seconds for a stock server.
const AT_ONCE: usize = 4;

#[derive(Clone, Copy)]
enum Family {
    V4,
    V6,
}

#[derive(Clone, Copy)]
enum Net {
    Loopback,
    Cable,
}

/// Client's and server's programs; `None` when the machine lacks the original.
fn programs(pairing: Pairing) -> Option<(Programs, Programs)> {
    Some(match pairing {
        Pairing::OursOurs => (ours!(), ours!()),
        Pairing::OursStock => (ours!(), Programs::stock()?),
        Pairing::StockOurs => (Programs::stock()?, ours!()),
    })
}

/// Client's address, server's address, server's place.
fn ends(hosts: &TwoHosts, family: Family, net: Net) -> (&'static str, &'static str, Place) {
    match (net, family) {
        (Net::Loopback, Family::V4) => ("127.0.0.1", "127.0.0.1", hosts.client()),
        (Net::Loopback, Family::V6) => ("::1", "::1", hosts.client()),
        (Net::Cable, Family::V4) => (TwoHosts::CLIENT_V4, TwoHosts::SERVER_V4, hosts.server()),
        (Net::Cable, Family::V6) => (TwoHosts::CLIENT_V6, TwoHosts::SERVER_V6, hosts.server()),
    }
}

fn interoperate(pairing: Pairing, family: Family, net: Net, extent: Extent) {
    if !require::root() {
        return;
    }
    let Some((client, server)) = programs(pairing) else {
        return;
    };
    let cases = cases(client.make, server.make, extent);
    agree((client, server), family, net, cases);
}

/// Runs cases with a client and a server, whose counts agree.
fn agree((client, server): (Programs, Programs), family: Family, net: Net, cases: Vec<Case>) {
    let _slot = machine::slot();
    let hosts = TwoHosts::new();
    let (client_address, server_address, server_place) = ends(&hosts, family, net);
    let netserver = Netserver::start(&server, &server_place);
    let folder = Scratch::new();
    let bench = Bench {
        client_place: hosts.client(),
        client_address,
        server_address,
        port: netserver.port(),
        folder: folder.path().to_owned(),
        client,
        server,
    };
    let failures = run_all(&bench, cases);
    assert!(netserver.alive(), "netserver died: {:?}", netserver.said());
    assert!(
        failures.is_empty(),
        "{} cases failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Runs every case, a few at once, and collects what went wrong.
fn run_all(bench: &Bench, cases: Vec<Case>) -> Vec<String> {
    let queue = Mutex::new(cases.into_iter());
    let failures = Mutex::new(Vec::new());
    let next = || -> Option<Case> { queue.lock().expect("no judge panics").next() };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = next() {
                    let verdict = bench.judge(&case);
                    let mark = if verdict.is_ok() { "ok    " } else { "FAILED" };
                    note(&format!("{mark} {}", case.name()));
                    if let Err(why) = verdict {
                        failures
                            .lock()
                            .expect("no judge panics")
                            .push(format!("## {}\n{why}", case.name()));
                    }
                }
            });
        }
    });
    failures.into_inner().expect("no judge panics")
}

macro_rules! interop {
    ($($(#[$night:meta])? $sentence:ident: $pairing:ident, $family:ident, $net:ident, $extent:ident;)*) => {$(
        #[test]
        $(#[$night])?
        fn $sentence() {
            interoperate(Pairing::$pairing, Family::$family, Net::$net, Extent::$extent);
        }
    )*};
}

interop! {
    our_ends_agree_over_ipv6_on_loopback: OursOurs, V6, Loopback, Landing;
    our_client_agrees_with_the_stock_server_over_ipv6_on_a_cable: OursStock, V6, Cable, Landing;
    the_stock_client_agrees_with_our_server_over_ipv4_on_a_cable: StockOurs, V4, Cable, Landing;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_ends_agree_over_ipv4_on_loopback: OursOurs, V4, Loopback, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_ends_agree_over_ipv6_on_loopback_for_a_second_each: OursOurs, V6, Loopback, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_ends_agree_over_ipv4_on_a_cable_for_a_second_each: OursOurs, V4, Cable, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_ends_agree_over_ipv6_on_a_cable: OursOurs, V6, Cable, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_client_agrees_with_the_stock_server_over_ipv4_on_loopback_for_a_second_each: OursStock, V4, Loopback, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_client_agrees_with_the_stock_server_over_ipv6_on_loopback: OursStock, V6, Loopback, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_client_agrees_with_the_stock_server_over_ipv4_on_a_cable: OursStock, V4, Cable, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    our_client_agrees_with_the_stock_server_over_ipv6_on_a_cable_for_a_second_each: OursStock, V6, Cable, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    the_stock_client_agrees_with_our_server_over_ipv4_on_loopback: StockOurs, V4, Loopback, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    the_stock_client_agrees_with_our_server_over_ipv6_on_loopback: StockOurs, V6, Loopback, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    the_stock_client_agrees_with_our_server_over_ipv4_on_a_cable_for_a_second_each: StockOurs, V4, Cable, Night;
    #[ignore = "nightly: the full matrix, a second for each case"]
    the_stock_client_agrees_with_our_server_over_ipv6_on_a_cable: StockOurs, V6, Cable, Night;
}

/// The small build, in the folder that `NETPERF_CLASSIC_DIR` names. `None`, after saying so, when
/// the test is to be skipped.
fn small_build() -> Option<Programs> {
    let folder = environment("NETPERF_CLASSIC_DIR");
    let how = "just classic-build";
    require::require(folder.is_some(), "NETPERF_CLASSIC_DIR", how);
    let folder = folder?;
    let path = |name: &str| Path::new(&folder).join(name).to_string_lossy().into_owned();
    let programs = Programs::ours(&path("netperf"), &path("netserver"));
    let there = programs.netperf.exists() && programs.netserver.exists();
    require::require(there, &format!("the small build in {folder}"), how).then_some(programs)
}

/// All cases with amounts between the small build and the original.
fn small_build_agrees(pairing: Pairing) {
    if !require::root() {
        return;
    }
    let (Some(small), Some(stock)) = (small_build(), Programs::stock()) else {
        return;
    };
    let (client, server) = match pairing {
        Pairing::OursStock => (small, stock),
        Pairing::StockOurs => (stock, small),
        Pairing::OursOurs => (small.clone(), small),
    };
    let cases = cases(client.make, server.make, Extent::Night);
    agree(
        (client, server),
        Family::V4,
        Net::Loopback,
        with_amounts(cases),
    );
}

#[test]
#[ignore = "nightly: the full matrix, with amounts"]
fn the_small_client_agrees_with_the_stock_server() {
    small_build_agrees(Pairing::OursStock);
}

#[test]
fn the_stock_client_agrees_with_the_small_server() {
    small_build_agrees(Pairing::StockOurs);
}
