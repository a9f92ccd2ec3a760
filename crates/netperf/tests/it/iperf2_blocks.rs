//! Blocks with times (`--trip-times`) that servers send over TCP: ours and those of iperf 2.1.8.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;

use netperf_iperf2::messages::{BLOCK_TIMES_LEN, BlockTimes, ClientHeader, WireTime};
use netperf_iperf2::states::blocks::SentBlocks;
use netperf_iperf2::states::client::tcp_header;
use netperf_iperf2::states::connection::timed_header;
use netperf_measure::clock;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan};
use netperf_testkit::{Scratch, eventually};

use super::iperf2_served::{PATIENCE, Served, link, stock};

/// Size of a block, and the number of blocks.
const BLOCK: usize = 1000;
const BLOCKS: usize = 5;
/// Length of the header in front of them.
const HEADER: usize = 80;

/// The time of day.
fn now() -> WireTime {
    let micros = clock::since_epoch().as_micros();
    WireTime::from_micros(u64::try_from(micros).expect("a time"))
}

/// A client of a server in a direction; what the server sends to it.
fn sent_to_client(program: &Path, direction: Iperf2Direction) -> (ClientHeader, Vec<u8>) {
    let served = Served::start(program, &["-P", "1"]);
    let back = TcpListener::bind("0.0.0.0:0").expect("a listener");
    back.set_nonblocking(true).expect("a listener");
    let plan = Iperf2Plan {
        port: served.port,
        direction,
        listen_port: Some(back.local_addr().expect("an address").port()),
        amount: Iperf2Amount::Bytes((BLOCK * BLOCKS) as u64),
        length: Some(BLOCK),
        streams: 1,
        trip_times: true,
        ..Iperf2Plan::default()
    };
    let start = now();
    let header = tcp_header(&plan, start);
    let connect = || TcpStream::connect(("127.0.0.1", served.port));
    let mut own = connect().expect("a connection");
    own.set_read_timeout(Some(PATIENCE)).expect("a limit");
    own.write_all(&header).expect("sent");
    if direction.client_sends() {
        let mut blocks = SentBlocks::new(start);
        for _ in 0..BLOCKS {
            let mut block = [b'7'; BLOCK];
            blocks.begin(&mut block, now());
            own.write_all(&block).expect("sent");
        }
        own.shutdown(Shutdown::Write).expect("the end");
    }
    let mut arrived = Vec::new();
    if direction.connects_back() {
        let mut accepted = None;
        let has_come = eventually(PATIENCE, || {
            accepted = accepted.take().or_else(|| back.accept().ok());
            accepted.is_some()
        });
        assert!(has_come, "{}: {direction:?}", program.display());
        let (mut stream, _) = accepted.expect("a connection");
        stream.set_nonblocking(false).expect("a limit");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream.read_to_end(&mut arrived).expect("blocks");
    } else {
        own.read_to_end(&mut arrived).expect("blocks");
    }
    drop(own);
    let server = served.running.finish();
    assert!(server.stderr.is_empty(), "{}", server.account());
    (ClientHeader::decode(&header).expect("a header"), arrived)
}

#[test]
fn blocks_of_servers_have_times_in_each_direction() {
    let scratch = Scratch::new();
    blocks_have_times(&link(&scratch));
}

// The server of the original sometimes does not end, or not begin, a test of this client: beside 8
// busy loops 13 of 40 runs hang.
#[test]
#[ignore = "nightly: the server of the original, which has a race of its own, on a machine that is not busy"]
fn blocks_of_servers_of_the_original_have_the_same_times() {
    let Some(stock) = stock() else { return };
    blocks_have_times(&stock);
}

fn blocks_have_times(program: &Path) {
    for direction in [
        Iperf2Direction::Reverse,
        Iperf2Direction::FullDuplex,
        Iperf2Direction::Dual,
        Iperf2Direction::Tradeoff,
    ] {
        let (asked, arrived) = sent_to_client(program, direction);
        let case = format!("{}: {direction:?}", program.display());
        assert_eq!(arrived.len(), HEADER + BLOCKS * BLOCK, "{case}");
        let (header, blocks) = arrived.split_at(HEADER);
        let decoded = ClientHeader::decode(header).expect("a header");
        let start = decoded.rate_start.expect("a start").start;
        // All but the start is certain.
        let expected = timed_header(&asked, start).expect("times");
        assert_eq!(header, expected, "{case}");
        let asked = asked.rate_start.expect("a start").start;
        assert!(start.micros() >= asked.micros(), "{case}");
        for (at, block) in blocks.chunks(BLOCK).enumerate() {
            let head: &[u8; BLOCK_TIMES_LEN] = block.first_chunk().expect("a block");
            let times = BlockTimes::read(head);
            let number = u32::try_from(at + 1).expect("a number");
            assert_eq!(
                (times.number, times.size, times.sum),
                (number, 1000, 1000 * number),
                "{case}"
            );
            assert!(times.sent.micros() >= times.start.micros(), "{case}");
        }
    }
}
