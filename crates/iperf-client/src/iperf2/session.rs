//! The client of iperf 2: connections or flows, the threads that move their data, and results.

mod backward;
mod forward;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_engine::iperf2::{PATIENCE, Transfer};
use netperf_iperf2::messages::{ServerReport, Version};
use netperf_iperf2::states::account::DatagramAccount;
use netperf_measure::{clock, overtime};
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::without::set_patience;
use netperf_os::{Domain, Protocol, Socket, Type, alarm, tcp, wait, without};
use netperf_program::connect::connect_within;
use netperf_program::iperf2::ShownCounts;
use netperf_program::output::{err, system_text};
use netperf_program::threads::spawn;
use netperf_session::ForeignProgram;

use self::backward::BackListener;
pub use self::backward::BackStream;

/// Time limit of an amount of bytes.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Time limit for a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Pause before a connection is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The step of a failure to read the input that is sent.
pub const INPUT_STEP: &str = "read of the input";

/// The step of a failure to listen for streams of the server.
pub const LISTENER_STEP: &str = "listener bind";

/// Options of the sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iperf2SocketOptions {
    /// Socket buffers, bytes.
    pub window: Option<usize>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// Segment size, bytes.
    pub segment: Option<i32>,
    /// Bytes that wait to be sent (`TCP_NOTSENT_LOWAT`).
    pub prefetch: Option<i32>,
    /// Congestion control.
    pub congestion: Option<String>,
    /// Local address.
    pub bind: Option<SocketAddr>,
    /// Network interface.
    pub device: Option<String>,
    /// Time to live of multicast datagrams.
    pub ttl: Option<u8>,
    /// Hosts of connected networks only.
    pub local_only: bool,
    /// Times that a connection is tried again.
    pub connect_retries: u32,
    /// Further columns are shown: reads are counted by size, and reports tell delays.
    pub enhanced: bool,
}

impl Iperf2SocketOptions {
    /// Counters of what a connection or flow receives.
    fn received_counts(&self, plan: &Iperf2Plan) -> ShownCounts {
        match (self.enhanced, plan.udp) {
            (true, false) if plan.trip_times => ShownCounts::sorting(plan.block()).timing(),
            (true, false) => ShownCounts::sorting(plan.block()),
            (true, true) => ShownCounts::default().timing(),
            (false, _) => ShownCounts::default(),
        }
    }
}

/// A step of a client that failed.
#[derive(Debug)]
pub struct Iperf2Failure {
    /// The step, as the original names it.
    pub step: &'static str,
    /// The cause.
    pub error: io::Error,
}

/// Makes a failure of a step.
pub fn failed(step: &'static str) -> impl Fn(io::Error) -> Iperf2Failure {
    move |error| Iperf2Failure { step, error }
}

/// A connection or flow, and its counters.
#[derive(Debug)]
pub struct Iperf2Stream {
    /// Number, from 1.
    pub number: u32,
    /// Its socket.
    pub socket: Socket,
    /// Own address.
    pub local: SocketAddr,
    /// Address of the server.
    pub remote: SocketAddr,
    /// Time that connect(2) took.
    pub connect_time: Duration,
    /// State of a TCP connection when it was opened.
    pub tcp: Option<tcp::TcpInfo>,
    /// File whose data it sends instead of digits.
    pub input: Option<File>,
    /// Counts of sent data.
    pub sent: Arc<ShownCounts>,
    /// Counts of received data.
    pub received: Arc<ShownCounts>,
}

/// Results of a stream.
#[derive(Clone, Debug, Default)]
pub struct Iperf2StreamResult {
    /// Data sent.
    pub sent: Option<Transfer>,
    /// Data received.
    pub received: Option<Transfer>,
    /// Account of the datagrams that the client received, and the number of the final one.
    pub account: Option<(DatagramAccount, u64)>,
    /// Report of the server.
    pub report: Option<ServerReport>,
    /// True if a report was awaited and none came.
    pub unreported: bool,
    /// Another program that answered.
    pub foreign: Option<ForeignProgram>,
    /// Version of the server, if it told.
    pub version: Option<Version>,
}

/// Outcome of a stream.
pub type StreamOutcome = Result<Iperf2StreamResult, Iperf2Failure>;

/// A part of a test: all of it, or one direction of a test in which the server sends afterwards.
pub struct TestPart<'a> {
    /// Tells if it is over.
    pub is_over: &'a dyn Fn() -> bool,
    /// Outcome of the client's own streams, in the second part.
    pub first: Option<&'a [StreamOutcome]>,
}

/// A test of a client, with open connections.
#[derive(Debug)]
pub struct Iperf2Client {
    /// Plan of the test.
    pub plan: Iperf2Plan,
    /// Its streams to the server.
    pub streams: Vec<Iperf2Stream>,
    /// Why others, each at a port of its own, could not be opened.
    pub refused: Vec<Iperf2Failure>,
    /// Time in which the connections were opened.
    pub setup: Duration,
    back: Option<BackListener>,
}

impl Iperf2Client {
    /// Opens the connections or flows of a test. Where each has a port of its own, those that can be
    /// opened are the test.
    ///
    /// # Errors
    /// The step that failed.
    pub fn open(
        plan: &Iperf2Plan,
        options: &Iperf2SocketOptions,
        remote: SocketAddr,
    ) -> Result<Self, Iperf2Failure> {
        let mut plan = plan.clone();
        let back = if plan.direction.connects_back() {
            let listener = BackListener::open(&plan, options, remote);
            let listener = listener.map_err(failed(LISTENER_STEP))?;
            plan.listen_port = listener.port().or(plan.listen_port);
            Some(listener)
        } else {
            None
        };
        let before = clock::now();
        let (mut streams, mut refused) = (Vec::new(), Vec::new());
        for number in 1..=plan.streams.max(1) {
            let mut remote = remote;
            remote.set_port(plan.port_of(number).unwrap_or(plan.port));
            match open(&plan, options, remote, number) {
                Ok(stream) => streams.push(stream),
                Err(failure) if plan.port_of_each => refused.push(failure),
                Err(failure) => return Err(failure),
            }
        }
        let setup = before.elapsed();
        if streams.is_empty() {
            if let Some(failure) = refused.pop() {
                return Err(failure);
            }
        }
        Ok(Self {
            setup,
            plan,
            streams,
            refused,
            back,
        })
    }

    /// With inputs that its streams send, in their order.
    #[must_use]
    pub fn sending(mut self, inputs: Vec<File>) -> Self {
        for (stream, input) in self.streams.iter_mut().zip(inputs) {
            stream.input = Some(input);
        }
        self
    }

    /// The socket at which the server opens streams.
    pub fn back_socket(&self) -> Option<&Socket> {
        self.back.as_ref().map(BackListener::socket)
    }

    /// Streams that the server has opened so far.
    pub fn opened_back(&self) -> Vec<BackStream> {
        let back = self.back.as_ref();
        back.map(BackListener::opened).unwrap_or_default()
    }

    /// Runs the test. `beside` runs meanwhile on this thread, once for each part; `stop` ends the test
    /// early. The results of streams that the server opens follow those of the client's own.
    pub fn run(
        &self,
        stop: &AtomicBool,
        mut beside: impl FnMut(&Self, &TestPart<'_>),
    ) -> Vec<StreamOutcome> {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            let mut refused = None;
            for stream in &self.streams {
                match spawn(scope, move || forward::run(&self.plan, stream, stop)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        refused = Some(error);
                        break;
                    }
                }
            }
            let mut backward = None;
            if let Some(back) = self.back.as_ref().filter(|_| refused.is_none()) {
                match spawn(scope, move || back.run(&self.plan, stop)) {
                    Ok(thread) => backward = Some(thread),
                    Err(error) => refused = Some(error),
                }
            }
            if refused.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            let back_is_over = || backward.as_ref().is_none_or(|back| back.is_finished());
            let has_parts = self.plan.direction == Iperf2Direction::Tradeoff && refused.is_none();
            let is_over = || {
                let own_are_over = threads.iter().all(|thread| thread.is_finished());
                own_are_over && (has_parts || back_is_over())
            };
            beside(
                self,
                &TestPart {
                    is_over: &is_over,
                    first: None,
                },
            );
            let lost = || failed("thread")(io::Error::other("a thread failed"));
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(lost())));
            let mut results: Vec<_> = joined.collect();
            if has_parts {
                let second = TestPart {
                    is_over: &back_is_over,
                    first: Some(&results),
                };
                beside(self, &second);
            }
            match backward.map(|back| back.join().unwrap_or_else(|_| Err(lost()))) {
                Some(Ok(streams)) => results.extend(streams.into_iter().map(Ok)),
                Some(Err(failure)) => results.push(Err(failure)),
                None => {}
            }
            results.extend(refused.map(|error| Err(failed("thread")(error))));
            results
        })
    }
}

/// Time limit for what the server sends.
fn receive_time(plan: &Iperf2Plan) -> Duration {
    match plan.amount {
        Iperf2Amount::Time(time) => time.saturating_add(overtime::OF_PEER),
        Iperf2Amount::Bytes(_) => LONGEST,
    }
}

/// Opens a connection or flow.
fn open(
    plan: &Iperf2Plan,
    options: &Iperf2SocketOptions,
    remote: SocketAddr,
    number: u32,
) -> Result<Iperf2Stream, Iperf2Failure> {
    let (kind, protocol) = if plan.udp {
        (Type::DGRAM, Protocol::UDP)
    } else {
        (Type::STREAM, Protocol::TCP)
    };
    let prepared = || {
        let socket = Socket::new(Domain::for_address(remote), kind, Some(protocol));
        let socket = socket.map_err(failed("socket"))?;
        set_options(&socket, plan, options, remote)?;
        if let Some(bind) = options.bind {
            socket.bind(&bind.into()).map_err(failed("bind"))?;
        }
        Ok(socket)
    };
    let mut socket = prepared()?;
    let mut before = clock::now();
    let mut connected = if plan.udp {
        socket.connect(&remote.into())
    } else {
        connect_within(&socket, &remote.into(), CONNECT_TIME)
    };
    for _ in 0..options.connect_retries {
        if connected.is_ok() || plan.udp || alarm::stopped_by_user() {
            break;
        }
        wait::sleep(RETRY_PAUSE);
        socket = prepared()?;
        before = clock::now();
        connected = connect_within(&socket, &remote.into(), CONNECT_TIME);
    }
    let step = if plan.udp {
        "udp connect"
    } else {
        "tcp connect"
    };
    connected.map_err(failed(step))?;
    let connect_time = before.elapsed();
    set_patience(socket.as_fd(), Some(PATIENCE)).map_err(failed("setsockopt"))?;
    let own = socket.local_addr().ok().and_then(|own| own.as_socket());
    let local = own.unwrap_or(remote);
    let tcp = (!plan.udp)
        .then(|| tcp::info(socket.as_fd()).ok())
        .flatten();
    Ok(Iperf2Stream {
        number,
        socket,
        local,
        remote,
        connect_time,
        tcp,
        input: None,
        sent: Arc::default(),
        received: Arc::new(options.received_counts(plan)),
    })
}

fn set_options(
    socket: &Socket,
    plan: &Iperf2Plan,
    options: &Iperf2SocketOptions,
    remote: SocketAddr,
) -> Result<(), Iperf2Failure> {
    if let Some(device) = &options.device {
        let set = socket.bind_device(Some(device.as_bytes()));
        set.map_err(failed("bind to device"))?;
    }
    if let Some(ttl) = options.ttl.filter(|_| plan.udp) {
        let option = if remote.is_ipv6() {
            IntOption::MulticastHopsV6
        } else {
            IntOption::MulticastTtlV4
        };
        sockopt::set(socket.as_fd(), option, ttl.into()).map_err(failed("-T"))?;
    }
    if options.local_only {
        without::route_directly(socket).map_err(failed("--local-only"))?;
    }
    if let Some(window) = options.window {
        let set = socket.set_send_buffer_size(window);
        set.and_then(|()| socket.set_recv_buffer_size(window))
            .map_err(failed("-w"))?;
    }
    let tos = plan.tos.map(|tos| {
        let option = if remote.is_ipv6() {
            IntOption::TrafficClassV6
        } else {
            IntOption::TosV4
        };
        (option, i32::from(tos), "-S")
    });
    if let Some(bits) = plan.fq_rate {
        let set = sockopt::set_pacing_rate(socket.as_fd(), bits / 8);
        set.map_err(failed("--fq-rate"))?;
    }
    let no_delay = (options.no_delay && !plan.udp).then_some((IntOption::NoDelay, 1, "-N"));
    let segment = options.segment.filter(|_| !plan.udp);
    let segment = segment.map(|size| (IntOption::SegmentSize, size, "-M"));
    let prefetch = options.prefetch.filter(|_| !plan.udp);
    let prefetch = prefetch.map(|size| (IntOption::NotSentLowAt, size, "--tcp-write-prefetch"));
    let all = [tos, no_delay, segment, prefetch];
    for (option, value, name) in all.into_iter().flatten() {
        sockopt::set(socket.as_fd(), option, value).map_err(failed(name))?;
    }
    if let Some(name) = options.congestion.as_ref().filter(|_| !plan.udp) {
        if let Err(error) = socket.set_tcp_congestion(name.as_bytes()) {
            // As in the original, the test goes on.
            let cause = system_text(&error);
            err(&format!(
                "Attempt to set '{name}' congestion control failed: {cause}\n"
            ));
        }
    }
    Ok(())
}

/// Datagrams per 10^9 seconds at the rate of a test.
fn per_giga_second(plan: &Iperf2Plan) -> u64 {
    use netperf_model::iperf2::Iperf2Rate;
    let giga = |count: u128| u64::try_from(count * 1_000_000_000).unwrap_or(u64::MAX);
    match plan.effective_rate() {
        Some(Iperf2Rate::Bits(bits)) => {
            let length = u128::try_from(plan.block().max(1)).unwrap_or(1);
            let exact = u128::from(bits) * 1_000_000_000 / (length * 8);
            u64::try_from(exact).unwrap_or(u64::MAX)
        }
        Some(Iperf2Rate::Packets(rate)) => giga(rate.into()),
        None => u64::MAX,
    }
}

/// True if the client receives on its own connections.
pub fn receives(plan: &Iperf2Plan) -> bool {
    matches!(
        plan.direction,
        Iperf2Direction::Reverse | Iperf2Direction::FullDuplex
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_a_server_has_a_time_limit() {
        let of = |amount| {
            receive_time(&Iperf2Plan {
                amount,
                ..Iperf2Plan::default()
            })
        };
        let time = Duration::from_secs(10);
        assert_eq!(of(Iperf2Amount::Time(time)), time + overtime::OF_PEER);
        assert_eq!(of(Iperf2Amount::Bytes(1)), LONGEST);
        assert_eq!(of(Iperf2Amount::Time(Duration::MAX)), Duration::MAX);
    }
}
