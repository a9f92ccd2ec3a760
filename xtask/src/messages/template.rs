//! Format strings as templates.

/// Most templates that the alternatives of variable parts are put together to.
const MOST: usize = 400;

/// A part of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormatPart {
    /// Text as it is.
    Text(String),
    /// The next argument.
    Next,
    /// An argument by its number.
    Number(usize),
    /// An argument or variable by its name.
    Name(String),
}

/// The parts of a format string.
pub(super) fn parts(format: &str) -> Vec<FormatPart> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        let twice = letters.peek() == Some(&letter);
        match letter {
            '{' | '}' if twice => {
                letters.next();
                text.push(letter);
            }
            '{' => {
                let inside: String = letters
                    .by_ref()
                    .take_while(|letter| *letter != '}')
                    .collect();
                parts.push(FormatPart::Text(std::mem::take(&mut text)));
                parts.push(argument(&inside));
            }
            _ => text.push(letter),
        }
    }
    parts.push(FormatPart::Text(text));
    parts
}

fn argument(inside: &str) -> FormatPart {
    let name = inside.split(':').next().unwrap_or_default().trim();
    match name.parse() {
        Ok(number) => FormatPart::Number(number),
        Err(_) if name.is_empty() => FormatPart::Next,
        Err(_) => FormatPart::Name(name.to_owned()),
    }
}

/// Appends each of some texts to each of others; if that were too many, a variable part.
pub(super) fn joined(before: Vec<String>, after: &[String], name: &str) -> Vec<String> {
    let one = [name.to_owned()];
    let after = if before.len() * after.len() > MOST {
        &one
    } else {
        after
    };
    let mut all = Vec::new();
    for first in &before {
        all.extend(after.iter().map(|second| format!("{first}{second}")));
    }
    all
}

/// A variable part.
pub(super) fn variable(name: &str) -> String {
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        return "...".to_owned();
    }
    format!("{{{name}}}")
}

/// Returns true if a template has words beside its variable parts.
pub(super) fn has_words(template: &str) -> bool {
    let mut inside = 0_usize;
    let mut letters = 0_usize;
    for letter in template.chars() {
        match letter {
            '{' => inside += 1,
            '}' => inside = inside.saturating_sub(1),
            _ if inside == 0 && letter.is_alphabetic() => letters += 1,
            _ => {}
        }
    }
    letters > 1
}

/// Returns true if a template has several words.
pub(super) fn is_phrase(template: &str) -> bool {
    has_words(template) && template.trim().contains(' ')
}
