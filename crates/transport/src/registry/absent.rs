//! Stands in for transports whose cargo feature is off.

use netperf_model::TransportId;

use super::{Asked, Visitor};
use crate::built::check_transport;

/// Reports that this build does not contain the transport.
pub(super) fn visit<V: Visitor>(transport: TransportId, _asked: Asked<'_>, visitor: V) -> V::Out {
    let error = check_transport(transport).err();
    visitor.absent(error.unwrap_or_else(|| std::io::ErrorKind::Unsupported.into()))
}
