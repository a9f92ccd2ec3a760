//! An iteration against a server of iperf 2 (`--iperf2`).

mod asked;
mod measured;

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_engine::iperf2::TransferEnd;
use netperf_engine::live::Live;
use netperf_measure::clock;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Plan};
use netperf_model::{EndSetup, Hosts, ProcessCpu, Tally, figures};
use netperf_os::process;
use netperf_program::iperf3::socket::buffers_of;
use netperf_program::output::{Failure, system_text};

use super::peer::{PeerMeter, not_there, of_peer, own_setup, shape};
use super::{IterationResult, TestRun};
use crate::hosts::socket_address;
use crate::{interim, until};
use netperf_iperf_client::iperf2::session::{Iperf2Client, Iperf2Failure, Iperf2StreamResult};
use netperf_iperf_client::iperf2::{ClientRows, Follow, contradiction};

/// The reason for which a result is none. A test that netperf ended has one.
fn incomplete(result: &Iperf2StreamResult, stopped: bool) -> Option<String> {
    let ends = [&result.sent, &result.received].into_iter().flatten();
    let is_cut = |end: TransferEnd| matches!(end, TransferEnd::Closed | TransferEnd::Stalled);
    if result.foreign.is_none() && ends.map(|one| one.end).any(is_cut) && !stopped {
        return Some(
            "the server ended the test early, or took no data: is it a server of iperf 2?"
                .to_owned(),
        );
    }
    let unreported = "no report arrived; is it a server for UDP (-u)?";
    let unreported = result.unreported.then(|| unreported.to_owned());
    unreported.or_else(|| contradiction(result))
}

/// Checks the results of all streams of a server at a port.
fn check_all(
    results: &[Iperf2StreamResult],
    stopped: bool,
    (server, port): (&str, u16),
) -> Result<(), Failure> {
    let why = results.iter().find_map(|one| incomplete(one, stopped));
    match why {
        Some(why) => Err(Failure::failed(format_args!(
            "iperf 2 at {server} port {port}: {why}"
        ))),
        None => Ok(()),
    }
}

/// Counts of all streams.
fn counts(client: &Iperf2Client) -> Tally {
    let mut tally = Tally::default();
    for stream in &client.streams {
        let load = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        let (sent, received) = (&stream.sent.moved, &stream.received.moved);
        tally.bytes_sent += load(&sent.bytes);
        tally.send_calls += load(&sent.calls);
        tally.bytes_received += load(&received.bytes);
        tally.recv_calls += load(&received.calls);
    }
    tally
}

/// Shows the connections of a client and its counts while it runs.
fn show(client: &Arc<Iperf2Client>, live: &Live) {
    let source = Arc::clone(client);
    live.reads(move || counts(&source));
    let is_tcp = !client.plan.udp && client.plan.direction.client_sends();
    let sockets = client.streams.iter().filter(|_| is_tcp);
    let sockets: Vec<_> = sockets.map(|stream| stream.socket.as_fd()).collect();
    live.observes(&sockets, 0);
}

impl TestRun<'_> {
    /// Runs an iteration.
    pub(super) fn once_with_iperf2(
        &mut self,
        number: usize,
        hosts: &Hosts,
    ) -> Result<IterationResult, Failure> {
        let plan = self.plan();
        let server = hosts.remote.name.clone();
        let remote = socket_address(&hosts.remote, hosts.remote.port);
        let test = asked::iperf2_plan(plan, remote.port(), remote.is_ipv6())?;
        let options = asked::socket_options(plan);
        let failed = |failure: Iperf2Failure| {
            let text = system_text(&failure.error);
            Failure::failed(format_args!(
                "iperf 2 at {server} port {}: {}: {text}{}",
                remote.port(),
                failure.step,
                not_there(&text, "iperf")
            ))
        };
        PeerMeter::prepare(plan.local.cpu.as_ref())?;
        super::wait(plan.wait);
        let live = interim::live(self.run);
        let client = Arc::new(Iperf2Client::open(&test, &options, remote).map_err(failed)?);
        super::print_once(&mut self.banner);
        let shape = shape(&self.run.report.format);
        let lines = shape.map(|shape| asked::lines(plan, &test, &options, shape));
        let mut rows = lines.as_ref().map(ClientRows::new);
        if let Some(rows) = &mut rows {
            rows.head(Some(client.as_ref()), &server);
        }
        show(&client, &live);
        let setup = EndSetup {
            send_size: u32::try_from(test.block()).ok(),
            ..EndSetup::default()
        };
        let about = (figures::document_unit(plan), &setup);
        let (meter, before) = (
            PeerMeter::start(plan.local.cpu.as_ref()),
            process::cpu_times().unwrap_or_default(),
        );
        let stop = AtomicBool::new(false);
        let begun = clock::now();
        let enough = || {
            // The end of a sender follows its time, and is no interval.
            if live.is_enough() || time(&test).is_some_and(|time| begun.elapsed() >= time) {
                live.end_at(clock::now());
            }
            live.is_enough()
        };
        let results = interim::beside(self.run, number, &mut self.done.intervals, &live, || {
            until::beside(plan, about, &live, &mut self.done.until, || {
                client.run(&stop, |client, part| {
                    let follow = Follow {
                        client,
                        stop: &stop,
                        enough: &enough,
                    };
                    follow.until(part, rows.as_mut());
                    meter.note();
                    live.end_at(clock::now());
                })
            })
        });
        let (spent, after) = (begun.elapsed(), process::cpu_times().unwrap_or_default());
        if let Some(rows) = &mut rows {
            rows.results(&client, &results);
        }
        let stopped = stop.load(Ordering::Relaxed);
        let results = results.into_iter().collect::<Result<Vec<_>, _>>();
        let results = results.map_err(failed)?;
        check_all(&results, stopped, (&server, remote.port()))?;
        let version = results.iter().find_map(|result| result.version);
        self.peer_version = version.map(|version| version.to_string());
        let cpu = ProcessCpu::between(before, after, spent);
        let mut iteration = measured::iteration(plan, &client, &results, cpu);
        iteration.local.cpu = meter.usage(iteration.local.elapsed)?;
        let first = client.streams.first().map(|stream| &stream.socket);
        let length = u32::try_from(test.block()).unwrap_or(u32::MAX);
        let local = own_setup(buffers_of(first), length, plan);
        Ok(of_peer(local, remote.port(), iteration))
    }
}

/// The time of a client that sends.
const fn time(test: &Iperf2Plan) -> Option<Duration> {
    match test.amount {
        Iperf2Amount::Time(time) if test.direction.client_sends() => Some(time),
        Iperf2Amount::Time(_) | Iperf2Amount::Bytes(_) => None,
    }
}
