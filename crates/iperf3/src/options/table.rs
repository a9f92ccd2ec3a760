//! The options of iperf3, each in one row: who has it, its names, what it sets, and its help.

use std::time::Duration;

use netperf_model::getopt::{OptionNames, TakesValue, number_of_any_base};

use super::values::{OptionText, affinity, burst, code_point, rate_limit};
use super::{Iperf3Command, OptionsRead, problem};

/// An option.
pub(super) struct Iperf3Option {
    /// The ends that have it.
    pub(super) of: Iperf3OptionOf,
    pub(super) letter: Option<char>,
    pub(super) long: &'static str,
    /// Its value and what it sets.
    pub(super) sets: Iperf3OptionSets,
    /// Its line of the help; empty for names that are not listed.
    pub(super) help: &'static str,
}

/// The ends that have an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iperf3OptionOf {
    Both,
    Server,
    Client,
    /// Clients; a server of the original takes it without effect.
    ClientOrIdle,
}

type SetOption = fn(&mut OptionsRead, &mut OptionText<'_>) -> Result<(), String>;

/// Setter of an option, with the name of its value.
#[derive(Clone, Copy)]
pub(super) enum Iperf3OptionSets {
    Flag(fn(&mut OptionsRead) -> &mut bool),
    Value(&'static str, SetOption),
    /// It may have a value behind `=`.
    Optional(&'static str, SetOption),
    /// Its own command.
    Command(fn() -> Iperf3Command),
    /// It takes this value, or none, and is not served.
    NotServed(&'static str),
}

use Iperf3OptionOf::{Both, Client, ClientOrIdle, Server};
use Iperf3OptionSets::{Command, Flag, NotServed, Optional, Value};

const fn option(
    of: Iperf3OptionOf,
    letter: char,
    long: &'static str,
    sets: Iperf3OptionSets,
    help: &'static str,
) -> Iperf3Option {
    let letter = if letter == ' ' { None } else { Some(letter) };
    Iperf3Option {
        of,
        letter,
        long,
        sets,
        help,
    }
}

/// Most microseconds of `--pacing-timer`.
const MOST: u64 = 1_000_000_000;

#[rustfmt::skip]
pub(super) static TABLE: &[Iperf3Option] = &[
    option(Both, 'p', "port", Value("N", |read, value| {
        read.client.common.port = Some(value.port()?.to_string());
        Ok(())
    }), "port of the server (default 5201)"),
    option(Both, 'f', "format", Value("[kmgtKMGT]", set_format),
        "unit of the values: bits, or bytes (capital)"),
    option(Both, 'i', "interval", Value("SECONDS", set_interval),
        "rows of intervals (default 1; 0: none)"),
    option(Both, 'I', "pidfile", Value("FILE", |read, value| value.text_to(&mut read.client.common.pid_file)),
        "write the process id to this file"),
    option(ClientOrIdle, 'F', "file", Value("FILE", |read, value| value.text_to(&mut read.client.file)),
        "send the contents of a file, or store them"),
    option(Both, 'A', "affinity", Value("N[,M]", |read, value| {
        read.client.common.affinity = affinity(value)?;
        Ok(())
    }), "CPU of this program, and of the server"),
    option(Both, 'B', "bind", Value("HOST[%DEV]", |read, value| {
        let (host, device) = value.host_and_device();
        let common = &mut read.client.common;
        common.bind = Some(host).filter(|host| !host.is_empty());
        common.device = device.or(common.device.take());
        Ok(())
    }), "local address, and interface"),
    option(Both, ' ', "bind-dev", Value("DEV", |read, value| value.text_to(&mut read.client.common.device)),
        "network interface (SO_BINDTODEVICE)"),
    option(Both, 'V', "verbose", Flag(|read| &mut read.client.common.verbose), "more lines"),
    option(Both, 'J', "json", Flag(|read| &mut read.client.common.json), "one JSON document at the end"),
    option(Both, ' ', "json-stream", Flag(|read| {
        read.client.common.json = true;
        &mut read.client.common.json_stream
    }), "a JSON line for each event, while the test runs"),
    option(Both, ' ', "logfile", Value("FILE", |read, value| value.text_to(&mut read.client.common.log_file)),
        "write the output to this file"),
    // Every line is written at once.
    option(Both, ' ', "forceflush", Optional("", |_, _| Ok(())), "write each line at once"),
    option(Both, ' ', "timestamps", Optional("FORMAT", |read, value| {
        let format = Some(value.text).filter(|text| !text.is_empty());
        read.client.common.timestamps = Some(format.unwrap_or("%c ").to_owned());
        Ok(())
    }), "the time before each line, as for strftime(3)"),
    option(Both, ' ', "rcv-timeout", Value("MS", |read, value| {
        value.millis_to(&mut read.client.common.receive_timeout)
    }), "longest time of a receiver without data"),
    option(Both, ' ', "snd-timeout", Value("MS", |read, value| {
        value.millis_to(&mut read.client.common.send_timeout)
    }), "longest time without acknowledgement"),
    option(Both, 'd', "debug", Optional("LEVEL", |read, _| {
        read.client.common.debug = true;
        Ok(())
    }), "print the messages of the control connection"),
    option(Both, 'v', "version", Command(|| Iperf3Command::Version), "print the version"),
    option(Both, 'h', "help", Command(|| Iperf3Command::Help), "print this text"),
    option(Server, 's', "server", Flag(|read| &mut read.is_server), "serve"),
    option(Server, 'D', "daemon", Flag(|read| &mut read.server.daemon), "in the background"),
    option(Server, '1', "one-off", Flag(|read| &mut read.server.one_off), "end after one test"),
    option(Server, ' ', "server-bitrate-limit", Value("RATE[/SECONDS]", |read, value| {
        read.server.rate_limit = Some(rate_limit(value)?);
        Ok(())
    }), "end tests with a higher rate"),
    option(Server, ' ', "server-max-duration", Value("SECONDS", |read, value| {
        read.server.longest = Some(Duration::from_secs(value.whole((1, 86_400))?));
        Ok(())
    }), "refuse longer tests"),
    option(Server, ' ', "idle-timeout", Value("SECONDS", |read, value| {
        let seconds = value.whole((1, 86_400)).map_err(|_| problem(
            "idle timeout parameter is not positive or larger than allowed limit"))?;
        read.server.idle_timeout = Some(Duration::from_secs(seconds));
        Ok(())
    }), "restart after this time without a client"),
    option(Server, ' ', "rsa-private-key-path", Value("FILE", |read, value| value.text_to(&mut read.users.private_key)),
        "private RSA key, in PEM, with which\npasswords of clients are decrypted"),
    option(Server, ' ', "authorized-users-path", Value("FILE", |read, value| value.text_to(&mut read.users.users)),
        "serve these users: lines NAME,SHA256, with\nthe digest of {NAME}PASSWORD"),
    option(Server, ' ', "time-skew-threshold", Value("SECONDS", |read, value| {
        let seconds = value.whole((1, MOST)).map_err(|_| problem("skew threshold must be a positive number"))?;
        read.users.skew = Some(Duration::from_secs(seconds));
        Ok(())
    }), "largest difference of a user's clock\n(default 10)"),
    option(Both, ' ', "use-pkcs1-padding", Flag(|read| &mut read.users.pkcs1),
        "encrypt passwords as iperf3 before 3.17 does\n(default of clients; servers accept both)"),
    option(Both, ' ', "use-oaep-padding", Flag(|read| &mut read.users.oaep),
        "encrypt passwords as iperf3 from 3.17 on does"),
    option(Client, 'c', "client", Value("HOST[%DEV]", |read, value| {
        let (host, device) = value.host_and_device();
        read.client.host = host;
        read.client.common.device = device.or(read.client.common.device.take());
        read.is_client = true;
        Ok(())
    }), "the server"),
    option(Client, ' ', "sctp", NotServed(""), ""),
    option(ClientOrIdle, 'X', "xbind", Value("HOST", |read, _| {
            read.warn("-X has no effect without --sctp".to_owned());
            Ok(())
        }), ""),
    option(Client, ' ', "nstreams", Value("N", |read, _| {
            read.warn("--nstreams has no effect without --sctp".to_owned());
            Ok(())
        }), ""),
    option(Client, 'u', "udp", Flag(|read| &mut read.client.udp), "datagrams instead of connections"),
    option(Client, ' ', "connect-timeout", Value("MS", |read, value| {
        value.millis_to(&mut read.client.connect_timeout)
    }), "longest time of a connect, milliseconds"),
    option(Client, 'b', "bitrate", Value("RATE[/N]", set_rate),
        "bit/s of each stream, in bursts of N blocks\n(default: no limit; 1M for datagrams; 0: no limit)"),
    option(Client, ' ', "bandwidth", Value("RATE[/N]", set_rate), "the same"),
    option(Client, ' ', "pacing-timer", Value("US", |read, value| {
        read.client.pacing_timer = Some(value.small(MOST, "invalid pacing timer")?);
        Ok(())
    }), "accepted; the rate does not depend on it"),
    option(Client, ' ', "fq-rate", Value("RATE", |read, value| {
        read.client.parameters.fqrate = value.rate()?;
        Ok(())
    }), "rate that the kernel enforces, bit/s"),
    option(Client, ' ', "no-fq-socket-pacing", Optional("", |read, _| {
        read.client.parameters.fqrate = 0;
        Ok(())
    }), "no rate that the kernel enforces"),
    option(Client, 't', "time", Value("SECONDS", set_time), "time (default 10)"),
    option(Client, 'n', "bytes", Value("BYTES", |read, value| {
        read.client.bytes = Some(value.size()?).filter(|bytes| *bytes > 0);
        Ok(())
    }), "bytes instead of a time (0: none)"),
    option(Client, 'k', "blockcount", Value("N", |read, value| {
        read.client.blocks = Some(value.size()?).filter(|blocks| *blocks > 0);
        Ok(())
    }), "blocks instead of a time (0: none)"),
    option(Client, 'l', "length", Value("BYTES", |read, value| {
        read.client.length = Some(value.small(1 << 20, "block size too large (maximum = 1048576 bytes)")?);
        Ok(())
    }), "size of a block (default 128K) or a datagram"),
    option(ClientOrIdle, ' ', "cport", Value("N", |read, value| {
        read.client.own_port = Some(value.port()?);
        Ok(())
    }), "local port of the first stream"),
    option(Client, 'P', "parallel", Value("N", |read, value| {
        read.client.parameters.parallel =
            value.small(128, "number of parallel streams too large (maximum = 128)")?;
        Ok(())
    }), "streams (default 1)"),
    option(Client, 'R', "reverse", Flag(|read| &mut read.client.reverse), "the server sends"),
    option(Client, ' ', "bidir", Flag(|read| &mut read.client.bidirectional), "both ends send at once"),
    option(Client, 'w', "window", Value("BYTES", |read, value| {
        read.client.parameters.window =
            Some(value.small(512 << 20, "socket buffer size too large (maximum = 536870912 bytes)")?);
        Ok(())
    }), "socket buffers"),
    option(Client, 'C', "congestion", Value("NAME", |read, value| value.text_to(&mut read.client.parameters.congestion)),
        "congestion control"),
    option(Client, ' ', "linux-congestion", Value("NAME", |read, value| {
        value.text_to(&mut read.client.parameters.congestion)
    }), "the same"),
    option(Client, 'M', "set-mss", Value("BYTES", |read, value| {
        read.client.parameters.mss = Some(value.small(9216, "TCP MSS too large (maximum = 9216 bytes)")?);
        Ok(())
    }), "segment size of TCP"),
    option(Client, 'N', "no-delay", Flag(|read| &mut read.client.parameters.nodelay), "no delay of small segments"),
    option(Both, '4', "version4", Optional("", |read, _| {
        read.client.common.family = Some('4');
        Ok(())
    }), "IPv4 only"),
    option(Both, '6', "version6", Optional("", |read, _| {
        read.client.common.family = Some('6');
        Ok(())
    }), "IPv6 only"),
    option(Client, 'S', "tos", Value("N", |read, value| {
        let number = number_of_any_base(value.text).and_then(|tos| u8::try_from(tos).ok());
        read.client.parameters.tos = number
            .ok_or_else(|| problem("bad TOS value (must be between 0 and 255 inclusive)"))?;
        Ok(())
    }), "type of service, also 0x hexadecimal or 0 octal"),
    option(Client, ' ', "dscp", Value("N", |read, value| {
        let dscp = code_point(value.text).ok_or_else(|| {
            problem("bad DSCP value (a name such as cs1, af21, ef, or 0 to 63)")
        })?;
        read.client.parameters.tos = dscp << 2;
        Ok(())
    }), "code point (RFC 2474): a number or a name"),
    option(Client, 'L', "flowlabel", Value("N", |read, value| {
        let label = number_of_any_base(value.text).filter(|label| (1..=0xf_ffff).contains(label));
        read.client.parameters.flowlabel = Some(label.ok_or_else(|| {
            problem("unable to set IPv6 flow label (1 to 0xfffff)")
        })?);
        Ok(())
    }), "flow label of IPv6"),
    option(Client, 'Z', "zerocopy", Flag(|read| &mut read.client.parameters.zerocopy), "send with sendfile(2)"),
    option(Client, 'O', "omit", Value("SECONDS", |read, value| {
        read.client.parameters.omit = value.omitted()?;
        Ok(())
    }), "time at the beginning that does not count"),
    option(Client, 'T', "title", Value("TEXT", |read, value| value.text_to(&mut read.client.parameters.title)),
        "text before each line"),
    option(Client, ' ', "extra-data", Value("TEXT", |read, value| value.text_to(&mut read.client.parameters.extra_data)),
        "text for the JSON document"),
    option(Client, ' ', "get-server-output", Flag(|read| &mut read.client.parameters.get_server_output),
        "print the output of the server, too"),
    option(ClientOrIdle, ' ', "udp-counters-64bit", Flag(|read| &mut read.client.parameters.counters_64bit),
        "numbers of datagrams have 64 bits"),
    option(Client, ' ', "repeating-payload", Flag(|read| &mut read.client.parameters.repeating_payload),
        "digits instead of random bytes"),
    option(Client, ' ', "dont-fragment", Flag(|read| &mut read.client.parameters.dont_fragment),
        "datagrams of IPv4 are not fragmented"),
    option(Client, ' ', "gsro", NotServed(""), ""),
    option(Client, ' ', "username", Value("NAME", |read, value| value.text_to(&mut read.users.username)),
        "user of the server; the password is that of\nIPERF3_PASSWORD, or typed on the terminal"),
    option(Client, ' ', "rsa-public-key-path", Value("FILE", |read, value| value.text_to(&mut read.users.public_key)),
        "public RSA key of the server, in PEM"),
];

fn set_rate(read: &mut OptionsRead, value: &mut OptionText<'_>) -> Result<(), String> {
    read.client.rate = Some(burst(value)?);
    Ok(())
}

fn set_format(read: &mut OptionsRead, value: &mut OptionText<'_>) -> Result<(), String> {
    let letter = value.text.chars().next();
    let letter = letter.filter(|letter| "kmgtKMGT".contains(*letter));
    let wrong = "bad format specifier (valid formats are in the set [kmgtKMGT])";
    read.client.common.format = Some(letter.ok_or_else(|| problem(wrong))?);
    Ok(())
}

fn set_interval(read: &mut OptionsRead, value: &mut OptionText<'_>) -> Result<(), String> {
    let wrong = "invalid report interval (min = 0.1, max = 60 seconds)";
    let seconds = value.seconds()?;
    let seconds = Some(seconds).filter(|s| *s == 0.0 || (0.1..=60.0).contains(s));
    read.client.common.interval = Some(seconds.ok_or_else(|| problem(wrong))?);
    Ok(())
}

fn set_time(read: &mut OptionsRead, value: &mut OptionText<'_>) -> Result<(), String> {
    let wrong = "test duration too long (maximum = 86400 seconds)";
    let time = Some(value.seconds()?).filter(|time| *time <= 86_400.0);
    read.client.time = Some(time.ok_or_else(|| problem(wrong))?);
    Ok(())
}

/// Options that version 3.12 does not have.
const LATER: &[&str] = &[
    "json-stream",
    "server-max-duration",
    "use-pkcs1-padding",
    "use-oaep-padding",
    "gsro",
];

/// Rows of the same option under several names.
const SAME: &[(&str, &str)] = &[("bandwidth", "bitrate"), ("linux-congestion", "congestion")];

/// The names of all options.
pub(super) fn names() -> Vec<OptionNames<'static, usize>> {
    let place = |long: &str| TABLE.iter().position(|row| row.long == long);
    let rows = TABLE.iter().enumerate();
    rows.map(|(index, row)| {
        let same = SAME.iter().find(|(name, _)| *name == row.long);
        OptionNames {
            letter: row.letter,
            long: Some(row.long),
            shortens: !LATER.contains(&row.long),
            takes: match row.sets {
                Value(..) => TakesValue::Yes,
                NotServed(value) if !value.is_empty() => TakesValue::Yes,
                Optional(value, _) if !value.is_empty() => TakesValue::Optional,
                Flag(_) | Optional(..) | Command(_) | NotServed(_) => TakesValue::No,
            },
            option: same.and_then(|(_, of)| place(of)).unwrap_or(index),
        }
    })
    .collect()
}

/// The row of an option.
pub(super) fn row(index: usize) -> &'static Iperf3Option {
    // The index is one of `names`.
    TABLE.get(index).unwrap_or(&TABLE[0])
}

impl Iperf3Option {
    /// The error of an option that is not served.
    pub(super) fn not_served(&self) -> String {
        let letter = self
            .letter
            .map_or(String::new(), |letter| format!("-{letter}, "));
        problem(&format!(
            "{letter}--{} is not served by this program",
            self.long
        ))
    }

    /// Its lines of the help.
    fn lines(&self) -> String {
        let name = match self.sets {
            Value(value, _) => format!("{} {value}", self.long),
            Optional(value, _) if !value.is_empty() => format!("{}[={value}]", self.long),
            Flag(_) | Optional(..) | Command(_) | NotServed(_) => self.long.to_owned(),
        };
        let letter = self
            .letter
            .map_or("  ".to_owned(), |letter| format!("-{letter}"));
        let comma = if self.letter.is_some() { ',' } else { ' ' };
        let left = format!("{letter}{comma} --{name}");
        let left = if left.len() < 26 { left } else { left + "  " };
        let help = self.help.replace('\n', &format!("\n{:28}", ""));
        format!("  {left:<26}{help}\n")
    }
}

/// Output of `iperf3 -h`.
#[must_use]
pub fn iperf3_help() -> String {
    let section = |title: &str, of: &[Iperf3OptionOf]| {
        let rows = TABLE
            .iter()
            .filter(|row| of.contains(&row.of) && !row.help.is_empty());
        let lines: String = rows.map(Iperf3Option::lines).collect();
        format!("\n{title}:\n{lines}")
    };
    let mut text = "\
Usage: iperf3 -c HOST [options]
       iperf3 -s [options]

A client or a server of iperf3, with the command line of version 3.12.
Amounts may end in K, M, G or T: powers of 1024 for bytes, of 1000 for rates.
"
    .to_owned();
    text += &section("Client or server", &[Both]);
    text += &section("Server", &[Server]);
    text += &section("Client", &[Client, ClientOrIdle]);
    text
}
