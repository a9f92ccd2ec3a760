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
pub mod documents;
mod environment;
mod eventually;
pub mod lab;
pub mod machine;
pub mod nat;
pub mod net;
pub mod peers;
pub mod place;
pub mod preload;
pub mod process;
pub mod procfs;
pub mod require;
pub mod routed;
pub mod rsa;
pub mod schema;
pub mod scratch;
pub mod server;
pub mod sim;
pub mod sockets;
pub mod star;
mod start;
mod stopwatch;
pub mod tmux;
pub mod values;
pub mod watchdog;

pub use account::note;
pub use browser::Browser;
pub use cluster::{Cluster, ClusterHost, HostState};
pub use environment::environment;
pub use eventually::eventually;
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
pub use stopwatch::Stopwatch;
pub use tmux::Terminal;
pub use values::Values;
