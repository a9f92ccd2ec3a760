//! Lists of host names in the short form of Slurm: `h[1-4,7],g[01-12]`.

use super::error::BadHostlist;

/// Most names of a list.
pub(super) const MOST: usize = 65_536;

/// All names of a list.
pub(super) fn names(text: &str) -> Result<Vec<String>, BadHostlist> {
    let mut all = Vec::new();
    for part in parts(text)? {
        for name in expanded(part)? {
            if all.len() == MOST {
                return Err(BadHostlist::Many);
            }
            all.push(name);
        }
    }
    Ok(all)
}

/// The parts between commas that are not in brackets.
fn parts(text: &str) -> Result<Vec<&str>, BadHostlist> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' if !inside => inside = true,
            ']' if inside => inside = false,
            '[' | ']' => return Err(BadHostlist::Bracket),
            ',' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    if inside {
        return Err(BadHostlist::Bracket);
    }
    parts.retain(|part| !part.is_empty());
    Ok(parts)
}

/// The names of a part, which may have several brackets.
fn expanded(part: &str) -> Result<Vec<String>, BadHostlist> {
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some((before, behind)) = rest.split_once('[') {
        let (ranges, after) = behind.split_once(']').ok_or(BadHostlist::Bracket)?;
        let mut numbers = Vec::new();
        for range in ranges.split(',') {
            numbers.append(&mut range_of(range)?);
        }
        if names.len().saturating_mul(numbers.len()) > MOST {
            return Err(BadHostlist::Many);
        }
        let longer = |name: &String| -> Vec<String> {
            let with = |number: &String| format!("{name}{before}{number}");
            numbers.iter().map(with).collect()
        };
        names = names.iter().flat_map(longer).collect();
        rest = after;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// The numbers of a range, as wide as its first one.
fn range_of(text: &str) -> Result<Vec<String>, BadHostlist> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| -> Result<usize, BadHostlist> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.ok_or(BadHostlist::Range)
    };
    let (from, to) = (number(first)?, number(last)?);
    if from > to {
        return Err(BadHostlist::Range);
    }
    if to - from >= MOST {
        return Err(BadHostlist::Many);
    }
    let width = first.len();
    Ok((from..=to)
        .map(|number| format!("{number:0width$}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_their_width_and_brackets_multiply() {
        for (text, expected) in [
            ("h1", "h1"),
            ("h[1-3,7],g", "h1 h2 h3 h7 g"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("r[1-2]n[1-2].lan", "r1n1.lan r1n2.lan r2n1.lan r2n2.lan"),
            ("", ""),
        ] {
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!(names(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn errors_and_too_many_names_are_refused() {
        for (text, wrong) in [
            ("h[1-3", BadHostlist::Bracket),
            ("h1-3]", BadHostlist::Bracket),
            ("h[[1]]", BadHostlist::Bracket),
            ("h[3-1]", BadHostlist::Range),
            ("h[]", BadHostlist::Range),
            ("h[1-x]", BadHostlist::Range),
            ("h[1-99999999999999999999999]", BadHostlist::Range),
            ("h[0-65536]", BadHostlist::Many),
            ("h[1-999]n[1-999]", BadHostlist::Many),
            ("h[1-65536],g", BadHostlist::Many),
        ] {
            assert_eq!(names(text), Err(wrong), "{text}");
        }
    }
}
