//! The command line of iperf 2, for the program called as `iperf`.

mod table;
mod values;

use std::ffi::OsString;
use std::time::Duration;

use netperf_model::getopt::{CommandWord, GetoptError, getopt};
use netperf_model::iperf2::{Iperf2Direction, Iperf2Plan, Iperf2Rate, MOST_STREAMS};

use self::table::OptionOf::Client;
use self::table::OptionSets::{Direction, Flag, Help, Optional, Passed, Refused, Value, Version};
pub use self::table::help;
use self::table::{Iperf2Option, names, row, variables};
use self::values::TypedValue;

/// Default port.
const PORT: u16 = 5001;

/// Unit of the figures (`-f`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iperf2Unit {
    /// Bits, with a prefix by their number.
    #[default]
    Bits,
    /// Bytes, with a prefix by their number.
    Bytes,
    /// Bits with this power of 1000.
    BitsOf(u32),
    /// Bytes with this power of 1024.
    BytesOf(u32),
}

/// Arguments of a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iperf2Args {
    /// The server.
    pub host: String,
    /// The test.
    pub plan: Iperf2Plan,
    /// Last port of a range (`-p 5001-5003`).
    pub last_port: Option<u16>,
    /// `-w`, bytes.
    pub window: Option<usize>,
    /// `-N`.
    pub no_delay: bool,
    /// `-M`, bytes.
    pub segment: Option<i32>,
    /// `-m`.
    pub shows_segment: bool,
    /// `-Z`.
    pub congestion: Option<String>,
    /// `-B`.
    pub bind: Option<String>,
    /// `-i`.
    pub interval: Option<Duration>,
    /// `-f`.
    pub unit: Iperf2Unit,
    /// `-y C`.
    pub csv: bool,
    /// Letters of `-x`.
    pub left_out: String,
    /// `--sum-only`.
    pub sum_only: bool,
    /// `--hide-ips`.
    pub hides_addresses: bool,
    /// `-e`: further columns; with `-y C`, times with milliseconds.
    pub enhanced: bool,
    /// `--connect-only`: number of connections.
    pub connections: Option<u32>,
    /// `-s`.
    pub serves: bool,
    /// `-s` behind `-c`, which has no effect.
    pub serves_beside: bool,
    /// `-D`: a server in the background.
    pub daemon: bool,
    /// `-1`: a server of one client at a time.
    pub single: bool,
    /// `-t` of a server: time for which it listens.
    pub limit: Option<Duration>,
    /// `-P` of a server: number of connections or flows that it serves.
    pub count: Option<u32>,
    /// Options that only clients have, as typed.
    pub client_options: Vec<String>,
    /// Lines about words that have no effect, or that were read in part.
    pub warnings: Vec<String>,
    /// `-o`: a file for the output.
    pub output: Option<String>,
    /// `-T`: time to live of multicast datagrams.
    pub ttl: Option<u8>,
    /// `-z`: the scheduler of real time.
    pub realtime: bool,
    /// `--local-only`: no routes.
    pub local_only: bool,
    /// `--connect-retries`.
    pub connect_retries: u32,
    /// `--txdelay-time`: time between connect and the first write.
    pub delay: Option<Duration>,
    /// `--txstart-time`: time of the first write since 1970.
    pub start: Option<Duration>,
    /// `--tcp-write-prefetch`: bytes that wait to be sent.
    pub prefetch: Option<i32>,
    /// `-F`: a file that is sent.
    pub input_file: Option<String>,
    /// `-I`: standard input is sent, and no file.
    pub sends_stdin: bool,
    /// `-H`: the source of multicast datagrams.
    pub source: Option<String>,
    /// Network interface, of `-c` or `-B`.
    pub device: Option<String>,
}

/// Parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Iperf2Command {
    /// Run a test.
    Client(Box<Iperf2Args>),
    /// Serve.
    Server(Box<Iperf2Args>),
    /// Print this text to standard error and exit with this status.
    Text(String, u8),
}

const USAGE: &str = "\
Usage: iperf [-s|-c host] [options]
Try `iperf --help' for more information.
";

/// Reads the command line of iperf 2, argv\[0\] included, and the variables of the environment that
/// stand for options (`IPERF_BANDWIDTH`). `version` is the line of `-v`.
///
/// # Errors
/// A line that names the option which is wrong or not supported.
pub fn iperf2(
    argv: &[OsString],
    variable: impl Fn(&str) -> Option<String>,
    version: &str,
) -> Result<Iperf2Command, String> {
    let mut words = Vec::new();
    for word in argv.iter().skip(1) {
        let text = word.to_str().ok_or("iperf: an option is not text")?;
        words.push(text.to_owned());
    }
    let mut args = Iperf2Args::default();
    args.plan.port = PORT;
    args.plan.streams = 1;
    environment(&mut args, variable)?;
    if words.is_empty() && args.host.is_empty() && !args.serves {
        return Ok(Iperf2Command::Text(USAGE.to_owned(), 0));
    }
    for word in typed(&words, &mut args.warnings)? {
        let (row, name, value) = match word {
            CommandWord::Operand(word) => {
                args.warnings
                    .push(format!("ignoring extra argument -- {word}"));
                continue;
            }
            CommandWord::Option {
                option,
                name,
                value,
            } => (row(option), name, value.unwrap_or_default()),
        };
        match row.3 {
            Version => return Ok(Iperf2Command::Text(format!("{version}\n"), 1)),
            Help => return Ok(Iperf2Command::Text(help(), 1)),
            Refused => return Err(unsupported(&name)),
            Flag(_) | Direction(_) | Value(_) | Optional(_) | Passed => {
                apply(&mut args, row, &name, &value)?;
            }
        }
    }
    if args.serves {
        return server(args).map(|args| Iperf2Command::Server(Box::new(args)));
    }
    if args.serves_beside {
        let line = "option -s is not valid for client mode".to_owned();
        args.warnings.push(line);
    }
    checked(args).map(|args| Iperf2Command::Client(Box::new(args)))
}

/// Options that the environment sets, as in the original; those of the command line are later.
fn environment(
    args: &mut Iperf2Args,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    for (row, name) in variables() {
        if let Some(value) = variable(&name) {
            apply(args, row, &name, &value)?;
        }
    }
    Ok(())
}

/// Options and operands in order. What the original does not know is passed over with a warning.
fn typed(words: &[String], warnings: &mut Vec<String>) -> Result<Vec<CommandWord<usize>>, String> {
    let mut found = Vec::new();
    for word in getopt(words, &names()) {
        match word {
            Ok(word) => found.push(word),
            Err(GetoptError::Unknown(name)) => {
                warnings.push(format!("unrecognized option `--{name}'"));
            }
            Err(GetoptError::UnknownLetter(letter)) => {
                warnings.push(format!("invalid option -- {letter}"));
            }
            Err(error) => return Err(format!("iperf: {error}")),
        }
    }
    Ok(found)
}

fn unsupported(option: &str) -> String {
    format!("iperf: option {option} is not supported; `iperf --help` lists those that are")
}

fn apply(args: &mut Iperf2Args, row: &Iperf2Option, name: &str, text: &str) -> Result<(), String> {
    if row.0 == Client {
        args.client_options.push(name.to_owned());
    }
    let mut value = TypedValue::new(name, text);
    match row.3 {
        Flag(flag) => *flag(args) = true,
        Direction(direction) => args.plan.direction = direction,
        Value(set) | Optional(set) => set(args, &mut value)?,
        Passed => args.warnings.push(format!("option {name} has no effect")),
        Refused | Version | Help => {}
    }
    args.warnings.extend(value.warning());
    Ok(())
}

/// Checks the options of a server together.
fn server(mut args: Iperf2Args) -> Result<Iperf2Args, String> {
    for name in std::mem::take(&mut args.client_options) {
        let line = format!("option {name} is not valid for server mode");
        args.warnings.push(line);
    }
    if let Some(last) = args.last_port.filter(|last| *last < args.plan.port) {
        return Err(format!(
            "ERROR: invalid port range of {}-{last}",
            args.plan.port
        ));
    }
    Ok(args)
}

/// Gives each stream of a client a port of its range: the larger number of both is that of the
/// streams, as in the original.
fn distribute_ports(args: &mut Iperf2Args) {
    let (first, streams) = (args.plan.port, args.plan.streams);
    let Some(last) = args.last_port.take() else {
        return;
    };
    let Some(behind) = last.checked_sub(first) else {
        let line = format!("-p {first}-{last}: read as {first}");
        args.warnings.push(line);
        return;
    };
    let ports = u32::from(behind) + 1;
    args.plan.port_of_each = true;
    args.plan.streams = streams.max(ports);
    let adjusted = if streams < ports {
        format!("-P to {ports}")
    } else {
        let last = u32::from(first) + streams - 1;
        format!("port-range to {first}-{last}")
    };
    if streams != ports {
        let line = format!("port-range and -P mismatch (adjusting {adjusted})");
        args.warnings.push(line);
    }
}

/// Checks the ports of the streams of a client.
fn ports_of_streams(plan: &Iperf2Plan) -> Result<(), String> {
    if plan.port_of(plan.streams).is_some() {
        return Ok(());
    }
    let (port, streams) = (plan.port, plan.streams);
    Err(format!(
        "iperf: {streams} ports from {port} on are more than there are"
    ))
}

/// Checks options together.
fn checked(mut args: Iperf2Args) -> Result<Iperf2Args, String> {
    distribute_ports(&mut args);
    let plan = &args.plan;
    if args.daemon {
        return Err("Iperf client cannot be run as a daemon".to_owned());
    }
    if args.host.is_empty() {
        return Err("iperf: -c HOST is missing: the server".to_owned());
    }
    if plan.streams == 0 || plan.streams > MOST_STREAMS {
        let line = format!("iperf: -P {}: 1 to {MOST_STREAMS} streams", plan.streams);
        return Err(line);
    }
    ports_of_streams(plan)?;
    let length = plan.block();
    if plan.udp && !(4..=65_507).contains(&length) {
        return Err(format!(
            "iperf: -l {length}: a datagram has 4 to 65507 bytes"
        ));
    }
    if !plan.udp && !(1..=(64 << 20)).contains(&length) {
        return Err(format!("iperf: -l {length}: a block has 1 byte to 64 MiB"));
    }
    if let (false, Some(Iperf2Rate::Bits(rate)), None) = (plan.udp, plan.rate, plan.length) {
        let most = rate / 8;
        if most < u64::try_from(length).unwrap_or(u64::MAX) {
            return Err(format!(
                "ERROR: option -b and -l of {length} are incompatible, consider setting -l to \
                 {most} or lower"
            ));
        }
    }
    if args.prefetch.is_some() && (plan.udp || !plan.direction.client_sends()) {
        let with = if plan.udp { "-u" } else { "-R" };
        let line = format!("option --tcp-write-prefetch has no effect with {with}");
        args.warnings.push(line);
        args.prefetch = None;
    }
    if args.connections.is_some() && plan.udp {
        return Err("iperf: --connect-only opens connections, which -u has none of".to_owned());
    }
    if args.connections.is_some() && args.delay.is_some() {
        return Err(
            "ERROR: Fail because --txdelay-time and --connect-only cannot be applied together"
                .to_owned(),
        );
    }
    if plan.trip_times && !plan.udp {
        timed_blocks(plan)?;
    }
    if let Some(option) = args.input_option() {
        sent_input(option, &args)?;
    }
    // As in the original: the client shows the delays of what it receives.
    let shows_delays = plan.trip_times && plan.direction != Iperf2Direction::Forward;
    if plan.compatible && plan.direction != Iperf2Direction::Forward {
        return Err(
            "iperf: -C sends no header, which -R, -d, -r and --full-duplex need".to_owned(),
        );
    }
    if let Some(line) = plan.not_in_header() {
        return Err(format!("iperf: {line}"));
    }
    args.enhanced |= shows_delays;
    args.plan.to_end_of_input = args.input_option().is_some() && args.limit.is_none();
    Ok(args)
}

impl Iperf2Args {
    /// The option whose data the client sends. Standard input has precedence, as in the original.
    const fn input_option(&self) -> Option<&'static str> {
        match (self.sends_stdin, &self.input_file) {
            (true, _) => Some("-I"),
            (false, Some(_)) => Some("-F"),
            (false, None) => None,
        }
    }
}

/// Checks the options of a file or standard input that is sent.
fn sent_input(option: &str, args: &Iperf2Args) -> Result<(), String> {
    let plan = &args.plan;
    let reason = if plan.udp {
        "is served with TCP alone, not with -u"
    } else if !plan.direction.client_sends() {
        "is what the client sends, which sends nothing with -R"
    } else if args.connections.is_some() {
        "is what the client sends, which sends nothing with --connect-only"
    } else if plan.trip_times {
        "is sent unchanged, without the times of --trip-times"
    } else {
        return Ok(());
    };
    Err(format!("iperf: {option} {reason}"))
}

/// Checks the options of blocks with times.
fn timed_blocks(plan: &Iperf2Plan) -> Result<(), String> {
    /// Bytes of the times of a block.
    const TIMES: usize = 64;
    if plan.direction.connects_back() {
        return Err(unsupported("--trip-times of TCP with -d or -r"));
    }
    if plan.compatible {
        return Err("iperf: -C sends no header, which --trip-times needs".to_owned());
    }
    let length = plan.block();
    if length < TIMES {
        return Err(format!(
            "iperf: -l {length}: a block with times has {TIMES} bytes or more"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use netperf_model::iperf2::Iperf2Amount;

    use super::*;

    fn read(words: &str) -> Result<Iperf2Command, String> {
        let argv: Vec<OsString> = words.split(' ').map(Into::into).collect();
        iperf2(&argv, |_| None, "iperf version 2.1.8")
    }

    fn args(words: &str) -> Iperf2Args {
        match read(words) {
            Ok(Iperf2Command::Client(args)) => *args,
            other => panic!("{words}: {other:?}"),
        }
    }

    #[test]
    fn the_seed_is_understood() {
        let seed = args("iperf -c H -i 1 -t 10 -w 64K -f m -P 4");
        assert_eq!((seed.host.as_str(), seed.plan.streams), ("H", 4));
        assert_eq!(seed.window, Some(65_536));
        assert_eq!(seed.unit, Iperf2Unit::BitsOf(2));
        let udp = args("iperf -c H -u -b 10m -l 1470 -i 1");
        assert_eq!(udp.plan.rate, Some(Iperf2Rate::Bits(10_000_000)));
        let field = args("iperf -c H -t 5 -l 16000 -w 64000 -N -i 10");
        assert!(field.no_delay && field.plan.length == Some(16_000));
        assert_eq!(
            args("iperf -c H -ub 50pps").plan.rate,
            Some(Iperf2Rate::Packets(50))
        );
        assert_eq!(args("iperf --client=H --len 8K -Rp5002").plan.port, 5002);
        assert!(args("iperf -c H --trip-times -R").enhanced);
        assert!(!args("iperf -c H --trip-times").enhanced);
        let both = args("iperf -c H -u -r -i 1");
        assert_eq!(both.interval, Some(Duration::from_secs(1)));
    }

    #[test]
    fn options_of_congestion_run_and_those_without_effect_are_named() {
        let near = args("iperf -c H --near-congestion=0.3 --near-congestion");
        let line = "option --near-congestion has no effect";
        assert_eq!(near.warnings, [line, line]);
        let prefetch = |line: &str| {
            let args = args(line);
            (args.prefetch, args.enhanced, args.warnings)
        };
        let set = prefetch("iperf -c H --tcp-write-prefetch 128K");
        assert_eq!(set, (Some(131_072), true, Vec::new()));
        for with in ["-u", "-R"] {
            let set = prefetch(&format!("iperf -c H --tcp-write-prefetch 128K {with}"));
            let line = format!("option --tcp-write-prefetch has no effect with {with}");
            assert_eq!(set, (None, true, vec![line]));
        }
    }

    #[test]
    fn options_that_are_wrong_or_not_served_are_refused_by_name() {
        let lines = [
            "iperf -c H --isochronous=10:1m,0",
            "iperf -c H -u --connect-only",
            "iperf -c H --connect-only --txdelay-time 1",
            "iperf -c H -F file -u",
            "iperf -c H --isochronous",
            "iperf -c H --bounceback",
            "iperf -c H --bounceback=5",
            "iperf -c H --permit-key=1",
            "iperf -s --permit-key=1",
            "iperf -c H --burst-period 1",
            "iperf -c H --tap-dev t",
            "iperf -c H -I -R",
            "iperf -c H --fileinput file --connect-only",
            "iperf -c H -F file --trip-times",
            "iperf -c H --trip-times -d",
            "iperf -c H --trip-times -l 40",
            "iperf -c H --trip-times -C",
            "iperf -c H -D",
            "iperf -c H -i abc",
            "iperf -c H -t abc",
            "iperf -c H -b 1m",
            "iperf -c H -u -l 100000",
            "iperf -c H -p 0",
            "iperf -c H --tcp",
            "iperf -u",
            "iperf -c H -C -R",
            "iperf -c H -t",
            "iperf -c H -R -n 5G",
            "iperf -c H -u -R -b 50pps",
        ];
        let texts: Vec<String> = lines
            .iter()
            .map(|line| read(line).expect_err(line))
            .collect();
        insta::assert_snapshot!(texts.join("\n"), @r"
        iperf: option --isochronous is not supported; `iperf --help` lists those that are
        iperf: --connect-only opens connections, which -u has none of
        ERROR: Fail because --txdelay-time and --connect-only cannot be applied together
        iperf: -F is served with TCP alone, not with -u
        iperf: option --isochronous is not supported; `iperf --help` lists those that are
        iperf: option --bounceback is not supported; `iperf --help` lists those that are
        iperf: option --bounceback is not supported; `iperf --help` lists those that are
        iperf: option --permit-key is not supported; `iperf --help` lists those that are
        iperf: option --permit-key is not supported; `iperf --help` lists those that are
        iperf: option --burst-period is not supported; `iperf --help` lists those that are
        iperf: option --tap-dev is not supported; `iperf --help` lists those that are
        iperf: -I is what the client sends, which sends nothing with -R
        iperf: -F is what the client sends, which sends nothing with --connect-only
        iperf: -F is sent unchanged, without the times of --trip-times
        iperf: option --trip-times of TCP with -d or -r is not supported; `iperf --help` lists those that are
        iperf: -l 40: a block with times has 64 bytes or more
        iperf: -C sends no header, which --trip-times needs
        Iperf client cannot be run as a daemon
        Invalid value of 'abc' for -i interval
        Invalid value of 'abc' for -t: seconds
        ERROR: option -b and -l of 131072 are incompatible, consider setting -l to 125000 or lower
        iperf: -l 100000: a datagram has 4 to 65507 bytes
        Invalid value of '0' for -p: a port
        iperf: option '--tcp' is ambiguous; possibilities: '--tcp-congestion' '--tcp-write-prefetch' '--tcp-write-times' '--tcp-quickack' '--tcp-rx-window-clamp'
        iperf: -c HOST is missing: the server
        iperf: -C sends no header, which -R, -d, -r and --full-duplex need
        iperf: option requires an argument -- 't'
        iperf: 5368709120 bytes: a server can be asked for 2147483647 bytes at most
        iperf: packets per second: a server can be asked for bits per second only
        ");
    }

    /// Command lines that the original serves, and what they mean there.
    #[test]
    fn words_of_the_original_are_served_with_a_warning_where_they_have_no_effect() {
        let quiet =
            args("iperf -c H -P 2 -l 1KB -t 12s -b 50Mbps --win 64K --par 3 -i 0 -y csv -S af11");
        assert_eq!(quiet.warnings, Vec::<String>::new());
        assert_eq!((quiet.plan.streams, quiet.plan.length), (3, Some(1024)));
        assert_eq!((quiet.window, quiet.interval), (Some(65_536), None));
        assert_eq!(quiet.plan.tos, Some(0x28));
        assert!(quiet.csv);
        assert_eq!(
            quiet.plan.amount,
            Iperf2Amount::Time(Duration::from_secs(12))
        );
        let lines = [
            "iperf -c H -P 2x -y x -f x -x Q --bogus -q stray -- more",
            "iperf -c H -s --no-connect-sync -l 5x",
            "iperf -s -b 1m -R --trip-times -n 5 -F file",
            "iperf -s --histograms=100u,1000 --udp-histogram",
            "iperf -c H -S 256 -i f -i 0.00001",
        ];
        let warnings = lines.iter().flat_map(|line| match read(line) {
            Ok(Iperf2Command::Client(args) | Iperf2Command::Server(args)) => args.warnings,
            other => panic!("{line}: {other:?}"),
        });
        let warnings: Vec<String> = warnings.collect();
        insta::assert_snapshot!(warnings.join("\n"), @r#"
        unrecognized option `--bogus'
        invalid option -- q
        -P 2x: read as 2
        unknown reporting style "x", switching to default
        -f x: unknown format, switching to default
        unknown reporting type "Q", ignored
        ignoring extra argument -- stray
        ignoring extra argument -- more
        option --no-connect-sync has no effect
        -l 5x: read as 5
        option -s is not valid for client mode
        option -b is not valid for server mode
        option -R is not valid for server mode
        option --trip-times is not valid for server mode
        option -n is not valid for server mode
        option -F is not valid for server mode
        option --histograms has no effect
        option --udp-histograms has no effect
        Invalid --tos value of 256: 0 to 255, 0x00 to 0xff, or a name such as ef; not set
        -i f: no rows of frames are printed
        interval too small, increasing to 0.1000 milliseconds.
        "#);
    }

    #[test]
    fn values_of_the_original_mean_what_they_mean_there() {
        let rate = |text: &str| args(&format!("iperf -c H --fq-rate {text}")).plan.fq_rate;
        let rates = ["100m", "100M", "100kbit", "1.5M", "5000000", "1GB"].map(rate);
        let expected = [
            100_000_000,
            800_000_000,
            100_000,
            12_000_000,
            5_000_000,
            8_000_000_000,
        ];
        assert_eq!(rates, expected.map(Some));
        assert_eq!(args("iperf -c H -l 0").plan.length, None);
        let interval = |text: &str| args(&format!("iperf -c H -i {text}")).interval;
        let micros = |micros| Some(Duration::from_micros(micros));
        assert_eq!(
            ["0.001", "0.00001", "0", "f"].map(interval),
            [micros(1000), micros(100), None, None]
        );
        let start = args("iperf -c H --txstart-time 1700000000.5").start;
        assert_eq!(start, Some(Duration::from_millis(1_700_000_000_500)));
    }

    #[test]
    fn file_or_standard_input_is_sent_to_its_end_unless_a_time_is_given() {
        let file = args("iperf -c H --fileinput data -P 2");
        assert_eq!(file.input_file.as_deref(), Some("data"));
        assert!(file.plan.to_end_of_input && !file.sends_stdin);
        assert!(args("iperf -c H --stdin -n 5K").plan.to_end_of_input);
        assert!(args("iperf -c H -I -t 0").plan.to_end_of_input);
        assert!(!args("iperf -c H -I -t 5").plan.to_end_of_input);
        assert!(!args("iperf -c H").plan.to_end_of_input);
        let both = args("iperf -c H -I -F data");
        assert_eq!(both.input_option(), Some("-I"));
    }

    #[test]
    fn environment_sets_options_and_the_command_line_later_ones() {
        let set = |name: &str| match name {
            "IPERF_BANDWIDTH" => Some("5m".to_owned()),
            "IPERF_UDP" => Some(String::new()),
            "IPERF_PORT" => Some("7".to_owned()),
            "TCP_WINDOW_SIZE" => Some("64K".to_owned()),
            _ => None,
        };
        let argv: Vec<OsString> = "iperf -c H -p 8".split(' ').map(Into::into).collect();
        let Ok(Iperf2Command::Client(args)) = iperf2(&argv, set, "") else {
            panic!("a client");
        };
        assert_eq!(args.plan.rate, Some(Iperf2Rate::Bits(5_000_000)));
        assert_eq!((args.plan.udp, args.plan.port), (true, 8));
        assert_eq!(args.window, Some(65_536));
    }

    #[test]
    fn streams_have_the_ports_of_a_range_as_in_the_original() {
        let ports = |line: &str| {
            let args = args(line);
            let last = args.plan.port_of(args.plan.streams);
            (args.plan.port, last, args.plan.streams, args.warnings)
        };
        let adjusted = |to: &str| vec![format!("port-range and -P mismatch (adjusting {to})")];
        let expected = [
            ("-p 5001-5003 -P 3", 5001, 5003, 3, vec![]),
            ("-p 5001-5003", 5001, 5003, 3, adjusted("-P to 3")),
            ("-p 5001-5003 -P 2", 5001, 5003, 3, adjusted("-P to 3")),
            (
                "-p 5001-5003 -P 6",
                5001,
                5006,
                6,
                adjusted("port-range to 5001-5006"),
            ),
            ("-p 5001-5001 -P 2", 5001, 5001, 2, vec![]),
            ("-p 5001 -P 3 --incr-dstport", 5001, 5003, 3, vec![]),
            (
                "-p 5003-5001 -P 2",
                5003,
                5003,
                2,
                vec!["-p 5003-5001: read as 5003".to_owned()],
            ),
            (
                "-p 5001-5002x -P 2",
                5001,
                5002,
                2,
                vec!["-p 5001-5002x: read as 5001-5002".to_owned()],
            ),
        ];
        for (words, first, last, streams, warnings) in expected {
            let found = ports(&format!("iperf -c H {words}"));
            assert_eq!(found, (first, Some(last), streams, warnings), "{words}");
        }
        for words in [
            "-p 5001-",
            "-p 0-3",
            "-p 5001-70000",
            "-p 65535 -P 2 --incr-dstport",
        ] {
            read(&format!("iperf -c H {words}")).expect_err(words);
        }
        assert_eq!(
            read("iperf -s -p 5003-5001").expect_err("no range"),
            "ERROR: invalid port range of 5003-5001"
        );
    }

    #[test]
    fn hosts_may_name_an_interface() {
        let given = args("iperf -c 192.0.2.1%eth0 -B 192.0.2.2%eth1");
        assert_eq!(given.host, "192.0.2.1");
        assert_eq!(given.bind.as_deref(), Some("192.0.2.2"));
        assert_eq!(given.device.as_deref(), Some("eth1"));
        assert_eq!(args("iperf -c fe80::1%eth0").host, "fe80::1%eth0");
    }

    #[test]
    fn help_lists_the_rows_of_the_table() {
        insta::assert_snapshot!(help(), @r"
        Usage: iperf -c HOST [options]
               iperf -s [options]

        A client or a server of iperf 2 (2.1.8).

          -c, --client HOST     the server
          -s, --server          serve
          -D, --daemon          a server in the background
          -1, --singleclient    a server of one client at a time
          -p, --port N[-N]      port or ports of the server (default 5001)
          -u, --udp             datagrams instead of a connection
          -t, --time SECONDS    time (default 10); of a server: time for which it listens
          -n, --num BYTES       bytes instead of a time (K, M, G: powers of 1024; k, m, g: of 1000)
          -b, --bandwidth RATE  rate of each stream in bit/s, or datagrams per second (50pps)
          -l, --len BYTES       size of a block or datagram (default 128K, 1470)
          -P, --parallel N      streams; of a server: number that it serves
          -w, --window BYTES    socket buffers
          -i, --interval SECONDS  print a row for each interval
          -N, --nodelay         no delay of small segments
          -M, --mss BYTES       segment size
          -m, --print_mss       print the segment size
          -S, --tos N           type of service: a number, or a name such as af11 or ef
          -Z, --tcp-congestion NAME  congestion control
          -B, --bind HOST[:PORT][%DEV]  local address, or a multicast group
          -H, --ssm-host HOST   source of the multicast datagrams that are received
          -T, --ttl N           time to live of multicast datagrams (default 1)
          -U, --single_udp      datagrams; one thread always receives them
          -z, --realtime        use the real-time scheduler
          -o, --output FILE     write the output to this file
              --local-only      hosts of connected networks only
              --connect-retries N  number of further attempts to connect
              --txdelay-time SECONDS  time between connect and the first write
              --txstart-time SECONDS  time of the first write, in seconds since 1970
          -V, --ipv6_domain     IPv6
          -R, --reverse         the server sends
          -d, --dualtest        both send at once, on separate connections
          -r, --tradeoff        the server sends afterwards
          -L, --listenport N    port for connections of the server
              --full-duplex     both send on the same connection
          -C, --compatibility   no header is sent
              --connect-only[=N]  open and close connections
          -e, --enhanced, --enhancedreports  more columns; with -y C, milliseconds
          -F, --fileinput FILE  send this file over TCP, to its end
          -I, --stdin           send standard input over TCP, to its end
          -X, --peer-detect     wait for the answer to the header
              --incr-dstport    a port of its own for each stream
              --trip-times      measure one-way delays; the clocks of both hosts must agree
              --no-udp-fin      do not wait for the report
              --fq-rate RATE    rate enforced by the kernel (m: bit/s, M: byte/s)
              --tcp-write-prefetch BYTES  write when fewer bytes wait to be sent
          -f, --format [bkmgtBKMGTaA]  unit of the values
          -y, --reportstyle C   lines of comma-separated values
          -x, --reportexclude [CDSV]  leave out connection, data, settings or server report
              --sum-only        only sums
              --hide-ips        only the last part of addresses
          -v, --version         print the version
        ");
    }
}
