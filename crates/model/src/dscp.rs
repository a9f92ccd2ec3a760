//! Code points of differentiated services by name (RFC 2474, 2597, 3246, 5865, 8622).

/// The code point of a name, 0 to 63.
#[must_use]
pub fn code_point(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    let digits = |prefix: &str| {
        let digits = name.strip_prefix(prefix)?;
        let numbers = digits.chars().map(|digit| digit.to_digit(10));
        numbers.collect::<Option<Vec<u32>>>()
    };
    let known = match name.as_str() {
        "ef" => Some(46),
        "va" | "voice-admit" => Some(44),
        "le" => Some(1),
        _ => None,
    };
    let selector = || match digits("cs")?.as_slice() {
        [class @ 0..=7] => Some(class * 8),
        _ => None,
    };
    let assured = || match digits("af")?.as_slice() {
        [class @ 1..=4, drop @ 1..=3] => Some(class * 8 + drop * 2),
        _ => None,
    };
    let number = known.or_else(selector).or_else(assured)?;
    u8::try_from(number).ok()
}
