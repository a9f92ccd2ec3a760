//! The command line of iperf3, for programs that call it (docs/manual/src/iperf3.md).
//!
//! Options that are not served are refused with a line that names them; none is ignored.

mod help;
mod parameters;
mod values;

use std::time::Duration;

pub use self::parameters::parameters;
use self::values::{bad, burst, code_point, number_of_any_base, rate_limit, real, size, whole};

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
    /// `--fq-rate`, bits per second.
    pub fq_rate: u64,
    /// `-P`.
    pub parallel: u32,
    /// `-R`.
    pub reverse: bool,
    /// `--bidir`.
    pub bidirectional: bool,
    /// `-w`, bytes.
    pub window: Option<u32>,
    /// `-M`, bytes.
    pub segment: Option<u32>,
    /// `-N`.
    pub no_delay: bool,
    /// `-C`.
    pub congestion: Option<String>,
    /// `-S`.
    pub tos: u8,
    /// `-Z`.
    pub zerocopy: bool,
    /// `-O`, seconds.
    pub omit: u32,
    /// `-T`.
    pub title: Option<String>,
    /// `--extra-data`.
    pub extra_data: Option<String>,
    /// `--get-server-output`.
    pub server_output: bool,
    /// `--udp-counters-64bit`.
    pub counters_64bit: bool,
    /// `--repeating-payload`.
    pub repeating_payload: bool,
    /// `--cport`.
    pub own_port: Option<u16>,
    /// `--connect-timeout`.
    pub connect_timeout: Option<Duration>,
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
}

/// A limit of the rate of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iperf3RateLimit {
    /// Bits per second.
    pub bits: u64,
    /// Time over which the rate is averaged.
    pub over: Duration,
}

/// An option: letter, name, whether it takes a value.
struct Row(Option<char>, &'static str, OptionValue);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionValue {
    Nothing,
    Value,
    /// May have a value behind `=`.
    Optional,
    /// Takes a value, and is not served.
    RefusedValue,
    /// Takes none, and is not served.
    Refused,
}

use OptionValue::{Nothing, Optional, Refused, RefusedValue, Value};

const TABLE: &[Row] = &[
    Row(Some('p'), "port", Value),
    Row(Some('f'), "format", Value),
    Row(Some('i'), "interval", Value),
    Row(Some('I'), "pidfile", Value),
    Row(Some('F'), "file", RefusedValue),
    Row(Some('A'), "affinity", Value),
    Row(Some('B'), "bind", Value),
    Row(None, "bind-dev", RefusedValue),
    Row(Some('V'), "verbose", Nothing),
    Row(Some('J'), "json", Nothing),
    Row(None, "json-stream", Nothing),
    Row(None, "logfile", Value),
    Row(None, "forceflush", Nothing),
    Row(None, "timestamps", Optional),
    Row(None, "rcv-timeout", RefusedValue),
    Row(None, "snd-timeout", RefusedValue),
    Row(Some('d'), "debug", Refused),
    Row(Some('v'), "version", Nothing),
    Row(Some('h'), "help", Nothing),
    Row(Some('s'), "server", Nothing),
    Row(Some('D'), "daemon", Nothing),
    Row(Some('1'), "one-off", Nothing),
    Row(None, "server-bitrate-limit", Value),
    Row(None, "server-max-duration", Value),
    Row(None, "idle-timeout", RefusedValue),
    Row(None, "rsa-private-key-path", RefusedValue),
    Row(None, "authorized-users-path", RefusedValue),
    Row(None, "time-skew-threshold", RefusedValue),
    Row(None, "use-pkcs1-padding", Refused),
    Row(Some('c'), "client", Value),
    Row(None, "sctp", Refused),
    Row(Some('X'), "xbind", RefusedValue),
    Row(None, "nstreams", RefusedValue),
    Row(Some('u'), "udp", Nothing),
    Row(None, "connect-timeout", Value),
    Row(Some('b'), "bitrate", Value),
    Row(None, "bandwidth", Value),
    Row(None, "pacing-timer", Value),
    Row(None, "fq-rate", Value),
    Row(Some('t'), "time", Value),
    Row(Some('n'), "bytes", Value),
    Row(Some('k'), "blockcount", Value),
    Row(Some('l'), "length", Value),
    Row(None, "cport", Value),
    Row(Some('P'), "parallel", Value),
    Row(Some('R'), "reverse", Nothing),
    Row(None, "bidir", Nothing),
    Row(Some('w'), "window", Value),
    Row(Some('C'), "congestion", Value),
    Row(None, "linux-congestion", Value),
    Row(Some('M'), "set-mss", Value),
    Row(Some('N'), "no-delay", Nothing),
    Row(Some('4'), "version4", Nothing),
    Row(Some('6'), "version6", Nothing),
    Row(Some('S'), "tos", Value),
    Row(None, "dscp", Value),
    Row(Some('L'), "flowlabel", RefusedValue),
    Row(Some('Z'), "zerocopy", Nothing),
    Row(Some('O'), "omit", Value),
    Row(Some('T'), "title", Value),
    Row(None, "extra-data", Value),
    Row(None, "get-server-output", Nothing),
    Row(None, "udp-counters-64bit", Nothing),
    Row(None, "repeating-payload", Nothing),
    Row(None, "dont-fragment", Refused),
    Row(None, "gsro", Refused),
    Row(None, "username", RefusedValue),
    Row(None, "rsa-public-key-path", RefusedValue),
];

/// Reads the words behind argv\[0\].
///
/// # Errors
/// The text that follows `iperf3: `.
pub fn iperf3(words: &[String]) -> Result<Iperf3Command, String> {
    let mut reading = OptionsRead::default();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            reading.long(long, &mut words)?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            reading.letters(letters, &mut words)?;
        }
        // iperf3 takes no other words, and passes over them.
        else {
            return Err(problem(&format!("'{word}' is not an option")));
        }
        if let Some(command) = reading.at_once.take() {
            return Ok(command);
        }
    }
    reading.finish()
}

/// A complaint about options.
fn problem(text: &str) -> String {
    format!("parameter error - {text}")
}

#[derive(Default)]
struct OptionsRead {
    client: Iperf3Client,
    server: Iperf3Server,
    is_client: bool,
    is_server: bool,
    /// An option of clients alone was given.
    client_only: bool,
    at_once: Option<Iperf3Command>,
}

impl OptionsRead {
    fn long<'w>(
        &mut self,
        long: &str,
        words: &mut impl Iterator<Item = &'w str>,
    ) -> Result<(), String> {
        let (name, attached) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let row = TABLE.iter().find(|row| row.1 == name);
        let row = row.ok_or_else(|| format!("unrecognized option '--{name}'"))?;
        let value = match (row.2, attached) {
            (Refused | RefusedValue, _) => return Err(not_served(row)),
            (Value, None) => words.next(),
            (Value | Nothing | Optional, attached) => attached,
        };
        if row.2 == Value && value.is_none() {
            return Err(format!("option '--{name}' requires an argument"));
        }
        self.apply(row.1, value.unwrap_or_default())
    }

    fn letters<'w>(
        &mut self,
        letters: &str,
        words: &mut impl Iterator<Item = &'w str>,
    ) -> Result<(), String> {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            rest = rest.get(letter.len_utf8()..).unwrap_or_default();
            let row = TABLE.iter().find(|row| row.0 == Some(letter));
            let row = row.ok_or_else(|| format!("invalid option -- '{letter}'"))?;
            match row.2 {
                Refused | RefusedValue => return Err(not_served(row)),
                Nothing | Optional => self.apply(row.1, "")?,
                Value => {
                    let value = if rest.is_empty() {
                        words.next()
                    } else {
                        Some(std::mem::take(&mut rest))
                    };
                    let missing = || format!("option requires an argument -- '{letter}'");
                    self.apply(row.1, value.ok_or_else(missing)?)?;
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, name: &str, value: &str) -> Result<(), String> {
        if self.of_both(name, value)? {
            return Ok(());
        }
        self.client_only = true;
        let client = &mut self.client;
        match name {
            "client" => {
                client.host = value.to_owned();
                self.is_client = true;
            }
            "udp" => client.udp = true,
            "reverse" => client.reverse = true,
            "bidir" => client.bidirectional = true,
            "no-delay" => client.no_delay = true,
            "zerocopy" => client.zerocopy = true,
            "get-server-output" => client.server_output = true,
            "udp-counters-64bit" => client.counters_64bit = true,
            "repeating-payload" => client.repeating_payload = true,
            "title" => client.title = Some(value.to_owned()),
            "extra-data" => client.extra_data = Some(value.to_owned()),
            "congestion" | "linux-congestion" => client.congestion = Some(value.to_owned()),
            _ => self.number(name, value)?,
        }
        Ok(())
    }

    /// Options of both ends, and of the server. Returns false for all others.
    fn of_both(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let common = &mut self.client.common;
        match name {
            "port" => common.port = Some(whole(name, value, (1, 65_535))?.to_string()),
            "format" => {
                let letter = value.chars().next().filter(|c| "kmgtKMGT".contains(*c));
                common.format = Some(letter.ok_or_else(|| {
                    problem("bad format specifier (valid formats are in the set [kmgtKMGT])")
                })?);
            }
            "interval" => {
                let wrong = "invalid report interval (min = 0.1, max = 60 seconds)";
                let seconds = real(value).filter(|s| *s == 0.0 || (0.1..=60.0).contains(s));
                common.interval = Some(seconds.ok_or_else(|| problem(wrong))?);
            }
            "bind" => common.bind = Some(value.to_owned()),
            "version4" => common.family = Some('4'),
            "version6" => common.family = Some('6'),
            "json" => common.json = true,
            "json-stream" => (common.json, common.json_stream) = (true, true),
            "logfile" => common.log_file = Some(value.to_owned()),
            "timestamps" => {
                let format = if value.is_empty() { "%c " } else { value };
                common.timestamps = Some(format.to_owned());
            }
            "pidfile" => common.pid_file = Some(value.to_owned()),
            "verbose" => common.verbose = true,
            "affinity" => {
                let (own, servers) = value.split_once(',').unwrap_or((value, ""));
                let cpu = |text: &str| match text {
                    "" => Ok(None),
                    text => whole(name, text, (0, 1023)).map(|cpu| u32::try_from(cpu).ok()),
                };
                common.affinity = (cpu(own)?, cpu(servers)?);
            }
            // Every line is written at once.
            "forceflush" => {}
            "server" => self.is_server = true,
            "daemon" => self.server.daemon = true,
            "one-off" => self.server.one_off = true,
            "server-bitrate-limit" => self.server.rate_limit = Some(rate_limit(name, value)?),
            "server-max-duration" => {
                let seconds = whole(name, value, (1, 86_400))?;
                self.server.longest = Some(Duration::from_secs(seconds));
            }
            "help" => self.at_once = Some(Iperf3Command::Help),
            "version" => self.at_once = Some(Iperf3Command::Version),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn number(&mut self, name: &str, value: &str) -> Result<(), String> {
        let client = &mut self.client;
        let small = |most, wrong: &str| {
            let number = size(value, 1024).filter(|number| *number <= most);
            let number = number.and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| problem(wrong))
        };
        match name {
            "time" => {
                let wrong = "test duration too long (maximum = 86400 seconds)";
                let time = real(value).ok_or_else(|| bad(name, value))?;
                let time = Some(time).filter(|time| *time <= 86_400.0);
                client.time = Some(time.ok_or_else(|| problem(wrong))?);
            }
            "bytes" => client.bytes = Some(size(value, 1024).ok_or_else(|| bad(name, value))?),
            "blockcount" => {
                client.blocks = Some(size(value, 1024).ok_or_else(|| bad(name, value))?);
            }
            "length" => {
                let most = "block size too large (maximum = 1048576 bytes)";
                client.length = Some(small(1 << 20, most)?);
            }
            "bitrate" | "bandwidth" => client.rate = Some(burst(name, value)?),
            "pacing-timer" => {
                client.pacing_timer = Some(small(1_000_000_000, "invalid pacing timer")?);
            }
            "fq-rate" => client.fq_rate = size(value, 1000).ok_or_else(|| bad(name, value))?,
            "parallel" => {
                let most = "number of parallel streams too large (maximum = 128)";
                client.parallel = small(128, most)?;
            }
            "window" => {
                let most = "socket buffer size too large (maximum = 536870912 bytes)";
                client.window = Some(small(512 << 20, most)?);
            }
            "set-mss" => {
                client.segment = Some(small(9216, "TCP MSS too large (maximum = 9216 bytes)")?);
            }
            "omit" => client.omit = small(600, "bogus value for --omit")?,
            "tos" => {
                let number = number_of_any_base(value).filter(|tos| *tos <= 255);
                let tos = number.and_then(|tos| u8::try_from(tos).ok());
                client.tos = tos.ok_or_else(|| {
                    problem("bad TOS value (must be between 0 and 255 inclusive)")
                })?;
            }
            "dscp" => {
                let dscp = code_point(value).ok_or_else(|| {
                    problem("bad DSCP value (a name such as cs1, af21, ef, or 0 to 63)")
                })?;
                client.tos = dscp << 2;
            }
            "cport" => client.own_port = u16::try_from(whole(name, value, (1, 65_535))?).ok(),
            "connect-timeout" => {
                let millis = whole(name, value, (1, 86_400_000))?;
                client.connect_timeout = Some(Duration::from_millis(millis));
            }
            _ => return Err(problem(&format!("--{name} is not served"))),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Iperf3Command, String> {
        let error = |text: &str| Err(problem(text));
        match (self.is_client, self.is_server) {
            (false, false) => return error("must either be a client (-c) or server (-s)"),
            (true, true) => return error("cannot be both server and client"),
            (false, true) if self.client_only => {
                return error("some option you are trying to set is client only");
            }
            (false, true) => {
                self.server.common = self.client.common;
                return Ok(Iperf3Command::Server(Box::new(self.server)));
            }
            (true, false) => {}
        }
        let client = &self.client;
        if self.server != Iperf3Server::default() {
            return error("some option you are trying to set is server only");
        }
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
        self.client.parallel = self.client.parallel.max(1);
        Ok(Iperf3Command::Client(Box::new(self.client)))
    }
}

fn not_served(row: &Row) -> String {
    let letter = row.0.map_or(String::new(), |letter| format!("-{letter}, "));
    problem(&format!(
        "{letter}--{} is not served by this program",
        row.1
    ))
}

/// The help text.
#[must_use]
pub const fn iperf3_help() -> &'static str {
    help::HELP
}

#[cfg(test)]
mod tests;
