//! Names of values of the type-of-service byte and of its code points of differentiated services.

/// Code points of RFC 2474, 2597 and 3246, 0 to 63, by name.
pub const CODE_POINTS: [(&str, u8); 21] = [
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("ef", 46),
];

/// Code points that came later (RFC 8622 and 5865), by name.
pub const LATER_CODE_POINTS: [(&str, u8); 3] = [("le", 1), ("va", 44), ("voice-admit", 44)];

/// Values of the whole byte by the names of RFC 1349.
pub const SERVICES: [(&str, u8); 3] = [
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
];

/// The code point of a name, 0 to 63.
#[must_use]
pub fn code_point(name: &str) -> Option<u8> {
    value(&CODE_POINTS, name).or_else(|| value(&LATER_CODE_POINTS, name))
}

/// The value that a table has for a name, in whatever case it is written.
#[must_use]
pub fn value(table: &[(&str, u8)], name: &str) -> Option<u8> {
    let mut named = table.iter();
    let named = named.find(|(known, _)| known.eq_ignore_ascii_case(name));
    named.map(|(_, value)| *value)
}
