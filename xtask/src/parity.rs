//! Throughput of ours against the original's, in pairs.
//!
//! A machine drifts by more than the difference we look for; runs taken in turn
//! drift together, so the ratio within a round is what counts, and its median.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::{Invocation, Netserver, Place, Programs, Scratch};

use crate::options::{Options, pin};

/// Least median ratio that `--check` accepts.
const PARITY: f64 = 0.98;

/// The tests, and whether they can be asked for their figure by name.
const TESTS: [(&str, bool); 8] = [
    ("TCP_STREAM", true),
    ("TCP_MAERTS", true),
    ("TCP_SENDFILE", false),
    ("TCP_RR", true),
    ("TCP_CRR", true),
    ("TCP_CC", false),
    // Its throughput is the receiver's.
    ("UDP_STREAM", true),
    ("UDP_RR", true),
];

/// A client and a server that is up and pinned.
pub(crate) struct Contender {
    name: &'static str,
    client: Programs,
    server: Netserver,
}

impl Contender {
    pub(crate) fn new(
        name: &'static str,
        client: &Programs,
        server: &Programs,
        cpu: u32,
    ) -> Result<Self, String> {
        let server = Netserver::start(server, &Place::Here);
        pin(server.pid(), cpu)?;
        Ok(Self {
            name,
            client: client.clone(),
            server,
        })
    }

    fn invocation(&self, options: &Options, folder: &Path) -> Invocation {
        Invocation::new(Path::new("taskset"))
            .args(["-c", &options.client_cpu.to_string()])
            .arg(&self.client.netperf)
            .args(["-4", "-H", "127.0.0.1"])
            .args(["-p", &self.server.port().to_string()])
            .args(["-l", &options.seconds.to_string()])
            .folder(folder)
            .patience(Duration::from_secs(u64::from(options.seconds) + 20))
    }

    /// The throughput of a run with these options in front of `--` and behind it.
    pub(crate) fn throughput(
        &self,
        words: &[&str],
        test_words: &[&str],
        options: &Options,
        folder: &Path,
    ) -> Result<f64, String> {
        let run = self.invocation(options, folder).args(words);
        let finished = run.args(["--", "-k", "THROUGHPUT"]).args(test_words).run();
        finished.clean()?;
        Ok(finished.values().number("THROUGHPUT"))
    }

    /// One run's figure.
    fn measure(&self, test: (&str, bool), options: &Options, folder: &Path) -> Result<f64, String> {
        let (name, by_selector) = test;
        if by_selector {
            return self.throughput(&["-t", name], &[], options, folder);
        }
        let finished = self.invocation(options, folder).args(["-t", name]).run();
        finished.clean()?;
        let row = finished.stdout.lines().nth(6).unwrap_or_default();
        let figure = row
            .split_whitespace()
            .last()
            .and_then(|word| word.parse().ok());
        figure.ok_or_else(|| format!("no figure in:\n{}", finished.account()))
    }
}

/// Runs the comparison and prints it.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let (ours, stock) = (options.ours()?, options.stock()?);
    let up = |name, client, server| Contender::new(name, client, server, options.server_cpu);
    let base = up("stock-stock", &stock, &stock)?;
    let mut contenders = vec![up("ours-ours", &ours, &ours)?];
    if options.mixed {
        contenders.push(up("ours-stock", &ours, &stock)?);
        contenders.push(up("stock-ours", &stock, &ours)?);
    }
    println!(
        "# {} rounds of {} s, client on CPU {}, server on CPU {}; ratio to stock-stock",
        options.pairs, options.seconds, options.client_cpu, options.server_cpu
    );
    println!(
        "{:<13} {:<11} {:>13} {:>13} {:>7} {:>7} {:>7}",
        "test", "pair", "median", "stock", "min", "MEDIAN", "max"
    );
    let mut behind = Vec::new();
    for test in chosen(options)? {
        for (contender, rounds) in contenders
            .iter()
            .zip(rounds(test, &base, &contenders, options)?)
        {
            let ratio = report(test.0, contender.name, &rounds);
            if ratio < PARITY {
                behind.push(format!("{} {} {ratio:.3}", test.0, contender.name));
            }
        }
    }
    if options.check && !behind.is_empty() {
        return Err(format!(
            "below {PARITY} in the median: {}",
            behind.join(", ")
        ));
    }
    Ok(())
}

fn chosen(options: &Options) -> Result<Vec<(&'static str, bool)>, String> {
    let Some(names) = &options.tests else {
        return Ok(TESTS.to_vec());
    };
    names
        .iter()
        .map(|name| {
            let known = TESTS
                .iter()
                .find(|(test, _)| test.eq_ignore_ascii_case(name));
            known.copied().ok_or_else(|| format!("no test {name}"))
        })
        .collect()
}

/// For each contender, what it and the base measured in each round. The order
/// within a round turns every time: being second must not be an advantage.
fn rounds(
    test: (&str, bool),
    base: &Contender,
    contenders: &[Contender],
    options: &Options,
) -> Result<Vec<Vec<(f64, f64)>>, String> {
    let folder = Scratch::new();
    let mut pairs = vec![Vec::new(); contenders.len()];
    let everyone: Vec<&Contender> = std::iter::once(base).chain(contenders).collect();
    for round in 0..options.pairs {
        let mut figures = vec![0.0; everyone.len()];
        let mut order: Vec<usize> = (0..everyone.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            if let (Some(contender), Some(figure)) = (everyone.get(index), figures.get_mut(index)) {
                *figure = contender.measure(test, options, folder.path())?;
            }
        }
        let stock = figures.first().copied().unwrap_or_default();
        for (pairs, figure) in pairs.iter_mut().zip(figures.into_iter().skip(1)) {
            pairs.push((figure, stock));
        }
    }
    Ok(pairs)
}

/// Prints one line; gives the median ratio.
fn report(test: &str, name: &str, rounds: &[(f64, f64)]) -> f64 {
    let ratios = sorted(rounds.iter().map(|(ours, stock)| ours / stock));
    let ours = sorted(rounds.iter().map(|(ours, _)| *ours));
    let stock = sorted(rounds.iter().map(|(_, stock)| *stock));
    let (least, most) = (ratios.first().copied(), ratios.last().copied());
    println!(
        "{test:<13} {name:<11} {:>13.2} {:>13.2} {:>7.3} {:>7.3} {:>7.3}",
        median(&ours),
        median(&stock),
        least.unwrap_or_default(),
        median(&ratios),
        most.unwrap_or_default(),
    );
    median(&ratios)
}

pub(crate) fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    if sorted.len() % 2 == 1 {
        at(middle)
    } else {
        f64::midpoint(at(middle.wrapping_sub(1)), at(middle))
    }
}

#[cfg(test)]
mod tests {
    use super::{median, sorted};

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert!((median(&[1.0, 2.0, 4.0, 8.0]) - 3.0).abs() < 1e-9);
        assert!((median(&sorted([3.0, 1.0, 2.0].into_iter())) - 2.0).abs() < 1e-9);
    }
}
