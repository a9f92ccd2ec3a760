//! printf as C defines it, for the conversions that netperf's output uses.
//!
//! Layouts are kept as the printf templates of the original, so that a row is
//! one line of data and the tests can read figures back with the same line.
//! See printf(3).

use std::fmt::Write as _;

use netperf_model::figures::count;

/// One value for a conversion of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg<'a> {
    /// For `%d`.
    Int(i64),
    /// For `%u` and `%g`.
    Uint(u64),
    /// For `%x`, 32 bits wide.
    Hex(u32),
    /// For `%f` and `%g`.
    Float(f64),
    /// For `%c`.
    Char(char),
    /// For `%s`.
    Text(&'a str),
}

/// One piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Copied as it is.
    Literal(&'a str),
    /// Replaced by an argument.
    Field(Spec),
}

/// One conversion, such as `%-6.2f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// `-`: blanks go to the right.
    pub left: bool,
    /// At least this many characters.
    pub width: usize,
    /// Decimals, digits, or characters at most, depending on the conversion.
    pub precision: Option<usize>,
    /// The conversion letter.
    pub conversion: char,
}

/// The template with its conversions replaced by `args`, in order.
///
/// A conversion without an argument prints nothing but its width.
#[must_use]
pub fn printf(template: &str, args: &[Arg<'_>]) -> String {
    let mut out = String::with_capacity(template.len() + 8 * args.len());
    let mut args = args.iter();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => out.push_str(text),
            Piece::Field(spec) => {
                let body = args.next().map_or_else(String::new, |arg| body(spec, *arg));
                pad(&mut out, spec, &body);
            }
        }
    }
    out
}

/// The template cut into literals and conversions; `%%` is the literal `%`.
#[must_use]
pub fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        if at > 0 {
            found.push(Piece::Literal(&rest[..at]));
        }
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix('%') {
            found.push(Piece::Literal("%"));
            rest = after;
            continue;
        }
        let (spec, used) = spec(after);
        found.push(Piece::Field(spec));
        rest = &after[used..];
    }
    if !rest.is_empty() {
        found.push(Piece::Literal(rest));
    }
    found
}

/// Reads the part of a conversion behind `%`; also says how long it was.
fn spec(text: &str) -> (Spec, usize) {
    let body = text.trim_start_matches('-');
    let left = body.len() < text.len();
    let (width, body) = number(body);
    let (precision, body) = match body.strip_prefix('.') {
        Some(body) => {
            let (digits, body) = number(body);
            (Some(digits.unwrap_or(0)), body)
        }
        None => (None, body),
    };
    let body = body.trim_start_matches('l');
    let conversion = body.chars().next().unwrap_or('s');
    let used = text.len() - body.len() + conversion.len_utf8().min(body.len());
    let spec = Spec {
        left,
        width: width.unwrap_or(0),
        precision,
        conversion,
    };
    (spec, used)
}

fn number(text: &str) -> (Option<usize>, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

fn pad(out: &mut String, spec: Spec, body: &str) {
    let blanks = spec.width.saturating_sub(body.chars().count());
    if spec.left {
        out.push_str(body);
    }
    out.extend(std::iter::repeat_n(' ', blanks));
    if !spec.left {
        out.push_str(body);
    }
}

fn body(spec: Spec, arg: Arg<'_>) -> String {
    match arg {
        Arg::Int(value) => value.to_string(),
        Arg::Uint(value) if spec.conversion == 'g' => general(count(value), spec.precision),
        Arg::Uint(value) => value.to_string(),
        Arg::Hex(value) => format!("{value:0digits$x}", digits = spec.precision.unwrap_or(1)),
        Arg::Float(value) if spec.conversion == 'g' => general(value, spec.precision),
        Arg::Float(value) => fixed(value, spec.precision.unwrap_or(6)),
        Arg::Char(value) => value.to_string(),
        Arg::Text(value) => match spec.precision {
            Some(most) => value.chars().take(most).collect(),
            None => value.to_owned(),
        },
    }
}

/// `%.<precision>f`. What is not a number was not measured, and prints as -1.
#[must_use]
pub fn fixed(value: f64, precision: usize) -> String {
    let value = if value.is_finite() { value } else { -1.0 };
    format!("{value:.precision$}")
}

/// `%.<precision>g`: scientific when the exponent is below -4 or not below the
/// precision; without closing zeros either way.
#[must_use]
pub fn general(value: f64, precision: Option<usize>) -> String {
    let value = if value.is_finite() { value } else { -1.0 };
    let digits = precision.unwrap_or(6).max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let beyond = usize::try_from(exponent).is_ok_and(|exponent| exponent >= digits);
    if exponent < -4 || beyond {
        let mut out = without_closing_zeros(mantissa).to_owned();
        let sign = if exponent < 0 { '-' } else { '+' };
        // Writing to a String cannot fail.
        let _infallible = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
        return out;
    }
    let decimals = usize::try_from(i64::try_from(digits).unwrap_or(6) - 1 - i64::from(exponent));
    without_closing_zeros(&format!("{value:.*}", decimals.unwrap_or(0))).to_owned()
}

fn without_closing_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_justified_and_overflow_to_the_right() {
        let row = "%6d %-6d|%-6.2f|%7.2f|%6.3f %c %s";
        let args = [
            Arg::Int(12),
            Arg::Int(-1),
            Arg::Float(1.0),
            Arg::Float(123_456.789),
            Arg::Float(-1.0),
            Arg::Char('S'),
            Arg::Text(""),
        ];
        assert_eq!(
            printf(row, &args),
            "    12 -1    |1.00  |123456.79|-1.000 S "
        );
    }

    #[test]
    fn hexadecimal_has_at_least_the_digits_of_its_precision() {
        assert_eq!(printf("0x%.2x", &[Arg::Hex(8)]), "0x08");
        assert_eq!(printf("0x%.4x", &[Arg::Hex(0xffff_fffe)]), "0xfffffffe");
    }

    #[test]
    fn a_doubled_percent_sign_is_literal() {
        assert_eq!(
            printf("%4.3f%% @ %2d%%", &[Arg::Float(2.5), Arg::Int(99)]),
            "2.500% @ 99%"
        );
    }

    #[test]
    fn text_is_cut_at_its_precision() {
        assert_eq!(
            printf("%-8.8s/s", &[Arg::Text("Transactions")]),
            "Transact/s"
        );
    }

    #[test]
    fn values_that_are_no_number_print_as_not_measured() {
        assert_eq!(fixed(f64::NAN, 2), "-1.00");
        assert_eq!(fixed(f64::INFINITY, 3), "-1.000");
        assert_eq!(general(f64::NAN, Some(4)), "-1");
    }

    #[test]
    fn halves_round_as_the_c_library_rounds_them() {
        // Exact halves go to the even digit; 1.005 lies just below its half.
        assert_eq!(fixed(0.125, 2), "0.12");
        assert_eq!(fixed(0.375, 2), "0.38");
        assert_eq!(fixed(1.005, 2), "1.00");
        assert_eq!(fixed(2.5, 0), "2");
    }
}
