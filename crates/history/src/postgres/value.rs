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
