//! The test of a client.

use std::time::Duration;

use netperf_iperf3::messages::Parameters;
use netperf_iperf3::options::{Iperf3Client, parameters};

use super::Iperf3User;

/// Default interval, seconds.
pub const INTERVAL: f64 = 1.0;

/// The parameters of a test, and what the client alone needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf3Plan {
    /// Name or address of the server.
    pub host: String,
    /// Its port, if given.
    pub port: Option<String>,
    /// `4` or `6`, if the address has to be of one family.
    pub family: Option<char>,
    /// Own address.
    pub bind: Option<String>,
    /// Network interface.
    pub device: Option<String>,
    /// Time after which unacknowledged data ends a connection.
    pub send_timeout: Option<Duration>,
    /// Time without data after which a receiver fails.
    pub receive_timeout: Option<Duration>,
    /// Print the messages of the control connection.
    pub debug: bool,
    /// Port of the first stream.
    pub own_port: Option<u16>,
    /// Time limit of a connection.
    pub connect_timeout: Option<Duration>,
    /// Seconds of an interval; 0 for none.
    pub interval: f64,
    /// Source or sink of the data.
    pub file: Option<String>,
    /// User of the server.
    pub user: Option<Iperf3User>,
    /// The length of a datagram is 0 if the path determines it.
    pub parameters: Parameters,
}

impl Iperf3Plan {
    /// The test of a command line.
    pub(super) fn new(args: &Iperf3Client, user: Option<Iperf3User>) -> Self {
        let common = &args.common;
        Self {
            host: args.host.clone(),
            port: common.port.clone(),
            family: common.family,
            bind: common.bind.clone(),
            device: common.device.clone(),
            send_timeout: common.send_timeout,
            receive_timeout: common.receive_timeout,
            debug: common.debug,
            own_port: args.own_port,
            connect_timeout: args.connect_timeout,
            interval: common.interval.unwrap_or(INTERVAL),
            file: args.file.clone(),
            user,
            parameters: parameters(args),
        }
    }
}

/// Form of the output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Iperf3Form {
    /// JSON, as one document.
    pub json: bool,
    /// JSON, as an object per line.
    pub stream: bool,
    /// More lines.
    pub verbose: bool,
    /// Letter of the unit of rates.
    pub letter: Option<char>,
}

impl Iperf3Form {
    /// The form of a command line.
    pub(super) const fn new(args: &Iperf3Client) -> Self {
        Self {
            json: args.common.json,
            stream: args.common.json_stream,
            verbose: args.common.verbose,
            letter: args.common.format,
        }
    }
}
