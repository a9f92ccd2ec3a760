//! The token of data through the port of the control connection, in the extension block.

use netperf_model::Token;
use netperf_wire::messages::{Extension, ItemKind};
use netperf_wire::{Frame, Stage};

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
}
