//! The options of iperf 2, each in one row: its names, its value, what it sets, and its help.

use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction};

use super::Iperf2Args;
use super::values::{TypedValue, connections, interval, port, rate, time, tos, unit};

/// An option: the programs that have it, its names as they are typed, the name of its value, what it
/// sets, and its help. An option without help is not listed.
pub(super) struct Iperf2Option(
    pub(super) OptionOf,
    &'static str,
    &'static str,
    pub(super) OptionSets,
    &'static str,
);

/// The programs that have an option. With `-s` beside it, `-c` is passed over, as in the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionOf {
    /// Clients alone.
    Client,
    /// Both, or it is ignored by one.
    Both,
}

type SetValue = fn(&mut Iperf2Args, &TypedValue<'_>) -> Result<(), String>;

/// What an option sets.
#[derive(Clone, Copy)]
pub(super) enum OptionSets {
    /// A flag.
    Flag(fn(&mut Iperf2Args) -> &mut bool),
    /// The direction.
    Direction(Iperf2Direction),
    /// It takes a value.
    Value(SetValue),
    /// It may have a value behind `=`.
    Optional(SetValue),
    /// It takes a value, and is not supported.
    Refused,
    /// It prints the version.
    Version,
    /// It prints the help.
    Help,
}

use OptionOf::{Both, Client};
use OptionSets::{Direction, Flag, Help, Optional, Refused, Value, Version};

/// Sets the congestion control.
fn set_congestion(args: &mut Iperf2Args, value: &TypedValue<'_>) -> Result<(), String> {
    args.congestion = Some(value.text.to_owned());
    Ok(())
}

/// Sets the time, which is that of a test, and that for which a server listens.
fn set_time(args: &mut Iperf2Args, value: &TypedValue<'_>) -> Result<(), String> {
    let time = value.read(time, "seconds")?;
    args.plan.amount = Iperf2Amount::Time(time);
    args.limit = Some(time);
    Ok(())
}

/// Sets the number of streams of a client, and of those that a server serves.
fn set_streams(args: &mut Iperf2Args, value: &TypedValue<'_>) -> Result<(), String> {
    args.plan.streams = value.read(|text| text.parse().ok(), "a number")?;
    args.count = Some(args.plan.streams).filter(|count| *count > 0);
    Ok(())
}

/// Sets the size of a segment.
fn set_segment(args: &mut Iperf2Args, value: &TypedValue<'_>) -> Result<(), String> {
    let size = value.size()?;
    args.segment = Some(value.read(|_| i32::try_from(size).ok(), "bytes")?);
    Ok(())
}

/// Sets the lines that are left out.
fn set_left_out(args: &mut Iperf2Args, value: &TypedValue<'_>) -> Result<(), String> {
    let known = |text: &str| text.chars().all(|letter| "CDSVMcdsvm".contains(letter));
    let letters = |text: &str| known(text).then(|| text.to_ascii_uppercase());
    args.left_out = value.read(letters, "letters of CDSV")?;
    Ok(())
}

#[rustfmt::skip]
const TABLE: &[Iperf2Option] = &[
    Iperf2Option(Both, "-c, --client", "HOST", Value(|args, value| value.put(&mut args.host)),
        "the server"),
    Iperf2Option(Both, "-s, --server", "", Flag(|args| &mut args.serves), "serve"),
    Iperf2Option(Both, "-D, --daemon", "", Flag(|args| &mut args.daemon),
        "a server in the background"),
    Iperf2Option(Both, "-1, --singleclient", "", Flag(|args| &mut args.single),
        "a server of one client at a time"),
    Iperf2Option(Both, "-p, --port", "N",
        Value(|args, value| value.set(&mut args.plan.port, port, "a port")),
        "port of the server (default 5001)"),
    Iperf2Option(Both, "-u, --udp", "", Flag(|args| &mut args.plan.udp),
        "datagrams instead of a connection"),
    Iperf2Option(Both, "-t, --time", "SECONDS", Value(set_time),
        "time (default 10); of a server: how long it listens"),
    Iperf2Option(Client, "-n, --num", "BYTES",
        Value(|args, value| { args.plan.amount = Iperf2Amount::Bytes(value.size()?); Ok(()) }),
        "bytes instead of a time (K, M, G: powers of 1024; k, m, g: of 1000)"),
    Iperf2Option(Client, "-b, --bandwidth", "RATE",
        Value(|args, value| value.set(&mut args.plan.rate, rate, "a rate, such as 10m or 50pps")),
        "rate of each stream in bit/s, or datagrams per second (50pps)"),
    Iperf2Option(Both, "-l, --len", "BYTES",
        Value(|args, value| value.set_bytes(&mut args.plan.length)),
        "size of a block or datagram (default 128K, 1470)"),
    Iperf2Option(Both, "-P, --parallel", "N", Value(set_streams),
        "streams; of a server: how many it serves"),
    Iperf2Option(Both, "-w, --window", "BYTES", Value(|args, value| value.set_bytes(&mut args.window)),
        "socket buffers"),
    Iperf2Option(Both, "-i, --interval", "SECONDS",
        Value(|args, value| { args.interval = Some(interval(value.text)?); Ok(()) }),
        "rows of intervals"),
    Iperf2Option(Both, "-N, --nodelay", "", Flag(|args| &mut args.no_delay),
        "no delay of small segments"),
    Iperf2Option(Both, "-M, --mss", "BYTES", Value(set_segment), "segment size"),
    Iperf2Option(Both, "-m, --print_mss", "", Flag(|args| &mut args.shows_segment),
        "print the segment size"),
    Iperf2Option(Both, "-S, --tos", "N",
        Value(|args, value| value.set(&mut args.plan.tos, tos, "0 to 255, or 0x00 to 0xff")),
        "type of service"),
    Iperf2Option(Both, "-Z", "NAME", Value(set_congestion), "congestion control"),
    Iperf2Option(Both, "--linux-congestion", "NAME", Value(set_congestion), ""),
    Iperf2Option(Both, "-B, --bind", "HOST[:PORT]",
        Value(|args, value| { args.bind = Some(value.text.to_owned()); Ok(()) }),
        "local address"),
    Iperf2Option(Both, "-V, --ipv6_domain", "", Flag(|args| &mut args.plan.ipv6), "IPv6"),
    Iperf2Option(Client, "-R, --reverse", "", Direction(Iperf2Direction::Reverse), "the server sends"),
    Iperf2Option(Client, "-d, --dualtest", "", Direction(Iperf2Direction::Dual),
        "both send at once, on connections of their own"),
    Iperf2Option(Client, "-r, --tradeoff", "", Direction(Iperf2Direction::Tradeoff),
        "the server sends afterwards"),
    Iperf2Option(Client, "-L, --listenport", "N",
        Value(|args, value| value.set(&mut args.plan.listen_port, port, "a port")),
        "port for connections of the server"),
    Iperf2Option(Client, "--full-duplex", "", Direction(Iperf2Direction::FullDuplex),
        "both send on the same connection"),
    Iperf2Option(Both, "-C, --compatibility", "", Flag(|args| &mut args.plan.compatible),
        "no header is sent"),
    Iperf2Option(Client, "--connect-only", "[=N]",
        Optional(|args, value| value.set(&mut args.connections, connections, "1 to 1000000")),
        "open and close connections"),
    // The last name is that of iperf 2.0, which flent looks for.
    Iperf2Option(Both, "-e, --enhanced, --enhancedreports", "", Flag(|args| &mut args.enhanced),
        "more columns; with -y C, milliseconds"),
    Iperf2Option(Client, "-X", "", Flag(|args| &mut args.plan.detects_peer),
        "wait for the answer to the header"),
    Iperf2Option(Client, "--trip-times", "", Flag(|args| &mut args.plan.trip_times),
        "compare times of sending and of arrival: both clocks are the same"),
    Iperf2Option(Client, "--no-udp-fin", "", Flag(|args| &mut args.plan.no_udp_fin),
        "await no report"),
    Iperf2Option(Client, "--fq-rate", "RATE",
        Value(|args, value| { args.plan.fq_rate = Some(value.size()?); Ok(()) }),
        "rate enforced by the kernel"),
    Iperf2Option(Both, "-f, --format", "[bkmgtBKMGTaA]",
        Value(|args, value| value.set(&mut args.unit, unit, "one of bkmgtBKMGTaA")),
        "unit of the figures"),
    Iperf2Option(Both, "-y, --reportstyle", "C",
        Value(|args, value| value.set(&mut args.csv, |text| matches!(text, "C" | "c").then_some(true), "C")),
        "lines of comma-separated values"),
    Iperf2Option(Both, "-x, --reportexclude", "[CDSV]", Value(set_left_out),
        "leave out connection, data, settings or server report"),
    Iperf2Option(Both, "--sum-only", "", Flag(|args| &mut args.sum_only), "only sums"),
    Iperf2Option(Both, "--hide-ips", "", Flag(|args| &mut args.hides_addresses),
        "only the last part of addresses"),
    Iperf2Option(Both, "-v, --version", "", Version, "print the version"),
    Iperf2Option(Both, "-h, --help", "", Help, ""),
    Iperf2Option(Both, "-o, -T, -I, -F", "VALUE", Refused, ""),
];

impl Iperf2Option {
    fn typed(&self) -> impl Iterator<Item = &'static str> {
        self.1.split(", ")
    }

    /// The name by which messages call it, with its dashes.
    pub(super) fn first_name(&self) -> &'static str {
        self.typed().next().unwrap_or_default()
    }

    /// Its line of the help.
    fn line(&self) -> String {
        let indent = if self.1.starts_with("--") { "    " } else { "" };
        let is_attached = self.2.is_empty() || matches!(self.3, Optional(_));
        let gap = if is_attached { "" } else { " " };
        let left = format!("{indent}{}{gap}{}", self.1, self.2);
        let left = if left.len() < 21 { left } else { left + "  " };
        format!("  {left:<22}{}\n", self.4)
    }
}

/// The option of a name, which begins with its dashes.
pub(super) fn row(name: &str) -> Option<&'static Iperf2Option> {
    TABLE
        .iter()
        .find(|row| row.typed().any(|typed| typed == name))
}

/// What `iperf -h` prints.
#[must_use]
pub fn help() -> String {
    let mut text = "\
Usage: iperf -c HOST [options]
       iperf -s [options]

A client or a server of iperf 2 (2.1.8).

"
    .to_owned();
    let listed = TABLE.iter().filter(|row| !row.4.is_empty());
    listed.for_each(|row| text.push_str(&row.line()));
    text
}
