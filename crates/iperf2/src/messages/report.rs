//! The server's report of a flow of datagrams.

use netperf_model::figures;
use netperf_wire::codec::{Reader, Writer};

use super::{Datagram, DatagramLayout, Flags, Iperf2Error, WireTime};

/// Length of the report to a client of iperf 2.1, bytes.
pub const REPORT_LEN: usize = 128;
/// Bytes of a final datagram that the report to a client of iperf 2.0 replaces: 12 to this.
pub const CLASSIC_REPORT: usize = 52;
/// Position of the report of iperf 2.1.
const MODERN_AT: usize = 16;
/// Position of the report of iperf 2.0.
const CLASSIC_AT: usize = 12;

/// Report of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// The client prints the enhanced row.
    pub enhanced: bool,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Time from the first to the last datagram.
    pub duration: WireTime,
    /// Lost datagrams.
    pub lost: u64,
    /// Datagrams that arrived out of order.
    pub out_of_order: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Jitter.
    pub jitter: WireTime,
    /// Fields that iperf 2.1 adds.
    pub transit: Option<Transit>,
}

/// One-way delays in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// Smallest.
    pub min: WireTime,
    /// Largest.
    pub max: WireTime,
    /// Sum.
    pub sum: WireTime,
    /// Mean.
    pub mean: WireTime,
    /// Sum of squared deviations, integer part and millionths.
    pub squares: [u32; 2],
    /// Signed difference, seconds and microseconds.
    pub difference: [u32; 2],
    /// Number of delays.
    pub count: u32,
    /// Datagrams per second: dividend and divisor.
    pub rate: [u32; 2],
}

impl ServerReport {
    /// Bytes of the report to a client of iperf 2.1.
    #[must_use]
    pub fn encode(&self) -> [u8; REPORT_LEN] {
        let mut bytes = [0; REPORT_LEN];
        let mut writer = Writer::new(&mut bytes);
        writer.put([0; MODERN_AT]);
        let flags = (Flags::VERSION1 | Flags::SEQUENCE64).with(Flags::EXTEND, self.enhanced);
        self.put_common(&mut writer, flags);
        let transit = self.transit.unwrap_or_default();
        for time in [transit.min, transit.max, transit.sum, transit.mean] {
            writer.put(time.seconds.to_be_bytes());
            writer.put(time.micros.to_be_bytes());
        }
        let [rate, per] = transit.rate;
        for word in [transit.squares, transit.difference].into_iter().flatten() {
            writer.put(word.to_be_bytes());
        }
        for word in [transit.count, rate, per] {
            writer.put(word.to_be_bytes());
        }
        for high in [self.lost, self.out_of_order, self.datagrams].map(|count| halves(count).0) {
            writer.put(high.to_be_bytes());
        }
        bytes
    }

    /// Writes the report to a client of iperf 2.0 over its final datagram. Datagrams of less than
    /// [`CLASSIC_REPORT`] bytes hold as much as fits.
    pub fn encode_classic(&self, final_datagram: &mut [u8]) {
        let Some(place) = final_datagram.get_mut(CLASSIC_AT..) else {
            return;
        };
        self.put_common(&mut Writer::new(place), Flags::VERSION1);
    }

    fn put_common(&self, writer: &mut Writer<'_>, flags: Flags) {
        let low = |count| halves(count).1;
        for word in [
            flags.bits(),
            halves(self.bytes).0,
            low(self.bytes),
            self.duration.seconds,
            self.duration.micros,
            low(self.lost),
            low(self.out_of_order),
            low(self.datagrams),
            self.jitter.seconds,
            self.jitter.micros,
        ] {
            writer.put(word.to_be_bytes());
        }
    }

    /// Decodes a report to a client of either version.
    ///
    /// # Errors
    /// [`Iperf2Error::NoReport`] if there is none at either position, [`Iperf2Error::Cut`] if it
    /// is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Iperf2Error> {
        let word = |at: usize| {
            let word = bytes.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_be_bytes(*word))
        };
        // A header of a client announces its length; a report does not.
        let is_report = |flags: u32| {
            let flags = Flags::from_bits(flags);
            flags.contains(Flags::VERSION1) && !flags.contains(Flags::LENGTH)
        };
        let modern = word(MODERN_AT).is_some_and(is_report);
        let first = Datagram::decode(bytes, DatagramLayout::Modern);
        let is_zero = bytes.iter().take(MODERN_AT).all(|byte| *byte == 0);
        let is_final =
            first.is_some_and(|one| one.is_final()) && word(CLASSIC_AT) == Some(u32::MAX);
        if modern && (is_zero || is_final) {
            return Self::take(bytes, MODERN_AT, true);
        }
        let classic = |flags: u32| is_report(flags) && flags != u32::MAX;
        if !modern && word(CLASSIC_AT).is_some_and(classic) {
            return Self::take(bytes, CLASSIC_AT, false);
        }
        Err(Iperf2Error::NoReport(bytes.len()))
    }

    fn take(bytes: &[u8], at: usize, modern: bool) -> Result<Self, Iperf2Error> {
        let mut reader = Reader::new(bytes.get(at..).unwrap_or_default(), at);
        let mut word = |field| reader.take(field).map(u32::from_be_bytes);
        let flags = Flags::from_bits(word("flags")?);
        let bytes_high = word("bytes, upper")?;
        let mut report = Self {
            enhanced: modern && flags.contains(Flags::EXTEND),
            bytes: whole(bytes_high, word("bytes")?),
            duration: WireTime {
                seconds: word("duration")?,
                micros: word("duration, microseconds")?,
            },
            lost: word("lost")?.into(),
            out_of_order: word("out of order")?.into(),
            datagrams: word("datagrams")?.into(),
            jitter: WireTime {
                seconds: word("jitter")?,
                micros: word("jitter, microseconds")?,
            },
            transit: None,
        };
        if modern && bytes.len() >= REPORT_LEN {
            let mut time = || {
                Ok::<_, Iperf2Error>(WireTime {
                    seconds: word("transit")?,
                    micros: word("transit, microseconds")?,
                })
            };
            let [min, max, sum, mean] = [time()?, time()?, time()?, time()?];
            report.transit = Some(Transit {
                min,
                max,
                sum,
                mean,
                squares: [word("squares")?, word("squares, millionths")?],
                difference: [word("difference")?, word("difference, microseconds")?],
                count: word("transit count")?,
                rate: [word("datagrams per second")?, word("divisor")?],
            });
            let high = [word("lost, upper")?, word("out of order, upper")?];
            let [lost, out_of_order] = high;
            report.lost = whole(lost, halves(report.lost).1);
            report.out_of_order = whole(out_of_order, halves(report.out_of_order).1);
            report.datagrams = whole(word("datagrams, upper")?, halves(report.datagrams).1);
        }
        Ok(report)
    }
}

/// Upper and lower word.
fn halves(count: u64) -> (u32, u32) {
    let [a, b, c, d, low @ ..] = count.to_be_bytes();
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes(low))
}

fn whole(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Sums of squares from this on do not fit into the first word.
const LARGE: f64 = 4_294_967_296.0;
/// Millionths in a unit. Second words from this on are no millionths.
const MILLION: f64 = 1e6;

/// Words of a sum of squares. 2.1.8 sends a large one modulo 2^32, so that it is unknown. The
/// server of this program sends it in millions behind a first word that no sum has, and a client
/// of 2.1.8 shows as wrong a deviation as ever.
pub(crate) fn words_of_squares(squares: f64) -> [u32; 2] {
    let low = |number: f64| u32::try_from(figures::whole(number)).unwrap_or(u32::MAX);
    let squares = squares.max(0.0);
    if squares < LARGE - 1.0 {
        return [low(squares), low(squares.fract() * MILLION)];
    }
    [u32::MAX, low(MILLION + squares / MILLION)]
}

impl Transit {
    /// Sum of the squared differences from the mean, microseconds squared; not a number if it may
    /// have been too large for the words.
    #[must_use]
    pub fn sum_of_squares(&self) -> f64 {
        let [units, parts] = self.squares.map(f64::from);
        if self.squares == [u32::MAX, u32::MAX] {
            return f64::NAN;
        }
        if self.squares[0] == u32::MAX && parts >= MILLION {
            return (parts - MILLION) * MILLION;
        }
        let range = figures::count(self.max.micros().saturating_sub(self.min.micros()));
        let largest = f64::from(self.count) * range * range / 4.0;
        // Without a smallest delay, that of a receiver whose clock is behind was cut.
        if self.min.micros() > 0 && largest < LARGE {
            units + parts / MILLION
        } else {
            f64::NAN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_sum_of_squares_is_known_only_from_a_server_that_sends_it_whole() {
        let transit = |squares, max| Transit {
            min: WireTime::from_micros(1),
            max: WireTime::from_micros(max),
            count: 5000,
            squares,
            ..Transit::default()
        };
        for sum in [0.0, 1234.25, 4e9, 5.85e11, 1e15] {
            let read = transit(words_of_squares(sum), 100_000).sum_of_squares();
            let is_small = transit(words_of_squares(sum), 1000).sum_of_squares();
            let is_near = |value: f64| (value - sum).abs() <= sum * 1e-3;
            assert!(is_near(is_small), "{sum}: {is_small}");
            // A small one may be the rest of a large one.
            assert!(
                is_near(read) || sum < LARGE && read.is_nan(),
                "{sum}: {read}"
            );
        }
        assert!(
            transit(words_of_squares(1e20), 1000)
                .sum_of_squares()
                .is_nan()
        );
    }
}
