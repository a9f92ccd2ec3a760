//! Code for both ends of an iperf 2 test: counters, times of blocks, heads and rows.

mod direction_intervals;
mod shown_counts;
mod timed;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_engine::iperf2::{ReadSizes, STALLED, TransferCounts, epoch_micros};
use netperf_iperf2::messages::WireTime;
use netperf_iperf2::options::Iperf2Args;
use netperf_iperf2::rows::FirstWindow;
use netperf_iperf2::rows::enhanced::SenderState;
use netperf_measure::clock;
use netperf_measure::send_queue::SendQueue;
use netperf_os::io::send;
use netperf_os::net::addresses;
use netperf_os::{Domain, Protocol, Socket, Type, process, tcp};

use crate::output::{err, system_text};

pub use self::direction_intervals::{DirectionIntervals, DirectionPart};
pub use self::shown_counts::ShownCounts;
pub use self::timed::{receive_timed_stream, send_timed_stream};

/// Size of a receive buffer, unless the sizes of reads are counted.
pub const READ_BUFFER: usize = 256 * 1024;

/// Time between the starts of two flows: receivers of 2.1.8 mix up the first datagrams of flows that
/// begin together.
pub const FLOW_GAP: Duration = Duration::from_millis(5);

/// Time of day.
pub fn now() -> WireTime {
    WireTime::from_micros(epoch_micros())
}

/// The address at which the datagrams of a peer arrive: the one from which answers leave.
pub fn own_address(socket: &Socket, peer: SocketAddr) -> SocketAddr {
    let bound = addresses(socket).0.unwrap_or(peer);
    if !bound.ip().is_unspecified() {
        return bound;
    }
    let domain = Domain::for_address(peer);
    let route = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).and_then(|route| {
        route.connect(&peer.into())?;
        Ok(addresses(&route).0)
    });
    let ip = route.ok().flatten().map_or(bound.ip(), |own| own.ip());
    SocketAddr::new(ip, bound.port())
}

/// A buffer for what is counted here.
pub fn read_buffer(counts: &TransferCounts) -> Vec<u8> {
    let size = counts
        .reads
        .as_ref()
        .map_or(READ_BUFFER, ReadSizes::largest);
    vec![0; size]
}

/// Congestion window of a connection, KiB.
fn window(info: &tcp::TcpInfo) -> u64 {
    u64::from(info.snd_cwnd) * u64::from(info.snd_mss) / 1024
}

/// Window, segments and round trip in the line of a connection.
pub fn first_window(info: &tcp::TcpInfo) -> FirstWindow {
    FirstWindow {
        window: window(info),
        segment: info.snd_mss,
        trip: info.rtt,
    }
}

/// State of a connection over which data is sent, and how many segments were sent again.
pub fn sender_state(socket: BorrowedFd<'_>) -> Option<(SenderState, u64)> {
    let info = tcp::info(socket).ok()?;
    let state = SenderState {
        window: window(&info),
        trip: info.rtt,
        variation: info.rttvar,
    };
    Some((state, info.total_retrans.into()))
}

/// Time of day in the line of a connection.
pub fn day_and_time() -> String {
    day_and_time_of(clock::since_epoch())
}

/// A time since 1970 in the same form.
pub fn day_and_time_of(time: Duration) -> String {
    let date = netperf_text::date::date(time.as_secs_f64());
    let date = date.unwrap_or_default();
    date.get(..19).unwrap_or(&date).to_owned()
}

/// Local time of day: `YYYYMMDDHHMMSS`, with milliseconds behind a point if asked for.
pub fn stamp(enhanced: bool) -> String {
    let now = clock::since_epoch();
    let offset = netperf_os::system::local_time_offset(now.as_secs());
    let local = now.as_secs().saturating_add_signed(offset);
    let date = netperf_text::date::date(Duration::from_secs(local).as_secs_f64());
    let date = date.unwrap_or_default();
    let mut digits: String = date.chars().filter(char::is_ascii_digit).collect();
    if enhanced {
        digits.push_str(&format!(".{:03}", now.subsec_millis()));
    }
    digits
}

/// The time of day of rows, which only comma-separated values have.
pub fn row_stamp(args: &Iperf2Args) -> String {
    if args.csv {
        stamp(args.enhanced)
    } else {
        String::new()
    }
}

/// Shortest and longest time between two looks at what is acknowledged. In between it is a part of
/// the time that the wait has taken, which is the most that the result can be wrong by.
const LOOKS: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(5));
const LOOK_PART: u32 = 128;

/// Waits until everything is acknowledged, the test is stopped, nothing was acknowledged for
/// [`STALLED`], or so much time is over. Returns how long that took.
pub fn acknowledged(fd: BorrowedFd<'_>, longest: Duration, stop: &AtomicBool) -> Duration {
    let begin = clock::now();
    let mut queue = SendQueue::new(fd);
    while let Some(1..) = queue.look() {
        let waited = begin.elapsed();
        let is_over = waited >= longest || queue.moved().elapsed() >= STALLED;
        if is_over || stop.load(Ordering::Relaxed) {
            break;
        }
        netperf_os::wait::sleep((waited / LOOK_PART).clamp(LOOKS.0, LOOKS.1));
    }
    begin.elapsed()
}

/// Sends all bytes.
pub fn send_all(socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = send(socket.as_fd(), bytes)?;
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// Does what options ask of the process: where its output goes (`-o`), and its scheduler (`-z`).
///
/// # Errors
/// The line about a file that cannot be written. A scheduler that is refused has a line, too, and
/// the test goes on.
pub fn prepare_process(args: &Iperf2Args) -> Result<(), String> {
    if let Some(file) = &args.output {
        process::write_output_to(Path::new(file))
            .map_err(|error| format!("iperf: -o {file}: {}\n", system_text(&error)))?;
    }
    if args.realtime {
        if let Err(error) = process::realtime_priority() {
            let cause = system_text(&error);
            err(&format!("WARNING: -z: no real-time priority: {cause}\n"));
        }
    }
    Ok(())
}
