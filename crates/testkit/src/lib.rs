//! Helpers shared by the tests of the other crates: processes that cannot hang
//! a test, servers on free ports, other programs' builds to test against, and
//! private networks.
//!
//! Nothing here is shipped. A helper that
//! cannot do its work panics: that is how a test fails.

mod account;
pub mod browser;
pub mod cluster;
pub mod congestion;
pub mod lab;
pub mod machine;
pub mod nat;
pub mod net;
pub mod peers;
pub mod place;
pub mod process;
pub mod procfs;
pub mod require;
pub mod routed;
pub mod schema;
pub mod scratch;
pub mod server;
pub mod sim;
pub mod sockets;
pub mod star;
pub mod tmux;
pub mod values;
pub mod watchdog;

pub use browser::Browser;
pub use cluster::{Cluster, ClusterHost, HostState};
pub use lab::Lab;
pub use nat::BehindNat;
pub use net::{LoopbackOnly, TwoHosts};
pub use peers::Programs;
pub use place::Place;
pub use process::{Finished, Invocation, Running};
pub use routed::{Bottleneck, LinkHost, QueueLimit, RoutedLink};
pub use scratch::Scratch;
pub use server::Netserver;
pub use sim::{SimHost, SimLink, SimProcess, Simulation};
pub use sockets::is_closed;
pub use star::Star;
pub use tmux::Terminal;
pub use values::Values;

use std::time::{Duration, Instant};

/// A stopwatch for tests. The shipped programs read the clock elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test's own clock, not the one that measures"
    )]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Asks `done` every few milliseconds until it says yes or `patience` is over.
/// Says whether it ever said yes.
pub fn eventually(patience: Duration, mut done: impl FnMut() -> bool) -> bool {
    watchdog::watch();
    let waiting = Stopwatch::start();
    loop {
        if done() {
            return true;
        }
        if waiting.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The environment of the test run, in one place.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told where things are through the environment"
)]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A line of a test's own account, shown when the test fails.
#[expect(clippy::print_stdout, reason = "the runner captures it")]
pub fn note(text: &str) {
    println!("{text}");
}
