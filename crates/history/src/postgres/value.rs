//! Values on their way to and from PostgreSQL.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::database::SqlValue;

impl SqlValue {
    /// The type as which it is sent.
    pub(super) const fn kind(&self) -> Type {
        match self {
            Self::Null | Self::Text(_) => Type::TEXT,
            Self::Whole(_) => Type::INT8,
            Self::Real(_) => Type::FLOAT8,
            Self::Bytes(_) => Type::BYTEA,
        }
    }
}

impl ToSql for SqlValue {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Whole(value) => value.to_sql(kind, out),
            Self::Real(value) => value.to_sql(kind, out),
            Self::Text(value) => value.to_sql(kind, out),
            Self::Bytes(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl FromSql<'_> for SqlValue {
    fn from_sql(kind: &Type, bytes: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT8 => Self::Whole(i64::from_sql(kind, bytes)?),
            Type::INT4 => Self::Whole(i32::from_sql(kind, bytes)?.into()),
            Type::INT2 => Self::Whole(i16::from_sql(kind, bytes)?.into()),
            Type::BOOL => Self::Whole(bool::from_sql(kind, bytes)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, bytes)?),
            Type::BYTEA => Self::Bytes(Vec::from_sql(kind, bytes)?),
            _ => Self::Text(String::from_sql(kind, bytes)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trip of a value through a server, as `kind`.
    fn through(value: &SqlValue, kind: &Type) -> SqlValue {
        let mut bytes = BytesMut::new();
        match value.to_sql(kind, &mut bytes).unwrap() {
            IsNull::Yes => SqlValue::from_sql_null(kind).unwrap(),
            IsNull::No => SqlValue::from_sql(kind, &bytes).unwrap(),
        }
    }

    #[test]
    fn a_value_comes_back_as_what_it_was() {
        for (value, kind) in [
            (SqlValue::Null, Type::TEXT),
            (SqlValue::Whole(-7), Type::INT8),
            (SqlValue::Real(2.5), Type::FLOAT8),
            (SqlValue::Text("x".to_owned()), Type::TEXT),
            (SqlValue::Bytes(vec![0, 255]), Type::BYTEA),
        ] {
            assert_eq!(value.kind(), kind);
            assert_eq!(through(&value, &kind), value);
        }
    }

    #[test]
    fn a_number_is_whole_in_every_size() {
        for (kind, bytes) in [
            (Type::INT4, &[0, 0, 0, 9][..]),
            (Type::INT2, &[0, 9]),
            (Type::INT8, &[0, 0, 0, 0, 0, 0, 0, 9]),
        ] {
            assert_eq!(
                SqlValue::from_sql(&kind, bytes).unwrap(),
                SqlValue::Whole(9)
            );
        }
        assert_eq!(
            SqlValue::from_sql(&Type::BOOL, &[1]).unwrap(),
            SqlValue::Whole(1)
        );
        let name = SqlValue::from_sql(&Type::NAME, b"x").unwrap();
        assert_eq!(name, SqlValue::Text("x".to_owned()));
        assert!(SqlValue::from_sql(&Type::INT8, &[9]).is_err());
        let accepts = |kind: &Type| {
            <SqlValue as ToSql>::accepts(kind) && <SqlValue as FromSql<'_>>::accepts(kind)
        };
        assert!(accepts(&Type::INT8) && accepts(&Type::NAME));
    }
}
