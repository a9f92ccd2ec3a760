//! Enums whose values have a word each, in options and output.

/// Declares such an enum, so that a value and its word stand in one place.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$value_meta:meta])* $value:ident = $word:literal,)*
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$value_meta])* $value,)*
        }

        impl $name {
            /// Every value, in order.
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$value,)*];

            /// The word of every value, in order.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];

            /// The word in options and output.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)*
                }
            }

            /// The value of this word.
            #[must_use]
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.label() == word)
            }
        }
    };
}
pub(crate) use words;
