//! printf against a table of what C prints.
//!
//! A line of the table is template, value and text, with a bar behind each so
//! that closing blanks can be seen.

use netperf_report::fmt::{Arg, fixed, general, printf};
use proptest::prelude::*;

const TABLE: &str = include_str!("printf/table.txt");

#[test]
fn floating_point_conversions_print_as_in_c() {
    let mut lines = 0;
    for line in TABLE.lines() {
        let [template, value, expected, ""] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("not a line of the table: {line}");
        };
        let value: f64 = value.parse().expect("a number");
        assert_eq!(printf(template, &[Arg::Float(value)]), expected, "{line}");
        lines += 1;
    }
    assert!(lines > 1000, "{lines}");
}

proptest! {
    #[test]
    fn the_short_form_keeps_its_digits_and_has_no_closing_zeros(
        value in -1e18..1e18_f64,
        digits in 1..9_usize,
    ) {
        let text = general(value, Some(digits));
        let back: f64 = text.parse().expect("a number");
        let unit = 10_f64.powf(value.abs().max(1e-300).log10().floor());
        let places = i32::try_from(digits).expect("few") - 1;
        prop_assert!((back - value).abs() <= unit * 10_f64.powi(-places) * 0.501, "{text}");
        let mantissa = text.split('e').next().expect("a mantissa");
        prop_assert!(!mantissa.contains('.') || !mantissa.ends_with(['0', '.']), "{text}");
    }

    #[test]
    fn fixed_point_is_always_a_number(value in any::<f64>(), precision in 0..7_usize) {
        let back: f64 = fixed(value, precision).parse().expect("a number");
        prop_assert!(back.is_finite());
    }

    #[test]
    fn a_field_is_never_narrower_than_its_width(value in any::<i64>(), text in ".{0,12}") {
        prop_assert!(printf("%8d", &[Arg::Int(value)]).chars().count() >= 8);
        prop_assert!(printf("%-8s", &[Arg::Text(&text)]).chars().count() >= 8);
    }

    #[test]
    fn any_template_prints_without_panic(template in ".{0,20}") {
        let _text = printf(&template, &[Arg::Int(1), Arg::Float(0.5), Arg::Text("t")]);
    }
}
