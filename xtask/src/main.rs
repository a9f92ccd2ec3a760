//! Development tasks: generated files, and paired benchmarks and instruction counts
//! against the original and other programs. `just` is the door to them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool whose result is what it prints"
)]

mod alarms;
mod bench;
mod code_lines;
mod docs;
mod generate;
mod history;
mod hostile;
mod instructions;
mod messages;
mod options;
mod parts;

use std::process::ExitCode;

use options::Options;

const USAGE: &str = "\
usage: xtask gen [--check]
       xtask bench [ROW or GROUP ...] [--pairs N] [--seconds N] [--without A,B]
                   [--out FOLDER] [--list] [--check]
       xtask bench-alarms [--check]
       xtask bench-history [--pairs N] [--check]
       xtask bench-hostile [--pairs N] [--seconds N] [--check]
       xtask code-lines
       xtask instructions [--check]
       xtask parts [--out FOLDER]
common: [--profile release|dist] [--ours FOLDER] [--stock FOLDER] [--cpus CLIENT,SERVER]

gen            writes the files in docs/ that are made from tables and sources of the programs
  --check      fails if one is not what it should be, and writes nothing
bench          runs ours and what it is held against in turn, pinned, and prints the ratios
  ROW          only this row, or all whose names go on with a dash behind it
  GROUP        only these rows: parity, paths, peers, flows, mixed (not run unless named)
  --pairs      rounds (7)
  --seconds    length of a run, whole seconds (2)
  --without    without the rows of these programs
  --out        where bench.md and bench.json go (target/bench)
  --list       prints the names of all rows
  --check      fails if a row misses what is asked of it
bench-alarms   compares a configuration with itself, sixty times
  --check      fails if 5 % of the comparisons see a difference
bench-history  how long questions to a history of 100,000 results take
  --check      fails if one about a host takes more than 100 ms
bench-hostile  an honest client's rate beside 2,000 silent clients, with and without an attack
  --check      fails if the attack costs more than 5 %
--profile      whose programs in target/ are measured (dist)
code-lines     lines of code of each crate, without comments and tests
instructions   user-space instructions of the client, by callgrind
  --check      fails unless ours are few enough, and below the original's
parts          writes the packages in the programs (CycloneDX) and their licences
  --out        folder of the two files (target/bench)";

#[expect(
    clippy::disallowed_methods,
    reason = "this tool's own words, not netperf's"
)]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let run = match words.first().map(String::as_str) {
        Some("gen") => generate::run,
        Some("bench") => bench::run,
        Some("bench-alarms") => alarms::run,
        Some("bench-history") => history::run,
        Some("bench-hostile") => hostile::run,
        Some("code-lines") => code_lines::run,
        Some("instructions") => instructions::run,
        Some("parts") => parts::run,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let asked = Options::parse(words.get(1..).unwrap_or_default());
    let only_bench = |options: Options| match options.words.first() {
        Some(word) if words.first().is_some_and(|task| task != "bench") => {
            Err(format!("unknown word {word}\n{USAGE}"))
        }
        _ => Ok(options),
    };
    match asked.and_then(only_bench).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
