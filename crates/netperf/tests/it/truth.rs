//! Claims of the manual about figures, against what is known to be true.
//!
//! `just truth` runs the whole suite and prints its table: claim, truth, result, tolerance.
//! `just truth landing` runs the part of each change. A theme of claims is a file in the folder
//! `truth/`, declared below. A test of it
//!
//! 1. creates a link with [`RoutedLink::new`], which returns `None` where root is missing;
//! 2. runs netperf on it, with [`Bench`];
//! 3. calls [`check`] for each figure, with the claim in one plain sentence, the truth, the
//!    figure and a [`Tolerance`], whose reason a comment states.
//!
//! Names of tests end in `_netns` where they create networks. A test has the attribute
//! `#[ignore = "nightly: REASON"]` if it takes more than some 10 seconds, repeats a measurement
//! often, or judges a rate or a time. One that keeps the processors busy, or fails without them,
//! also takes `machine::whole()`. No measurement is repeated because it failed. The other
//! tests run at the same time, and the machine may be loaded: their truth is a count of the kernel.

pub(crate) mod campaigns;
mod counts;
mod cpu;
mod drops;
mod iperf;
mod latency;
mod quality;
mod rests;
mod rrul;
mod slow;
mod speed_tests;
mod stalls;
mod statistics;
mod table;
mod throughput;
mod until;
mod window;

use std::thread;
use std::time::Duration;

use netperf_testkit::{
    Bottleneck, Finished, Invocation, LinkHost, Netserver, Programs, QueueLimit, RoutedLink, note,
    ours,
};

pub(crate) use table::{Tolerance, check};

/// Time limit of a run: a test drains a slow link for some seconds, and a loaded machine is late.
const PATIENCE: Duration = Duration::from_secs(90);

/// A link and a netserver at its end.
pub(crate) struct Bench {
    pub(crate) link: RoutedLink,
    pub(crate) server: Netserver,
    client: Programs,
}

impl Bench {
    /// Our two programs, with the same bottleneck in both directions.
    pub(crate) fn new(both: Bottleneck) -> Option<Self> {
        Self::with(both, &ours!(), &ours!())
    }

    /// Programs of any make.
    pub(crate) fn with(both: Bottleneck, client: &Programs, server: &Programs) -> Option<Self> {
        let link = RoutedLink::new(both)?;
        let server = link.serve(server);
        let client = client.clone();
        Some(Self {
            link,
            server,
            client,
        })
    }

    /// netperf at the client, told of the netserver, with options in one line.
    pub(crate) fn client(&self, options: &str) -> Invocation {
        let port = self.server.port().to_string();
        Invocation::new(&self.client.netperf)
            .args(["-H", RoutedLink::SERVER_V4, "-p", &port])
            .args(options.split_whitespace())
            .within(&self.link.place(LinkHost::Client))
            .patience(PATIENCE)
    }

    /// Sends a signal to all sessions of netserver.
    pub(crate) fn signal_sessions(&self, name: &str) {
        self.server.signal_sessions(name);
    }

    /// Runs it to its end, which is a success without a warning.
    pub(crate) fn run(&self, options: &str) -> Finished {
        let finished = self.client(options).run().expect_clean();
        note(&finished.account());
        finished
    }

    /// The same; it ends within so many seconds.
    pub(crate) fn run_within(&self, claim: &str, options: &str, most: f64) -> Finished {
        let finished = self.run(options);
        check(claim, most, finished.took.as_secs_f64(), Tolerance::AtMost);
        finished
    }
}

/// Checks all cases at the same time.
pub(crate) fn at_once<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    // The watchdog knows tests by the names of their threads.
    let test = thread::current().name().unwrap_or_default().to_owned();
    thread::scope(|scope| {
        for case in cases {
            let named = thread::Builder::new().name(test.clone());
            let spawned = named.spawn_scoped(scope, || check(case));
            spawned.expect("a thread");
        }
    });
}

/// 1, 2 and 10 Mbit/s with queues of 0.1, 0.3 and 1 s.
pub(crate) const SLOW_LINKS: [Bottleneck; 9] = [
    Bottleneck::new(1_000, 100),
    Bottleneck::new(1_000, 300),
    Bottleneck::new(1_000, 1_000),
    Bottleneck::new(2_000, 100),
    Bottleneck::new(2_000, 300),
    Bottleneck::new(2_000, 1_000),
    Bottleneck::new(10_000, 100),
    Bottleneck::new(10_000, 300),
    Bottleneck::new(10_000, 1_000),
];

/// Rate and queue of a link, for a claim.
pub(crate) fn shown(link: &Bottleneck) -> String {
    let queue = match link.queue {
        QueueLimit::Time(time) => format!("{} s", time.as_secs_f64()),
        QueueLimit::Bytes(bytes) => format!("{bytes} bytes"),
    };
    format!("{} Mbit/s, queue of {queue}", link.rate())
}
