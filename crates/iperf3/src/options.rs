//! The command line of iperf3, for programs that call it (docs/manual/src/iperf3.md).
//!
//! The grammar is that of getopt_long(3), with numbers as the original reads them: what follows a
//! number and is no unit is passed over with a warning. Options that are not served are refused
//! with a line that names them.

mod parameters;
mod table;
mod users;
mod values;

use std::time::Duration;

use netperf_model::getopt::{CommandWord, getopt};

pub use self::parameters::parameters;
pub use self::table::iperf3_help;
use self::table::{Iperf3OptionOf, Iperf3OptionSets, names, row};
use self::users::UserOptions;
pub use self::users::{ACCOUNTS, Iperf3Accounts, Iperf3Login, LOGIN};
use self::values::OptionText;
use crate::messages::Parameters;

/// A command line of iperf3.
#[derive(Clone, Debug, PartialEq)]
pub enum Iperf3Command {
    /// `-c`: run a test.
    Client(Box<Iperf3Client>),
    /// `-s`: serve.
    Server(Box<Iperf3Server>),
    /// `-h`.
    Help,
    /// `-v`.
    Version,
}

/// Options of both ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iperf3Common {
    /// `-p`.
    pub port: Option<String>,
    /// `-f`: the letter of a unit.
    pub format: Option<char>,
    /// `-i`: seconds; 0 for none.
    pub interval: Option<f64>,
    /// `-B`.
    pub bind: Option<String>,
    /// `-4` or `-6`.
    pub family: Option<char>,
    /// `-J`.
    pub json: bool,
    /// `-V`.
    pub verbose: bool,
    /// `-A`: CPU of this end, and of the server.
    pub affinity: (Option<u32>, Option<u32>),
    /// `--json-stream`: an object per line.
    pub json_stream: bool,
    /// `--logfile`.
    pub log_file: Option<String>,
    /// `--timestamps`: the format of the time before each line (strftime(3)).
    pub timestamps: Option<String>,
    /// `-I`: a file for the number of the process.
    pub pid_file: Option<String>,
    /// `--bind-dev`: a network interface.
    pub device: Option<String>,
    /// `--rcv-timeout`: time without data after which a receiver fails.
    pub receive_timeout: Option<Duration>,
    /// `--snd-timeout`: time after which unacknowledged data ends a connection.
    pub send_timeout: Option<Duration>,
    /// `-d`: print the messages of the control connection.
    pub debug: bool,
    /// Lines about words that have no effect, or that were read in part.
    pub warnings: Vec<String>,
}

/// A client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iperf3Client {
    /// Options of both ends.
    pub common: Iperf3Common,
    /// Host.
    pub host: String,
    /// `-u`.
    pub udp: bool,
    /// `-t`, seconds.
    pub time: Option<f64>,
    /// `-n`, bytes.
    pub bytes: Option<u64>,
    /// `-k`, blocks.
    pub blocks: Option<u64>,
    /// `-l`, bytes.
    pub length: Option<u32>,
    /// `-b`, bits per second, and blocks per burst.
    pub rate: Option<(u64, u32)>,
    /// `--pacing-timer`, microseconds.
    pub pacing_timer: Option<u32>,
    /// `-R`.
    pub reverse: bool,
    /// `--bidir`.
    pub bidirectional: bool,
    /// `--cport`.
    pub own_port: Option<u16>,
    /// `--connect-timeout`.
    pub connect_timeout: Option<Duration>,
    /// Parameters that an option sets as they are sent.
    pub parameters: Parameters,
    /// `-F`: where the data comes from, or goes to.
    pub file: Option<String>,
    /// User of the server.
    pub login: Option<Iperf3Login>,
}

/// A server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iperf3Server {
    /// Options of both ends.
    pub common: Iperf3Common,
    /// `-1`: one test.
    pub one_off: bool,
    /// `-D`: in the background.
    pub daemon: bool,
    /// `--server-bitrate-limit`: bits per second of all streams.
    pub rate_limit: Option<Iperf3RateLimit>,
    /// `--server-max-duration`.
    pub longest: Option<Duration>,
    /// `--idle-timeout`: time without a client after which the server begins anew.
    pub idle_timeout: Option<Duration>,
    /// The users to whom the server is restricted.
    pub accounts: Option<Iperf3Accounts>,
}

/// A limit of the rate of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iperf3RateLimit {
    /// Bits per second.
    pub bits: u64,
    /// Time over which the rate is averaged.
    pub over: Duration,
}

/// Reads the words behind argv\[0\].
///
/// # Errors
/// The text that follows `iperf3: `.
pub fn iperf3(words: &[String]) -> Result<Iperf3Command, String> {
    let mut read = OptionsRead::default();
    let typed: Result<Vec<_>, _> = getopt(words, &names()).into_iter().collect();
    for word in typed.map_err(|error| error.to_string())? {
        match word {
            CommandWord::Option {
                option,
                name,
                value,
            } => read.option(option, name, value.unwrap_or_default())?,
            CommandWord::Operand(word) => {
                read.warn(format!("'{word}' is not an option, and has no effect"));
            }
        }
        if let Some(command) = read.at_once.take() {
            return Ok(command);
        }
    }
    read.finish()
}

/// A complaint about options.
fn problem(text: &str) -> String {
    format!("parameter error - {text}")
}

/// The options of a command line.
#[derive(Default)]
struct OptionsRead {
    client: Iperf3Client,
    server: Iperf3Server,
    users: UserOptions,
    is_client: bool,
    is_server: bool,
    /// Options of one end, as typed.
    of_clients: Vec<String>,
    of_servers: Vec<String>,
    /// Options of clients that the original's server passes over.
    without_effect: Vec<String>,
    at_once: Option<Iperf3Command>,
}

impl OptionsRead {
    fn warn(&mut self, text: String) {
        self.client.common.warnings.push(text);
    }

    fn option(&mut self, index: usize, name: String, text: String) -> Result<(), String> {
        let row = row(index);
        let mut value = OptionText::new(&name, &text);
        match row.sets {
            Iperf3OptionSets::Flag(flag) => *flag(self) = true,
            Iperf3OptionSets::Value(_, set) | Iperf3OptionSets::Optional(_, set) => {
                set(self, &mut value)?;
            }
            Iperf3OptionSets::Command(command) => self.at_once = Some(command()),
            Iperf3OptionSets::NotServed(_) => return Err(row.not_served()),
        }
        if let Some(warning) = value.warning() {
            self.warn(warning);
        }
        match row.of {
            Iperf3OptionOf::Both => {}
            Iperf3OptionOf::Server => self.of_servers.push(name),
            Iperf3OptionOf::Client => self.of_clients.push(name),
            Iperf3OptionOf::ClientOrIdle => self.without_effect.push(name),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Iperf3Command, String> {
        let error = |text: &str| Err(problem(text));
        match (self.is_client, self.is_server) {
            (false, false) => return error("must either be a client (-c) or server (-s)"),
            (true, true) => return error("cannot be both server and client"),
            (false, true) => return self.server(),
            (true, false) => {}
        }
        if let Some(name) = self.of_servers.first() {
            return error(&format!(
                "some option you are trying to set is server only: {name}"
            ));
        }
        self.warn_of_users();
        self.client.login = self.users.login()?;
        let client = &self.client;
        if client.reverse && client.bidirectional {
            return error("cannot be both reverse and bidirectional");
        }
        let ends = [
            client.time.is_some(),
            client.bytes.is_some(),
            client.blocks.is_some(),
        ];
        if ends.into_iter().filter(|given| *given).count() > 1 {
            return error("only one test end condition (-t, -n, -k) may be specified");
        }
        let length = client.length.filter(|length| *length > 0);
        if client.udp && length.is_some_and(|length| !(16..=65_507).contains(&length)) {
            return error("block size invalid (minimum = 16 bytes, maximum = 65507 bytes)");
        }
        if client.file.is_some() && client.udp {
            return error("-F, --file is served with TCP alone, not with -u");
        }
        if client.file.is_some() && client.bidirectional {
            return error("-F, --file is served in one direction, not with --bidir");
        }
        let receives = client.reverse || client.bidirectional;
        if client.common.receive_timeout.is_some() && !receives {
            return error("client receive timeout is valid only in receiving mode");
        }
        let parallel = &mut self.client.parameters.parallel;
        *parallel = (*parallel).max(1);
        Ok(Iperf3Command::Client(Box::new(self.client)))
    }

    fn warn_of_users(&mut self) {
        for name in self.users.without_effect() {
            self.warn(format!("{name} has no effect without an RSA key"));
        }
    }

    fn server(mut self) -> Result<Iperf3Command, String> {
        if let Some(name) = self.of_clients.first() {
            return Err(problem(&format!(
                "some option you are trying to set is client only: {name}"
            )));
        }
        for name in std::mem::take(&mut self.without_effect) {
            self.warn(format!("{name} is an option of clients, and has no effect"));
        }
        self.warn_of_users();
        self.server.accounts = self.users.accounts()?;
        self.server.common = self.client.common;
        Ok(Iperf3Command::Server(Box::new(self.server)))
    }
}

#[cfg(test)]
mod tests;
