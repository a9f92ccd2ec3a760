//! Interop with netperf 2.7.0, both ways round: every test name, both families,
//! on loopback and over a cable. What the two ends counted must agree; how fast
//! they were is the business of `just bench`.

use std::sync::Mutex;

use crate::interop_cases::{Bench, Case, Pairing, cases};
use netperf_testkit::{
    Netserver, Place, Programs, Scratch, TwoHosts, machine, note, ours, require,
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

fn interoperate(pairing: Pairing, family: Family, net: Net) {
    if !require::root() {
        return;
    }
    let Some((client, server)) = programs(pairing) else {
        return;
    };
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
    let failures = run_all(&bench);
    assert!(netserver.alive(), "netserver died: {:?}", netserver.said());
    assert!(
        failures.is_empty(),
        "{} cases failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Runs every case, a few at once, and collects what went wrong.
fn run_all(bench: &Bench) -> Vec<String> {
    let queue = Mutex::new(cases(bench.client.make, bench.server.make).into_iter());
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
    ($($sentence:ident: $pairing:ident, $family:ident, $net:ident;)*) => {$(
        #[test]
        fn $sentence() {
            interoperate(Pairing::$pairing, Family::$family, Net::$net);
        }
    )*};
}

interop! {
    our_ends_agree_over_ipv4_on_loopback: OursOurs, V4, Loopback;
    our_ends_agree_over_ipv6_on_loopback: OursOurs, V6, Loopback;
    our_ends_agree_over_ipv4_on_a_cable: OursOurs, V4, Cable;
    our_ends_agree_over_ipv6_on_a_cable: OursOurs, V6, Cable;
    our_client_agrees_with_the_stock_server_over_ipv4_on_loopback: OursStock, V4, Loopback;
    our_client_agrees_with_the_stock_server_over_ipv6_on_loopback: OursStock, V6, Loopback;
    our_client_agrees_with_the_stock_server_over_ipv4_on_a_cable: OursStock, V4, Cable;
    our_client_agrees_with_the_stock_server_over_ipv6_on_a_cable: OursStock, V6, Cable;
    the_stock_client_agrees_with_our_server_over_ipv4_on_loopback: StockOurs, V4, Loopback;
    the_stock_client_agrees_with_our_server_over_ipv6_on_loopback: StockOurs, V6, Loopback;
    the_stock_client_agrees_with_our_server_over_ipv4_on_a_cable: StockOurs, V4, Cable;
    the_stock_client_agrees_with_our_server_over_ipv6_on_a_cable: StockOurs, V6, Cable;
}
