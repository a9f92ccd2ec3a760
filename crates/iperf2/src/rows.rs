//! Lines and numbers in the format of iperf 2.1.8 (docs/spec/iperf2.md, output).

mod choice;
mod connections;
mod counts;
mod directions;
pub mod enhanced;
mod heads;
mod reports;
mod sums;
mod units;

use std::net::IpAddr;
use std::time::Duration;

use netperf_model::figures::{count, four_columns, percent, prefixed, two_digits};

pub use self::choice::PrintedTitles;
pub use self::connections::{ConnectionLine, FirstWindow};
pub use self::counts::{CountedInterval, IntervalCounts};
pub use self::directions::{DirectionKind, DirectionRow, sent_line};
pub use self::heads::{ConnectingHead, ListeningHead};
pub use self::reports::ReportRow;
pub use self::sums::{SumKind, SumRow, pair_row};
pub use self::units::{figures_of, is_one_host};
pub use netperf_model::iperf2::MovedCounts;

/// Unit of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iperf2Figures {
    /// Rates in bytes instead of bits.
    pub bytes: bool,
    /// A power of the factor; `None` for one by the number.
    pub power: Option<u32>,
}

/// Titles of the rows of a sender, and of a receiver of a connection.
pub const TITLES: &str = "[ ID] Interval       Transfer     Bandwidth\n";
/// Titles of the rows of a receiver of datagrams.
pub const DATAGRAM_TITLES: &str =
    "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n";
/// Titles of the rows of `--sum-only`.
pub const SUM_TITLES: &str = "[SUM-cnt] Interval       Transfer     Bandwidth\n";
/// Titles of `--sum-only` for datagrams that arrive.
pub const SUM_DATAGRAM_TITLES: &str =
    "[SUM-cnt] Interval     Transfer     Bandwidth       Lost/Total    PPS\n";
/// Titles of the sum of datagrams both ways.
const BOTH_WAYS_TITLES: &str = "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS\n";
/// Line around the head.
pub const RULE: &str = "------------------------------------------------------------\n";

/// A number in four columns with a prefix.
fn scaled(number: f64, factor: f64, power: Option<u32>) -> (String, &'static str) {
    let (number, prefix) = prefixed(number, factor, power);
    let text = if number < 0.9995 {
        format!("{number:4.3}")
    } else {
        four_columns(number)
    };
    (text, prefix)
}

impl Iperf2Figures {
    /// The line of a socket buffer of `size` bytes. `kind` is `TCP window size` or
    /// `UDP buffer size`.
    #[must_use]
    pub fn window(self, kind: &str, size: u64, requested: Option<u64>) -> String {
        let figures = Self {
            bytes: true,
            ..self
        };
        // A larger unit is for the requested size alone.
        let of_size = Self {
            power: self.power.filter(|power| *power == 0),
            ..figures
        };
        let note = match requested {
            None => " (default)".to_owned(),
            Some(window) if window == size => String::new(),
            Some(window) => {
                let requested = figures.transfer(window, "Byte");
                format!(" (WARNING: requested {requested})")
            }
        };
        format!("{kind}: {}{note}\n", of_size.transfer(size, "Byte"))
    }

    /// Bytes: ` 128 KBytes`. `noun` is `Bytes` or `Byte`.
    #[must_use]
    pub fn transfer(self, bytes: u64, noun: &str) -> String {
        let (number, prefix) = scaled(count(bytes), 1024.0, self.power);
        format!("{number} {prefix}{noun}")
    }

    /// A rate: `1.05 Mbits/sec`.
    #[must_use]
    pub fn rate(self, bytes: u64, time: Duration) -> String {
        let rate = per_second(bytes, time);
        if self.bytes {
            let (number, prefix) = scaled(rate, 1024.0, self.power);
            return format!("{number} {prefix}Bytes/sec");
        }
        let (number, prefix) = scaled(rate * 8.0, 1000.0, self.power);
        format!("{number} {prefix}bits/sec")
    }

    /// A row without its newline. `id` is `[  1]`, `[ *1]` or `[SUM]`.
    #[must_use]
    pub fn row(self, id: &str, from: Duration, to: Duration, bytes: u64) -> String {
        format!(
            "{id} {:.4}-{:.4} sec  {}  {}",
            from.as_secs_f64(),
            to.as_secs_f64(),
            self.transfer(bytes, "Bytes"),
            self.rate(bytes, to.saturating_sub(from)),
        )
    }
}

/// Jitter and loss behind a row.
#[must_use]
pub fn loss(jitter: Duration, lost: u64, total: u64) -> String {
    format!(
        "  {:6.3} ms {lost}/{total} ({}%)",
        jitter.as_secs_f64() * 1e3,
        two_digits(percent(lost, total))
    )
}

/// Loss behind a sum.
#[must_use]
pub fn lost_of_sum(lost: u64, total: u64) -> String {
    format!("   {lost}/{total} ({}%)", two_digits(percent(lost, total)))
}

/// Titles of a sum of both ways, and what stands behind it.
#[must_use]
pub fn both_ways(udp: bool, datagrams: u64, time: Duration) -> (&'static str, String) {
    if udp {
        let rate = per_second(datagrams, time);
        (BOTH_WAYS_TITLES, format!(" {datagrams}  {rate:6.0} pps"))
    } else {
        (TITLES, String::new())
    }
}

/// Datagrams behind a sum of `--sum-only`; what is lost is unknown where they are sent.
#[must_use]
pub fn datagrams_of_sum(lost: Option<u64>, total: u64, time: Duration) -> String {
    let lost = lost.map_or_else(|| "-".to_owned(), |lost| lost.to_string());
    format!("  {lost}/{total} {:8.0} pps", per_second(total, time))
}

/// The line of datagrams that came late, behind the row of `name`; empty if none did.
#[must_use]
pub fn late(name: &str, (from, to): (Duration, Duration), datagrams: u64) -> String {
    if datagrams == 0 {
        return String::new();
    }
    let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
    format!("{name} {from:.4}-{to:.4} sec  {datagrams} datagrams received out-of-order\n")
}

/// Number of events per second; 0 in no time.
fn per_second(events: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 {
        count(events) / seconds
    } else {
        0.0
    }
}

/// An address, perhaps with its last part only.
#[must_use]
pub fn shown_address(address: IpAddr, hides: bool) -> String {
    let text = address.to_canonical().to_string();
    match text.rsplit_once('.') {
        Some((_, last)) if hides => format!("*.*.*.{last}"),
        _ => text,
    }
}

/// Jitter and loss of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramQuality {
    /// Jitter, microseconds.
    pub jitter: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Datagrams.
    pub datagrams: u64,
    /// Datagrams that came out of order.
    pub late: u64,
}

/// A row of comma-separated values.
#[derive(Clone, Copy, Debug)]
struct CsvRow<'a> {
    /// Time of day: `YYYYMMDDHHMMSS`.
    stamp: &'a str,
    /// Address and port of the sender.
    near: (&'a str, u16),
    /// Address and port of the receiver.
    far: (&'a str, u16),
    /// Number of the stream.
    number: u32,
    /// Begin and end.
    times: (Duration, Duration),
    /// Bytes.
    bytes: u64,
    /// Jitter and loss of datagrams.
    quality: Option<DatagramQuality>,
}

impl CsvRow<'_> {
    /// The text, with its newline.
    fn text(&self) -> String {
        let (from, to) = self.times;
        let rate = per_second(self.bytes, to.saturating_sub(from)) * 8.0;
        let mut row = format!(
            "{},{},{},{},{},{},{:.1}-{:.1},{},{rate:.0}",
            self.stamp,
            self.near.0,
            self.near.1,
            self.far.0,
            self.far.1,
            self.number,
            from.as_secs_f64(),
            to.as_secs_f64(),
            self.bytes,
        );
        if let Some(quality) = self.quality {
            let (lost, total, late) = (quality.lost, quality.datagrams, quality.late);
            let percent = percent(lost, total);
            let jitter = count(quality.jitter) / 1000.0;
            row.push_str(&format!(",{jitter:.3},{lost},{total},{percent:.3},{late}"));
        }
        row.push('\n');
        row
    }
}

/// A number of a stream: `[  1]`; `[ *1]` for data of the server on a connection of the client.
#[must_use]
pub fn id(number: u32, is_reverse: bool) -> String {
    if is_reverse {
        let text = format!("*{number}");
        format!("[{text:>3}]")
    } else {
        format!("[{number:3}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADAPTIVE: Iperf2Figures = Iperf2Figures {
        bytes: false,
        power: None,
    };

    #[test]
    fn numbers_have_four_columns() {
        for (bytes, text) in [
            (0, "0.000 Bytes"),
            (176, " 176 Bytes"),
            (1000, "1000 Bytes"),
            (1023, "1023 Bytes"),
            (1024, "1.00 KBytes"),
            (16_470, "16.1 KBytes"),
            (131_072, " 128 KBytes"),
            (1_048_575, "1024 KBytes"),
            (1_048_576, "1.00 MBytes"),
            (1 << 31, "2.00 GBytes"),
        ] {
            assert_eq!(ADAPTIVE.transfer(bytes, "Bytes"), text);
        }
    }

    #[test]
    fn units_are_those_of_the_letter() {
        let rate = |bytes, power, count| {
            let figures = Iperf2Figures { bytes, power };
            figures.rate(count, Duration::from_secs(1))
        };
        assert_eq!(rate(false, None, 131_072), "1.05 Mbits/sec");
        assert_eq!(rate(false, Some(2), 131_072), "1.05 Mbits/sec");
        assert_eq!(rate(false, Some(1), 131_072), "1049 Kbits/sec");
        assert_eq!(rate(true, Some(1), 131_072), " 128 KBytes/sec");
        assert_eq!(rate(false, Some(3), 10_900_000), "0.087 Gbits/sec");
        assert_eq!(rate(false, None, 0), "0.000 bits/sec");
        let megabytes = Iperf2Figures {
            bytes: false,
            power: Some(2),
        };
        assert_eq!(megabytes.transfer(65_536, "Byte"), "0.062 MByte");
    }

    #[test]
    fn rows_are_those_of_the_original() {
        let at = |micros| Duration::from_micros(micros);
        assert_eq!(
            ADAPTIVE.row(&id(1, false), at(0), at(700), 307_200),
            "[  1] 0.0000-0.0007 sec   300 KBytes  3.51 Gbits/sec"
        );
        assert_eq!(id(1, true), "[ *1]");
        assert_eq!(loss(at(14), 2, 10), "   0.014 ms 2/10 (20%)");
        assert_eq!(loss(at(0), 1, 3410), "   0.000 ms 1/3410 (0.029%)");
        assert_eq!(loss(at(0), 12, 12), "   0.000 ms 12/12 (1e+02%)");
        assert_eq!(late("[  1]", (at(0), at(1_010_100)), 0), "");
        assert_eq!(
            late("[  1]", (at(0), at(1_010_100)), 1),
            "[  1] 0.0000-1.0101 sec  1 datagrams received out-of-order\n"
        );
        let time = Duration::from_micros(1_011_700);
        assert_eq!(both_ways(true, 348, time).1, " 348     344 pps");
        assert_eq!(datagrams_of_sum(Some(0), 348, time), "  0/348      344 pps");
        assert_eq!(datagrams_of_sum(None, 86, time / 2), "  -/86      170 pps");
    }
}
