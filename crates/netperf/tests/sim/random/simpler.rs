//! Simpler variants of a case that fails: what remains is what the failure needs.

use std::time::Duration;

use netperf_testkit::SimLink;

use super::draw::Case;

/// Steps that are no options.
const STEPS: [&str; 6] = [
    "no-signal",
    "no-peer",
    "no-loss",
    "even-link",
    "fast-link",
    "one-second",
];
/// Options that a case can do without, and whether they have a value.
const OPTIONS: [(&str, bool); 13] = [
    ("--flows", true),
    ("--warmup", true),
    ("--rate", true),
    ("--until", true),
    ("-I", true),
    ("-D", true),
    ("-r", true),
    ("-O", true),
    ("-b", true),
    ("-i", true),
    ("-P", true),
    ("-R", false),
    ("--bidir", false),
];
/// Rounds of steps; a step may become possible once another is taken.
const ROUNDS: usize = 2;

/// All steps, by the words that repeat them.
fn steps() -> impl Iterator<Item = &'static str> {
    let options = OPTIONS.iter().map(|(name, _)| *name);
    STEPS.into_iter().chain(options)
}

impl Case {
    /// The case after a step; `None` if it stays as it is.
    pub(super) fn simpler(&self, step: &str) -> Option<Self> {
        let mut case = self.clone();
        match step {
            "no-signal" => (case.client.signal, case.server.signal) = (None, None),
            // The server keeps the port behind that of the peer, which the client takes then.
            "no-peer" => case.remove_peer(),
            "no-loss" => case.link.loss = 0.0,
            "even-link" => case.is_wide = false,
            "fast-link" => {
                case.link = SimLink {
                    bits_per_second: 50_000_000,
                    delay: Duration::from_millis(1),
                    ..case.link
                };
            }
            "one-second" => case.shorten(),
            option => case.remove(option),
        }
        (case != *self).then_some(case)
    }

    /// The case after all steps of a list separated by commas.
    pub(super) fn after_steps(self, steps: &str) -> Self {
        let words = steps.split(',').filter(|step| !step.is_empty());
        words.fold(self, |case, step| case.simpler(step).unwrap_or(case))
    }

    fn remove_peer(&mut self) {
        if self.peer.take().is_none() {
            return;
        }
        let words = &mut self.server.words;
        let port = words.iter().position(|word| word == "-p");
        words.truncate(port.unwrap_or(words.len()));
    }

    fn shorten(&mut self) {
        let option = if self.has("-l") && self.has("-H") {
            "-l"
        } else {
            "-t"
        };
        let place = self.client.words.iter().position(|word| word == option);
        let value = place.and_then(|place| self.client.words.get_mut(place + 1));
        if let Some(value) = value {
            "1".clone_into(value);
            self.length = 1;
        }
    }

    fn remove(&mut self, option: &str) {
        // netperf's -P is no number of streams.
        let is_netperf = self.has("-H");
        let row = OPTIONS.iter().find(|(name, _)| *name == option);
        let place = self.client.words.iter().position(|word| word == option);
        let (Some((_, has_value)), Some(place)) = (row, place) else {
            return;
        };
        if is_netperf && option == "-P" {
            return;
        }
        let end = place + 1 + usize::from(*has_value);
        self.client
            .words
            .drain(place..end.min(self.client.words.len()));
        if matches!(option, "--flows" | "-P") {
            self.flows = 1;
        }
    }
}

/// The simplest case found that still fails, with the steps to it.
pub(super) fn simplest(case: &Case, fails: impl Fn(&Case) -> bool) -> (Case, Vec<&'static str>) {
    let (mut case, mut taken) = (case.clone(), Vec::new());
    for _ in 0..ROUNDS {
        let before = taken.len();
        for step in steps() {
            if let Some(simpler) = case.simpler(step).filter(|simpler| fails(simpler)) {
                case = simpler;
                taken.push(step);
            }
        }
        if taken.len() == before {
            break;
        }
    }
    (case, taken)
}

#[test]
fn simplest_case_keeps_what_the_failure_needs() {
    let programs = netperf_testkit::ours!();
    let cases = (1..400).map(|seed| Case::draw(seed, &programs));
    let with_rate = |case: &Case| case.has("--rate") && case.has("--flows");
    let case = cases.into_iter().find(with_rate).expect("a case");
    let (simplest, steps) = simplest(&case, |case| case.has("--rate"));
    assert!(
        simplest.has("--rate") && !simplest.has("--flows"),
        "{simplest}"
    );
    assert_eq!(
        (simplest.length, simplest.flows, simplest.link.loss),
        (1, 1, 0.0)
    );
    assert_eq!(case.after_steps(&steps.join(",")), simplest);
}
