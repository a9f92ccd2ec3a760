//! Development tasks: generated files, and paired benchmarks and instruction counts
//! against the original. `just` is the door to them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool whose result is what it prints"
)]

mod bench;
mod flows;
mod generate;
mod hostile;
mod instructions;
mod options;
mod parity;

use std::process::ExitCode;

use options::Options;

const USAGE: &str = "\
usage: xtask gen [--check]
       xtask bench [--pairs N] [--seconds N] [--tests A,B] [--check]
       xtask bench-parity [--pairs N] [--seconds N] [--tests A,B] [--mixed] [--check]
       xtask bench-flows [--pairs N] [--seconds N] [--check]
       xtask bench-hostile [--pairs N] [--seconds N] [--check]
       xtask instructions [--check]
common: [--ours FOLDER] [--stock FOLDER] [--cpus CLIENT,SERVER]

gen            writes the files in docs/ that are made from the tables of options and selectors
  --check      fails if one is not what it should be, and writes nothing
bench          runs our data paths and what they are held against in turn, pinned
  --tests      only these of its rows
  --check      fails if a median ratio is below what is asked of it
bench-parity   runs ours and the original in turn, pinned, and prints ours/stock
  --mixed      the mixed pairs too, against the original's own
  --check      fails if a median ratio is below 0.98
bench-flows    sixteen flows and sixteen processes of the original, one flow and the plain
               loop, and what ten thousand flows take
  --check      fails if it is not 1.1, 0.97, and 4 KiB and a second
bench-hostile  an honest client's rate beside 2,000 silent clients, with and without an attack
  --check      fails if the attack costs more than 5 %
instructions   user-space instructions of the client, by callgrind
  --check      fails unless ours are below the original's";

#[expect(
    clippy::disallowed_methods,
    reason = "this tool's own words, not netperf's"
)]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let run = match words.first().map(String::as_str) {
        Some("gen") => generate::run,
        Some("bench") => bench::run,
        Some("bench-parity") => parity::run,
        Some("bench-flows") => flows::run,
        Some("bench-hostile") => hostile::run,
        Some("instructions") => instructions::run,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let asked = Options::parse(words.get(1..).unwrap_or_default());
    match asked.and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
