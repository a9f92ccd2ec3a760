//! TLS in the program and in the kernel.

use netperf_model::TransportId;

use super::{Asked, Visitor};
use crate::tls::{Ktls, Tls};

/// Calls the method of `visitor` for TLS.
pub(super) fn visit<V: Visitor>(transport: TransportId, asked: Asked<'_>, visitor: V) -> V::Out {
    let cipher = asked.socket.tls_cipher.as_deref();
    if transport == TransportId::Ktls {
        visitor.stream(Ktls::new(cipher))
    } else {
        visitor.connection(Tls::new(cipher))
    }
}
