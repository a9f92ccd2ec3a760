//! Memory that JSON takes once it is parsed.

/// Bytes for an object with members: one node of a map.
const OBJECT: u64 = 640;
/// Bytes for a further member: its part of nodes that are half full.
const MEMBER: u64 = 128;
/// Bytes for an element of a list, with the space that a list has to grow.
const ELEMENT: u64 = 64;
/// Bytes for a text, beside its letters.
const TEXT: u64 = 48;
/// Deepest nesting that parsers accept.
const DEEPEST: u32 = 128;

/// The memory that a JSON text takes as a tree of values, at most about, counted as it comes.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonWeight {
    bytes: u64,
    /// Bytes of the last text, and of the longest one.
    text: u64,
    longest: u64,
    /// A bit for each open bracket, the innermost last: 1 for an object.
    open: u128,
    depth: u32,
    in_text: bool,
    escaped: bool,
}

impl JsonWeight {
    /// The weight of a whole text.
    #[must_use]
    pub fn of(text: &[u8]) -> u64 {
        Self::counted(text).bytes()
    }

    /// All of a text, counted.
    #[must_use]
    pub fn counted(text: &[u8]) -> Self {
        let mut weight = Self::default();
        weight.add(text);
        weight
    }

    /// Counts the next part of a text.
    pub fn add(&mut self, part: &[u8]) {
        for byte in part {
            self.bytes += if self.in_text {
                self.letter(*byte)
            } else {
                self.sign(*byte)
            };
        }
    }

    /// The memory, bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Bytes of the longest text in it.
    #[must_use]
    pub const fn longest_text(self) -> u64 {
        self.longest
    }

    const fn letter(&mut self, byte: u8) -> u64 {
        self.text += 1;
        if self.text > self.longest {
            self.longest = self.text;
        }
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_text = false;
            return 0;
        }
        1
    }

    const fn sign(&mut self, byte: u8) -> u64 {
        match byte {
            b'"' => {
                self.in_text = true;
                self.text = 0;
                TEXT
            }
            b'{' => {
                self.open(1);
                OBJECT
            }
            b'[' => {
                self.open(0);
                ELEMENT
            }
            b'}' | b']' => {
                self.open >>= 1;
                self.depth = self.depth.saturating_sub(1);
                0
            }
            b',' if self.open & 1 == 1 => MEMBER,
            b',' => ELEMENT,
            // A value on its own line.
            b'\n' if self.depth == 0 => ELEMENT,
            _ => 0,
        }
    }

    const fn open(&mut self, bit: u128) {
        // A parser stops at what is deeper.
        self.open = self.open << 1 | bit;
        self.depth = if self.depth < DEEPEST {
            self.depth + 1
        } else {
            self.depth
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_counts_what_a_parser_makes_and_not_what_texts_say() {
        assert_eq!(JsonWeight::of(b"[1,2,3]"), 3 * ELEMENT);
        assert_eq!(JsonWeight::of(b"[[],[]]"), 4 * ELEMENT);
        let object = OBJECT + MEMBER + 2 * (TEXT + 1);
        assert_eq!(JsonWeight::of(br#"{"a":1,"b":2}"#), object);
        assert_eq!(JsonWeight::of(br#"["[,{\",",1]"#), 2 * ELEMENT + TEXT + 6);
        assert_eq!(
            JsonWeight::of(br#"[{"a":1},2]"#),
            2 * ELEMENT + OBJECT + TEXT + 1
        );
        assert_eq!(JsonWeight::of(b"1\n2\n"), 2 * ELEMENT);
        let mut weight = JsonWeight::default();
        weight.add(br#"{"abc":"\"","b":[12345678]}"#);
        // With the quotation mark behind it.
        assert_eq!(weight.longest_text(), 4);
    }

    #[test]
    fn weight_is_the_same_however_a_text_is_cut() {
        let text = br#"{"a\"":[1,{"b":"\\"},[]],"c":"x,y"}"#;
        for size in 1..text.len() {
            let mut weight = JsonWeight::default();
            for part in text.chunks(size) {
                weight.add(part);
            }
            assert_eq!(weight.bytes(), JsonWeight::of(text), "{size}");
        }
    }
}
