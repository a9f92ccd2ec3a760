//! Names of peers.

/// Address in log format.
pub(crate) fn described(peer: &netperf_os::SockAddr) -> String {
    if let Some(address) = peer.as_socket() {
        let canonical = address.ip().to_canonical();
        return std::net::SocketAddr::new(canonical, address.port()).to_string();
    }
    match netperf_os::address::as_vsock(peer) {
        Some((cid, port)) => format!("vsock:{cid}:{port}"),
        None => "unknown".to_owned(),
    }
}
