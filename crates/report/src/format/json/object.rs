//! How a structure becomes a JSON object.
//!
//! By a macro of our own: what `derive` is made of has a licence that is not among
//! those that we allow.

/// Writes a structure as an object: each field under its own name, and in place of a
/// field with two dots before it the fields that it has.
///
/// A field that is left out is one that the compiler says is never read.
macro_rules! object {
    ($name:ty { $($fields:tt)* }) => {
        impl $crate::format::json::object::Fields for $name {
            fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                let own = self;
                object!(@ own map $($fields)*);
                Ok(())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut map = to.serialize_map(None)?;
                $crate::format::json::object::Fields::write(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    };
    (@ $own:ident $map:ident ..$flat:ident $(, $($rest:tt)*)?) => {
        $crate::format::json::object::Fields::write(&$own.$flat, $map)?;
        object!(@ $own $map $($($rest)*)?);
    };
    (@ $own:ident $map:ident $field:ident $(, $($rest:tt)*)?) => {
        $map.serialize_entry(stringify!($field), &$own.$field)?;
        object!(@ $own $map $($($rest)*)?);
    };
    (@ $own:ident $map:ident) => {};
}

/// What has fields to be written.
pub(super) trait Fields {
    /// Writes them.
    fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}
