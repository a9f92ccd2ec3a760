//! The command line of iperf 2, for the program called as `iperf`.

mod table;
mod values;

use std::ffi::OsString;
use std::time::Duration;

use netperf_model::iperf2::{Iperf2Direction, Iperf2Plan, Iperf2Rate, MOST_STREAMS};

use self::table::OptionOf::Client;
use self::table::OptionSets::{Direction, Flag, Help, Optional, Refused, Value, Version};
pub use self::table::help;
use self::table::{Iperf2Option, row};
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

/// Reads the command line of iperf 2, argv\[0\] included. `version` is the line of `-v`.
///
/// # Errors
/// A line that names the option which is wrong or not supported.
pub fn iperf2(argv: &[OsString], version: &str) -> Result<Iperf2Command, String> {
    let mut words = Vec::new();
    for word in argv.iter().skip(1) {
        let text = word.to_str().ok_or("iperf: an option is not text")?;
        words.push(text.to_owned());
    }
    if words.is_empty() {
        return Ok(Iperf2Command::Text(USAGE.to_owned(), 0));
    }
    let mut args = Iperf2Args::default();
    args.plan.port = PORT;
    args.plan.streams = 1;
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        for (row, name, value) in options(&word, &mut rest)? {
            let row = row.ok_or_else(|| unsupported(&format!("-{name}")))?;
            match row.3 {
                Version => return Ok(Iperf2Command::Text(format!("{version}\n"), 1)),
                Help => return Ok(Iperf2Command::Text(help(), 1)),
                Refused => return Err(unsupported(&format!("-{name}"))),
                Flag(_) | Direction(_) | Value(_) | Optional(_) => {
                    apply(&mut args, row, value.as_deref().unwrap_or_default())?;
                }
            }
        }
    }
    if args.serves {
        return server(args).map(|args| Iperf2Command::Server(Box::new(args)));
    }
    checked(args).map(|args| Iperf2Command::Client(Box::new(args)))
}

/// An option as it is typed: its row, its name, and its value.
type TypedOption = (Option<&'static Iperf2Option>, String, Option<String>);

/// Options of a word, and their values.
fn options(
    word: &str,
    rest: &mut impl Iterator<Item = String>,
) -> Result<Vec<TypedOption>, String> {
    let mut value = |name: &str, here: Option<&str>| {
        let here = here.map(str::to_owned).or_else(|| rest.next());
        here.ok_or_else(|| format!("iperf: option requires an argument -- {name}"))
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, here) = match long.split_once('=') {
            Some((name, here)) => (name, Some(here)),
            None => (long, None),
        };
        let row = row(&format!("--{name}"));
        let row = row.ok_or_else(|| unsupported(&format!("--{name}")))?;
        let value = match row.3 {
            Value(_) | Refused => Some(value(name, here)?),
            Optional(_) => here.map(str::to_owned),
            Flag(_) | Direction(_) | Version | Help => None,
        };
        return Ok(vec![(Some(row), name.to_owned(), value)]);
    }
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return Err(format!("iperf: ignoring extra argument -- {word}"));
    };
    let mut found = Vec::new();
    for (at, letter) in letters.char_indices() {
        let (name, row) = (letter.to_string(), row(&format!("-{letter}")));
        if row.is_some_and(|row| matches!(row.3, Value(_) | Refused)) {
            let behind = letters.get(at + letter.len_utf8()..);
            let behind = behind.filter(|behind| !behind.is_empty());
            let value = value(&name, behind)?;
            found.push((row, name, Some(value)));
            return Ok(found);
        }
        found.push((row, name, None));
    }
    Ok(found)
}

fn unsupported(option: &str) -> String {
    format!("iperf: option {option} is not supported; `iperf --help` lists those that are")
}

fn apply(args: &mut Iperf2Args, row: &Iperf2Option, text: &str) -> Result<(), String> {
    if row.0 == Client {
        args.client_options.push(row.first_name().to_owned());
    }
    let name = row.first_name().trim_start_matches('-');
    match row.3 {
        Flag(flag) => *flag(args) = true,
        Direction(direction) => args.plan.direction = direction,
        Value(set) | Optional(set) => return set(args, &TypedValue { name, text }),
        Refused | Version | Help => {}
    }
    Ok(())
}

/// Checks the options of a server together.
fn server(args: Iperf2Args) -> Result<Iperf2Args, String> {
    match args.client_options.first() {
        Some(option) => Err(format!(
            "iperf: {option} is an option of clients, not of -s"
        )),
        None => Ok(args),
    }
}

/// Checks options together.
fn checked(mut args: Iperf2Args) -> Result<Iperf2Args, String> {
    let plan = &args.plan;
    if args.daemon || args.single {
        return Err("iperf: -D and -1 are options of a server (-s)".to_owned());
    }
    if args.host.is_empty() {
        return Err("iperf: -c HOST is missing: the server".to_owned());
    }
    if plan.streams == 0 || plan.streams > MOST_STREAMS {
        let line = format!("iperf: -P {}: 1 to {MOST_STREAMS} streams", plan.streams);
        return Err(line);
    }
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
    if args.connections.is_some() && plan.udp {
        return Err("iperf: --connect-only opens connections, which -u has none of".to_owned());
    }
    if plan.trip_times && !plan.udp {
        timed_blocks(plan)?;
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
    Ok(args)
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
    use super::*;

    fn read(words: &str) -> Result<Iperf2Command, String> {
        let argv: Vec<OsString> = words.split(' ').map(Into::into).collect();
        iperf2(&argv, "iperf version 2.1.8")
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
    fn what_is_not_supported_is_refused_by_name() {
        let lines = [
            "iperf -c H --isochronous=10:1m,0",
            "iperf -c H -u --connect-only",
            "iperf -c H -F file",
            "iperf -c H --bounceback",
            "iperf -c H --permit-key=1",
            "iperf -s --permit-key=1",
            "iperf -c H --burst-period 1",
            "iperf -c H --tcp-write-prefetch 1K",
            "iperf -c H --tap-dev t",
            "iperf -s --histograms",
            "iperf -c H -I",
            "iperf -c H -I x",
            "iperf -c H -T 2",
            "iperf -c H --trip-times -d",
            "iperf -c H --trip-times -l 40",
            "iperf -c H --trip-times -C",
            "iperf -s -R",
            "iperf -c H -D",
            "iperf -c H -i abc",
            "iperf -c H -b 1m",
            "iperf -c H -u -l 100000",
            "iperf -c H -P 0",
            "iperf -u",
            "iperf -c H -C -R",
            "iperf -c H -t",
            "iperf -c H extra",
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
        iperf: option -F is not supported; `iperf --help` lists those that are
        iperf: option --bounceback is not supported; `iperf --help` lists those that are
        iperf: option --permit-key is not supported; `iperf --help` lists those that are
        iperf: option --permit-key is not supported; `iperf --help` lists those that are
        iperf: option --burst-period is not supported; `iperf --help` lists those that are
        iperf: option --tcp-write-prefetch is not supported; `iperf --help` lists those that are
        iperf: option --tap-dev is not supported; `iperf --help` lists those that are
        iperf: option --histograms is not supported; `iperf --help` lists those that are
        iperf: option requires an argument -- I
        iperf: option -I is not supported; `iperf --help` lists those that are
        iperf: option -T is not supported; `iperf --help` lists those that are
        iperf: option --trip-times of TCP with -d or -r is not supported; `iperf --help` lists those that are
        iperf: -l 40: a block with times has 64 bytes or more
        iperf: -C sends no header, which --trip-times needs
        iperf: -R is an option of clients, not of -s
        iperf: -D and -1 are options of a server (-s)
        Invalid value of 'abc' for -i interval
        ERROR: option -b and -l of 131072 are incompatible, consider setting -l to 125000 or lower
        iperf: -l 100000: a datagram has 4 to 65507 bytes
        iperf: -P 0: 1 to 1000 streams
        iperf: -c HOST is missing: the server
        iperf: -C sends no header, which -R, -d, -r and --full-duplex need
        iperf: option requires an argument -- t
        iperf: ignoring extra argument -- extra
        iperf: 5368709120 bytes: a server can be asked for 2147483647 bytes at most
        iperf: packets per second: a server can be asked for bits per second only
        ");
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
          -p, --port N          port of the server (default 5001)
          -u, --udp             datagrams instead of a connection
          -t, --time SECONDS    time (default 10); of a server: how long it listens
          -n, --num BYTES       bytes instead of a time (K, M, G: powers of 1024; k, m, g: of 1000)
          -b, --bandwidth RATE  rate of each stream in bit/s, or datagrams per second (50pps)
          -l, --len BYTES       size of a block or datagram (default 128K, 1470)
          -P, --parallel N      streams; of a server: how many it serves
          -w, --window BYTES    socket buffers
          -i, --interval SECONDS  rows of intervals
          -N, --nodelay         no delay of small segments
          -M, --mss BYTES       segment size
          -m, --print_mss       print the segment size
          -S, --tos N           type of service
          -Z NAME               congestion control
          -B, --bind HOST[:PORT]  local address
          -V, --ipv6_domain     IPv6
          -R, --reverse         the server sends
          -d, --dualtest        both send at once, on connections of their own
          -r, --tradeoff        the server sends afterwards
          -L, --listenport N    port for connections of the server
              --full-duplex     both send on the same connection
          -C, --compatibility   no header is sent
              --connect-only[=N]  open and close connections
          -e, --enhanced, --enhancedreports  more columns; with -y C, milliseconds
          -X                    wait for the answer to the header
              --trip-times      compare times of sending and of arrival: both clocks are the same
              --no-udp-fin      await no report
              --fq-rate RATE    rate enforced by the kernel
          -f, --format [bkmgtBKMGTaA]  unit of the figures
          -y, --reportstyle C   lines of comma-separated values
          -x, --reportexclude [CDSV]  leave out connection, data, settings or server report
              --sum-only        only sums
              --hide-ips        only the last part of addresses
          -v, --version         print the version
        ");
    }
}
