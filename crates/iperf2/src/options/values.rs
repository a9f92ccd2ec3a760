//! Values of the options of iperf 2.

use std::time::Duration;

use netperf_model::dscp::{self, SERVICES};
use netperf_model::getopt::{host_and_device, leading_number, number_of_any_base};
use netperf_model::iperf2::Iperf2Rate;
use netperf_model::units::SIZE_LETTERS;

use super::Iperf2Unit;

pub(super) fn tos(text: &str) -> Option<u8> {
    let named = match text.to_ascii_lowercase().as_str() {
        "ac_be" => Some(0x00),
        "ac_bk" => Some(0x20),
        "ac_vi" => Some(0x80),
        "ac_vo" => Some(0xb8),
        "nqb" => Some(5 << 2),
        "nqb2" => Some(45 << 2),
        name => {
            dscp::value(&SERVICES, name).or_else(|| dscp::code_point(name).map(|point| point << 2))
        }
    };
    named.or_else(|| u8::try_from(number_of_any_base(text)?).ok())
}

fn unit(text: &str) -> Option<Iperf2Unit> {
    Some(match text.get(..1)? {
        "a" => Iperf2Unit::Bits,
        "A" => Iperf2Unit::Bytes,
        "b" => Iperf2Unit::BitsOf(0),
        "k" => Iperf2Unit::BitsOf(1),
        "m" => Iperf2Unit::BitsOf(2),
        "g" => Iperf2Unit::BitsOf(3),
        "t" => Iperf2Unit::BitsOf(4),
        "B" => Iperf2Unit::BytesOf(0),
        "K" => Iperf2Unit::BytesOf(1),
        "M" => Iperf2Unit::BytesOf(2),
        "G" => Iperf2Unit::BytesOf(3),
        "T" => Iperf2Unit::BytesOf(4),
        _ => return None,
    })
}

/// A number of connections; ten, unless it is given.
pub(super) fn connections(text: &str) -> Option<u32> {
    let text = if text.is_empty() { "10" } else { text };
    let number = text.parse().ok();
    number.filter(|number| (1..=1_000_000).contains(number))
}

/// The value of an option as it is typed.
pub(super) struct TypedValue<'a> {
    /// Name of the option with its dashes.
    name: &'a str,
    pub(super) text: &'a str,
    warning: Option<String>,
}

impl<'a> TypedValue<'a> {
    pub(super) const fn new(name: &'a str, text: &'a str) -> Self {
        Self {
            name,
            text,
            warning: None,
        }
    }

    /// A line about a value that has no effect, or that was read in part.
    pub(super) fn warning(self) -> Option<String> {
        self.warning
    }

    pub(super) fn warn(&mut self, line: String) {
        self.warning = Some(line);
    }

    /// Warns that the option is read and does nothing.
    pub(super) fn warn_without_effect(&mut self) {
        self.warn(format!("option {} has no effect", self.name));
    }

    /// The number of the value, and what follows it.
    fn number(&self, expected: &str) -> Result<(f64, &'a str), String> {
        let number = leading_number(self.text).filter(|(number, _)| *number >= 0.0);
        number.ok_or_else(|| self.invalid(expected))
    }

    fn invalid(&self, expected: &str) -> String {
        let (name, text) = (self.name, self.text);
        format!("Invalid value of '{text}' for {name}: {expected}")
    }

    /// Warns about letters that are none of `known`.
    fn pass(&mut self, rest: &str, known: &[&str]) {
        let rest = rest.trim();
        if !rest.is_empty() && !known.contains(&rest.to_ascii_lowercase().as_str()) {
            let read = self.text.strip_suffix(rest).unwrap_or(self.text);
            let line = format!("{} {}: read as {read}", self.name, self.text);
            self.warn(line);
        }
    }

    /// Reads the value; `expected` describes those that are valid.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<T, String> {
        read(self.text).ok_or_else(|| self.invalid(expected))
    }

    /// Reads the value, and sets a field to it.
    pub(super) fn set<T, F: From<T>>(
        &self,
        field: &mut F,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<(), String> {
        *field = self.read(read, expected)?.into();
        Ok(())
    }

    /// A whole number.
    pub(super) fn whole(&mut self) -> Result<u64, String> {
        let (number, rest) = self.number("a number")?;
        self.pass(rest, &[]);
        whole(number).ok_or_else(|| self.invalid("a smaller number"))
    }

    pub(super) fn port(&mut self) -> Result<u16, String> {
        let port = self.whole()?;
        let port = u16::try_from(port).ok().filter(|port| *port > 0);
        port.ok_or_else(|| self.invalid("a port"))
    }

    /// A port, and the last one of a range.
    pub(super) fn ports(&mut self) -> Result<(u16, Option<u16>), String> {
        let Some((first, last)) = self.text.split_once('-') else {
            return Ok((self.port()?, None));
        };
        let (Some((first, "")), Some((last, rest))) = (leading_port(first), leading_port(last))
        else {
            return Err(self.invalid("a port, or the first and the last, such as 5001-5003"));
        };
        self.pass(rest, &[]);
        Ok((first, Some(last)))
    }

    /// Seconds.
    pub(super) fn seconds(&mut self) -> Result<Duration, String> {
        let (seconds, rest) = self.number("seconds")?;
        self.pass(rest, &["s", "sec", "secs", "second", "seconds"]);
        let time = Duration::try_from_secs_f64(seconds).ok();
        let time = time.filter(|_| seconds < 1e7);
        time.ok_or_else(|| self.invalid("seconds"))
    }

    /// A time since 1970.
    pub(super) fn seconds_since_1970(&mut self) -> Result<Duration, String> {
        let (seconds, rest) = self.number("seconds since 1970")?;
        self.pass(rest, &[]);
        let time = Duration::try_from_secs_f64(seconds).ok();
        time.ok_or_else(|| self.invalid("seconds since 1970"))
    }

    /// The time of an interval; `None` for 0, and for the frames of a video.
    pub(super) fn interval(&mut self) -> Result<Option<Duration>, String> {
        const SHORTEST: Duration = Duration::from_micros(100);
        let text = self.text;
        if ["f", "F"].contains(&text) {
            self.warn(format!("-i {text}: no rows of frames are printed"));
            return Ok(None);
        }
        let time = self.seconds();
        let time = time.map_err(|_| format!("Invalid value of '{text}' for -i interval"))?;
        if time < SHORTEST && !time.is_zero() {
            self.warn("interval too small, increasing to 0.1000 milliseconds.".to_owned());
        }
        Ok((!time.is_zero()).then(|| time.max(SHORTEST)))
    }

    /// A number of bytes, or of bits per second.
    pub(super) fn size(&mut self) -> Result<u64, String> {
        let expected = "a number with k, m, g, K, M or G";
        let (number, rest) = self.number(expected)?;
        self.scaled(
            number,
            rest,
            &["b", "ib", "byte", "bytes", "bit", "bits", "bps"],
        )
    }

    /// A rate of the kernel, bits per second: a capital letter counts bytes.
    pub(super) fn pacing_rate(&mut self) -> Result<u64, String> {
        let (number, rest) = self.number("a rate, such as 10m")?;
        let counts_bytes = rest.starts_with(['K', 'M', 'G']);
        let rest = rest.to_ascii_lowercase();
        let known = [
            "b", "bit", "bits", "bps", "bit/s", "bits/s", "byte", "bytes", "pps",
        ];
        let bits = self.scaled(number, &rest, &known)?;
        Ok(if counts_bytes {
            bits.saturating_mul(8)
        } else {
            bits
        })
    }

    /// A number with its factor, followed by letters of which `known` mean nothing.
    fn scaled(&mut self, number: f64, rest: &str, known: &[&str]) -> Result<u64, String> {
        let mut letters = SIZE_LETTERS.iter();
        let (behind, factor) = letters
            .find_map(|(letter, factor)| Some((rest.strip_prefix(letter)?, *factor)))
            .unwrap_or((rest, 1));
        self.pass(behind, known);
        let product = number * f64::from(factor);
        whole(product).ok_or_else(|| self.invalid("a smaller number"))
    }

    /// A rate: bits, or datagrams with `pps`, per second.
    pub(super) fn rate(&mut self) -> Result<Iperf2Rate, String> {
        let expected = "a rate, such as 10m or 50pps";
        let (number, rest) = self.number(expected)?;
        let rate = match rest.strip_suffix("pps") {
            Some(unit) => Iperf2Rate::Packets(self.scaled(number, unit, &[])?),
            None => {
                let known = [
                    "b", "bit", "bits", "bps", "bit/s", "bits/s", "bit/sec", "bits/sec",
                ];
                Iperf2Rate::Bits(self.scaled(number, rest, &known)?)
            }
        };
        let (Iperf2Rate::Bits(number) | Iperf2Rate::Packets(number)) = rate;
        Some(rate)
            .filter(|_| number > 0)
            .ok_or_else(|| self.invalid(expected))
    }

    /// The unit of a letter, or the default.
    pub(super) fn unit(&mut self) -> Iperf2Unit {
        unit(self.text).unwrap_or_else(|| {
            let line = format!(
                "{} {}: unknown format, switching to default",
                self.name, self.text
            );
            self.warn(line);
            Iperf2Unit::Bits
        })
    }

    /// Sets a field to a number of bytes.
    pub(super) fn set_bytes(&mut self, field: &mut Option<usize>) -> Result<(), String> {
        *field = Some(usize::try_from(self.size()?).unwrap_or(usize::MAX));
        Ok(())
    }

    /// A host, and the interface behind `%`. An address of IPv6 keeps its scope.
    pub(super) fn host_and_device(&self) -> (String, Option<String>) {
        host_and_device(self.text)
    }
}

/// A number without its fraction.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked"
    )]
    (0.0..1e18).contains(&number).then_some(number as u64)
}

/// The port at the start of a text, and what follows it.
fn leading_port(text: &str) -> Option<(u16, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, rest) = text.split_at(digits.unwrap_or(text.len()));
    let port = number.parse().ok().filter(|port| *port > 0)?;
    Some((port, rest))
}
