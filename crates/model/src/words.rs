//! Enums whose values have a word each, in options and output.

/// Declares such an enum, so that a value and its word stand in one place.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$value_meta:meta])* $value:ident = $word:literal,)*
    }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$value_meta])* $value,)*
        }

        impl $name {
            /// Every value, in order.
            $vis const ALL: [Self; Self::WORDS.len()] = [$(Self::$value,)*];

            /// The word of every value, in order.
            $vis const WORDS: &'static [&'static str] = &[$($word,)*];

            /// The word in options and output.
            #[must_use]
            $vis const fn label(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)*
                }
            }

            /// The value of this word.
            #[must_use]
            $vis fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.label() == word)
            }
        }
    };
}
pub(crate) use words;
