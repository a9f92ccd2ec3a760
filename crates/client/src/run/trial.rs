//! `--io auto`: short trials over separate connections to the same netserver, with the same
//! sizes, choose the method by which each end moves its bytes
//! (docs/decisions/0012-io-uring.md).

use std::time::Duration;

use netperf_cli::{Progress, RunCommand, Show};
use netperf_model::{EndPlan, Feature, Hosts, IoMethod, Iteration, Limit, TestPlan};
use netperf_os::alarm;
use netperf_program::output::{Failure, out};

use super::session::{LEAVE, open, unanswered};
use super::trace::Trace;
use super::{IterationResult, TestRun, catch_signals, control, data_hosts, empty};
use crate::datagram_size;
use crate::run_so_far::{RunSoFar, RunStart};

/// Shortest and longest duration of a trial.
const LENGTHS: (Duration, Duration) = (Duration::from_millis(60), Duration::from_millis(300));
/// Round trips that a trial lasts.
const ROUND_TRIPS: u32 = 20;
/// Speed-up over blocking calls from which another method is chosen.
const WORTH: f64 = 1.05;
/// Amount of data for netserver to send, if an amount ends the trial: in the first trial, and
/// at most.
const AMOUNTS: (u64, u64) = (1 << 20, 1 << 33);

/// A method for each end.
type IoMethods = (IoMethod, IoMethod);

/// Replaces `auto` by the methods that the trials choose, and reports them if requested.
pub(crate) fn settle(run: &mut RunCommand, begun: RunStart) -> Result<(), Failure> {
    let plan = &run.plan;
    let autos = (plan.local.auto_io, plan.remote.auto_io);
    if autos == (false, false) {
        return Ok(());
    }
    let trace = Trace::of(run);
    let (candidates, round_trip) = candidates(plan)?;
    let (mut best, mut tried) = (candidates.only(), 0);
    if best.is_none() {
        let mut trials = Trials {
            run,
            begun,
            trace: &trace,
            length: (round_trip * ROUND_TRIPS).clamp(LENGTHS.0, LENGTHS.1),
            amount: None,
            rates: Vec::new(),
        };
        trials.all(&candidates)?;
        tried = trials.rates.len();
        best = Some(trials.best());
    }
    let (local, remote) = best.unwrap_or_default();
    run.plan.local.io.method = local;
    run.plan.remote.io.method = remote;
    let line = format!(
        "netperf: --io auto: {} at netperf, {} at netserver, after {tried} trials",
        local.label(),
        remote.label()
    );
    if run.debug_level > 0 {
        trace.say(&line);
    } else if run.report.verbosity > 1 && !run.report.format.is_json() {
        out(&format!("{line}\n"));
    }
    Ok(())
}

/// Length of a trial in which a path that carries full packets moves some.
const FIRST_DATA: Duration = Duration::from_secs(2);

/// Returns true if another run of the test moves data.
pub(super) fn moves_data(run: &RunCommand, begun: RunStart) -> bool {
    let trial = shortened(run, Limit::Time(FIRST_DATA));
    once(&trial, begun).is_ok_and(|(ran, _)| rate(&trial.plan, &ran.iteration) > 0.0)
}

/// Reason why no data arrives over a separate data port; `None` if some does.
pub(super) fn of_data_port(run: &RunCommand, begun: RunStart) -> Result<Option<String>, Failure> {
    let trial = shortened(run, Limit::Time(LENGTHS.1));
    let (ran, hosts) = once(&trial, begun)?;
    let runs = [ran.iteration];
    let around = empty::Surroundings {
        stopped: ran.stopped,
        ..empty::Surroundings::default()
    };
    Ok(empty::cause(
        &trial.plan,
        &hosts,
        &ran.agreed,
        &runs,
        around,
    ))
}

/// The methods that each end can have.
struct Candidates {
    local: Vec<IoMethod>,
    remote: Vec<IoMethod>,
}

impl Candidates {
    /// The only pair there is.
    fn only(&self) -> Option<IoMethods> {
        match (self.local.as_slice(), self.remote.as_slice()) {
            ([local], [remote]) => Some((*local, *remote)),
            _ => None,
        }
    }

    /// The pairs to try first: the same method at both ends, or each at the end that has
    /// a choice. Blocking calls, which every end has, come first.
    fn first(&self) -> Vec<IoMethods> {
        match (self.local.as_slice(), self.remote.as_slice()) {
            ([local], remote) => remote.iter().map(|remote| (*local, *remote)).collect(),
            (local, [remote]) => local.iter().map(|local| (*local, *remote)).collect(),
            (local, remote) => {
                let both = local.iter().filter(|method| remote.contains(method));
                both.map(|method| (*method, *method)).collect()
            }
        }
    }
}

/// Methods that both ends support, and the round-trip time.
fn candidates(plan: &TestPlan) -> Result<(Candidates, Duration), Failure> {
    let Some(control) = &plan.control else {
        return Err(Failure::unsupported(
            "--io auto: the trials need netserver: leave out -N",
        ));
    };
    let mut talk = open(plan, control::establish(control)?)?;
    let round_trip = talk.link().round_trip();
    let mut known = Vec::new();
    if plan.remote.auto_io {
        // A stock netserver has no features: it uses blocking calls.
        let abilities = talk.greet().map_err(|error| unanswered(error, plan))?;
        known = abilities.map_or(known, |abilities| abilities.features);
    }
    talk.finish(LEAVE);
    let remote = possible(plan, &known, |plan| &mut plan.remote);
    let known = netperf_transport::io::features();
    let local = possible(plan, &known, |plan| &mut plan.local);
    Ok((Candidates { local, remote }, round_trip))
}

/// The methods that an end knows and that the test permits; only the given one if the end has
/// no choice.
fn possible(
    plan: &TestPlan,
    known: &[Feature],
    end: fn(&mut TestPlan) -> &mut EndPlan,
) -> Vec<IoMethod> {
    let mut with = plan.clone();
    if !end(&mut with).auto_io {
        return vec![end(&mut with).io.method];
    }
    let fits = |method: &IoMethod| {
        let Some(feature) = method.feature() else {
            return true;
        };
        end(&mut with).io.method = *method;
        plan.many.is_none()
            && plan.flow.duplex.is_none()
            && !plan.flow.connects
            && known.contains(&feature)
            && netperf_model::refusal::check(&with).is_ok()
    };
    IoMethod::ALL.into_iter().filter(fits).collect()
}

/// The trials of a test.
struct Trials<'a> {
    run: &'a RunCommand,
    begun: RunStart,
    trace: &'a Trace,
    length: Duration,
    /// Bytes that netserver sends in each, where it may keep the time in whole seconds.
    amount: Option<u64>,
    rates: Vec<(IoMethods, f64)>,
}

impl Trials<'_> {
    fn all(&mut self, candidates: &Candidates) -> Result<(), Failure> {
        let flow = self.run.plan.flow;
        if flow.receives && !flow.sends {
            self.find_amount(candidates)?;
        }
        for pair in candidates.first() {
            self.one(pair)?;
        }
        let (local, remote) = self.best();
        let both_choose = candidates.local.len() > 1 && candidates.remote.len() > 1;
        if both_choose && local != IoMethod::Blocking {
            // One end may do as well without.
            self.one((local, IoMethod::Blocking))?;
            self.one((IoMethod::Blocking, remote))?;
        }
        Ok(())
    }

    /// An amount that takes about as long as a trial is to last.
    fn find_amount(&mut self, candidates: &Candidates) -> Result<(), Failure> {
        let Some(first) = candidates.first().first().copied() else {
            return Ok(());
        };
        let mut amount = AMOUNTS.0;
        while amount < AMOUNTS.1 {
            self.amount = Some(amount);
            let took = self.measured(first)?.elapsed.max(1e-4);
            if took * 2.0 >= self.length.as_secs_f64() {
                return Ok(());
            }
            let times = (self.length.as_secs_f64() / took).ceil().clamp(2.0, 64.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 2 to 64"
            )]
            let times = times as u64;
            amount *= times;
        }
        Ok(())
    }

    /// Tries a pair of methods and keeps what it moved in a second.
    fn one(&mut self, pair: IoMethods) -> Result<(), Failure> {
        let rate = rate(&self.run.plan, &self.measured(pair)?);
        self.trace.say(&format!(
            "netperf: trial: {} at netperf, {} at netserver: {rate:.0}/s",
            pair.0.label(),
            pair.1.label()
        ));
        self.rates.push((pair, rate));
        Ok(())
    }

    /// One trial.
    fn measured(&self, (local, remote): IoMethods) -> Result<Iteration, Failure> {
        if alarm::stopped_by_user() {
            return Err(Failure::failed("ended by a signal before the test began"));
        }
        let limit = self.amount.map_or(Limit::Time(self.length), Limit::Units);
        let mut run = shortened(self.run, limit);
        run.plan.local.io.method = local;
        run.plan.remote.io.method = remote;
        Ok(once(&run, self.begun)?.0.iteration)
    }

    /// The pair that moved most. It replaces the first pair, of blocking calls if there is
    /// one, only if that is worth it.
    fn best(&self) -> IoMethods {
        let first = self.rates.first().copied().unwrap_or_default();
        let mut best = first;
        for next in &self.rates {
            let worth = if best.0 == first.0 { WORTH } else { 1.0 };
            if next.1 > best.1 * worth {
                best = *next;
            }
        }
        best.0
    }
}

/// The test of a trial, which ends at this limit.
fn shortened(run: &RunCommand, limit: Limit) -> RunCommand {
    let mut run = run.clone();
    let plan = &mut run.plan;
    plan.limit = limit;
    (plan.confidence, plan.interim, plan.latency) = (None, None, false);
    (plan.until, plan.remote.until) = (None, false);
    if let Some(many) = &mut plan.many {
        (many.warmup, many.cooldown) = (Duration::ZERO, Duration::ZERO);
    }
    (plan.local.cpu, plan.remote.cpu) = (None, None);
    (plan.wait, plan.dump_tcp_info) = (Duration::ZERO, false);
    run.show = Show {
        progress: Progress::Never,
        ..Show::default()
    };
    run
}

/// Runs a plan once, in a separate session.
fn once(run: &RunCommand, begun: RunStart) -> Result<(IterationResult, Hosts), Failure> {
    let control = run.plan.control.as_ref();
    let control = control.map(control::establish).transpose()?;
    let hosts = data_hosts(&run.plan, control.as_ref())?;
    let mut run = run.clone();
    datagram_size::fit(&mut run, &hosts);
    let run = &run;
    catch_signals()?;
    let mut done = RunSoFar::default();
    let mut test = TestRun {
        trace: Trace(None),
        facts: false,
        ..TestRun::begin(run, begun, hosts, control, &mut done)?
    };
    test.greet()?;
    let ran = test.once(1)?;
    if let Some(talk) = test.talk {
        talk.finish(LEAVE);
    }
    Ok((ran, test.hosts))
}

/// Rate of transactions, or of bytes at the receiving end, per second.
fn rate(plan: &TestPlan, ran: &Iteration) -> f64 {
    let local = &ran.local.tally;
    let moved = if plan.flow.counts_transactions() {
        local.transactions
    } else {
        let there = ran
            .remote
            .as_ref()
            .map_or(local.bytes_sent, |remote| remote.tally.bytes_received);
        local.bytes_received + if plan.flow.sends { there } else { 0 }
    };
    netperf_model::figures::count(moved) / ran.elapsed.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [IoMethod; 4] = IoMethod::ALL;

    #[test]
    fn both_ends_are_tried_alike_and_one_that_has_a_choice_by_itself() {
        let both = Candidates {
            local: ALL.to_vec(),
            remote: ALL.to_vec(),
        };
        assert_eq!(both.only(), None);
        let same: Vec<IoMethods> = ALL.into_iter().map(|method| (method, method)).collect();
        assert_eq!(both.first(), same);
        let one = Candidates {
            local: vec![IoMethod::Blocking, IoMethod::Poll],
            remote: vec![IoMethod::Epoll],
        };
        assert_eq!(
            one.first(),
            [
                (IoMethod::Blocking, IoMethod::Epoll),
                (IoMethod::Poll, IoMethod::Epoll)
            ]
        );
        let none = Candidates {
            local: vec![IoMethod::Blocking],
            remote: vec![IoMethod::Poll],
        };
        assert_eq!(none.only(), Some((IoMethod::Blocking, IoMethod::Poll)));
    }
}
