//! Settings of netserver's host as the bytes of an appendix (docs/spec/extension.md, "Settings
//! of the host").

use netperf_model::host::tidy;

use crate::series::AppendixReader;

/// The version that is written; settings of another one cannot be read.
const VERSION: u8 = 1;
/// The most settings that are written or read.
const MOST: usize = 512;
/// The most bytes of a value; what is longer is cut.
const LONGEST: usize = 1024;

/// The bytes of settings.
pub(crate) fn encode(settings: &[(String, String)]) -> Vec<u8> {
    let kept = settings
        .iter()
        .filter(|(name, _)| (1..=255).contains(&name.len()))
        .take(MOST);
    let mut each = Vec::new();
    let mut number: u16 = 0;
    for (name, value) in kept {
        let value = cut(value);
        each.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        each.extend(name.as_bytes());
        each.extend(u16::try_from(value.len()).unwrap_or(0).to_be_bytes());
        each.extend(value.as_bytes());
        number += 1;
    }
    let mut bytes = vec![VERSION, 0];
    bytes.extend(number.to_be_bytes());
    bytes.extend(each);
    bytes
}

/// As much of a text as fits, whole characters.
fn cut(text: &str) -> &str {
    let fits = (0..=LONGEST.min(text.len())).rev();
    let end = fits.into_iter().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The settings in these bytes; `None` where they are none. What a peer says is made one
/// line each, and what says nothing is left out.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut bytes = AppendixReader(bytes);
    if bytes.take::<2>()? != [VERSION, 0] {
        return None;
    }
    let number = usize::from(u16::from_be_bytes(bytes.take()?));
    if number > MOST {
        return None;
    }
    let mut settings = Vec::new();
    for _ in 0..number {
        let [length] = bytes.take()?;
        let name = line(bytes.part(usize::from(length))?);
        let length = usize::from(u16::from_be_bytes(bytes.take()?));
        let value = line(bytes.part(length)?);
        let is_new = |name: &String| settings.iter().all(|(known, _)| known != name);
        if let (Some(name), Some(value)) = (name.filter(is_new), value) {
            settings.push((name, value));
        }
    }
    Some(settings)
}

fn line(bytes: &[u8]) -> Option<String> {
    tidy(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Vec<(String, String)> {
        [
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("clock_source", "tsc"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    #[test]
    fn settings_cross_whole() {
        assert_eq!(decode(&encode(&settings())), Some(settings()));
        assert_eq!(decode(&encode(&[])), Some(Vec::new()));
    }

    #[test]
    fn no_part_of_settings_is_taken_for_some_and_no_number_of_them_is_believed() {
        let whole = encode(&settings());
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length]), None, "{length}");
        }
        let mut much = whole;
        much[2..4].copy_from_slice(&[0xff; 2]);
        assert_eq!(decode(&much), None);
    }

    #[test]
    fn long_settings_are_cut_and_control_characters_removed() {
        let long = vec![("boot".to_owned(), "\u{fc}".repeat(1000))];
        let told = decode(&encode(&long)).unwrap();
        assert_eq!(told[0].1, "\u{fc}".repeat(512));
        let hostile = vec![("a".to_owned(), "x\u{1b}[2J\ny".to_owned())];
        let told = decode(&encode(&hostile)).unwrap();
        assert!(!told[0].1.contains(['\u{1b}', '\n']), "{told:?}");
        let twice = [settings(), settings()].concat();
        assert_eq!(decode(&encode(&twice)), Some(settings()));
        let many = vec![("n".to_owned(), "v".to_owned()); 1000];
        assert_eq!(decode(&encode(&many)).unwrap().len(), 1);
    }
}
