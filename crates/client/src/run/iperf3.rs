//! An iteration against a server of iperf3 (`--iperf3`).

mod asked;
mod measured;

use std::time::Duration;

use netperf_engine::live::Live;
use netperf_iperf3::figures::SocketBuffers;
use netperf_iperf3::figures::{StreamInterval, block};
use netperf_iperf3::messages::{COOKIE, Cookie, Parameters};
use netperf_measure::clock;
use netperf_model::{CpuPlan, EndSetup, Hosts, IperfShape, figures};
use netperf_os::{alarm, wait};
use netperf_program::iperf3::lines::LineWriter;
use netperf_program::iperf3::run::Run;
use netperf_program::output::Failure;

use super::peer::{PeerMeter, not_there, of_peer, own_setup, shape};
use super::{IterationResult, TestRun};
use crate::hosts::socket_address;
use crate::{interim, until};
use netperf_iperf_client::iperf3::{
    ClientRun, Iperf3Form, Iperf3Plan, Output, TestObserver, Tested,
};

/// Longest time in which a server ends an iteration, and time between attempts to begin the next.
const STILL_BUSY: Duration = Duration::from_secs(5);
const BETWEEN: Duration = Duration::from_millis(50);

/// Follows a test for netperf.
struct PlanObserver<'a> {
    banner: Option<String>,
    live: &'a Live,
    output: Option<Output>,
    cpu: Option<&'a CpuPlan>,
    meter: PeerMeter,
    buffers: SocketBuffers,
    length: u32,
}

impl TestObserver for PlanObserver<'_> {
    fn connecting(&mut self, port: Option<&str>) {
        if let Some(output) = &mut self.output {
            output.connecting(port);
        }
    }

    fn begins(&mut self, parameters: &Parameters, cookie: Cookie, mss: Option<u32>) {
        super::print_once(&mut self.banner);
        self.length = block(parameters);
        if let Some(output) = &mut self.output {
            output.begins(parameters, cookie, mss);
        }
    }

    fn connected(&mut self, run: &Run, parameters: &Parameters) {
        let sending = run.sending();
        let cookies = sending.len() * COOKIE;
        self.live.reads(run.counter());
        self.live
            .observes(&sending, u64::try_from(cookies).unwrap_or(0));
        self.buffers = run.buffers;
        self.meter = PeerMeter::start(self.cpu);
        if let Some(output) = &mut self.output {
            output.connected(run, parameters);
        }
    }

    fn interval(&mut self, interval: StreamInterval, first: bool) {
        if let Some(output) = &mut self.output {
            output.interval(interval, first);
        }
    }

    fn is_enough(&self) -> bool {
        self.live.is_enough() || alarm::stopped_by_user()
    }

    fn takes_signals(&self) -> bool {
        true
    }

    fn over(&mut self) {
        self.live.end_at(clock::now());
        self.meter.note();
    }
}

impl TestRun<'_> {
    /// Runs an iteration.
    pub(super) fn once_with_iperf3(
        &mut self,
        number: usize,
        hosts: &Hosts,
    ) -> Result<IterationResult, Failure> {
        let plan = self.plan();
        let server = hosts.remote.name.clone();
        let remote = socket_address(&hosts.remote, hosts.remote.port);
        let shape = shape(&self.run.report.format);
        let asked = asked::iperf3_plan(plan, remote, shape)?;
        let form = Iperf3Form {
            json: shape == Some(IperfShape::Iperf3Json),
            ..Iperf3Form::default()
        };
        PeerMeter::prepare(plan.local.cpu.as_ref())?;
        super::wait(plan.wait);
        let live = interim::live(self.run);
        let mut observer = PlanObserver {
            banner: self.banner.take(),
            live: &live,
            output: shape.map(|_| Output::new(form, &server, LineWriter::default())),
            cpu: plan.local.cpu.as_ref(),
            meter: PeerMeter::default(),
            buffers: SocketBuffers::default(),
            length: 0,
        };
        let tested = self.follow(number, &asked, &live, &mut observer);
        live.end_at(clock::now());
        if let Some(output) = &observer.output {
            output.last(&tested);
        }
        let PlanObserver {
            meter,
            buffers,
            length,
            output,
            ..
        } = observer;
        let measured = measured::iteration(plan, &tested, live.read());
        if let Some(error) = &tested.error {
            self.done.partial = measured;
            return Err(match output {
                // It has printed the failure.
                Some(_) => Failure {
                    exit: 1,
                    ..Failure::default()
                },
                None => Failure::failed(format_args!(
                    "iperf3 at {server} port {}: {error}{}",
                    remote.port(),
                    not_there(error, "iperf3")
                )),
            });
        }
        let Some(mut iteration) = measured else {
            return Err(Failure::failed(format_args!(
                "iperf3 at {server} port {}: the test ended before it began",
                remote.port()
            )));
        };
        iteration.local.cpu = meter.usage(iteration.local.elapsed)?;
        let local = own_setup(buffers, length, plan);
        Ok(of_peer(local, remote.port(), iteration))
    }

    /// Runs a test, with interim results and until its figure is known, if that is asked for.
    fn follow(
        &mut self,
        number: usize,
        asked: &Iperf3Plan,
        live: &Live,
        observer: &mut PlanObserver<'_>,
    ) -> Tested {
        let plan = self.plan();
        let begun = clock::now();
        let may_repeat = || number > 1 && begun.elapsed() < STILL_BUSY && !alarm::stopped_by_user();
        let test = loop {
            match ClientRun::begin(asked, observer) {
                // The original opens its listener anew after each test.
                Err(_) if may_repeat() => {}
                Err(error) => break Err(error),
                Ok(mut test) => {
                    test.until_data();
                    // The server may still be at the end of the iteration before.
                    if !test.is_busy() || !may_repeat() {
                        break Ok(test);
                    }
                }
            }
            wait::sleep(BETWEEN);
        };
        match test {
            Ok(test) => {
                let setup = EndSetup {
                    send_size: Some(asked.parameters.len).filter(|len| *len > 0),
                    ..EndSetup::default()
                };
                let about = (figures::document_unit(plan), &setup);
                interim::beside(self.run, number, &mut self.done.intervals, live, || {
                    until::beside(plan, about, live, &mut self.done.until, || test.finish())
                })
            }
            Err(error) => Tested::failed(error),
        }
    }
}
