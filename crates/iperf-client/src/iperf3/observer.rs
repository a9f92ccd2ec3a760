//! Observers of a test of a client while it runs.

use netperf_iperf3::figures::StreamInterval;
use netperf_iperf3::messages::{Cookie, Parameters};
use netperf_program::iperf3::run::Run;

/// Follows a test, and may end it.
pub trait TestObserver {
    /// The control connection is about to be made.
    fn connecting(&mut self, port: Option<&str>);

    /// The path has determined the length of a datagram.
    fn found_length(&mut self, _length: u32) {}

    /// The control connection stands.
    fn begins(&mut self, parameters: &Parameters, cookie: Cookie, mss: Option<u32>);

    /// The streams are open.
    fn connected(&mut self, run: &Run, parameters: &Parameters);

    /// An interval is over.
    fn interval(&mut self, interval: StreamInterval, first: bool);

    /// Returns true if the test is to end now, as if its time were over.
    fn is_enough(&self) -> bool {
        false
    }

    /// Returns true if a signal ends the test as the end of its time does.
    fn takes_signals(&self) -> bool {
        false
    }

    /// A message of the control connection, by the name that iperf3 gives it.
    fn message(&mut self, _name: &str, _text: String) {}

    /// The senders of the client are about to stop.
    fn over(&mut self) {}
}
