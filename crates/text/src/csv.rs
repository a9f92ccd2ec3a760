//! Comma separated values (RFC 4180), for spreadsheets and programs.

/// A cell with text, always in quotes. A leading sign that a spreadsheet reads as a formula has an
/// apostrophe in front.
#[must_use]
pub fn text(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// A cell with a number; empty if the number is not finite.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

/// The cells as a line.
#[must_use]
pub fn line(cells: impl Iterator<Item = String>) -> String {
    let mut line = cells.collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_is_no_formula() {
        assert_eq!(text("say \"=1\", twice"), "\"say \"\"=1\"\", twice\"");
        for formula in ["=cmd()", "+1", "-1", "@a", "\t=1"] {
            assert_eq!(text(formula), format!("\"'{formula}\""));
        }
    }

    #[test]
    fn line_has_empty_cells_for_what_is_no_number() {
        let cells = [0.5, f64::INFINITY, f64::NAN].map(number);
        assert_eq!(line(cells.into_iter()), "0.5,,\n");
    }
}
