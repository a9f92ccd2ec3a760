//! The iterations of a test, as many as it takes, and what they come to.

use std::time::Duration;

use netperf_measure::clock;
use netperf_measure::confidence::{ConfidenceInput, assess};
use netperf_model::{
    Agreed, Confidence, Format, Iteration, Latency, Outcome, PeerProgram, TestPlan, ThroughputUnit,
    Warning, figures, one_way, rate, unanswered,
};
use netperf_os::alarm;
use netperf_program::output::{Failure, err, out};
use netperf_report::document::WarningText;
use netperf_report::format::json;

use super::{
    IterationResult, TestRun, arrivals, doubts, drops, empty, identifier, implausible, trial,
};
use crate::{asked, datagram_size, facts, interim, until};

impl TestRun<'_> {
    pub(super) fn iterate(&mut self) -> Result<Outcome, Failure> {
        let plan = self.plan();
        let unit = figures::unit_in_force(plan, self.run.report.unit);
        let mut warnings = std::mem::take(&mut self.done.unmet);
        let mut last: Option<(Agreed, Option<Confidence>)> = None;
        loop {
            let (number, earlier) = (self.done.iterations.len() + 1, self.done.intervals.len());
            let begun = clock::now();
            let ran = self.once(number);
            let took = begun.elapsed();
            let is_whole = ran
                .as_ref()
                .map_or(!alarm::stopped_by_user(), |ran| !ran.stopped);
            let ran = match (ran, last.take()) {
                // The mean is that of whole iterations.
                (_, Some((agreed, confidence))) if !is_whole => {
                    self.done.partial = None;
                    self.done.intervals.truncate(earlier);
                    warnings.push(Warning::EndedEarly);
                    return Ok(self.outcome(agreed, confidence, true, warnings));
                }
                (ran, _) => ran?,
            };
            let IterationResult {
                agreed,
                iteration,
                stopped,
                discarded,
                fell_back,
                held_back,
                unasked,
                last_arrival,
            } = ran;
            let kept = (earlier, &mut self.done.intervals);
            interim::add_drained(self.run, kept, &iteration, last_arrival);
            for unmet in asked::after(self.run, &agreed, Some(&iteration))? {
                self.warn(&mut warnings, unmet);
            }
            let now = clock::since_epoch();
            out(&json::iteration(
                plan,
                &self.run.report,
                number,
                &iteration,
                now,
            ));
            let answered = self.answered.as_secs_f64();
            let short = implausible::cut_short(plan, &iteration)
                .or_else(|| implausible::begun_late(plan, &iteration, answered));
            let claimed =
                implausible::claimed(plan, &iteration, took).filter(|_| plan.peer.is_none());
            warnings.extend(claimed);
            self.done.iterations.push(iteration);
            if discarded && !warnings.contains(&Warning::QueueDiscarded) {
                warnings.push(Warning::QueueDiscarded);
            }
            if fell_back {
                self.warn(&mut warnings, Warning::FellBackToTcp);
            }
            warnings.extend(implausible::unasked(unasked));
            if let Some(short) = short.filter(|_| !stopped) {
                self.warn(&mut warnings, short);
            }
            if let Some(time) = held_back {
                self.warn(&mut warnings, Warning::Stalled(unread(time)));
            }
            let doubtful = self.done.latency.as_ref().is_some_and(Latency::is_doubtful);
            if doubtful {
                self.warn(&mut warnings, Warning::ClockWentWrong);
            }
            let confidence = confidence(plan, unit, &self.done.iterations);
            // A signal may have come after the time of the iteration, too.
            let ended = stopped || alarm::stopped_by_user();
            let wants_more = wants_more(plan, self.done.iterations.len(), confidence.as_ref());
            if stopped || (ended && wants_more) {
                warnings.push(Warning::EndedEarly);
            }
            if ended || !wants_more {
                return Ok(self.outcome(agreed, confidence, ended, warnings));
            }
            last = Some((agreed, confidence));
        }
    }

    /// Says what is doubtful, once.
    fn warn(&self, warnings: &mut Vec<Warning>, doubt: Warning) {
        let doubt = self.named(doubt);
        if !warnings.contains(&doubt) {
            if self.tells_doubts() {
                err(&format!("netperf: {}\n", WarningText::of(&doubt).message));
            }
            warnings.push(doubt);
        }
    }

    /// Splits warnings about the path and the hosts: those that only a terminal shows, and others. In
    /// a run that netperf 2.7 could make, scripts read standard error; JSON has those of the hosts.
    fn of_surroundings(
        &self,
        fragments: Option<Warning>,
        of_hosts: Vec<Warning>,
    ) -> (Vec<Warning>, Vec<Warning>) {
        let is_classic = self.run.is_classic();
        if !is_classic && self.run.report.format.is_json() {
            return (of_hosts, fragments.into_iter().collect());
        }
        let both = fragments.into_iter().chain(of_hosts).collect();
        if is_classic {
            (both, Vec::new())
        } else {
            (Vec::new(), both)
        }
    }

    /// A doubt with the name of the peer.
    fn named(&self, doubt: Warning) -> Warning {
        match self.plan().peer {
            Some(peer) => doubt.of_peer(peer),
            None => doubt,
        }
    }

    /// True if doubts go to standard error; a summary for a person has them.
    fn tells_doubts(&self) -> bool {
        self.run.report.format != Format::Human
    }

    /// Result of all iterations, with warnings.
    fn outcome(
        &mut self,
        agreed: Agreed,
        confidence: Option<Confidence>,
        stopped: bool,
        mut warnings: Vec<Warning>,
    ) -> Outcome {
        let plan = self.plan();
        let mut done = std::mem::take(self.done);
        // The classic output has its own lines about it.
        let wide = confidence.filter(|_| !stopped);
        warnings.extend(wide.and_then(|reached| too_wide(plan, reached, done.iterations.len())));
        let remote_host = facts::remote(self.remote_host.take(), &mut done.iterations);
        let rate = rate::doubts(plan, &done.iterations, done.latency.as_ref());
        until::settle(plan, &agreed.local, done.until.as_mut(), &done.iterations);
        let imprecise =
            until::doubt(plan, done.until.as_ref(), &done.iterations).filter(|_| !stopped);
        let control = self.talk.as_ref().map(|talk| talk.link().fd());
        let around = empty::Surroundings {
            stopped,
            classic: self.run.is_classic(),
            idle: control.is_some_and(empty::is_idle),
            answered: self.answered,
        };
        let is_classic = self.run.is_classic();
        let unknown = unknown_result(plan, &done.iterations, is_classic).filter(|_| stopped);
        let missing = empty::failure(plan, &self.hosts, &agreed, &done.iterations, around);
        // Other traffic may have ended with the test.
        let missing = missing.filter(|_| {
            let starved = empty::starved(plan, &done.iterations).is_some();
            !(starved && !stopped && trial::moves_data(self.run, self.begun))
        });
        if let Some(why) = missing {
            // The program reports it as its failure.
            warnings.push(self.named(Warning::Unheard(why)));
        } else {
            // The program reports it as its failure, too.
            let implausible = implausible::doubt(plan, &done.iterations);
            warnings.extend(implausible.map(|doubt| self.named(doubt)));
            let unanswered = unanswered::doubt(plan, &done.iterations);
            let arrivals = arrivals::doubt(plan, &done.iterations);
            let starved = empty::starved(plan, &done.iterations)
                .or_else(|| arrivals::stalled(plan, &done.intervals, &done.iterations))
                .or_else(|| {
                    done.stall
                        .map(|stall| arrivals::stall(plan, stall.as_secs_f64()))
                });
            let is_known = warnings
                .iter()
                .any(|one| matches!(one, Warning::Stalled(_)));
            let starved = starved.filter(|_| !is_known);
            let found = rate.into_iter().chain(unanswered).chain(starved);
            let dropped = drops::doubt(self.drops.as_ref(), &done.iterations);
            let unsplit = one_way::doubt(plan, &done.iterations).filter(|_| !stopped);
            let found = found.chain(imprecise).chain(dropped).chain(unsplit);
            let found = found.chain(unknown).chain(self.whole_seconds());
            for doubt in found.chain(arrivals) {
                self.warn(&mut warnings, doubt);
            }
            let fragments = datagram_size::fragments(plan, &self.hosts, &agreed);
            let mut of_hosts = doubts::of_hosts(&self.hosts, self.control_local, &done.iterations);
            if rate::limits_data(plan, &done.iterations) {
                of_hosts.retain(|doubt| !matches!(doubt, Warning::CpuBound(_)));
            }
            let (quiet, told) = self.of_surroundings(fragments, of_hosts);
            for doubt in told {
                self.warn(&mut warnings, doubt);
            }
            if !self.run.report.is_bare() {
                doubts::show(&quiet);
            }
            warnings.extend(quiet);
        }
        Outcome {
            plan: plan.clone(),
            hosts: self.hosts.clone(),
            agreed,
            latency: done
                .latency
                .map(|times| unanswered::measured(plan, &done.iterations, times)),
            iterations: done.iterations,
            intervals: done.intervals,
            confidence,
            until: done.until,
            local_host: facts::local(self.facts, &self.hosts),
            remote_host,
            peer_version: self.peer_version.take(),
            uuid: identifier(plan),
            span: self.begun.until_now(),
            warnings,
        }
    }
}

/// Warning about a server that did not notice the end of an interrupted run in time.
fn unknown_result(plan: &TestPlan, runs: &[Iteration], is_classic: bool) -> Option<Warning> {
    let last = runs.last().filter(|run| run.remote.is_none())?;
    let sends_results = match plan.peer {
        None => plan.control.is_some(),
        Some(PeerProgram::Iperf3) => true,
        Some(PeerProgram::Iperf2) => false,
    };
    let unknown = if figures::lacks_result(plan, last) {
        "what arrived there is unknown"
    } else {
        "what it counted is unknown"
    };
    // Transactions and what came are counted here, and classic runs say no more than that. The end of
    // a test that opens connections is noticed late.
    let says_more = plan.flow.sends && !plan.flow.connects && !is_classic;
    let is_lacking = figures::lacks_result(plan, last) || says_more;
    (sends_results && is_lacking).then(|| {
        Warning::Imprecise(format!(
            "the server's result did not come after the signal: {unknown}"
        ))
    })
}

/// Warning about an interval that repetitions have not made as narrow as it was asked for.
fn too_wide(plan: &TestPlan, reached: Confidence, runs: usize) -> Option<Warning> {
    let asked = plan.confidence.as_ref().filter(|_| !reached.met)?;
    let of_cpus = [
        ("the client's CPU utilisation", reached.local_cpu),
        ("the server's CPU utilisation", reached.remote_cpu),
    ];
    let of_cpus = of_cpus.into_iter().filter(|_| !asked.result_only);
    let mut widths = std::iter::once(("the result", reached.result)).chain(of_cpus);
    let (what, width) = widths.find(|(_, width)| *width > asked.width * 100.0)?;
    Some(Warning::Imprecise(format!(
        "after {runs} iterations the {} % confidence interval of {what} is ±{:.1} %, and ±{:.1} % \
         is asked for (-I): more iterations make it narrower (-i)",
        asked.level,
        width / 2.0,
        asked.width * 50.0
    )))
}

/// Text about a netserver that stopped reading.
fn unread(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    format!(
        "netserver read nothing in the last {seconds:.1} s of the test: the throughput includes \
         that time"
    )
}

fn confidence(plan: &TestPlan, unit: ThroughputUnit, runs: &[Iteration]) -> Option<Confidence> {
    let wanted = plan.confidence.as_ref()?;
    let all: Vec<figures::Figures> = runs
        .iter()
        .map(|run| figures::of_iteration(plan, unit, run))
        .collect();
    let column = |pick: fn(&figures::Figures) -> f64| all.iter().map(pick).collect::<Vec<f64>>();
    let result = column(|figures| figures.throughput);
    let local_cpu = column(|figures| figures.local_cpu);
    let remote_cpu = column(|figures| figures.remote_cpu);
    let series = ConfidenceInput {
        result: &result,
        local_cpu: &local_cpu,
        remote_cpu: &remote_cpu,
    };
    Some(assess(wanted, series))
}

fn wants_more(plan: &TestPlan, done: usize, reached: Option<&Confidence>) -> bool {
    let (Some(wanted), Some(reached)) = (&plan.confidence, reached) else {
        return false;
    };
    let done = u32::try_from(done).unwrap_or(u32::MAX);
    done < wanted.min_iterations || (!reached.met && done < wanted.max_iterations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planned::plan;

    #[test]
    fn interval_that_stayed_wide_is_told_with_what_was_asked_for() {
        let told = |words: &str, result, local_cpu| {
            let reached = Confidence {
                met: false,
                result,
                local_cpu,
                remote_cpu: -1.0,
            };
            match too_wide(&plan(&format!("netperf -H a {words}")), reached, 3) {
                Some(Warning::Imprecise(text)) => text,
                _ => String::new(),
            }
        };
        let text = told("-I 99,5 -i 3,3 -c", 20.0, 1.0);
        assert!(text.contains("99 % confidence interval of the result is ±10.0 %, and ±2.5 %"));
        let text = told("-I 99,5 -i 3,3 -c", 1.0, 20.0);
        assert!(text.contains("of the client's CPU utilisation is ±10.0 %"));
        assert_eq!(told("-r -I 99,5 -i 3,3 -c", 1.0, 20.0), "");
        assert_eq!(told("-t TCP_RR", 20.0, 20.0), "");
    }
}
