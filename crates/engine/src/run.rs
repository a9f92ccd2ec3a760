//! One end of a test: prepare it, run it, report what was measured.

mod prepare;
mod sockets;
mod test_end;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock;
use netperf_measure::series::{self, Watched};
use netperf_model::{Address, CpuUsage, EndJob, EndResult, Tally, TransportId};
use netperf_os::alarm::{self, Alarm, Outside};
use netperf_os::{SockAddr, Socket};
use netperf_transport::one_port;
use netperf_transport::place;
use netperf_transport::socket;

use crate::alarm_stop::AlarmStop;
use crate::arrivals;
use crate::end;
use crate::error::{EngineError, Operation};
use crate::feedback::FeedbackWatch;
use crate::finish::Drained;
use crate::flows;
use crate::live::Live;
use crate::meet::{self, Work};
use crate::moved::Moved;
use crate::program::Program;
use crate::report::EndReport;
use crate::stop::{Ended, control_has_ended};
use crate::timing;
use sockets::announce;

pub(crate) use sockets::placed;
#[cfg(feature = "flows")]
pub(crate) use test_end::SecondSocket;
pub(crate) use test_end::Targets;
pub use test_end::TestEnd;

impl<P: Program> TestEnd<P> {
    /// Runs one flow; nothing where netserver's socket was not `reached`.
    fn run_one(
        self,
        control: Option<BorrowedFd<'_>>,
        live: &Live,
        reached: bool,
    ) -> Result<EndReport, EngineError> {
        let Self {
            mut work,
            socket,
            placed: _placed,
            stamping,
            ..
        } = self;
        let netperf = P::is_netperf(&work.job);
        let signals = if netperf {
            Outside::Caught
        } else {
            Outside::Ignored
        };
        let alarm = Alarm::new(signals).map_err(Operation::Timer.failed())?;
        let meter = end::meter(&work.job.end)?;
        let mut stop = stop_of(&work.job, control, &alarm, live);
        stop.metered_by(meter.as_ref());
        let mut tally = Tally::default();
        let start = clock::now();
        alarm
            .start(timing::first_schedule(&work.job))
            .map_err(Operation::Timer.failed())?;
        if let Some(due) = &work.due {
            due.show(Some(live));
        }
        let watched = live.watch(work.job.end.series, netperf);
        let moved = series::beside(watched, || {
            if reached {
                meet::run::<P>(&mut work, socket, &mut stop, &mut tally)
            } else {
                Ok(Moved::nothing(Ended::Abandoned))
            }
        })
        .map_err(Operation::Thread.failed())?;
        if netperf {
            live.end();
        }
        stop.look_at_the_end(&tally);
        drop(stamping);
        let (moved, broke) = broken_off(moved, netperf, &tally)?;
        alarm.stop();
        let sampled = start.elapsed();
        let unused = stop.waited() + timing::in_vain(&work.job, &moved, &stop);
        let elapsed = sampled.saturating_sub(unused);
        let cpu = end::usage(meter.as_ref(), sampled, elapsed)?;
        if let Some((from_due, paced)) = work.due.take().map(|due| due.balance(true)) {
            work.latency = Some(from_due);
            work.paced = Some(paced);
        }
        let series = watched.and_then(Watched::series);
        let discarded = netperf && (stop.uncounted().is_some() || !moved.idle.is_zero());
        let mut report = report(work, moved, tally, elapsed, cpu);
        report.result.series = series;
        report.discarded = discarded;
        report.lost = stop.gone().or(report.lost);
        report.broke = broke;
        Ok(report)
    }
}

impl<P: Program> TestEnd<P> {
    /// Runs netperf's end against the data sockets at `remotes`, which flows take in turn;
    /// `live` can be read meanwhile.
    ///
    /// # Errors
    /// When a data connection cannot be made or breaks.
    pub fn run(
        mut self,
        remotes: &[Address],
        controls: &[BorrowedFd<'_>],
        live: &Live,
    ) -> Result<EndReport, EngineError> {
        let (there, back) = (
            self.addresses(remotes)?,
            self.addresses(&self.second_remotes)?,
        );
        if self.work.job.flows.is_some() {
            self.announce_each(&there, controls)?;
            let alone = self.alone;
            let mut report = flows::run(self, &Targets { there, back }, controls, live)?;
            if alone {
                report.many = None;
                report.result.worker_threads = None;
            }
            return Ok(report);
        }
        let control = controls.first().copied();
        let to = there.first().cloned().ok_or_else(no_target)?;
        let job = &self.work.job;
        let token = job.token.filter(|_| !job.transport.is_connected());
        let reached = token.map_or(Ok(true), |token| {
            announce(job, &self.socket, (&to, &token), control)
        })?;
        // The file that the binding left stays until the end of the run.
        let (second, _placed) = match self.second.take() {
            Some(second) => {
                let back = back.first().unwrap_or(&to).clone();
                (Some((second.socket, back)), Some(second.placed))
            }
            None => (None, None),
        };
        self.work.to = Some(to);
        self.work.second = second;
        self.run_one(control, live, reached)
    }

    /// Finds netserver's sockets of flows that have a session each, one after the other.
    fn announce_each(
        &self,
        there: &[SockAddr],
        controls: &[BorrowedFd<'_>],
    ) -> Result<(), EngineError> {
        let job = &self.work.job;
        let further = self.receivers.iter().map(|receiver| &receiver.socket);
        let sockets = std::iter::once(&self.socket).chain(further);
        let each = sockets.zip(there).zip(&self.tokens).zip(controls);
        for (((socket, to), token), control) in each.filter(|_| job.tells_addresses()) {
            // The user ended the test, which the run finds, too.
            if !announce(job, socket, (to, token), Some(*control))? {
                break;
            }
        }
        Ok(())
    }

    /// Socket addresses with the flow label of the job.
    fn addresses(&self, remotes: &[Address]) -> Result<Vec<SockAddr>, EngineError> {
        let job = &self.work.job;
        let each = remotes.iter().map(|remote| {
            place::sock_addr(job.transport, remote)
                .map(|remote| socket::labelled(remote, &job.end.socket))
        });
        each.collect::<io::Result<_>>()
            .map_err(Operation::Connect.failed())
    }
}

impl<P: Program> TestEnd<P> {
    /// Runs netserver's end: to be called right after the response was sent.
    ///
    /// # Errors
    /// When the data connection cannot be accepted or breaks.
    pub fn serve(mut self, control: Option<BorrowedFd<'_>>) -> Result<EndResult, EngineError> {
        if let Some(handoff) = self.handoff.take() {
            self = self.found(&handoff, control)?;
        }
        let job = &self.work.job;
        let (interval, many) = (arrivals::interval(job), job.flows.is_some());
        let alone = self.alone;
        let most_often = if many {
            interval
        } else {
            interval.map(|_| arrivals::EVERY)
        };
        let live =
            most_often.map_or_else(Live::default, |every| Live::default().that_samples(every));
        live.sample_arrivals();
        let report = if many {
            let controls: Vec<_> = control.into_iter().collect();
            arrivals::beside(interval, &live, || {
                flows::run(self, &Targets::default(), &controls, &live)
            })
        } else {
            self.run_one(control, &live, true)
        };
        let result = report?.result;
        Ok(EndResult {
            arrivals: live.arrivals(),
            worker_threads: result.worker_threads.filter(|_| !alone),
            ..result
        })
    }

    /// Takes the sockets that netperf's have found, where datagrams come in by the port of
    /// the control connection.
    fn found(
        mut self,
        handoff: &Socket,
        control: Option<BorrowedFd<'_>>,
    ) -> Result<Self, EngineError> {
        let job = &mut self.work.job;
        let open = || socket::open_again(job.transport, job.family, &job.end.socket);
        let mut over = || control.is_some_and(control_has_ended);
        let found = one_port::meet(handoff, job, (self.socket, open), &mut over)
            .map_err(Operation::Accept.failed())?;
        let mut sockets = found.sockets.into_iter();
        let first = sockets.next();
        self.socket =
            first.ok_or_else(|| Operation::Accept.failed()(io::ErrorKind::NotConnected.into()))?;
        self.further = sockets.collect();
        job.peer = Some(Address::Inet(found.peer));
        Ok(self)
    }
}

/// Bytes that came over a TCP connection beyond the responses to all requests: those counted, or
/// those of which netserver's host has acknowledged a part.
fn unasked(job: &EndJob, tally: &Tally, moved: &Moved) -> u64 {
    let is_tcp = matches!(job.transport, TransportId::Tcp | TransportId::IpDefault);
    let counts = is_tcp && job.counts_transactions() && !job.connects;
    let (Some(arrived), Some(response), true) = (moved.arrived, job.response, counts) else {
        return 0;
    };
    let counted = tally.transactions.saturating_add(tally.unanswered);
    let request = job.request.map_or(1, |size| u64::from(size.max(1)));
    let acknowledged = moved.acknowledged.unwrap_or(0).div_ceil(request);
    let requests = counted.max(acknowledged);
    // The end of the connection counts as a byte.
    let most = requests.saturating_mul(response.into()).saturating_add(1);
    arrived.saturating_sub(most)
}

/// The report of one flow.
fn report(
    work: Work,
    moved: Moved,
    tally: Tally,
    elapsed: Duration,
    cpu: Option<CpuUsage>,
) -> EndReport {
    let unasked = unasked(&work.job, &tally, &moved);
    let facts = moved.facts.unwrap_or_default();
    let lost = match (moved.drained, moved.ended) {
        (Drained::Lost(lost), _) | (_, Ended::Lost(lost)) => Some(lost),
        _ => None,
    };
    EndReport {
        paused: work.paused.as_secs_f64(),
        latency: work.latency,
        segment_size: moved.seen.segment_size,
        cipher: moved.seen.cipher,
        stopped_by_user: alarm::stopped_by_user(),
        ended_cleanly: moved.ended != Ended::Abandoned && moved.drained != Drained::StillMoving,
        discarded: false,
        held_back: moved.held_back,
        unasked,
        queued: moved.drained == Drained::StillMoving,
        lost,
        broke: None,
        tcp_info: facts.tcp,
        round_trip: facts.round_trip,
        fallback: facts.fallback,
        end_mark: moved.end_mark,
        many: None,
        result: EndResult {
            quality: work.quality,
            paced: work.paced,
            stamps: work.stamps,
            ..end::result(
                &work.job.end,
                &work.setup,
                facts,
                tally,
                elapsed,
                (cpu, work.counts),
            )
        },
    }
}

fn no_target() -> EngineError {
    Operation::Connect.failed()(io::ErrorKind::AddrNotAvailable.into())
}

/// Stop conditions besides the limit: the end of the control connection; a stall, where no time
/// ends the run; silence after the time is over, where the end may be missed.
fn stop_of<'a>(
    job: &EndJob,
    control: Option<BorrowedFd<'a>>,
    alarm: &'a Alarm,
    live: &'a Live,
) -> AlarmStop<'a> {
    let (first, longest) = timing::heartbeats(job);
    alarm.check_every(first, longest);
    let timed = job.time().is_some();
    let patience = if timed {
        Duration::MAX
    } else {
        timing::patience(job)
    };
    let mut stop = AlarmStop::new(control, alarm, live, patience);
    if let Some(silence) = timing::silence(job) {
        stop.end_in_silence(silence);
    }
    if timing::receives_to_the_end(job) {
        stop.cut_at_the_end();
    }
    stop.needs_feedback(FeedbackWatch::of(job, control.as_slice()));
    stop
}

/// A connection that breaks ends netperf's run; what had moved until then was measured.
fn broken_off(
    moved: Result<Moved, EngineError>,
    netperf: bool,
    tally: &Tally,
) -> Result<(Moved, Option<EngineError>), EngineError> {
    match moved {
        Ok(moved) => Ok((moved, None)),
        Err(error) if !netperf || *tally == Tally::default() => Err(error),
        Err(error) => Ok((Moved::nothing(Ended::Abandoned), Some(error))),
    }
}
