//! Samples of the bytes that one flow receives at netserver.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use crate::job::{of_a_second, the_only_run};
use netperf_engine::{NetserverProgram, TestEnd};
use netperf_model::{Address, Arrivals, EndJob, Family, Flow, TransportId};

/// Longer than the interval of samples, also on a loaded machine.
const PAUSE: Duration = Duration::from_millis(300);

/// Names of the threads of this process.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default()
    };
    tasks.map(name).collect()
}

fn counts(arrivals: &Arrivals) -> Vec<u64> {
    arrivals.samples.iter().map(|sample| sample.bytes).collect()
}

#[test]
fn the_loop_of_one_flow_samples_what_arrives_without_a_thread_beside_it() {
    let _run = the_only_run();
    let mut job: EndJob = of_a_second(TransportId::Udp, Family::V4, Flow::SEND);
    job.end.arrivals = true;
    let server = TestEnd::<NetserverProgram>::prepare(job).unwrap();
    let Some(Address::Inet(address)) = server.address().cloned() else {
        panic!("{:?}", server.address())
    };
    let client = std::thread::spawn(move || {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket
            .connect((Ipv4Addr::LOCALHOST, address.port()))
            .unwrap();
        for _ in 0..2 {
            socket.send(&[1; 100]).unwrap();
            std::thread::sleep(PAUSE);
        }
        let beside = threads();
        for _ in 0..10 {
            let _gone = socket.send(&[]);
        }
        beside
    });
    let result = server.serve(None).unwrap();
    let beside = client.join().unwrap();
    assert!(!beside.iter().any(|name| name.trim() == "arrivals"));
    let arrivals = result.arrivals.unwrap();
    let counts = counts(&arrivals);
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&200)));
    assert!(counts.contains(&100), "{counts:?}");
    // 50 samples of a second, those at its beginning, and one whenever the alarm repeats after it.
    assert!(arrivals.samples.len() < 300, "{}", arrivals.samples.len());
}
