//! A peer that never stops sending.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};

use crate::job::the_only_run;
use netperf_engine::live::Live;
use netperf_engine::{NetperfProgram, TestEnd};
use netperf_model::{Address, Duplex, EndJob, EndRole, Family, Flow, Limit, TransportId};

/// Bytes that each direction has, and those that netperf takes more than it asked for.
const AMOUNT: u64 = 1_000_000;
const MARGIN: u64 = 1 << 32;

#[test]
#[ignore = "nightly: 4 GiB arrive"]
fn an_amount_both_ways_over_one_connection_ends_at_netperf() {
    let _run = the_only_run();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let (mut data, _) = listener.accept().unwrap();
        let mut other_half = data.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut scrap = vec![0; 1 << 20];
            while let Ok(1..) = other_half.read(&mut scrap) {}
        });
        // It ends when netperf has closed.
        let message = vec![0; 1 << 20];
        while data.write_all(&message).is_ok() {}
        reader.join().unwrap();
    });
    let flow = Flow {
        duplex: Some(Duplex::Same),
        receives: true,
        ..Flow::SEND
    };
    let job = EndJob {
        role: EndRole::Netperf,
        ..EndJob::new(TransportId::Tcp, Family::V4, flow, Limit::Units(AMOUNT))
    };
    let client = TestEnd::<NetperfProgram>::prepare(job).unwrap();
    let remotes = [Address::Inet(address)];
    let report = client.run(&remotes, &[], &Live::default()).unwrap();
    peer.join().unwrap();
    let tally = report.result.tally;
    assert_eq!(tally.bytes_sent, AMOUNT);
    assert!(tally.bytes_received >= AMOUNT + MARGIN);
    assert!(!report.ended_cleanly);
}
