//! The end of a test without an end from netperf.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::job::{LENGTH, of_a_second, the_only_run};
use netperf_engine::{NetserverProgram, TestEnd};
use netperf_measure::clock;
use netperf_model::{Address, EndJob, Ending, Family, Flow, TransportId};

fn job() -> EndJob {
    EndJob {
        request: Some(10),
        response: Some(20),
        ending: Ending::Silence(None),
        ..of_a_second(TransportId::UnixStream, Family::Unspecified, Flow::RR)
    }
}

#[test]
fn a_client_that_keeps_its_socket_open_when_it_is_done_is_not_waited_for_longer_than_a_second() {
    let _run = the_only_run();
    let server = TestEnd::<NetserverProgram>::prepare(job()).unwrap();
    let Some(Address::Unix(path)) = server.address().cloned() else {
        panic!("{:?}", server.address())
    };
    let begun = clock::now();
    let client = std::thread::spawn(move || {
        let mut data = UnixStream::connect(path).unwrap();
        while begun.elapsed() < LENGTH + Duration::from_millis(200) {
            data.write_all(&[0; 10]).unwrap();
            data.read_exact(&mut [0; 20]).unwrap();
        }
        data
    });
    let result = server.serve(None).unwrap();
    let took = begun.elapsed();
    let open = client.join().unwrap();
    drop(open);
    // Up to four seconds more is what the original takes.
    assert!(took >= LENGTH * 2 && took < LENGTH * 4, "{took:?}");
    assert!((result.elapsed - 1.0).abs() < 0.1, "{}", result.elapsed);
    let tally = result.tally;
    assert!(tally.transactions > 0);
    assert_eq!(tally.bytes_received, tally.transactions * 10);
    assert_eq!(tally.bytes_sent, tally.transactions * 20);
}
