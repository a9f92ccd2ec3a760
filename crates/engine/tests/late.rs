//! A client whose first connection comes when the time is over, as where its first packet was
//! lost and sent again. One run at a time moves data in a process, so that this test has one
//! of its own.

use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use netperf_engine::server::Server;
use netperf_measure::clock;
use netperf_model::{Address, EndPlan, Ending, Family, Flow, Limit, ServerJob, TransportId};

const LENGTH: Duration = Duration::from_secs(1);

fn job() -> ServerJob {
    ServerJob {
        transport: TransportId::Tcp,
        family: Family::V4,
        flow: Flow::CC,
        limit: Limit::Time(LENGTH),
        request: None,
        response: None,
        end: EndPlan::default(),
        bind: None,
        port: 0,
        peer: None,
        associations: 1,
        ending: Ending::Omni,
        facts: None,
        many: None,
        sources: netperf_model::Sources::default(),
        most_bits: None,
        token: None,
    }
}

#[test]
fn connections_that_come_when_the_time_is_over_are_served_where_none_came_before() {
    let server = Server::prepare(job()).unwrap();
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
    let result = server.run(None).unwrap();
    client.join().unwrap();
    assert_eq!(result.tally.transactions, 3);
    // And when nothing comes any more it ends before the four seconds that are left.
    assert!(begun.elapsed() < LENGTH + Duration::from_secs(4));
}
