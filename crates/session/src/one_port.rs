//! Data through the port of the control connection, in the extension block.

use netperf_model::{EndPlan, Token};
use netperf_wire::messages::{Extension, ItemKind};
use netperf_wire::{Frame, Stage};

use crate::paths::NotUnderstood;

/// The way in that this program knows: a preamble in front of the data.
const PREAMBLE: u8 = 1;

/// Asks for a way in by the port of the control connection.
pub(crate) fn ask(extension: &mut Extension, end: &EndPlan) {
    if end.one_port {
        extension.push(ItemKind::OnePort, &[PREAMBLE]);
    }
}

/// True if netperf requests it.
///
/// # Errors
/// When it asks for a way that is not known here.
pub(crate) fn asked(extension: &Extension) -> Result<bool, NotUnderstood> {
    match extension.value(ItemKind::OnePort) {
        None => Ok(false),
        Some([PREAMBLE]) => Ok(true),
        Some(_) => Err(NotUnderstood),
    }
}

/// Hands over what data has to begin with.
pub(crate) fn tell(extension: &mut Extension, token: &Token) {
    extension.push(ItemKind::Token, token.bytes());
}

/// The prefix of the data.
pub(crate) fn told(frame: &Frame) -> Option<Token> {
    let extension = Extension::decode(Stage::Response, frame).ok().flatten()?;
    let bytes = extension.value(ItemKind::Token)?.try_into().ok()?;
    Some(Token::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_wire::Header;

    #[test]
    fn the_token_crosses_whole() {
        let token = Token::new(std::array::from_fn(|at| u8::try_from(at).unwrap_or(0)));
        let mut extension = Extension::default();
        tell(&mut extension, &token);
        let mut frame = Frame::new(Header::default());
        extension.encode_over(Stage::Response, &mut frame).unwrap();
        assert_eq!(told(&frame), Some(token));
        assert_eq!(told(&Frame::new(Header::default())), None);
    }

    #[test]
    fn another_way_in_is_refused() {
        let with = |value: &[u8]| {
            let mut extension = Extension::default();
            extension.push(ItemKind::OnePort, value);
            asked(&extension)
        };
        assert_eq!(with(&[1]), Ok(true));
        assert_eq!(with(&[2]), Err(NotUnderstood));
        assert_eq!(with(&[]), Err(NotUnderstood));
        assert_eq!(asked(&Extension::default()), Ok(false));
    }
}
