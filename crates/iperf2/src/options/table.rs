//! The options of iperf 2, each in one row: its names, its value, what it sets, and its help.

use std::time::Duration;

use netperf_model::getopt::{OptionNames, TakesValue};
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction};

use super::Iperf2Args;
use super::values::{TypedValue, connections, tos};

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

type SetValue = fn(&mut Iperf2Args, &mut TypedValue<'_>) -> Result<(), String>;

/// Setter of an option.
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
    /// It takes the value that is named, and is not supported.
    Refused,
    /// It takes the value that is named, and has no effect.
    Passed,
    /// It prints the version.
    Version,
    /// It prints the help.
    Help,
}

use OptionOf::{Both, Client};
use OptionSets::{Direction, Flag, Help, Optional, Passed, Refused, Value, Version};

/// Sets the congestion control.
fn set_congestion(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    args.congestion = Some(value.text.to_owned());
    Ok(())
}

/// Sets the time, which is that of a test, and that for which a server listens.
fn set_time(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    let time = value.seconds()?;
    args.plan.amount = Iperf2Amount::Time(if time.is_zero() { ENDLESS } else { time });
    args.limit = Some(time).filter(|time| !time.is_zero());
    Ok(())
}

/// Sets the number of streams of a client, and of those that a server serves.
fn set_streams(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    let streams = u32::try_from(value.whole()?).unwrap_or(u32::MAX);
    args.plan.streams = streams.max(1);
    args.count = Some(streams).filter(|count| *count > 0);
    Ok(())
}

/// Sets the port, and the last one of a range. A range that is none is an error of a server, and the
/// port of a client, as in the original.
fn set_ports(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    let (first, last) = value.ports()?;
    args.plan.port = first;
    args.last_port = last.filter(|last| *last != first);
    Ok(())
}

/// Sets a host, and the interface behind `%`.
fn set_host(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    let (host, device) = value.host_and_device();
    if args.serves {
        value.warn("option -c is not valid for server mode".to_owned());
        return Ok(());
    }
    args.device = device.or(args.device.take());
    args.host = host;
    Ok(())
}

/// Sets the local address, and the interface behind `%`.
fn set_bind(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    let (host, device) = value.host_and_device();
    args.device = device.or(args.device.take());
    args.bind = Some(host);
    Ok(())
}

/// Sets the form of the rows.
fn set_style(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    if value.text.starts_with(['c', 'C']) {
        args.csv = true;
    } else {
        value.warn(format!(
            "unknown reporting style \"{}\", switching to default",
            value.text
        ));
    }
    Ok(())
}

/// A test that only a signal ends.
const ENDLESS: Duration = Duration::from_secs(9_999_999);

/// Sets the size of a segment.
fn set_segment(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    let size = value.size()?;
    args.segment = Some(value.read(|_| i32::try_from(size).ok(), "bytes")?);
    Ok(())
}

/// Sets the bytes that wait to be sent. The original has further columns with it.
fn set_prefetch(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    let size = value.size()?;
    args.prefetch = Some(value.read(|_| i32::try_from(size).ok(), "bytes")?);
    args.enhanced = true;
    Ok(())
}

/// Sets the type of service. The original goes on without one that is wrong.
fn set_tos(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    match tos(value.text) {
        Some(tos) => args.plan.tos = Some(tos),
        None => value.warn(format!(
            "Invalid --tos value of {}: 0 to 255, 0x00 to 0xff, or a name such as ef; not set",
            value.text
        )),
    }
    Ok(())
}

/// Sets the lines that are left out.
fn set_left_out(args: &mut Iperf2Args, value: &mut TypedValue<'_>) -> Result<(), String> {
    for letter in value.text.chars() {
        if "CDSVMcdsvm".contains(letter) {
            args.left_out.push(letter.to_ascii_uppercase());
        } else {
            value.warn(format!("unknown reporting type \"{letter}\", ignored"));
        }
    }
    Ok(())
}

#[rustfmt::skip]
const TABLE: &[Iperf2Option] = &[
    Iperf2Option(Both, "-c, --client", "HOST", Value(set_host), "the server"),
    Iperf2Option(Both, "-s, --server", "", Flag(|args| {
            if args.host.is_empty() { &mut args.serves } else { &mut args.serves_beside }
        }), "serve"),
    Iperf2Option(Both, "-D, --daemon", "", Flag(|args| &mut args.daemon),
        "a server in the background"),
    Iperf2Option(Both, "-1, --singleclient", "", Flag(|args| &mut args.single),
        "a server of one client at a time"),
    Iperf2Option(Both, "-p, --port", "N[-N]", Value(set_ports),
        "port or ports of the server (default 5001)"),
    Iperf2Option(Both, "-u, --udp", "", Flag(|args| &mut args.plan.udp),
        "datagrams instead of a connection"),
    Iperf2Option(Both, "-t, --time", "SECONDS", Value(set_time),
        "time (default 10); of a server: time for which it listens"),
    Iperf2Option(Client, "-n, --num", "BYTES",
        Value(|args, value| { args.plan.amount = Iperf2Amount::Bytes(value.size()?); Ok(()) }),
        "bytes instead of a time (K, M, G: powers of 1024; k, m, g: of 1000)"),
    Iperf2Option(Client, "-b, --bandwidth", "RATE",
        Value(|args, value| { args.plan.rate = Some(value.rate()?); Ok(()) }),
        "rate of each stream in bit/s, or datagrams per second (50pps)"),
    Iperf2Option(Both, "-l, --len", "BYTES",
        Value(|args, value| {
            value.set_bytes(&mut args.plan.length)?;
            args.plan.length = args.plan.length.filter(|bytes| *bytes > 0);
            Ok(())
        }),
        "size of a block or datagram (default 128K, 1470)"),
    Iperf2Option(Both, "-P, --parallel", "N", Value(set_streams),
        "streams; of a server: number that it serves"),
    Iperf2Option(Both, "-w, --window", "BYTES", Value(|args, value| value.set_bytes(&mut args.window)),
        "socket buffers"),
    Iperf2Option(Both, "-i, --interval", "SECONDS",
        Value(|args, value| { args.interval = value.interval()?; Ok(()) }),
        "print a row for each interval"),
    Iperf2Option(Both, "-N, --nodelay", "", Flag(|args| &mut args.no_delay),
        "no delay of small segments"),
    Iperf2Option(Both, "-M, --mss", "BYTES", Value(set_segment), "segment size"),
    Iperf2Option(Both, "-m, --print_mss", "", Flag(|args| &mut args.shows_segment),
        "print the segment size"),
    Iperf2Option(Both, "-S, --tos", "N",
        Value(set_tos),
        "type of service: a number, or a name such as af11 or ef"),
    Iperf2Option(Both, "-Z, --tcp-congestion", "NAME", Value(set_congestion), "congestion control"),
    Iperf2Option(Both, "--linux-congestion", "NAME", Value(set_congestion), ""),
    Iperf2Option(Both, "-B, --bind", "HOST[:PORT][%DEV]", Value(set_bind),
        "local address, or a multicast group"),
    Iperf2Option(Both, "-H, --ssm-host", "HOST",
        Value(|args, value| { args.source = Some(value.text.to_owned()); Ok(()) }),
        "source of the multicast datagrams that are received"),
    Iperf2Option(Both, "-T, --ttl", "N",
        Value(|args, value| { args.ttl = Some(u8::try_from(value.whole()?).unwrap_or(u8::MAX)); Ok(()) }),
        "time to live of multicast datagrams (default 1)"),
    Iperf2Option(Both, "-U, --single_udp", "", Flag(|args| &mut args.plan.udp),
        "datagrams; one thread always receives them"),
    Iperf2Option(Both, "-z, --realtime", "", Flag(|args| &mut args.realtime),
        "use the real-time scheduler"),
    Iperf2Option(Both, "-o, --output", "FILE",
        Value(|args, value| { args.output = Some(value.text.to_owned()); Ok(()) }),
        "write the output to this file"),
    Iperf2Option(Client, "--local-only", "", Flag(|args| &mut args.local_only),
        "hosts of connected networks only"),
    Iperf2Option(Client, "--connect-retries", "N",
        Value(|args, value| { args.connect_retries = u32::try_from(value.whole()?).unwrap_or(u32::MAX); Ok(()) }),
        "number of further attempts to connect"),
    Iperf2Option(Client, "--txdelay-time", "SECONDS",
        Value(|args, value| { args.delay = Some(value.seconds()?); Ok(()) }),
        "time between connect and the first write"),
    Iperf2Option(Client, "--txstart-time", "SECONDS",
        Value(|args, value| { args.start = Some(value.seconds_since_1970()?); Ok(()) }),
        "time of the first write, in seconds since 1970"),
    Iperf2Option(Both, "-V, --ipv6_domain", "", Flag(|args| &mut args.plan.ipv6), "IPv6"),
    Iperf2Option(Client, "-R, --reverse", "", Direction(Iperf2Direction::Reverse), "the server sends"),
    Iperf2Option(Client, "-d, --dualtest", "", Direction(Iperf2Direction::Dual),
        "both send at once, on separate connections"),
    Iperf2Option(Client, "-r, --tradeoff", "", Direction(Iperf2Direction::Tradeoff),
        "the server sends afterwards"),
    Iperf2Option(Client, "-L, --listenport", "N",
        Value(|args, value| { args.plan.listen_port = Some(value.port()?); Ok(()) }),
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
    Iperf2Option(Client, "-F, --fileinput", "FILE",
        Value(|args, value| { args.input_file = Some(value.text.to_owned()); Ok(()) }),
        "send this file over TCP, to its end"),
    Iperf2Option(Client, "-I, --stdin", "", Flag(|args| &mut args.sends_stdin),
        "send standard input over TCP, to its end"),
    Iperf2Option(Client, "-X, --peer-detect", "", Flag(|args| &mut args.plan.detects_peer),
        "wait for the answer to the header"),
    Iperf2Option(Client, "--incr-dstport", "", Flag(|args| &mut args.plan.port_of_each),
        "a port of its own for each stream"),
    Iperf2Option(Client, "--trip-times", "", Flag(|args| &mut args.plan.trip_times),
        "measure one-way delays; the clocks of both hosts must agree"),
    Iperf2Option(Client, "--no-udp-fin", "", Flag(|args| &mut args.plan.no_udp_fin),
        "do not wait for the report"),
    Iperf2Option(Client, "--fq-rate", "RATE",
        Value(|args, value| { args.plan.fq_rate = Some(value.pacing_rate()?); Ok(()) }),
        "rate enforced by the kernel (m: bit/s, M: byte/s)"),
    Iperf2Option(Client, "--tcp-write-prefetch", "BYTES", Value(set_prefetch),
        "write when fewer bytes wait to be sent"),
    Iperf2Option(Both, "-f, --format", "[bkmgtBKMGTaA]",
        Value(|args, value| { args.unit = value.unit(); Ok(()) }),
        "unit of the values"),
    Iperf2Option(Both, "-y, --reportstyle", "C",
        Value(set_style),
        "lines of comma-separated values"),
    Iperf2Option(Both, "-x, --reportexclude", "[CDSV]", Value(set_left_out),
        "leave out connection, data, settings or server report"),
    Iperf2Option(Both, "--sum-only", "", Flag(|args| &mut args.sum_only), "only sums"),
    Iperf2Option(Both, "--hide-ips", "", Flag(|args| &mut args.hides_addresses),
        "only the last part of addresses"),
    Iperf2Option(Both, "-v, --version", "", Version, "print the version"),
    Iperf2Option(Both, "-h, --help", "", Help, ""),
    Iperf2Option(Both, "--sum-dstip, --no-connect-sync, --tcp-write-times, --tcp-quickack", "", Passed, ""),
    Iperf2Option(Client, "--near-congestion", "[=WEIGHT]",
        Optional(|_, value| { value.warn_without_effect(); Ok(()) }), ""),
    Iperf2Option(Both, "--histograms, --udp-histograms", "[=BINS]",
        Optional(|_, value| { value.warn_without_effect(); Ok(()) }), ""),
    Iperf2Option(Both, "--tcp-rx-window-clamp, --permit-key-timeout", "BYTES", Passed, ""),
    Iperf2Option(Both, "--permit-key, --tap-dev, --burst-period, --burst-size", "VALUE", Refused, ""),
    Iperf2Option(Both, "--ipg", "VALUE", Refused, ""),
    Iperf2Option(Both, "--bounceback-hold, --bounceback-period", "VALUE", Refused, ""),
    Iperf2Option(Both, "--isochronous, --bounceback", "[=VALUE]", Refused, ""),
    Iperf2Option(Both, "--bounceback-congest, --bounceback-no-quickack", "", Refused, ""),
    Iperf2Option(Both, "--incr-dstip, --incr-srcip, --incr-srcport", "", Refused, ""),
];

impl Iperf2Option {
    fn typed(&self) -> impl Iterator<Item = &'static str> {
        self.1.split(", ")
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

/// The names of all options.
pub(super) fn names() -> Vec<OptionNames<'static, usize>> {
    let all = TABLE.iter().enumerate();
    all.flat_map(|(option, row)| {
        let takes = match row.3 {
            Optional(_) => TakesValue::Optional,
            Refused if row.2.starts_with('[') => TakesValue::Optional,
            Value(_) | Refused | Passed if !row.2.is_empty() => TakesValue::Yes,
            Value(_) | Refused | Passed | Flag(_) | Direction(_) | Version | Help => TakesValue::No,
        };
        row.typed().map(move |typed| {
            let long = typed.strip_prefix("--");
            let letter = || typed.strip_prefix('-')?.chars().next();
            OptionNames {
                letter: if long.is_some() { None } else { letter() },
                long,
                shortens: true,
                takes,
                option,
            }
        })
    })
    .collect()
}

/// The row of an option.
pub(super) fn row(index: usize) -> &'static Iperf2Option {
    // The index is one of `names`.
    TABLE.get(index).unwrap_or(&TABLE[0])
}

/// The variables of the environment, and the options for which they stand.
pub(super) fn variables() -> impl Iterator<Item = (&'static Iperf2Option, String)> {
    let long = |row: &'static Iperf2Option| {
        let names = row.typed().filter_map(|typed| typed.strip_prefix("--"));
        names.map(move |name| {
            let name = name.replace('-', "_").to_ascii_uppercase();
            (row, format!("IPERF_{name}"))
        })
    };
    let window = TABLE
        .iter()
        .find(|row| row.typed().any(|typed| typed == "--window"));
    let window = window.map(|row| (row, "TCP_WINDOW_SIZE".to_owned()));
    let settable = |row: &&Iperf2Option| !matches!(row.3, Version | Help | Refused | Passed);
    TABLE.iter().filter(settable).flat_map(long).chain(window)
}

/// Output of `iperf -h`.
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
