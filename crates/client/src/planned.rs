//! Plans of command lines, and runs, for unit tests.

use netperf_cli::{CliEnvironment, Command};
use netperf_model::{EndResult, Iteration, TestPlan};

/// Plan of a command line, whose words are separated by spaces.
pub(super) fn plan(words: &str) -> TestPlan {
    let argv: Vec<_> = words.split_whitespace().map(Into::into).collect();
    let around = CliEnvironment {
        read_file: &|_| Ok(String::new()),
        is_selector: &|_| false,
        selectors: &[],
        is_host: &|_| false,
        dump_tcp_info: false,
    };
    match netperf_cli::netperf(&argv, &around).command {
        Ok(Command::Run(run)) => run.plan,
        other => panic!("no run: {other:?}"),
    }
}

/// A run of so many seconds with these results of netperf and netserver.
pub(super) fn ran(elapsed: f64, local: EndResult, remote: Option<EndResult>) -> Iteration {
    Iteration {
        elapsed,
        paused: 0.0,
        local,
        remote,
        segment_size: None,
        cipher: None,
        tcp: None,
        many: None,
        one_way: None,
    }
}
