//! A client whose first connection comes after the time is over, because its first packet was lost
//! and sent again.

use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::job::{LENGTH, of_a_second, the_only_run};
use netperf_engine::{NetserverProgram, TestEnd};
use netperf_measure::clock;
use netperf_model::{Address, Family, Flow, TransportId};

#[test]
fn connections_that_come_when_the_time_is_over_are_served_where_none_came_before() {
    let _run = the_only_run();
    let server =
        TestEnd::<NetserverProgram>::prepare(of_a_second(TransportId::Tcp, Family::V4, Flow::CC))
            .unwrap();
    let Some(Address::Inet(address)) = server.address().cloned() else {
        panic!("{:?}", server.address())
    };
    let client = std::thread::spawn(move || {
        // Longer than it takes netserver to notice that its time is over.
        std::thread::sleep(LENGTH + Duration::from_millis(400));
        for _ in 0..3 {
            TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).unwrap();
        }
    });
    let begun = clock::now();
    let result = server.serve(None).unwrap();
    client.join().unwrap();
    assert_eq!(result.tally.transactions, 3);
    // And when nothing comes any more it ends before the four seconds that are left.
    assert!(begun.elapsed() < LENGTH + Duration::from_secs(4));
}
