//! Values of options of iperf3.

use std::time::Duration;

use netperf_model::dscp;
use netperf_model::getopt::{host_and_device, leading_number, number_of_any_base};

use super::{Iperf3RateLimit, problem};

/// The value of an option as it is typed.
pub(super) struct OptionText<'a> {
    name: &'a str,
    pub(super) text: &'a str,
    /// The part that was read, if letters that mean nothing follow it.
    read: Option<String>,
}

/// Letters behind a number that do not change it.
#[derive(Clone, Copy)]
enum Suffix {
    None,
    Bytes,
    Rate,
    Seconds,
    Millis,
}

impl Suffix {
    fn allows(self, rest: &str) -> bool {
        let known: &[&str] = match self {
            Self::None => &[],
            Self::Bytes => &["b", "ib", "byte", "bytes"],
            Self::Rate => &[
                "b", "bit", "bits", "bps", "b/s", "bit/s", "bits/s", "bit/sec", "bits/sec", "bitps",
            ],
            Self::Seconds => &["s", "sec", "secs", "second", "seconds"],
            Self::Millis => &["ms", "msec"],
        };
        let rest = rest.trim().to_ascii_lowercase();
        rest.is_empty() || known.contains(&rest.as_str())
    }
}

impl<'a> OptionText<'a> {
    pub(super) const fn new(name: &'a str, text: &'a str) -> Self {
        Self {
            name,
            text,
            read: None,
        }
    }

    /// The line about a value that was read in part.
    pub(super) fn warning(&self) -> Option<String> {
        let (name, text) = (self.name, self.text);
        let read = self.read.as_ref()?;
        Some(format!("{name} {text}: read as {read}"))
    }

    fn bad(&self, expected: &str) -> String {
        problem(&format!(
            "{} {}: {expected} is expected",
            self.name, self.text
        ))
    }

    /// A number of zero or more, and the letters behind it that are no unit.
    fn number(&mut self, text: &str, base: Option<u32>, suffix: Suffix) -> Result<f64, String> {
        let number =
            leading_number(text).filter(|(number, _)| number.is_finite() && *number >= 0.0);
        let (number, rest) = number.ok_or_else(|| self.bad("a number"))?;
        let prefix = base.and_then(|base| {
            let power = "kmgt".find(rest.chars().next()?.to_ascii_lowercase())?;
            let power = i32::try_from(power).ok()? + 1;
            Some((f64::from(base).powi(power), rest.get(1..)?))
        });
        let (factor, behind) = prefix.unwrap_or((1.0, rest));
        if !suffix.allows(behind) {
            let read = text.strip_suffix(behind).unwrap_or(text);
            self.read = Some(read.to_owned());
        }
        Ok(number * factor)
    }

    /// A whole number of this range.
    pub(super) fn whole(&mut self, (least, most): (u64, u64)) -> Result<u64, String> {
        self.whole_with(Suffix::None, (least, most))
    }

    fn whole_with(&mut self, suffix: Suffix, (least, most): (u64, u64)) -> Result<u64, String> {
        let number = self.number(self.text, None, suffix)?;
        let expected = || self.bad(&format!("a number from {least} to {most}"));
        let number = whole(number).filter(|number| (least..=most).contains(number));
        number.ok_or_else(expected)
    }

    /// The number of a port.
    pub(super) fn port(&mut self) -> Result<u16, String> {
        let number = self.whole((1, 65_535)).ok();
        let number = number.and_then(|number| u16::try_from(number).ok());
        number.ok_or_else(|| problem("port number must be between 1 and 65535 inclusive"))
    }

    /// The number of a CPU, if the text is not empty.
    fn cpu(&mut self, text: &str) -> Result<Option<u32>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let number = whole(self.number(text, None, Suffix::None)?);
        let number = number.and_then(|cpu| u32::try_from(cpu).ok());
        let number = number.filter(|cpu| *cpu <= 1023);
        Ok(Some(
            number.ok_or_else(|| self.bad("a number from 0 to 1023"))?,
        ))
    }

    /// A number of bytes or blocks.
    pub(super) fn size(&mut self) -> Result<u64, String> {
        let number = self.number(self.text, Some(1024), Suffix::Bytes)?;
        whole(number).ok_or_else(|| self.bad("a smaller number"))
    }

    /// As [`Self::size`], up to `most`; `wrong` is the complaint about more.
    pub(super) fn small(&mut self, most: u64, wrong: &str) -> Result<u32, String> {
        let number = self.size()?;
        let number = u32::try_from(number).ok().filter(|_| number <= most);
        number.ok_or_else(|| problem(wrong))
    }

    /// Bits per second.
    pub(super) fn rate(&mut self) -> Result<u64, String> {
        self.rate_of(self.text)
    }

    fn rate_of(&mut self, text: &str) -> Result<u64, String> {
        let number = self.number(text, Some(1000), Suffix::Rate)?;
        whole(number).ok_or_else(|| self.bad("a smaller number"))
    }

    pub(super) fn seconds(&mut self) -> Result<f64, String> {
        self.number(self.text, None, Suffix::Seconds)
    }

    /// Seconds at the beginning that do not count.
    pub(super) fn omitted(&mut self) -> Result<u32, String> {
        let seconds = whole(self.seconds()?).filter(|seconds| *seconds <= 600);
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
        seconds.ok_or_else(|| problem("bogus value for --omit"))
    }

    /// Sets a time of milliseconds.
    pub(super) fn millis_to(&mut self, time: &mut Option<Duration>) -> Result<(), String> {
        /// A day.
        const MOST: u64 = 86_400_000;
        let millis = self.whole_with(Suffix::Millis, (1, MOST))?;
        *time = Some(Duration::from_millis(millis));
        Ok(())
    }

    /// Sets a text.
    #[expect(clippy::unnecessary_wraps, reason = "options set their fields so")]
    pub(super) fn text_to(&self, text: &mut Option<String>) -> Result<(), String> {
        *text = Some(self.text.to_owned());
        Ok(())
    }

    /// A host, and the interface behind `%`. An address of IPv6 keeps its scope.
    pub(super) fn host_and_device(&self) -> (String, Option<String>) {
        host_and_device(self.text)
    }
}

/// A number without its fraction, if it has 64 bits.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "checked"
    )]
    (number < u64::MAX as f64).then_some(number as u64)
}

/// The CPUs of both ends.
pub(super) fn affinity(value: &mut OptionText<'_>) -> Result<(Option<u32>, Option<u32>), String> {
    let (own, servers) = value.text.split_once(',').unwrap_or((value.text, ""));
    Ok((value.cpu(own)?, value.cpu(servers)?))
}

/// A rate, and perhaps a number of blocks behind a slash.
pub(super) fn burst(value: &mut OptionText<'_>) -> Result<(u64, u32), String> {
    let (rate, count) = slash(value.text);
    let rate = value.rate_of(rate)?;
    let Some(count) = count else {
        return Ok((rate, 0));
    };
    let count: Option<u32> = count.parse().ok();
    let count = count.filter(|count| (1..=1000).contains(count));
    let count = count.ok_or_else(|| problem("invalid burst count (maximum = 1000)"))?;
    Ok((rate, count))
}

/// A rate, and what is behind the slash that begins a number: units have their own slashes.
fn slash(text: &str) -> (&str, Option<&str>) {
    let number =
        |(_, behind): &(&str, &str)| behind.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match text.rsplit_once('/').filter(number) {
        Some((rate, number)) => (rate, Some(number)),
        None => (text, None),
    }
}

/// A code point of differentiated services: a number, or a name.
pub(super) fn code_point(text: &str) -> Option<u8> {
    let number = || u8::try_from(number_of_any_base(text)?).ok();
    dscp::code_point(text)
        .or_else(number)
        .filter(|number| *number <= 63)
}

/// A rate, and perhaps seconds behind a slash.
pub(super) fn rate_limit(value: &mut OptionText<'_>) -> Result<Iperf3RateLimit, String> {
    /// Seconds over which the rate is averaged, unless they are given.
    const SECONDS: f64 = 5.0;
    let (rate, seconds) = slash(value.text);
    let bits = value.rate_of(rate)?;
    let seconds = seconds.map_or(Some(SECONDS), |text| text.parse().ok());
    let over = seconds.filter(|seconds| (0.1..=1000.0).contains(seconds));
    let over = over.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let expected = "a rate, perhaps with 0.1 to 1000 seconds behind a slash,";
    let over = over.filter(|_| bits > 0);
    let over = over.ok_or_else(|| value.bad(expected))?;
    Ok(Iperf3RateLimit { bits, over })
}
