//! LOC_CPU, REM_CPU and UUID: a control connection and no data.

use netperf_cli::RunCommand;
use netperf_measure::cpu;
use netperf_model::{Format, TestId, TestPlan};
use netperf_program::output::{FAILED, Failure, out, system_text};
use netperf_report::control::{Whose, cpu_rate, uuid};
use netperf_report::format::json;

use super::identifier;
use super::session::{LEAVE, open, unanswered};
use crate::control;
use crate::run_so_far::RunStart;

/// Runs a test without data and prints what it found out.
pub(crate) fn without_data(run: &RunCommand, begun: RunStart) -> Result<(), Failure> {
    let plan = &run.plan;
    let control = plan.control.as_ref().map(control::establish).transpose()?;
    let mut talk = control.map(|control| open(plan, control)).transpose()?;
    let answer = RatePrinter { run, begun };
    match (plan.test, &mut talk) {
        (TestId::RemCpu, Some(talk)) => {
            let (rate, cpus) = talk.calibrate().map_err(|error| unanswered(error, plan))?;
            // No CPU does nothing in a second.
            if rate <= 0.0 {
                return Err(Failure::failed("netserver could not calibrate its CPUs"));
            }
            let cpus = u32::try_from(cpus).unwrap_or(0);
            answer.rate(Whose::Remote, f64::from(rate), cpus);
        }
        (TestId::RemCpu, None) => {
            return Err(Failure::stderr(
                FAILED,
                "send_request: send call failure: Bad file descriptor",
            ));
        }
        (TestId::Uuid, _) => answer.identifier(&identifier(plan)),
        _ => {
            let rate = calibration(plan)?;
            answer.rate(Whose::Local, rate, cpu::count());
        }
    }
    if let Some(talk) = talk {
        talk.finish(LEAVE);
    }
    Ok(())
}

/// Prints what a test without data found out.
#[derive(Clone, Copy)]
struct RatePrinter<'a> {
    run: &'a RunCommand,
    begun: RunStart,
}

impl RatePrinter<'_> {
    fn rate(self, whose: Whose, rate: f64, cpus: u32) {
        let verbosity = self.run.report.verbosity;
        let verbosity = if self.for_a_person() { 2 } else { verbosity };
        let plain = cpu_rate(whose, rate, cpus, verbosity);
        self.print(json::Answer::Rate { whose, rate, cpus }, &plain);
    }

    fn for_a_person(self) -> bool {
        self.run.report.format == Format::Human
    }

    fn identifier(self, identifier: &str) {
        self.print(json::Answer::Identifier(identifier), &uuid(identifier));
    }

    fn print(self, answer: json::Answer<'_>, plain: &str) {
        if self.run.report.format.is_json() {
            out(&json::answer(self.begun.frame(self.run), answer));
        } else {
            out(plain);
            if self.for_a_person() && !plain.ends_with('\n') {
                out("\n");
            }
        }
    }
}

/// The calibration rate of this host.
fn calibration(plan: &TestPlan) -> Result<f64, Failure> {
    let method = plan.local.cpu.unwrap_or_default().method;
    cpu::calibrate(method).map_err(|error| {
        let why = system_text(&error);
        Failure::failed(format_args!("cannot calibrate the CPUs: {why}"))
    })
}
