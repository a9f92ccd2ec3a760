//! Kinds of values of long options.
//!
//! The grammars of the letters accept any text: invalid text is 0. A long option is checked
//! here first and then read by the same grammar, so that both forms have the same meaning.

mod numbers;
pub mod precision;
mod rates;

use std::borrow::Cow;
use std::time::Duration;

use netperf_model::SeriesPlan;
use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::dscp::{CODE_POINTS, LATER_CODE_POINTS, SERVICES};
use netperf_model::many::{Placement, cpu_list};
use netperf_model::units::without_exponent;
use netperf_model::{
    BadNetwork, BudgetArg, DataPeers, GuardedFeatures, InterfaceName, Limit, Network, PortRange,
    Startups, TransportSet,
};

use self::numbers::{count, integer, is_decimal, number, spelled, whole_seconds};
pub use self::numbers::{duration, has_thousands, is_empty_list, size};
pub use self::rates::bit_rate;
use self::rates::pacing_rate;
use crate::grammar;
use crate::long;
use crate::places::{Places, places};

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// There is none.
    Nothing,
    /// Any text, and none.
    FreeText,
    /// Any text but an empty one.
    Text,
    /// A selection of output.
    Selection,
    /// The name of a file.
    File,
    /// The name of a network interface.
    Interface,
    /// A host, and perhaps a family behind a comma.
    Host,
    /// The same of netserver, which has to be named.
    RemoteHost,
    /// A host with an optional prefix length, and perhaps a family.
    HostWithBits,
    /// A port number or the name of a service.
    Port,
    /// The name of a test.
    Test,
    /// The topic of a help text.
    Topic,
    /// A time, or how much to move with a minus in front.
    Length,
    /// Seconds, in any unit of time.
    Interval,
    /// The same from 0.
    Span,
    /// The same above 0.
    Lasting,
    /// The same, either 0 or as long as a sampling interval can be.
    Period,
    /// Seconds without a fraction.
    WholeSeconds,
    /// A pacing interval.
    Tick,
    /// A number, perhaps with a fraction.
    Number,
    /// A whole number that may be negative.
    Integer,
    /// A whole number from 0.
    Count,
    /// A whole number in a range.
    Within(u32, u32),
    /// A number with a size letter, from 0.
    Size,
    /// The same, or -1.
    SizeOrDefault,
    /// The letter of a unit.
    Unit,
    /// On or off.
    Switch,
    /// A type of service.
    Tos,
    /// A differentiated services code point.
    CodePoint,
    /// Ways of the data.
    Direction,
    /// The name of a protocol.
    Protocol,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Level and width of a confidence interval.
    Confidence,
    /// A percentage, perhaps with its sign.
    Percent,
    /// A probability in percent that decides something.
    Chance,
    /// A percentage above 0, and perhaps percentiles.
    Precision,
    /// Numbers of CPUs and ranges of them.
    Cpus,
    /// So much a second.
    Rate,
    /// A whole number of up to 64 bits.
    Seed,
    /// A CPU for each end, or lists of CPUs for the threads of each.
    CpusOfEnds,
    /// A rule by which threads are placed on CPUs.
    Placement,
    /// A range of ports.
    Ports,
    /// A limit of each session, and of all.
    Budget,
    /// Numbers of clients without proof.
    Startups,
    /// Networks with commas between.
    Networks,
    /// Permitted data addresses.
    DataPeers,
    /// Features for strangers, with commas between.
    Features,
    /// Transports and groups of them, with commas between.
    Transports,
    /// Bits per second.
    BitRate,
    /// Bits per second of the kernel's pacing, which counts bytes.
    PacingRate,
    /// The same in bytes per second, as the letter takes it.
    PacingBytes,
    /// Two with a comma between, either of which may be left out; one alone is
    /// both or the first, as the option has it.
    Pair(&'static Self, &'static Self),
}

/// A percentage as a share: 0.01 of 1%.
pub fn percent(text: &str) -> Option<f64> {
    let digits = text.strip_suffix('%').unwrap_or(text);
    let digits = without_exponent(digits).filter(|digits| is_decimal(digits))?;
    let percent: f64 = digits.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// Families by the names that mean the same to the letters' grammar.
const FAMILIES: &[&str] = &["4", "6", "inet", "inet6", "unspec"];
/// Letters of units.
const UNITS: &[&str] = &["G", "M", "K", "B", "g", "m", "k", "b", "x", "u"];
/// Words for a direction.
const DIRECTIONS: &[&str] = &[
    "send", "recv", "rr", "crr", "cc", "xmit", "stream", "transmit", "receive", "maerts",
];
/// Words for a switch, on first.
const SWITCHES: &[&str] = &["1", "0", "on", "off", "yes", "no"];

impl ValueKind {
    /// A pair of one kind.
    pub const fn twice(each: &'static Self) -> Self {
        Self::Pair(each, each)
    }

    /// Returns true for numbers of things or bytes, which people write with commas.
    pub const fn is_amount(&self) -> bool {
        matches!(self, Self::Size | Self::SizeOrDefault | Self::Count)
    }

    /// The value as the letter's grammar reads it; `None` for one that makes no sense.
    pub fn read<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        let as_it_is = |good: bool| good.then_some(Cow::Borrowed(text));
        match *self {
            Self::Nothing | Self::FreeText => as_it_is(true),
            Self::Text | Self::Selection | Self::File | Self::Topic => {
                as_it_is(!is_empty_list(text))
            }
            Self::Interface => as_it_is(InterfaceName::new(text).is_some()),
            Self::Host | Self::HostWithBits => host(text, *self == Self::HostWithBits),
            Self::RemoteHost => host(text, false).filter(|host| !host.starts_with(',')),
            Self::Port => as_it_is(is_port(text)),
            Self::Length => as_it_is(length(text).is_some()),
            Self::Interval => interval(text).map(Cow::Owned),
            Self::Span => interval(text)
                .filter(|_| !text.starts_with('-'))
                .map(Cow::Owned),
            Self::Lasting => interval(text)
                .filter(|seconds| seconds.parse().is_ok_and(|seconds: f64| seconds > 0.0))
                .map(Cow::Owned),
            Self::Period => interval(text)
                .filter(|seconds| is_period(seconds))
                .map(Cow::Owned),
            Self::WholeSeconds => whole_seconds(text).map(|seconds| spelled(text, seconds)),
            Self::Tick => tick(text).map(Cow::Owned),
            Self::Number => without_exponent(text).filter(|number| is_decimal(number)),
            Self::Integer => integer(text).map(|value| spelled(text, value)),
            Self::Count => count(text).map(|value| spelled(text, value)),
            Self::Within(from, to) => {
                let inside = |value: &i64| i64::from(from) <= *value && *value <= i64::from(to);
                let value = count(text).filter(inside);
                value.map(|value| spelled(text, value))
            }
            Self::SizeOrDefault if text == "-1" => as_it_is(true),
            Self::Size | Self::SizeOrDefault => {
                let value = size(text).filter(|_| !text.is_empty());
                value.map(|value| match count(text) {
                    // The letters' grammar reads a number with one letter, too.
                    None if !text.contains(['.', 'e', 'E']) => Cow::Borrowed(text),
                    _ => spelled(text, value.into()),
                })
            }
            Self::Switch => switch(text).map(Cow::Borrowed),
            Self::Tos => as_it_is(grammar::tos(text).is_some()),
            Self::CodePoint => as_it_is(grammar::code_point(text).is_some()),
            Self::Direction => as_it_is(text.split('|').all(is_direction)),
            Self::Unit => as_it_is(UNITS.contains(&text)),
            Self::Test | Self::Protocol | Self::Word(_) => {
                let choices = self.choices();
                let same = |choice: &&str| choice.eq_ignore_ascii_case(text);
                choices.into_iter().find(same).map(Cow::Borrowed)
            }
            Self::Confidence => confidence(text).map(Cow::Owned),
            Self::Percent => as_it_is(percent(text).is_some()),
            Self::Chance => as_it_is(percent(text).is_some_and(|it| it > 0.0 && it <= 0.5)),
            Self::Precision => as_it_is(precision::asked(text).is_some()),
            Self::Cpus => as_it_is(cpu_list(text).is_some()),
            Self::Rate => as_it_is(grammar::rate(text).is_some()),
            Self::Seed => as_it_is(is_seed(text)),
            Self::CpusOfEnds => match places(text) {
                Places::Processes => pair((&Self::Count, &Self::Count), text),
                Places::Threads(_) | Places::Rule(_) => as_it_is(true),
                Places::Unclear => None,
            },
            Self::Placement => as_it_is(Placement::named(text).is_some()),
            Self::Ports => as_it_is(text.parse::<PortRange>().is_ok()),
            Self::Budget => as_it_is(text.parse::<BudgetArg>().is_ok()),
            Self::Startups => as_it_is(text.parse::<Startups>().is_ok()),
            Self::Networks => as_it_is(Network::list(text).is_ok()),
            Self::DataPeers => as_it_is(text.parse::<DataPeers>().is_ok()),
            Self::Features => as_it_is(text.parse::<GuardedFeatures>().is_ok()),
            Self::Transports => as_it_is(text.parse::<TransportSet>().is_ok()),
            Self::BitRate => as_it_is(bit_rate(text).is_some()),
            Self::PacingRate => pacing_rate(text).map(Cow::Owned),
            Self::PacingBytes => Self::Count.read(text),
            Self::Pair(first, second) => pair((first, second), text),
        }
    }

    /// Description for "this is not ...".
    #[must_use]
    pub fn expected(&self) -> String {
        let text = match *self {
            Self::Nothing | Self::FreeText => "a text",
            Self::Text => "a text of one character or more",
            Self::Selection => "output selectors, all, ? or a file",
            Self::File => "a file name",
            Self::Interface => "the name of an interface, 1 to 15 bytes",
            Self::Host => "a host, a host and a family such as db1,6, or a family such as ,inet6",
            Self::RemoteHost => "a host, or a host and a family such as db1,6",
            Self::HostWithBits => "a host such as db1, host/bits, or host,family",
            Self::Port => "a port number from 0 to 65535 or the name of a service",
            Self::Test => "the name of a test",
            Self::Topic => {
                "all, classic, limits, a subcommand, netserver, iperf3, iperf or the name of a test"
            }
            Self::Length => "a time such as 10, 500ms or 1m30s, or minus an amount such as -1M",
            Self::Interval | Self::Span => "a time such as 1, 0.5 or 200ms",
            Self::Lasting => "a time above 0 such as 1, 0.5 or 200ms",
            Self::Period => "a time from 1ms to 1h, or 0",
            Self::WholeSeconds => "a whole number of seconds",
            Self::Tick => "a time such as 10ms, 200us or 1s",
            Self::Number => "a number",
            Self::Integer => "a whole number",
            Self::Count => "a whole number, 0 or more",
            Self::Within(from, to) => return format!("a whole number from {from} to {to}"),
            Self::Size => "a size such as 1000, 64K or 1m, at most 2147483647",
            Self::SizeOrDefault => {
                "a size such as 1000, 64K or 1m, at most 2147483647, or -1 for the system's default"
            }
            Self::Tos => "a number from 0 to 255 or a name such as ef, cs1 or af11",
            Self::CodePoint => "a whole number from 0 to 63 or a name such as ef, cs1 or af11",
            Self::Direction => "send, recv or rr, or several with | between",
            Self::Confidence => "95 or 99, a comma and a width in percent, such as 99,5",
            Self::Percent => "a percentage from 0 to 100 such as 1% or 0.5",
            Self::Chance => "a percentage above 0, and 50 at most, such as 1% or 0.5",
            Self::Precision => {
                "a percentage above 0, optionally with percentiles, such as 1%,p50,p99"
            }
            Self::Cpus => "a list of CPUs such as 0-3,8",
            Self::Rate => "a rate such as 50k, 2.5M, 50Mbit or 20kpps, above 0",
            Self::Seed => "a whole number of at most 64 bits",
            Self::Ports => "a range of ports such as 40000-40010",
            Self::Budget => {
                "a number above 0 such as 128M, optionally with a comma and one for all"
            }
            Self::Startups => "START:PERCENT:FULL such as 10:30:100, FULL at most 1000",
            Self::Networks => "a list of networks such as 10.0.0.0/8,2001:db8::/32",
            Self::DataPeers => "same, any, or a list of networks such as 10.0.0.0/8,2001:db8::/32",
            Self::Features => "none, all, or a list of io-uring, mark, bind-device and priority",
            Self::Transports => {
                "all, or a list of ip, local, link and names of --list such as tcp,udp,packet"
            }
            Self::BitRate => "a rate in bits per second such as 100M or 2.5G",
            Self::PacingRate => "a rate in bits per second such as 100M or 2.5G, at most 17.1G",
            Self::PacingBytes => {
                "a number of bytes per second such as 12500000; --pacing-rate takes bits per \
                 second such as 100M"
            }
            Self::CpusOfEnds => {
                "the CPUs of client and server such as 0,1, lists with a colon between them such as \
                 0-3:4-7, or spread, pack, near-irq or node:0"
            }
            Self::Placement => "spread, pack, near-irq or a node such as node:0",
            Self::Unit | Self::Switch | Self::Protocol | Self::Word(_) => {
                return format!("one of {}", self.choices().join(", "));
            }
            Self::Pair(first, second) if first == second => {
                return format!("{}, or two separated by a comma", first.expected());
            }
            Self::Pair(first, second) => {
                let (first, second) = (first.expected(), second.expected());
                return format!("{first}, optionally with a comma and {second}");
            }
        };
        text.to_owned()
    }

    /// A good value that a bad one may have been meant to be.
    pub fn nearest(&self, text: &str) -> Option<String> {
        if has_thousands(text) {
            let whole = text.replace(',', "");
            return self.read(&whole).is_some().then_some(whole);
        }
        if let Self::Pair(first, second) = *self {
            return nearest_pair((first, second), text);
        }
        let choices = self.choices();
        if !choices.is_empty() {
            return long::nearest(text, choices);
        }
        self.beginning(text)
    }

    /// The longest good value that the text begins with, blanks left out.
    fn beginning(&self, text: &str) -> Option<String> {
        if matches!(self, Self::Networks | Self::DataPeers) {
            return network_meant(text);
        }
        if matches!(self, Self::Length) {
            // Another time may follow: 1min30sec.
            return time_in_words(text);
        }
        if !matches!(
            self,
            Self::Size | Self::SizeOrDefault | Self::Tick | Self::WholeSeconds | Self::Count
        ) {
            return None;
        }
        let text = compact(text);
        let ends = text
            .char_indices()
            .map(|(at, letter)| at + letter.len_utf8());
        let ends: Vec<usize> = ends.collect();
        let beginnings = ends.into_iter().rev().filter_map(|end| text.get(..end));
        let mut good = beginnings.filter(|word| self.read(word).is_some());
        let good = good.next()?;
        // Less of the number than was typed is not what was meant.
        let number = |c: char| c.is_ascii_digit() || "KMGkmg.".contains(c);
        let rest = text.get(good.len()..).unwrap_or_default();
        (!rest.starts_with(number)).then(|| good.to_owned())
    }

    /// The words to choose from; empty for kinds that are not choices.
    #[must_use]
    #[expect(clippy::wildcard_enum_match_arm, reason = "most kinds are not choices")]
    pub fn choices(&self) -> Vec<&'static str> {
        match *self {
            Self::Test => TESTS.iter().map(|row| row.name).collect(),
            Self::Protocol => TRANSPORTS.iter().map(|row| row.option).collect(),
            Self::Tos => names(&[&CODE_POINTS, &SERVICES]),
            Self::CodePoint => names(&[&CODE_POINTS, &LATER_CODE_POINTS]),
            Self::Direction => DIRECTIONS.to_vec(),
            Self::Unit => UNITS.to_vec(),
            Self::Switch => SWITCHES.to_vec(),
            Self::Word(words) => words.to_vec(),
            Self::Placement => Placement::WORDS.to_vec(),
            Self::Pair(first, _) => first.choices(),
            _ => Vec::new(),
        }
    }
}

/// The names in some tables.
fn names(tables: &[&[(&'static str, u8)]]) -> Vec<&'static str> {
    let all = tables.iter().flat_map(|table| table.iter());
    all.map(|(name, _)| *name).collect()
}

/// The beginning of a text, without blanks.
fn compact(text: &str) -> String {
    let letters = text.chars().filter(|letter| !letter.is_whitespace());
    letters.take(30).collect()
}

/// The network of an address that has bits behind those that count.
fn network_meant(text: &str) -> Option<String> {
    match Network::list(text) {
        Err(BadNetwork::BitsBehind(_, meant)) => Some(meant.to_string()),
        Ok(_) | Err(BadNetwork::NoNetwork(_)) => None,
    }
}

/// Both halves, where there are two; at least one must be there.
fn pair<'t>(kinds: (&ValueKind, &ValueKind), text: &'t str) -> Option<Cow<'t, str>> {
    let Some((first, second)) = text.split_once(',') else {
        return if text.is_empty() {
            None
        } else {
            kinds.0.read(text)
        };
    };
    if first.is_empty() && second.is_empty() || kinds.0.is_amount() && has_thousands(text) {
        return None;
    }
    let half = |kind: &ValueKind, text: &'t str| match text {
        "" => Some(Cow::Borrowed("")),
        text => kind.read(text),
    };
    let (first, second) = (half(kinds.0, first)?, half(kinds.1, second)?);
    Some(Cow::Owned(format!("{first},{second}")))
}

fn nearest_pair(kinds: (&ValueKind, &ValueKind), text: &str) -> Option<String> {
    let half = |kind: &ValueKind, text: &str| match kind.read(text) {
        _ if text.is_empty() => Some(String::new()),
        Some(_) => Some(text.to_owned()),
        None => kind.nearest(text),
    };
    let near = match text.split_once(',') {
        Some((first, second)) => {
            format!("{},{}", half(kinds.0, first)?, half(kinds.1, second)?)
        }
        None => half(kinds.0, text)?,
    };
    pair(kinds, &near).is_some().then_some(near)
}

/// A host and a family; the family in a spelling that the letters know.
fn host(text: &str, with_bits: bool) -> Option<Cow<'_, str>> {
    let (name, family) = match text.split_once(',') {
        Some((name, family)) => (name, Some(family.to_ascii_lowercase())),
        None => (text, None),
    };
    let named = match name.split_once('/') {
        Some((host, bits)) if with_bits => {
            !host.is_empty() && number(bits).is_some_and(|bits| bits <= 128)
        }
        Some(_) => false,
        None => !name.is_empty() || family.is_some(),
    };
    let blank = name.contains(|c: char| c.is_whitespace() || c.is_control());
    match family {
        _ if !named || blank => None,
        None => Some(Cow::Borrowed(text)),
        Some(family) => {
            let family = family.strip_prefix("af_").unwrap_or(&family);
            let known = FAMILIES.contains(&family);
            known.then(|| Cow::Owned(format!("{name},{family}")))
        }
    }
}

/// Ten characters count of a port; more would silently be cut.
fn is_port(text: &str) -> bool {
    let service = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    match text.parse::<u32>() {
        Ok(port) => port <= u16::MAX.into() && number(text).is_some(),
        Err(_) => {
            (1..=10).contains(&text.len())
                && text.chars().all(service)
                && text.starts_with(|c: char| c.is_ascii_alphabetic())
        }
    }
}

/// Returns true for a name of a direction of data.
pub fn is_direction(word: &str) -> bool {
    let named = DIRECTIONS
        .iter()
        .any(|name| name.eq_ignore_ascii_case(word));
    named || grammar::c_number(word).is_some_and(|bits| matches!(bits, 2 | 4 | 6))
}

fn switch(text: &str) -> Option<&'static str> {
    let at = SWITCHES
        .iter()
        .position(|word| word.eq_ignore_ascii_case(text))?;
    Some(if at % 2 == 0 { "1" } else { "0" })
}

fn is_seed(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u64>().is_ok()
}

/// Seconds that a sampling interval can have, or none.
fn is_period(seconds: &str) -> bool {
    let period = seconds.parse().ok().map(Duration::try_from_secs_f64);
    let possible = SeriesPlan::SHORTEST..=SeriesPlan::LONGEST;
    matches!(period, Some(Ok(period)) if period.is_zero() || possible.contains(&period))
}

/// A pacing interval with its number in digits.
fn tick(text: &str) -> Option<String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let is_unit = matches!(unit, "" | "m" | "ms" | "u" | "us" | "s");
    let number = count(digits).filter(|_| is_unit)?;
    Some(format!("{number}{unit}"))
}

/// A value of `--time`: a time, 0 for no end, or an amount with a minus in front.
pub fn length(text: &str) -> Option<Limit> {
    let Some(amount) = text.strip_prefix('-') else {
        let time = duration(text)?;
        let has_end = !time.is_zero();
        return Some(if has_end {
            Limit::Time(time)
        } else {
            Limit::UntilStopped
        });
    };
    let amount = size(amount).and_then(|amount| u64::try_from(amount).ok());
    amount.filter(|&amount| amount > 0).map(Limit::Units)
}

/// The time meant by units written out: `5sec`, `2 minutes`, `10S`.
fn time_in_words(text: &str) -> Option<String> {
    let text = compact(text).to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(digits)?;
    let unit = match unit {
        "msec" | "msecs" | "millis" | "milliseconds" => "ms",
        "usec" | "usecs" | "micros" | "microseconds" => "us",
        unit if unit.starts_with('s') => "s",
        unit if unit.starts_with('m') => "m",
        unit if unit.starts_with('h') => "h",
        _ => return None,
    };
    let near = format!("{number}{unit}");
    duration(&near).is_some().then_some(near)
}

/// Seconds for the letter's grammar, which reads a number with a fraction. A
/// negative interval looks at the clock after each operation.
fn interval(text: &str) -> Option<String> {
    let (sign, time) = match text.strip_prefix('-') {
        Some(time) => ("-", time),
        None => ("", text),
    };
    if is_decimal(time) {
        return Some(text.to_owned());
    }
    let seconds = duration(time)?.as_secs_f64();
    Some(format!("{sign}{seconds}"))
}

/// A level and a width, or one of them and a comma. A level alone would mean a width of the
/// same value, which is never useful: the letter accepts it, the name does not.
fn confidence(text: &str) -> Option<String> {
    let (level, width) = text.split_once(',')?;
    let plain = |part: &str| part.strip_suffix('%').unwrap_or(part).to_owned();
    let (level, width) = (plain(level), plain(width));
    let known = matches!(level.as_str(), "95" | "99");
    (known && (width.is_empty() || is_decimal(&width))).then(|| format!("{level},{width}"))
}

#[cfg(test)]
#[path = "kind/tests.rs"]
mod tests;
