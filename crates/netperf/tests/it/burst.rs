//! Order in which netperf sends the requests of a burst.

use std::io::Read as _;
use std::net::TcpListener;
use std::thread;

use netperf_testkit::{Invocation, ours};

/// Requests of one byte that a peer gets which answers none.
fn requests_without_a_response(burst: &str) -> usize {
    let peer = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = peer.local_addr().expect("an address").port();
    let served = thread::spawn(move || {
        let (mut data, _) = peer.accept().expect("a connection");
        let mut requests = Vec::new();
        // netperf ends with a reset where requests are left without a response.
        let _reset = data.read_to_end(&mut requests);
        requests.len()
    });
    let port = format!(",{port}");
    Invocation::new(&ours!().netperf)
        .args(["-N", "-H", "127.0.0.1", "-t", "TCP_RR", "--time", "100ms"])
        .args(["--", "-P", &port, "-b", burst])
        .run();
    served.join().expect("a count")
}

#[test]
fn burst_begins_with_all_requests_and_so_does_a_negative_one() {
    assert_eq!(requests_without_a_response("4"), 5);
    assert_eq!(requests_without_a_response("-4"), 5);
}
